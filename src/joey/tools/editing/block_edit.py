"""SEARCH/REPLACE blocks applied to a document, all or none.

Models write every block while looking at the file as it is. So each block is first looked for in the original, and
only a block that is not there, or that overlaps one before it, is looked for in what the others made of it. Line
numbers are those of the original throughout; the order of the blocks does not matter.

Three ways in which models send lines are understood, in this order: as they are; with the line numbers of a file
listing before every line (`12 | text`), which then also give the place; with such numbers, or only their bars, before
some lines. A way is only tried when the ones before found nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from joey.tools.editing.blocks import Block
from joey.tools.editing.document import Document, common_start
from joey.tools.editing.matching import Ambiguous, Matched, NotFound, Stage, is_blank, locate
from joey.tools.editing.outcomes import EditedDocument, EditOutcome, already, ambiguous, applied, failure, not_found
from joey.tools.editing.reindent import reindented, unchanged_lines

_NUMBERED = re.compile(r"\s*(\d+) \|(?: |$)")
_WITH_BAR = re.compile(r"\s*(?:\d+\s*)?\|(?: |$)")
_TELLING = 12
"""So many letters and digits must a text have before its being there can mean that an edit was made already."""
_REMEDY = "Put ':start_line:N' below '<<<<<<< SEARCH' for the one you mean, or send more of the lines around it."


def apply_blocks(document: Document, blocks: Sequence[Block], *, fuzzy: float | None = None) -> EditedDocument:
    work = _Work(document, fuzzy)
    verdicts = dict(enumerate(map(_unusable, blocks)))
    usable = [index for index, verdict in verdicts.items() if verdict is None]
    late = [index for index in usable if not work.place(index, blocks[index])]
    verdicts |= work.apply_placed()
    for index in late:
        verdicts[index] = work.apply_late(blocks[index])
    ordered = tuple(verdict for _index, verdict in sorted(verdicts.items()) if verdict is not None)
    failed = any(verdict.failed for verdict in ordered)
    return EditedDocument(document if failed else work.document, ordered)


def says_already_applied(lines: Sequence[str], new: Sequence[str], pin: int | None) -> int | None:
    """The line at which the new text stands already, if that is beyond chance: the only place, or the one named."""
    if not new or is_blank(new):
        return None
    answer = locate(lines, new, pin=pin)
    if not isinstance(answer, Matched) or not answer.stage.keeps_indentation:
        return None
    telling = sum(character.isalnum() for line in new for character in line) >= _TELLING
    return answer.first if telling or answer.first == pin else None


def _unusable(block: Block) -> EditOutcome | None:
    if is_blank(block.search):
        return failure(
            "the SEARCH part is empty. To insert, search for a line next to the place and repeat it in REPLACE; "
            "to fill an empty file, use write_to_file."
        )
    if block.search == block.replace:
        return failure("SEARCH and REPLACE are the same, so there is nothing to change. Leave this block out.")
    return None


@dataclass(frozen=True, slots=True)
class _Edit:
    """Lines of the original from `first` up to `last`, and what goes there."""

    index: int
    first: int
    last: int
    lines: list[str]
    ends: list[str | None]
    stage: Stage
    kept: int = 0
    """How many lines at its end stay as they are."""


class _Work:
    def __init__(self, document: Document, fuzzy: float | None) -> None:
        self.document = document
        self._fuzzy = fuzzy
        self._edits: list[_Edit] = []

    def place(self, index: int, block: Block) -> bool:
        """Find a block in the original. False if it is not to be had there."""
        answer, sent = self._locate(block, block.start_line)
        if not isinstance(answer, Matched) or _is_done_at(block.start_line, self.document.lines, block, answer):
            return False
        edit = self._edit(index, answer, sent)
        if any(edit.first < other.last and other.first < edit.last for other in self._edits):
            return False
        self._edits.append(edit)
        return True

    def apply_placed(self) -> dict[int, EditOutcome]:
        self._edits.sort(key=lambda edit: edit.first)
        for edit in reversed(self._edits):
            self._apply(edit)
        return {edit.index: applied(self._moved(edit.first), edit.stage) for edit in self._edits}

    def apply_late(self, block: Block) -> EditOutcome:
        """Apply a block to what the others made of the file, or say why not."""
        pin = None if block.start_line is None else self._moved(block.start_line - 1) + 1
        answer, sent = self._locate(block, pin)
        if isinstance(answer, Matched) and not _is_done_at(pin, self.document.lines, block, answer):
            edit = self._edit(-1, answer, sent)
            self._apply(edit)
            return applied(edit.first, edit.stage)
        if isinstance(answer, Ambiguous):
            return ambiguous(self.document.lines, answer, _REMEDY)
        done = says_already_applied(
            self.document.lines, _without_returns(block.replace), None if pin is None else pin - 1
        )
        return not_found(self.document.lines, sent.search) if done is None else already(done)

    def _locate(self, block: Block, start_line: int | None) -> tuple[Matched | Ambiguous | NotFound, Block]:
        """Where a block belongs, and the way of reading it that led there."""
        answer: Matched | Ambiguous | NotFound = NotFound()
        for way in _ways(block):
            number = start_line if way.start_line == block.start_line else way.start_line
            pin = None if number is None else number - 1
            answer = locate(self.document.lines, _without_returns(way.search), pin=pin, fuzzy=self._fuzzy)
            if not isinstance(answer, NotFound):
                return answer, way
        return answer, replace(block, search=_without_returns(block.search))

    def _edit(self, index: int, found: Matched, block: Block) -> _Edit:
        last = found.first + len(block.search)
        search, new = _without_returns(block.search), _without_returns(block.replace)
        old = self.document.lines[found.first : last]
        lines = reindented(old, search, new, unchanged_lines(search, new), found.stage)
        kept = common_start(old[::-1], lines[::-1])
        return _Edit(index, found.first, last, lines, self._ends(found, block), found.stage, kept)

    def _ends(self, found: Matched, block: Block) -> list[str | None]:
        """Line ends are the file's, unless the block shows that it means them."""
        wanted = [line.endswith("\r") for line in block.replace]
        theirs = self.document.ends[found.first : found.first + len(block.search)]
        sent = ["\r\n" if line.endswith("\r") else "\n" for line in block.search][: len(theirs)]
        if any(wanted) or ("\r\n" in sent and sent == list(theirs)):
            return ["\r\n" if each else "\n" for each in wanted]
        return [None] * len(block.replace)

    def _apply(self, edit: _Edit) -> None:
        self.document = self.document.splice(edit.first, edit.last, edit.lines, edit.ends)

    def _moved(self, line: int) -> int:
        """Where a line of the original is now."""
        before = (edit for edit in self._edits if edit.last - edit.kept <= line)
        return line + sum(len(edit.lines) - (edit.last - edit.first) for edit in before)


def _is_done_at(number: int | None, lines: Sequence[str], block: Block, found: Matched) -> bool:
    """Whether the new text stands at the line that the block names, and the old text only elsewhere."""
    if number is None or found.first == number - 1 or is_blank(block.replace):
        return False
    new = _without_returns(block.replace)
    return tuple(lines[number - 1 : number - 1 + len(new)]) == new


def _ways(block: Block) -> Iterator[Block]:
    yield block
    numbers = [_NUMBERED.match(line) for line in block.search]
    if all(numbers):
        first = numbers[0]
        pin = block.start_line or (int(first[1]) if first else None)
        yield Block(_stripped(block.search, _NUMBERED), _stripped(block.replace, _NUMBERED), pin)
    elif any(_WITH_BAR.match(line) for line in block.search):
        yield Block(_stripped(block.search, _WITH_BAR), _stripped(block.replace, _WITH_BAR), block.start_line)


def _stripped(lines: Sequence[str], pattern: re.Pattern[str]) -> tuple[str, ...]:
    return tuple(pattern.sub("", line, count=1) if pattern.match(line) else line for line in lines)


def _without_returns(lines: Sequence[str]) -> tuple[str, ...]:
    return tuple(line.removesuffix("\r") for line in lines)
