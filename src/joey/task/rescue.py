"""Calls that a model wrote in another form than it should: into its text instead of natively, or in another dialect.

Small and self-hosted models do this: the server has no parser for their dialect, or they fall back to one they know.
A reply without a call is read once more with each of our text protocols, and in the dialects of open models.
Only complete calls of known tools count, and only where the protocol that finds them finds no fault; a call without any
marker around it counts only if it is the whole reply. Code fences are prose: a model that explains a call
is not making one. A fence inside a call is part of an argument (a README that is being written), so fences are not cut
out but hidden behind a mark while the text is read, and put back wherever the mark ends up.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from joey import protocols
from joey.events import ToolCallFinished
from joey.protocols.reply import Reply
from joey.toolspec import ToolSpec

_FENCE = re.compile(r"^[ \t]*(```|~~~)[^\n]*\n.*?(?:^[ \t]*\1[^\n]*$|\Z)", re.DOTALL | re.MULTILINE)
_MAY_CALL = re.compile(r"<|\[TOOL_CALLS\]|functools\[|\A\s*[\[{]")
_BARE = frozenset({"llama3_json", "xlam", "pythonic", "llama4_pythonic", "qwen2_5_coder", "functionary_v32"})
"""Dialects that read calls without any marker."""
_QUOTED = re.compile(r"`[^`\n]+`")
_MARK = re.compile("\ue000(\\d+)\ue001")
"""Two private characters around a number: no model says them, and no protocol gives them a meaning."""


@dataclass(frozen=True, slots=True)
class Rescued:
    """The calls found in a text, and what the text says apart from them."""

    calls: tuple[ToolCallFinished, ...]
    around: str


def calls_in_text(text: str, tools: Sequence[ToolSpec]) -> Rescued | None:
    """What the first protocol finds that reads the text without a fault; None if there is no call."""
    if not tools or not _MAY_CALL.search(text) or _MARK.search(text):
        return None
    fences: list[str] = []
    hidden = _FENCE.sub(lambda found: _hide(found.group(), fences), text)
    for name in (*protocols.text_names(), *_dialects(hidden, tools)):
        if rescued := _read(name, hidden, tools):
            if name in _BARE and rescued.around:
                continue
            calls = tuple(replace(call, arguments=_restored(call.arguments, fences)) for call in rescued.calls)
            return Rescued(calls, _restored(rescued.around, fences))
    return None


def _dialects(text: str, tools: Sequence[ToolSpec]) -> Iterator[str]:
    """The dialects that could have written it, looked up only when none of our own protocols reads a call."""
    yield from protocols.likely_dialects(reply=text, tools=tools)


def is_answer(reply: Reply, tools: Sequence[ToolSpec]) -> bool:
    """Whether a reply without a call is whole, and meant for the user: it did not try to call a tool, and fail."""
    if reply.malformed or reply.stop == "length":
        return False
    return bool(reply.text.strip()) and not tries_to_call(reply.text, tools)


def tries_to_call(text: str, tools: Sequence[ToolSpec]) -> bool:
    """Whether the text holds a call of a known tool, whole or broken, in any protocol: no answer to anybody. What
    stands in code, in a fence or in a line, is quoted."""
    if "<" not in text or not tools:
        return False
    prose, known = _QUOTED.sub("", _FENCE.sub("", text)), {tool.name for tool in tools}
    replies = (_reply(name, prose, tools) for name in protocols.text_names())
    return any(
        {each.name for each in reply.calls} & known or {each.name for each in reply.malformed} & known
        for reply in replies
    )


def _reply(dialect: str, text: str, tools: Sequence[ToolSpec]) -> Reply:
    parser = protocols.get(dialect).parser(tools)
    return protocols.collect(parser.feed(text) + parser.finish())


def _read(dialect: str, text: str, tools: Sequence[ToolSpec]) -> Rescued | None:
    reply = _reply(dialect, text, tools)
    known = {tool.name for tool in tools}
    if reply.malformed or not reply.calls:
        return None
    if not all(call.name in known and isinstance(call.arguments, dict) for call in reply.calls):
        return None
    return Rescued(reply.calls, reply.text.strip())


def _hide(fence: str, fences: list[str]) -> str:
    fences.append(fence)
    return f"\ue000{len(fences) - 1}\ue001"


def _restored(value: Any, fences: Sequence[str]) -> Any:
    if isinstance(value, str):
        return _MARK.sub(lambda mark: fences[int(mark[1])], value)
    if isinstance(value, dict):
        return {key: _restored(item, fences) for key, item in value.items()}
    return [_restored(item, fences) for item in value] if isinstance(value, list) else value
