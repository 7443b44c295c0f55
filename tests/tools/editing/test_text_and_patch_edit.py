"""Laws of string and patch edits, for any text."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from joey.tools.base import ToolContext
from joey.tools.builtin.write_to_file import WriteToFile, WriteToFileParams
from joey.tools.editing.document import Document, changes, line_diff
from joey.tools.editing.patch import Chunk, PatchError, Sign, UpdateFile, read_patch
from joey.tools.editing.patch_edit import apply_chunks
from joey.tools.editing.text_edit import TextEdit, apply_text_edit
from vectors_data import cases

PIECES = st.sampled_from(["a", "b", " ", "\t", "é", "日", "🎉", "$&", "\\1", "\n", "\n", "\r\n", "\x0b", "\u2028"])
TEXTS = st.lists(PIECES, max_size=14).map("".join)
LINES = st.lists(st.sampled_from(["a", "b", "", " a", "a ", "\t", "日"]), max_size=9)


@pytest.mark.property
@given(TEXTS, TEXTS, TEXTS, TEXTS)
def test_a_unique_string_is_replaced_by_exactly_the_new_one(before: str, old: str, after: str, new: str) -> None:
    text = before + old + after
    assume(old and old != new and "\r" not in new and "\r" not in old)
    document = Document.read(text)
    assume(document.plain.find(old) >= 0 and document.plain.find(old, document.plain.find(old) + 1) < 0)
    result, verdict = apply_text_edit(document, TextEdit(old, new))
    assert verdict.outcome == "applied"
    assert result.plain == document.plain.replace(old, new)
    assert Document.read(result.text).text == result.text
    if "\n" not in old + new:
        assert result.ends == document.ends


@pytest.mark.property
@given(TEXTS, st.sampled_from(["a", "b", "a\n", "\n"]), TEXTS, st.sampled_from(["", "x", "x\ny", "ab\n"]))
def test_replacing_all_is_what_replace_does(before: str, old: str, after: str, new: str) -> None:
    document = Document.read(before + old + after)
    result, verdict = apply_text_edit(document, TextEdit(old, new, count=None))
    assert verdict.outcome == "applied"
    assert result.plain == document.plain.replace(old, new)


@pytest.mark.property
@given(TEXTS, TEXTS, TEXTS)
def test_no_edit_is_too_strange_to_be_answered(text: str, old: str, new: str) -> None:
    result, verdict = apply_text_edit(Document.read(text), TextEdit(old, new))
    assert verdict.words
    assert result.text == text or verdict.outcome == "applied"


@pytest.mark.property
@given(LINES, LINES)
def test_a_line_diff_leads_from_the_old_lines_to_the_new(old: list[str], new: list[str]) -> None:
    pieces = list(line_diff(old, new))
    assert [line for piece in pieces for line in old[piece.old : piece.old_end]] == old
    assert [line for piece in pieces for line in new[piece.new : piece.new_end]] == new
    equal = (piece for piece in pieces if piece.kind == "equal")
    assert all(old[piece.old : piece.old_end] == new[piece.new : piece.new_end] for piece in equal)


@pytest.mark.property
@given(st.lists(st.sampled_from("abcdef"), unique=True, min_size=1), LINES, st.sampled_from(["\n", "\r\n"]))
def test_a_patch_made_from_two_texts_leads_from_one_to_the_other(old: list[str], new: list[str], end: str) -> None:
    before, after = end.join(old), end.join(new)
    chunks = []
    for piece in changes(old, new or [""]):
        removed: list[tuple[Sign, str]] = [("-", line) for line in old[piece.old : piece.old_end]]
        added: list[tuple[Sign, str]] = [("+", line) for line in (new or [""])[piece.new : piece.new_end]]
        chunks.append(Chunk((*removed, *added), line=piece.old))
    outcome = apply_chunks(Document.read(before), chunks)
    assert not outcome.failed, outcome.verdicts
    assert outcome.document.plain == after.replace("\r\n", "\n")


HEADERS = ["*** Update File: a", "*** Add File: b", "*** Delete File: c", "*** Move to: d", "@@", "@@ a"]
ROWS = st.sampled_from(
    [
        *HEADERS,
        *("*** Begin Patch", "*** End Patch", "*** End of File", "\\ No newline at end of file", "@@ -1,2 +3,4 @@"),
        *(" a", "-a", "+b", "", "junk", "\r"),
    ]
)


@pytest.mark.property
@given(st.lists(ROWS, max_size=14), st.sampled_from(["\n", "\r\n"]))
def test_no_patch_is_too_strange_to_be_answered(rows: list[str], end: str) -> None:
    sections = read_patch(end.join(["*** Begin Patch", *rows, "*** End Patch"]))
    if isinstance(sections, PatchError):
        assert sections.message
        return
    for section in sections:
        if isinstance(section, UpdateFile):
            apply_chunks(Document.read("a\nb\n"), section.chunks)


def test_many_replacements_in_a_large_file_are_quick() -> None:
    # Quadratic work would make this take minutes, which is what the limit on the whole suite is for.
    document = Document.read("name = name + 1\n" * 40_000)
    result, verdict = apply_text_edit(document, TextEdit("name", "other", count=None))
    assert result.plain.count("other") == 80_000
    assert "80000 places" in verdict.words


@pytest.mark.parametrize("case", cases("roo/functions", fn="unescapeHtmlEntities"), ids=lambda case: str(case["test"]))
async def test_entities_are_written_as_they_were_sent(case: Any, tmp_path: Path) -> None:
    """Roo turned them into characters for some models, and broke files that hold entities. They are text here."""
    [text] = case["args"]
    if isinstance(text, str):
        await WriteToFile().run(WriteToFileParams(path="a", file_text=text), ToolContext(tmp_path, tmp_path))
        assert (tmp_path / "a").read_bytes() == text.encode()
