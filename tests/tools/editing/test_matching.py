from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from joey.tools.editing.block_edit import apply_blocks
from joey.tools.editing.blocks import Block, BlockError, format_block, read_blocks
from joey.tools.editing.document import Document, with_ends_of
from joey.tools.editing.matching import Ambiguous, Matched, NotFound, Stage, locate, nearest


def edited(text: str, *blocks: Block, fuzzy: float | None = None) -> str:
    outcome = apply_blocks(Document.read(text), blocks, fuzzy=fuzzy)
    assert not outcome.failed, outcome.verdicts
    return outcome.document.text


def words(text: str, *blocks: Block) -> list[str]:
    outcome = apply_blocks(Document.read(text), blocks)
    assert outcome.failed
    assert outcome.document.text == text
    return [verdict.words for verdict in outcome.verdicts]


def block(search: str, replace: str, start_line: int | None = None) -> Block:
    return Block(tuple(search.split("\n")), tuple(replace.split("\n")) if replace else (), start_line)


def test_a_stage_is_only_tried_when_the_stricter_ones_found_nothing() -> None:
    lines = ["    x = 1", "x = 1  ", "x = 1"]
    assert locate(lines, ["x = 1"]) == Matched(2, Stage.EXACT)
    assert locate(lines[:2], ["x = 1"]) == Matched(1, Stage.TRAILING)
    assert locate(lines[:1], ["x = 1"]) == Matched(0, Stage.INDENTATION)
    assert locate(["say “hi” – ok"], ['say "hi" - ok']) == Matched(0, Stage.TYPOGRAPHY)
    assert locate(lines, ["x  = 1"]) == NotFound()


def test_a_twin_with_another_indentation_is_not_hit() -> None:
    text = "if a:\n    go()\nelse:\n        go()\n"
    assert edited(text, block("        go()", "        stop()")) == "if a:\n    go()\nelse:\n        stop()\n"


def test_several_places_are_listed_and_none_is_changed() -> None:
    [text] = words("a\ndup\nb\ndup\n", block("dup", "X"))
    assert "2 places match: line 2 (after 'a'); line 4 (after 'b')" in text
    assert ":start_line:" in text


def test_a_line_number_pins_one_of_several_places() -> None:
    assert edited("dup\nx\ndup\n", block("dup", "X", 3)) == "dup\nx\nX\n"
    assert locate(["a", "a"], ["a"], pin=7) == Ambiguous((0, 1), Stage.EXACT)


def test_line_numbers_are_those_before_the_first_block() -> None:
    text = "a\ndup\nb\ndup\n"
    assert edited(text, block("a", "1\n2\n3", 1), block("dup", "X", 4)) == "1\n2\n3\ndup\nb\nX\n"
    assert edited(text, block("dup", "X", 4), block("a", "1\n2\n3", 1)) == "1\n2\n3\ndup\nb\nX\n"


def test_blocks_that_share_a_line_are_applied_one_after_the_other() -> None:
    assert edited("a\nb\nc\n", block("a\nb", "A\nb"), block("b\nc", "b\nC")) == "A\nb\nC\n"


def test_a_block_may_build_on_the_one_before_it() -> None:
    assert edited("a\n", block("a", "alpha beta gamma"), block("alpha beta gamma", "delta")) == "delta\n"


def test_a_failed_block_fails_all_and_each_has_its_verdict() -> None:
    text = words("one\ntwo\nthree\n", block("one", "1"), block("twoo", "2"), block("three", "three"))
    assert text[0].startswith("applied at line 1")
    assert "not found. The nearest place is line 2, 75% alike" in text[1]
    assert "-twoo\n+two" in text[1]
    assert "the same" in text[2]


def test_a_block_that_was_applied_before_is_recognised() -> None:
    outcome = apply_blocks(
        Document.read("value = compute(2)\nx\n"), [block("value = compute(1)", "value = compute(2)")]
    )
    assert [verdict.outcome for verdict in outcome.verdicts] == ["already"]
    assert "line 1" in outcome.verdicts[0].words


def test_a_block_applied_at_its_line_before_does_not_go_to_a_twin_of_the_old_text() -> None:
    twins = Document.read("def a():\n    x = 1\ndef b():\n    x = 2\n")
    outcome = apply_blocks(twins, [Block(("    x = 1",), ("    x = 2",), 4)])
    assert [verdict.words for verdict in outcome.verdicts] == [
        "already applied, the new text is at line 4. Nothing to do."
    ]
    assert outcome.document.text == twins.text


def test_text_too_common_to_tell_anything_does_not_count_as_applied() -> None:
    [text] = words("}\nx\n", block("foo {", "}"))
    assert "not found" in text


def test_nothing_of_the_replacement_is_altered_when_the_lines_were_equal() -> None:
    replacement = "  two spaces after  \n\ttab\n&amp; &lt;b&gt; $& $1 \\1 \\n"
    assert edited("a\nb\nc\n", block("b", replacement)) == f"a\n{replacement}\nc\n"


def test_lines_that_stay_keep_the_white_space_they_have_in_the_file() -> None:
    text = "def f():  \n    a = 1   \n    b = 2\n"
    new = edited(text, block("def f():\n    a = 1\n    b = 2", "def f():\n    a = 1\n    b = 3"))
    assert new == "def f():  \n    a = 1   \n    b = 3\n"


def test_indentation_follows_the_file_and_trailing_space_stays() -> None:
    text = "\tif x:\n\t\ta()\n\t\tb()\n"
    new = edited(text, block("if x:\n    a()\n    b()", "if x:\n    a()  \n    for y in z:\n        c()\nd()"))
    assert new == "\tif x:\n\t\ta()  \n\t\tfor y in z:\n\t\t\tc()\n\td()\n"


def test_tabs_become_the_spaces_of_the_file() -> None:
    text = "  if x:\n    a()\n"
    assert edited(text, block("if x:\n\ta()", "if x:\n\tif y:\n\t\ta()")) == "  if x:\n    if y:\n      a()\n"


def test_a_replacement_may_be_shallower_than_what_it_replaces() -> None:
    text = "class A:\n    def f(self):\n        x()\n        y()\n"
    new = edited(text, block("            x()\n            y()", "            x()\n        z()"))
    assert new == "class A:\n    def f(self):\n        x()\n    z()\n"


def test_line_numbers_before_the_lines_are_understood() -> None:
    assert edited("dup\nx\ndup\n", block("3 | dup", "3 | X")) == "dup\nx\nX\n"
    assert edited("1 | a\n", block("1 | a", "1 | b")) == "1 | b\n", "unless they are in the file"


def test_alike_lines_are_found_only_on_request() -> None:
    text = "def total(items):\n    return sum(items)\n"
    change = block("def totals(items):\n    return sum(items)", "def total(items):\n    return 0")
    assert "not found" in words(text, change)[0]
    assert edited(text, change, fuzzy=0.9) == "def total(items):\n    return 0\n"


def test_alike_lines_in_two_places_are_not_guessed_between() -> None:
    text = "def total_a(items):\n    pass\ndef total_b(items):\n    pass\n"
    outcome = apply_blocks(Document.read(text), [block("def total_c(items):", "x")], fuzzy=0.8)
    assert "2 places match" in outcome.verdicts[0].words


def test_a_wall_of_difference_is_cut_short() -> None:
    lines = [f"value_{number} = compute({number})" for number in range(200)]
    [text] = words("\n".join(lines), block("\n".join(line + ";" for line in lines), "x"))
    assert len(text.splitlines()) < 22
    assert "more lines differ" in text


def test_nothing_alike_is_reported_as_such() -> None:
    assert nearest(["a", "b"], ["completely different text"]) is None


@pytest.mark.parametrize(
    ("text", "changed"),
    [
        ("a\r\nb\r\nc\r\n", "a\r\nB\r\nb2\r\nc\r\n"),
        ("a\r\nb\nc\r\n", "a\r\nB\nb2\nc\r\n"),
        ("a\rb\rc", "a\rB\rb2\rc"),
        ("a\nb", "a\nB\nb2"),
        ("a\nb\r\n", "a\nB\r\nb2\r\n"),
    ],
)
def test_line_ends_are_those_of_the_file(text: str, changed: str) -> None:
    assert edited(text, block("b", "B\nb2")) == changed


def test_line_ends_that_are_named_are_taken_literally() -> None:
    assert edited("a\nb\n", Block(("a", "b"), ("a\r", "b"))) == "a\r\nb\n"
    assert edited("a\r\nb\r\n", Block(("a\r", "b\r"), ("a", "b"))) == "a\nb\n"


def test_a_diff_that_came_with_crlf_says_nothing_about_the_file() -> None:
    blocks = read_blocks("<<<<<<< SEARCH\r\na\r\n=======\r\nb\r\n>>>>>>> REPLACE\r\n")
    assert blocks == (Block(("a",), ("b",)),)


def test_the_final_newline_can_be_added_and_removed() -> None:
    assert edited("a\nb", block("b", "b\n")) == "a\nb\n"
    assert edited("a\nb\n", Block(("b", ""), ("b",))) == "a\nb"
    assert edited("a\nb", block("b", "")) == "a"
    assert edited("a\n", block("a", "")) == ""


def test_a_whole_new_text_keeps_the_ends_of_lines_that_stay() -> None:
    old = Document.read("a\r\nb\nc\r\n")
    assert with_ends_of(old, "a\nx\nb\nc\n").text == "a\r\nx\r\nb\nc\r\n"
    assert with_ends_of(old, "a\r\nb\r\n").text == "a\r\nb\r\n"
    assert with_ends_of(Document.read(""), "a\nb\n").text == "a\nb\n"


LINE = st.text(alphabet="ab \t=<>-\\:é日\u2028\x0b🎉", max_size=6) | st.sampled_from(
    [
        "=======",
        "\\=======",
        "<<<<<<< SEARCH",
        ">>>>>>> REPLACE",
        "-------",
        ":start_line:3",
        "  :end_line:1",
        "\\\\-------",
    ]
)
LINES = st.lists(LINE, max_size=8)
TEXTS = st.builds(
    lambda lines, ends: "".join(line + end for line, end in zip(lines, ends, strict=False)),
    st.lists(st.text(alphabet="ab \t\x0bé日🎉", max_size=4), max_size=9),
    st.lists(st.sampled_from(["\n", "\r\n"]), min_size=9, max_size=9) | st.just(["\n"] * 8 + [""]),
)


@pytest.mark.property
@given(LINES, LINES, st.none() | st.integers(0, 99))
def test_whatever_is_put_in_a_block_comes_out_of_it(search: list[str], replace: list[str], line: int | None) -> None:
    sent = Block(tuple(search), tuple(replace), line)
    assert read_blocks(f"talk\n{format_block(sent)}\nmore talk\n{format_block(sent)}") == (sent, sent)


@pytest.mark.property
@given(st.lists(LINE, max_size=20).map("\n".join))
def test_no_diff_is_too_strange_to_be_answered(diff: str) -> None:
    blocks = read_blocks(diff)
    if isinstance(blocks, BlockError):
        assert blocks.message and 1 <= blocks.line <= diff.count("\n") + 1


@pytest.mark.property
@given(TEXTS | st.text(max_size=30))
def test_reading_a_document_loses_nothing(text: str) -> None:
    assert Document.read(text).text == text


@pytest.mark.property
@given(TEXTS, TEXTS, st.data())
def test_an_exact_edit_changes_its_lines_and_nothing_else(text: str, new: str, data: st.DataObject) -> None:
    document = Document.read(text)
    first = data.draw(st.integers(0, len(document.lines) - 1))
    last = data.draw(st.integers(first + 1, len(document.lines)))
    search, replacement = document.lines[first:last], Document.read(new).lines
    assume(any(line.strip() for line in search) and search != replacement)
    result = Document.read(edited(text, Block(search, replacement, first + 1)))
    expected = [*document.lines[:first], *replacement, *document.lines[last:]]
    assert list(result.lines) == expected
    assert result.ends[:first] == document.ends[:first]
    assert result.ends[len(result.ends) - (len(document.ends) - last + 1) :] == document.ends[last - 1 :]


@pytest.mark.property
@given(TEXTS, TEXTS)
def test_a_whole_new_text_is_that_text_whatever_the_ends(old: str, new: str) -> None:
    document = with_ends_of(Document.read(old), new)
    assert document.plain == new.replace("\r\n", "\n")


@pytest.mark.property
@given(TEXTS, st.lists(st.text(alphabet="ab", max_size=2), max_size=4), st.data())
def test_splicing_puts_lines_anywhere(text: str, lines: list[str], data: st.DataObject) -> None:
    document = Document.read(text)
    first = data.draw(st.integers(0, len(document.lines)))
    last = data.draw(st.integers(first, len(document.lines)))
    result = document.splice(first, last, lines)
    assert result.lines == ((*document.lines[:first], *lines, *document.lines[last:]) or ("",))
    assert len(result.ends) == len(result.lines) - 1


def test_a_numbered_line_that_another_block_sent_along_is_found_where_it_is_now() -> None:
    old = "head\ntotal\nwith a:\n    go\nmid\ntotal\nwith a:\n    go"
    blocks = [block("head\ntotal\nwith a:", "head\nwith a:"), block("with a:\n    go", "with a:\n    stay\n    go", 3)]
    assert edited(old, *blocks) == "head\nwith a:\n    stay\n    go\nmid\ntotal\nwith a:\n    go"
