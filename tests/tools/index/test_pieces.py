from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from joey.tools.index.pieces import MAX_PIECE, CodePiece, cut
from joey.tools.index.syntax import cutter, installed_grammars, outline
from joey.tools.reading.lines import split_lines

BODY = "\n".join(f"        total = total + value * {number}  # weigh it" for number in range(12))
LONG = "\n".join(f"        total = total + value * {number}  # weigh it" for number in range(80))
CLASS = f'''"""A module."""
import os


class Basket:
    """Holds things."""

    size = 3

    def weigh(self, value):
        total = 0
{BODY}
        return total

    # Takes them out again.
    @property
    def empty(self):
        total = 0
{BODY}
        return total


def after(value):
    {"x = 1; " * 20}
    return x
'''
SAMPLES = {
    "a.py": ("def one():\n    return 1\n\nclass Two:\n    def three(self):\n        pass\n", ["one", "Two"]),
    "a.js": ("function one() {\n}\nexport const two = () => {\n}\nclass Three {\n}\n", ["one", "two", "Three"]),
    "a.ts": ("export interface One {\n a: number\n}\nexport async function two() {\n}\n", ["One", "two"]),
    "a.tsx": ("export const One = () => {\n return <b/>\n}\n", ["One"]),
    "a.go": ("package a\nfunc One() {\n}\nfunc (s S) Two() {\n}\ntype S struct {\n}\n", ["One", "Two", "S"]),
    "a.rs": ("fn one() {\n}\nimpl Two for Three {\n fn four() {\n }\n}\n", ["one", "Three"]),
    "A.java": ("class One {\n void two() {\n }\n}\n", ["One"]),
    "a.c": ("int one(void) {\n return 1;\n}\nstruct two {\n int x;\n};\n", ["one", "two"]),
    "a.cpp": ("namespace one {\nclass Two {\n};\n}\nint Two::three() {\n return 1;\n}\n", ["one", "three"]),
    "a.cs": ("namespace One {\nclass Two {\n void Three() {\n }\n}\n}\n", ["One"]),
    "a.rb": ("module One\n  def two\n  end\nend\n", ["One"]),
    "a.php": ("<?php\nfunction one() {\n return 1;\n}\nclass Two {\n}\n", ["one", "Two"]),
    "a.kt": ("fun one(): Int {\n return 1\n}\nclass Two {\n}\n", ["one", "Two"]),
    "a.sh": ("one() {\n  echo 1\n}\n", ["one"]),
}


def at(pieces: list[CodePiece], name: str) -> CodePiece:
    return next(piece for piece in pieces if piece.name == name)


def test_every_grammar_of_the_extra_is_installed_here() -> None:
    assert installed_grammars()[1] == []


@pytest.mark.parametrize("path", SAMPLES)
def test_definitions_are_found_in_every_language(path: str) -> None:
    text, expected = SAMPLES[path]
    found = outline(text, "." + path.rpartition(".")[2], 1_000)
    assert found is not None
    assert [each.name for each in found] == expected


def test_a_class_is_cut_into_its_head_and_its_methods() -> None:
    pieces = cut(CLASS, "basket.py")
    assert [piece.name for piece in pieces] == ["", "Basket.weigh", "Basket.empty", "after"]
    assert "size = 3" in pieces[1].text, "a short head goes with the first method"
    assert "def weigh" in at(pieces, "Basket.weigh").text and "def empty" not in at(pieces, "Basket.weigh").text


def test_comments_and_decorators_go_with_what_they_stand_above() -> None:
    assert (
        at(cut(CLASS, "basket.py"), "Basket.empty").text.lstrip().startswith("# Takes them out again.\n    @property")
    )


def test_a_method_means_something_in_its_class() -> None:
    assert at(cut(CLASS, "basket.py"), "Basket.weigh").meaning.startswith("Basket\n")
    assert at(cut(CLASS, "basket.py"), "after").meaning.startswith("def after")


def test_a_long_function_is_cut_into_windows_that_keep_its_name() -> None:
    pieces = cut(f"def long(value):\n{LONG}\n", "long.py")
    assert len(pieces) > 1 and {piece.name for piece in pieces} == {"long"}
    assert all(len(piece.text) <= MAX_PIECE for piece in pieces)


def test_tiny_things_are_joined() -> None:
    assert len(cut("import a\n\nx = 1\n\n\ndef f():\n    pass\n", "tiny.py")) == 1


def test_markdown_is_cut_at_headings_but_not_inside_code() -> None:
    prose = "Words that say something about it, in some length, so that it stands alone. " * 2
    text = f"# Top\n{prose}\n## Part\n{prose}\n```sh\n# no heading\n```\n# Other\n{prose}\n"
    pieces = cut(text, "guide.md")
    assert [(piece.name, piece.first) for piece in pieces] == [("Top", 1), ("Top > Part", 3), ("Other", 8)]


def test_what_has_no_grammar_is_cut_at_empty_lines() -> None:
    paragraph = "\n".join(["a line of some words, and then some more of them"] * 12)
    pieces = cut("\n\n".join([paragraph] * 6), "notes.unknown")
    assert len(pieces) > 1
    assert all(piece.text.endswith("\n") for piece in pieces[:-1]), "each ends with the empty line"


def test_a_line_longer_than_a_piece_is_a_piece() -> None:
    pieces = cut("short\n" + "x" * 10_000 + "\nshort\n", "a.txt")
    assert max(len(piece.text) for piece in pieces) >= 10_000


@pytest.mark.parametrize("text", ["", "\n", "\r\r\r", "a\rb\rc", "\ufeff", "def f(:\n", "class\n" * 300, "(" * 3_000])
@pytest.mark.parametrize("path", ["a.py", "a.md", "a.txt", "a.js"])
def test_odd_texts_are_cut_without_losing_a_line(text: str, path: str) -> None:
    assert_whole(text, path)


def assert_whole(text: str, path: str) -> None:
    pieces, lines = cut(text, path), split_lines(text)
    assert [line for piece in pieces for line in piece.text.split("\n")] == lines
    numbers = [number for piece in pieces for number in range(piece.first, piece.last + 1)]
    assert numbers == list(range(1, len(lines) + 1))


LINES = st.sampled_from(
    ["def f(a):", "class C:", "    def m(self):", "        return 1", "", "@deco", "# note", "## Part", "```", "}", "{",
     "function g() {", "export class D {", "import x", "x = " + "1 + " * 300 + "1", "\t", "impl T {", "fn h() {"]
)  # fmt: skip


@pytest.mark.property
@given(
    st.lists(LINES, max_size=120), st.sampled_from(["a.py", "a.js", "a.rs", "a.md", "a.xyz", "a.rb", "a.sh", "a.php"])
)
def test_every_line_is_in_exactly_one_piece(lines: list[str], path: str) -> None:
    assert_whole("\n".join(lines), path)


@pytest.mark.property
@given(st.text(max_size=400), st.sampled_from(["a.py", "a.ts", "a.md", "a.xyz"]))
def test_every_line_of_any_text_is_in_exactly_one_piece(text: str, path: str) -> None:
    assert_whole(text, path)


def test_the_way_of_cutting_has_a_name() -> None:
    assert [cutter(suffix) for suffix in (".py", ".md", ".xyz", "")] == ["syntax", "headings", "lines", "lines"]
