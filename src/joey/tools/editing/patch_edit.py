"""The chunks of an Update section applied to a document, all or none.

Chunks come in the order of the file: each is looked for after the one before it. A chunk that says nothing about its
place must have only one there. What can say more: context lines (`@@ def f():`), of which the first fitting place
after each counts; a line number; the end of the file. A context line may be the last row before the change or far
above it; white space around it does not count, and it may be cut short, as headers of diffs are.

Kept rows stay as they are in the file. Added rows go in as sent, moved to the file's indentation where that did not
count. Rows that are only added go after their context line, or to the end of the file if there is none.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from joey.tools.editing.block_edit import says_already_applied
from joey.tools.editing.document import Document
from joey.tools.editing.matching import Ambiguous, Matched, NotFound, Stage, nearest, places
from joey.tools.editing.outcomes import EditedDocument, EditOutcome, already, ambiguous, applied, failure, not_found
from joey.tools.editing.patch import Chunk, Sign
from joey.tools.editing.reindent import reindented

_REMEDY = "Add kept lines around the change, or name the enclosing line with '@@ def name():'."


def apply_chunks(document: Document, chunks: Sequence[Chunk]) -> EditedDocument:
    work = _Work(document)
    verdicts = tuple(work.apply(chunk) for chunk in chunks)
    failed = any(verdict.failed for verdict in verdicts)
    return EditedDocument(document if failed else work.document, verdicts)


class _Work:
    def __init__(self, document: Document) -> None:
        self.document = document
        self._cursor = 0
        """Chunks are looked for from this line on."""
        self._shift = 0
        """How many lines the chunks so far added."""

    def apply(self, chunk: Chunk) -> EditOutcome:
        # A final newline that the chunk speaks of is an empty last line to us.
        chunk = _with_final_line(chunk)
        if not chunk.old:
            return self._append(chunk)
        answer, chunk = self._locate(chunk)
        if isinstance(answer, Matched):
            self._splice(answer, chunk)
            return applied(answer.first, answer.stage)
        if isinstance(answer, Ambiguous):
            return ambiguous(self.document.lines, answer, _REMEDY)
        return self._missing(chunk)

    def _locate(self, chunk: Chunk) -> tuple[Matched | Ambiguous | NotFound, Chunk]:
        """Where a chunk belongs; an empty kept row at its end that is not in the file is taken for a separator."""
        answer = self._place(chunk)
        while isinstance(answer, NotFound) and len(chunk.rows) > 1 and chunk.rows[-1] == (" ", ""):
            chunk = replace(chunk, rows=chunk.rows[:-1])
            answer = self._place(chunk) if chunk.old else answer
        return answer, chunk

    def _place(self, chunk: Chunk) -> Matched | Ambiguous | NotFound:
        if chunk.context:
            return self._place_after_context(chunk)
        stage, found = self._places(chunk, self._cursor)
        pin = None if chunk.line is None else chunk.line - 1 + self._shift
        if len(found) > 1 and pin in found and pin is not None:
            return Matched(pin, stage)
        return _only(found, stage)

    def _place_after_context(self, chunk: Chunk) -> Matched | Ambiguous | NotFound:
        """The first place after each place of the context. The last context line may be the chunk's own first row."""
        stage, found = Stage.EXACT, set()
        for start in self._contexts(chunk):
            stage_here, following = self._places(chunk, start - 1)
            if following:
                stage = stage_here
                found.add(following[0])
        return _only(sorted(found), stage)

    def _places(self, chunk: Chunk, start: int) -> tuple[Stage, list[int]]:
        stage, found = places(self.document.lines, _texts(chunk.old), start=start)
        last = [at for at in found if self._is_last(at + len(chunk.old))] if chunk.at_end else []
        return stage, last or found

    def _contexts(self, chunk: Chunk) -> list[int]:
        """The lines below the context: after each place of its first line, the nearest of each further one."""
        outer, *inner = chunk.context
        starts = {at + 1 for at in self._context_places(outer, self._cursor)}
        for line in inner:
            following = (self._context_places(line, start) for start in starts)
            starts = {found[0] + 1 for found in following if found}
        return sorted(starts)

    def _context_places(self, line: str, start: int) -> list[int]:
        """Where a context line is; if no line is that line, where lines begin with it, as headers are cut short."""
        whole = places(self.document.lines, [line], start=start)[1]
        begins = (at for at in range(start, len(self.document.lines)) if self._begins_with(at, line.strip()))
        return whole or list(begins)

    def _begins_with(self, at: int, text: str) -> bool:
        return bool(text) and self.document.lines[at].strip().startswith(text)

    def _is_last(self, line: int) -> bool:
        """Whether only the empty line that a final newline makes comes at or after this one."""
        return line >= len(self.document.lines) or self.document.lines[line:] == ("",)

    def _splice(self, found: Matched, chunk: Chunk) -> None:
        last = found.first + len(chunk.old)
        kept: dict[int, int] = {}
        old = new = 0
        for sign, _text in chunk.rows:
            if sign == " ":
                kept[new] = old
            old += sign != "+"
            new += sign != "-"
        present = self.document.lines[found.first : last]
        self._put(
            found.first, last, reindented(present, _texts(chunk.old), _texts(chunk.new), kept, found.stage), chunk
        )

    def _append(self, chunk: Chunk) -> EditOutcome:
        """Rows that are only added."""
        if chunk.context and not chunk.at_end:
            starts = self._contexts(chunk)
            if len(starts) != 1:
                return self._context_failure(chunk, [start - 1 for start in starts])
            first = starts[0]
        elif chunk.line is not None and not chunk.at_end:
            first = min(max(chunk.line + self._shift, 0), len(self.document.lines))
        else:
            first = len(self.document.lines) - (self.document.lines[-1] == "")
        self._put(first, first, list(_texts(chunk.new)), chunk)
        return applied(first)

    def _put(self, first: int, last: int, lines: list[str], chunk: Chunk) -> None:
        self.document = self.document.splice(first, last, lines, _ends(chunk))
        # The next chunk may begin with the rows that this one kept at its end.
        self._cursor = first + len(lines) - _kept_at_end(chunk)
        self._shift += len(lines) - (last - first)

    def _missing(self, chunk: Chunk) -> EditOutcome:
        if chunk.context and not self._contexts(chunk):
            return self._context_failure(chunk, [])
        line = None if chunk.line is None else chunk.line - 1 + self._shift
        done = says_already_applied(self.document.lines, _texts(chunk.new), line)
        if done is not None:
            return already(done)
        earlier = places(self.document.lines, _texts(chunk.old))[1]
        if earlier:
            return failure(
                f"its lines are at line {earlier[0] + 1}, which is before the chunk above it or before its '@@' line. "
                "Send the chunks in the order of the file, and after '@@ ' a line above the change."
            )
        return not_found(self.document.lines, _texts(chunk.old))

    def _context_failure(self, chunk: Chunk, found: Sequence[int]) -> EditOutcome:
        named = " and then ".join(f"'@@ {line}'" for line in chunk.context)
        if found:
            answer = Ambiguous(tuple(found), Stage.EXACT)
            return ambiguous(self.document.lines, answer, f"They all fit {named}. {_REMEDY}")
        near = nearest(self.document.lines, [chunk.context[-1].strip()])
        hint = "" if near is None else f" The nearest is line {near.first + 1}: '{self.document.lines[near.first]}'."
        where = f"after line {self._cursor}" if self._cursor else "of the file"
        return failure(
            f"no line {where} fits {named}.{hint} After '@@ ' comes a line of the file; '@@' alone names none."
        )


def _only(found: Sequence[int], stage: Stage) -> Matched | Ambiguous | NotFound:
    if len(found) > 1:
        return Ambiguous(tuple(found), stage)
    return Matched(found[0], stage) if found else NotFound()


def _kept_at_end(chunk: Chunk) -> int:
    return next((at for at, (sign, _text) in enumerate(reversed(chunk.rows)) if sign != " "), len(chunk.rows))


def _with_final_line(chunk: Chunk) -> Chunk:
    """A change of the final newline as rows: with one, the file has an empty line at its end."""
    if chunk.old_unfinished == chunk.new_unfinished:
        return chunk
    sign: Sign = "+" if chunk.old_unfinished else "-"
    return replace(chunk, rows=(*chunk.rows, (sign, "")))


def _texts(lines: Sequence[str]) -> tuple[str, ...]:
    return tuple(line.removesuffix("\r") for line in lines)


def _ends(chunk: Chunk) -> list[str | None]:
    """Line ends are the file's, unless an added row shows that it means them."""
    wanted = any(sign == "+" and text.endswith("\r") for sign, text in chunk.rows)
    return [
        ("\r\n" if text.endswith("\r") else "\n") if wanted and sign == "+" else None
        for sign, text in chunk.rows
        if sign != "-"
    ]
