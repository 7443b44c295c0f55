"""One string of a file for another, or several one after the other, all or none.

The old string is looked for as it is, anywhere in the text; `\\n` in it stands for whatever line ends the file has.
Only if it is nowhere are its lines looked for as whole lines in the looser stages of `matching`. In either case the
number of places must be the expected one. The new string goes in as it is: no pattern characters, no trimming; only
where indentation did not count is it moved to the indentation of the place.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from joey.system.filenames import quoted
from joey.tools.base import ToolContext
from joey.tools.editing.block_edit import says_already_applied
from joey.tools.editing.document import Document
from joey.tools.editing.matching import Ambiguous, Stage, is_blank, places
from joey.tools.editing.outcomes import EditOutcome, already, ambiguous, applied, failure, not_found, report, span
from joey.tools.editing.planning import EditRefused, Prepared, missing_file, not_as_read, open_source
from joey.tools.editing.reindent import reindented, unchanged_lines


@dataclass(frozen=True, slots=True)
class TextEdit:
    """Put `new` where `old` is, in exactly `count` places; None is for all there are."""

    old: str
    new: str
    count: int | None = 1


@dataclass(frozen=True, slots=True)
class Remedies:
    """What a tool tells a model to do about too many places."""

    ambiguous: str = "Make the old string unique by adding lines around it."
    several: str = ""
    """How to change all places; after the above."""


def apply_text_edit(
    document: Document, edit: TextEdit, remedies: Remedies | None = None
) -> tuple[Document, EditOutcome]:
    """The new document (the old one if it failed) and the verdict."""
    old, new = edit.old.replace("\r\n", "\n"), edit.new.replace("\r\n", "\n")
    if not old:
        return document, failure("the old string is empty. To create a file or fill an empty one, use write_to_file.")
    if edit.old == edit.new:
        return document, failure("the old and the new string are the same, so there is nothing to change.")
    return _Places(document, edit, old, new, remedies or Remedies()).apply()


@dataclass(frozen=True, slots=True)
class _Places:
    document: Document
    edit: TextEdit
    old: str
    new: str
    remedies: Remedies

    def apply(self) -> tuple[Document, EditOutcome]:
        offsets = self._offsets()
        if offsets:
            lines = self.document.lines_at(offsets)
            wrong = self._wrong_count(lines, Stage.EXACT)
            return (self.document, wrong) if wrong else (self._replaced(offsets), _done(lines, Stage.EXACT))
        wanted = self.old.removesuffix("\n").split("\n")
        if is_blank(wanted):
            return self.document, failure("not found: the file has no such white space. Read the file again.")
        stage, found = places(self.document.lines, wanted)
        if not found:
            return self.document, self._missing(wanted)
        wrong = self._wrong_count(found, stage)
        return (self.document, wrong) if wrong else (self._respliced(found, wanted, stage), _done(found, stage))

    def _offsets(self) -> list[int]:
        """Where the old string is: every place when it must be unique, otherwise those that do not overlap."""
        step = 1 if self.edit.count == 1 else len(self.old)
        text, found = self.document.plain, []
        at = text.find(self.old)
        while at >= 0:
            found.append(at)
            at = text.find(self.old, at + step)
        return found

    def _wrong_count(self, lines: Sequence[int], stage: Stage) -> EditOutcome | None:
        if self.edit.count is None or len(lines) == self.edit.count:
            return None
        remedy = f"{self.remedies.ambiguous} {self.remedies.several}".strip()
        if self.edit.count == 1:
            return ambiguous(self.document.lines, Ambiguous(tuple(lines), stage), remedy)
        found = "1 place matches" if len(lines) == 1 else f"{len(lines)} places match"
        listed = ("line " if len(lines) == 1 else "lines ") + ", ".join(str(line + 1) for line in lines[:20])
        return failure(f"{found} where {self.edit.count} were expected: {listed}. {remedy}")

    def _replaced(self, offsets: Sequence[int]) -> Document:
        # A line end that is named is meant; `\n` alone is whatever the file uses.
        literal = "\r\n" in self.edit.new or ("\r\n" in self.edit.old and self.edit.old in self.document.text)
        new = self.edit.new if literal else self.new
        return self.document.replace_each(offsets, len(self.old), new, literal_ends=literal)

    def _respliced(self, found: Sequence[int], wanted: Sequence[str], stage: Stage) -> Document:
        document = self.document
        new, closed = self.new, self.old.endswith("\n")
        joins = closed and bool(new) and not new.endswith("\n")
        replacement = new.removesuffix("\n").split("\n") if closed else new.split("\n")
        if closed and not new:
            replacement = []
        for first in reversed(found):
            last = first + len(wanted)
            lines = reindented(
                document.lines[first:last], wanted, replacement, unchanged_lines(wanted, replacement), stage
            )
            if joins and last < len(document.lines):
                lines[-1] += document.lines[last]
                last += 1
            document = document.splice(first, last, lines)
        return document

    def _missing(self, wanted: Sequence[str]) -> EditOutcome:
        new = self.new.removesuffix("\n").split("\n")
        done = says_already_applied(self.document.lines, new, None)
        return not_found(self.document.lines, wanted) if done is None else already(done)


def _done(lines: Sequence[int], stage: Stage) -> EditOutcome:
    if len(lines) == 1:
        return applied(lines[0], stage)
    note = f" ({stage.value})" if stage.value else ""
    listed = ", ".join(span(line, line + 1).removeprefix("line ") for line in lines[:20])
    return EditOutcome("applied", f"applied in {len(lines)} places, lines {listed}{note}.")


def prepare_text_edits(context: ToolContext, name: str, edits: Sequence[TextEdit], remedies: Remedies) -> Prepared:
    """Each edit works on what the ones before it made of the file."""
    source = open_source(context, name)
    if source is None:
        raise missing_file(name)
    document, verdicts = source.document, []
    for edit in edits:
        document, verdict = apply_text_edit(document, edit, remedies)
        verdicts.append(verdict)
    words = report(verdicts, "Replacement")
    if any(verdict.failed for verdict in verdicts):
        note = not_as_read(context, source.path, name, source.data)
        raise EditRefused(f"Nothing was changed in {quoted(name)}.\n{words}{note}")
    return Prepared((source.edited(document),), f"Changes applied to {quoted(name)}", (words,))
