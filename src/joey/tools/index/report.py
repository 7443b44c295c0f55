"""What was found, in words: for the model, and for whoever searches manually."""

from __future__ import annotations

from collections.abc import Iterator

from joey.system.filenames import quoted
from joey.tools.index.search import SearchAnswer, SearchHit, SearchRequest
from joey.tools.reading.lines import number_lines, split_lines

_LINES = 60
_MAX_LINE = 400
_PLACES = 3


def report(request: SearchRequest, answer: SearchAnswer) -> str:
    """The question, what was searched and how, the pieces, and what should be known about the answer."""
    parts = [f"Query: {_one_line(request.question)}\n{_searched(answer)}"]
    parts += [_found(each) for each in answer.found]
    if not answer.found:
        parts.append("No results." + ("" if answer.by_meaning else " Only code that says one of the words is found."))
    parts += [f"({note})" for note in _notes(answer)]
    return "\n\n".join(parts)


def _searched(answer: SearchAnswer) -> str:
    counts = answer.counts
    how = "by keywords and by meaning" if answer.by_meaning else "by keywords only"
    return f"Searched: {counts.pieces:,} pieces of {counts.files:,} files, {how}."


def _found(found: SearchHit) -> str:
    piece = found.piece
    lines = split_lines(piece.text)
    name = f" ({_one_line(piece.name)})" if piece.name else ""
    head = [f"File path: {quoted(piece.path)}", f"Score: {found.score:.2f}", f"Lines: {piece.first}-{piece.last}{name}"]
    if found.also_in:
        more = len(found.also_in) - _PLACES
        also = ", ".join(map(quoted, found.also_in[:_PLACES])) + (f" and {more} more" if more > 0 else "")
        head.append(f"The same code: {also}")
    if found.changed:
        head.append("(The file has changed since it was indexed: these may not be its lines any more.)")
    shown = number_lines(lines[:_LINES], piece.first, max_length=_MAX_LINE)
    if len(lines) > _LINES:
        shown += f"\n({len(lines) - _LINES} more lines; use read_file)"
    return "\n".join([*head, "Code Chunk:", shown])


def _notes(answer: SearchAnswer) -> Iterator[str]:
    yield from answer.notes
    left = answer.freshness
    if left.waiting:
        yield (
            f"The index is not complete: {len(left.waiting):,} of {left.files:,} files are not read yet. "
            "Search again to go on, or run `joey index`."
        )
    if left.unembedded:
        yield (
            f"The index is not complete: {left.unembedded:,} of {answer.counts.texts:,} pieces are ranked by keywords "
            "only so far. `joey index` finishes it."
        )
    if left.too_many:
        yield "The workspace has more files than an index holds; some are left out."


def _one_line(text: str) -> str:
    return " ".join(text.split())
