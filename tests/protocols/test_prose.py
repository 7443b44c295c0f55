"""What of streamed Markdown is code."""

from __future__ import annotations

import pytest

from joey.protocols.prose import Prose
from joey.testing import cuttings


def _tags(pieces: list[str]) -> list[int]:
    """The places of every `<` outside code."""
    prose, found, before = Prose(), [], 0
    for piece in pieces:
        at = prose.next_tag(piece, 0)
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
        ("    <b>", 1),
        ("```\n", 0),
    ],
)
def test_tags_in_code_are_not_seen(text: str, seen: int) -> None:
    expected = _tags([text])
    assert len(expected) == seen
    for pieces in cuttings(text, seed=1):
        assert _tags(pieces) == expected
