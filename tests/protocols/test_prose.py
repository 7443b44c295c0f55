"""What of streamed Markdown is code."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from joey.protocols.prose import Prose
from joey.testing import cuttings


def _tags(pieces: list[str], *, quickly: bool = True) -> list[int]:
    """The places of every `<` outside code."""
    prose, found, before = Prose(), [], 0
    for piece in pieces:
        quick = quickly and "<" not in piece and prose.passes(piece)
        at = len(piece) if quick else prose.next_tag(piece, 0)
        while at < len(piece):
            found.append(before + at)
            at = prose.next_tag(piece, at + 1)
        before += len(piece)
    return found


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("a <b> c", 1),
        ("```xml\n<b>\n```", 0),
        ("```xml\n<b>\n```\n<b>", 1),
        ("~~~\n<b>\n```\n<b>\n~~~\n<b>", 1),
        ("````\n```\n<b>\n````\n<b>", 1),
        ("```\n<b>\n``` x\n<b>", 0),
        ("```\n<b>\n```  \r\n<b>", 1),
        ("> ```\n> <b>\n> ```\n<b>", 1),
        ("  1.\n     ```\n     <b>\n     ```\n<b>", 1),
        ("text ``` <b>\n<b>", 1),
        ("```x``` <b>", 1),
        ("```x`` <b>", 0),
        ("use `<b>` or <b>", 1),
        ("use ``a ` <b>`` or <b>", 1),
        ("an unmatched ` here <b>\n<b>", 1),
        ("~~struck~~ <b>", 1),
        ("~ <b>", 1),
        ("~~ ```\n<b>", 1),
        ("    <b>", 1),
        ("```\n", 0),
    ],
)
def test_tags_in_code_are_not_seen(text: str, seen: int) -> None:
    expected = _tags([text])
    assert len(expected) == seen
    for pieces in cuttings(text, seed=1):
        assert _tags(pieces) == expected


@pytest.mark.property
@given(st.lists(st.text("<`~> \t\nab", max_size=6), max_size=12))
def test_the_quick_way_through_a_piece_leads_to_the_same_place(pieces: list[str]) -> None:
    assert _tags(pieces) == _tags(["".join(pieces)]) == _tags(pieces, quickly=False)
