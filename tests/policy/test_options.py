"""The small language that tables of programs are written in."""

from __future__ import annotations

from joey.policy.shell.options import Use, program, read_use
from joey.policy.shell.plain import Word


def use(options: str, operands: str, *texts: str | Word) -> Use:
    words = [Word(text) if isinstance(text, str) else text for text in texts]
    return read_use(program(options, operands), words, "it")


def touched(found: Use) -> list[tuple[str, str]]:
    return [(touch, word.text) for touch, word in found.files]


def test_an_option_may_take_two_values() -> None:
    found = use("--slurpfile=tr", "t r*", "--slurpfile", "name", "a.json", ".", "b.json")
    assert (found.problems, touched(found)) == ([], [("read", "a.json"), ("read", "b.json")])
    assert use("--slurpfile=tr", "t r*", "--slurpfile", "name").problems


def test_operands_may_depend_on_the_options() -> None:
    table = program("-e=t", lambda found: "r*" if found.has("-e") else "t r*")
    assert touched(read_use(table, [Word("x"), Word("f")], "grep")) == [("read", "f")]
    assert touched(read_use(table, [Word("-e"), Word("x"), Word("f")], "grep")) == [("read", "f")]
    assert touched(read_use(table, [Word("y"), Word("-ex"), Word("f")], "grep")) == [("read", "y"), ("read", "f")]


def test_a_pattern_where_one_word_is_expected_is_a_problem() -> None:
    """It may become several words, and those after it are no longer what they seem."""
    assert use("-n=t", "r w", "-n", Word("1*", glob=True), "a").problems
    assert use("", "t r*", Word("x*", glob=True), "a").problems
    assert use("", "r*", Word("x*", glob=True), "a").problems == []


def test_what_is_done_to_a_file_below_a_folder_is_done_to_the_folder() -> None:
    below = Word("src", below=True)
    assert touched(use("", "r*", below)) == [("follow", "src")]
    assert touched(use("", "w*", below)) == [("fill", "src")]
    assert touched(use("", "k*", below)) == [("remove", "src")]
    for runs in ("x", "c", "s", "C", "p"):
        assert use("", runs, below).problems


def test_a_file_of_options_is_not_a_file() -> None:
    assert use("", "r*", Word("@args.txt")).problems
    assert not use("", "r*", Word("./@args.txt")).problems
    assert not use("", "t*", Word("@scope/name")).problems


def test_a_quoted_pattern_is_any_file_below() -> None:
    assert ("follow", "src") in touched(use("", "r*", Word("src/**/*.ts")))
    assert ("follow", ".") in touched(use("", "r*", Word(".e*")))
    assert ("fill", "src") in touched(use("", "w*", Word("src/{a,b}.ts")))
    assert use("", "r*", Word("src/*/../../x")).problems and use("", "r*", Word("{/etc/passwd,x}")).problems
