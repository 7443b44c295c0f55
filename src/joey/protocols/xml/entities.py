"""Entities of XML in what a model wrote."""

from __future__ import annotations

import re

_ENTITY = re.compile(r"&(?:(lt|gt|quot|apos|amp)|#([0-9]{1,7})|#[xX]([0-9a-fA-F]{1,6}));")
_NAMED = {"lt": "<", "gt": ">", "quot": '"', "apos": "'", "amp": "&"}


def decode_entities(text: str) -> str:
    """The five entities of XML and numeric references, read. Others, such as `&nbsp;`, stay."""
    return _ENTITY.sub(_decode_entity, text) if "&" in text else text


def _decode_entity(match: re.Match[str]) -> str:
    if match[1]:
        return _NAMED[match[1]]
    code = int(match[2]) if match[2] else int(match[3], 16)
    return chr(code) if 0 < code < 0x110000 and not 0xD800 <= code < 0xE000 else match[0]
