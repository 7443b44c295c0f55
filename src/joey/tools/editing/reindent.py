"""A replacement in the indentation of the place it goes to.

When lines were found exactly, their replacement goes in as it was sent. When white space did not count, then:

- a line that the edit does not change stays as it is in the file, white space and all;
- when indentation did not count, a changed or new line is moved: the pairs of (sent, in the file) indentations of
  the found lines say what each indentation becomes. One that is not among them builds on the longest one that it
  begins with, and what is deeper than that is turned into the file's kind of white space.

Nothing else about a line is altered: what is after its indentation goes in as sent, trailing white space included.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from joey.tools.editing.document import line_diff
from joey.tools.editing.matching import Stage, indentation

_USUAL_WIDTH = 4


def unchanged_lines(search: Sequence[str], replacement: Sequence[str]) -> dict[int, int]:
    """Which lines of a replacement stand for which lines of the search: those that the edit does not change."""
    equal = (piece for piece in line_diff(search, replacement) if piece.kind == "equal")
    return {piece.new + offset: piece.old + offset for piece in equal for offset in range(piece.old_end - piece.old)}


def reindented(
    found: Sequence[str], search: Sequence[str], replacement: Sequence[str], kept: Mapping[int, int], stage: Stage
) -> list[str]:
    """The replacement as it goes into the file, where `found` are the file's lines and `kept` the unchanged ones."""
    if stage is Stage.EXACT:
        return list(replacement)
    moved = replacement if stage.keeps_indentation else _moved(found, search, replacement)
    return [found[kept[index]] if index in kept else line for index, line in enumerate(moved)]


def _moved(found: Sequence[str], search: Sequence[str], replacement: Sequence[str]) -> list[str]:
    becomes: dict[str, str] = {}
    for theirs, ours in zip(found, search, strict=False):
        if ours.strip():
            becomes.setdefault(indentation(ours), indentation(theirs))
    width = _width([*search, *replacement, *found])
    return [_with_indentation(line, becomes, width) if line.strip() else line for line in replacement]


def _with_indentation(line: str, becomes: Mapping[str, str], width: int) -> str:
    own = indentation(line)
    return _translated(own, becomes, width) + line[len(own) :]


def _translated(own: str, becomes: Mapping[str, str], width: int) -> str:
    if own in becomes:
        return becomes[own]
    shallower = max((known for known in becomes if own.startswith(known)), key=len, default=None)
    if shallower is not None:
        return becomes[shallower] + _in_kind_of(becomes, own[len(shallower) :], width)
    deeper = min((known for known in becomes if known.startswith(own)), key=len, default=None)
    if deeper is None:
        return own
    surplus = _in_kind_of(becomes, deeper[len(own) :], width)
    target = becomes[deeper]
    return target.removesuffix(surplus) if target.endswith(surplus) else ""


def _in_kind_of(becomes: Mapping[str, str], extra: str, width: int) -> str:
    """Deeper white space in the file's kind, tabs or spaces, where what was sent is of the other kind."""
    sent, theirs = "".join(becomes), "".join(becomes.values())
    if "\t" in theirs and "\t" not in sent and "\t" not in extra:
        return "\t" * (len(extra) // width) + " " * (len(extra) % width)
    if " " in theirs and "\t" not in theirs:
        return extra.replace("\t", " " * width)
    return extra


def _width(lines: Sequence[str]) -> int:
    """How many spaces one level is: the smallest step there is."""
    widths = {len(own) for line in lines if line.strip() and "\t" not in (own := indentation(line))}
    steps = [later - earlier for earlier, later in zip(sorted(widths), sorted(widths)[1:], strict=False)]
    return min((step for step in steps if step > 1), default=_USUAL_WIDTH)
