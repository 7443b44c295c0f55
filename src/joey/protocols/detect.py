"""Which dialect a model writes, told by its chat template, its name or a reply. See `dialects.detect`."""

from __future__ import annotations

from collections.abc import Sequence

from joey.protocols.dialects.detect import Detected, from_model, from_template, names_of, signs_of
from joey.protocols.dialects.detect import from_reply as _from_reply
from joey.protocols.dialects.protocol import PROTOCOLS
from joey.toolspec import ToolSpec

__all__ = ["Detected", "detect", "from_model", "from_reply", "from_template", "names_of", "signs_of"]


def from_reply(reply: str, tools: Sequence[ToolSpec] = ()) -> list[Detected]:
    """The dialects that could have written a reply that calls tools; none if it calls none."""
    return _from_reply(reply, PROTOCOLS, tools)


def detect(*, template: str = "", model: str = "", reply: str = "", tools: Sequence[ToolSpec] = ()) -> list[Detected]:
    """The dialects that fit what is known, the most likely first: a template says more than a name, and a name decides
    between dialects that write the same."""
    found = from_template(template) if template else []
    named = from_model(model) if model else []
    if found and named:
        best = [each for each in found if each.score == found[0].score or each.name == named[0].name]
        return sorted(best, key=lambda each: each.name != named[0].name) + [each for each in found if each not in best]
    return found or named or (from_reply(reply, tools) if reply else [])
