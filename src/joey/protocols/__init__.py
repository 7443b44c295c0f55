"""The protocols: how models call tools, and how their streams are read.

    parser = joey.protocols.get("native").parser(tools)
    for chunk in stream:
        for event in parser.feed(chunk): ...
    for event in parser.finish(): ...

`parse` does it for a whole reply. The table is open: `register` adds a protocol of your own.

Beside Joey's own protocols there are the dialects of open models (`dialects`), and `yaml_xml`, which `get` knows by
name as well. Each is loaded when it is first asked for: most programs need one, and none of the dialects.
"""

from __future__ import annotations

import difflib
import importlib
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any

from joey.chunks import Chunk
from joey.errors import UsageError
from joey.events import StreamEvent
from joey.protocols.base import BaseParser, OnError, ParseError, Parser, Protocol
from joey.protocols.reply import Reply, ReplyBuilder, collect
from joey.toolspec import ToolSpec

__all__ = [
    "BaseParser",
    "ParseError",
    "Parser",
    "Protocol",
    "Reply",
    "ReplyBuilder",
    "collect",
    "dialect_names",
    "get",
    "likely_dialects",
    "names",
    "parse",
    "register",
    "task_names",
    "text_names",
]

_OWN = {
    "native": ("native", "NativeProtocol"),
    "xml": ("xml.protocol", "XmlProtocol"),
    "json_mix": ("json_mix.protocol", "JsonMixProtocol"),
    "morph_xml": ("morph_xml.protocol", "MorphXmlProtocol"),
    "tool_choice": ("tool_choice", "ToolChoiceProtocol"),
}
"""Joey's own, each loaded when it is first asked for: module and class."""
_PROTOCOLS: dict[str, Protocol] = {}


def register(protocol: Protocol) -> None:
    """Add a protocol to the table, or replace the one of the same name."""
    _PROTOCOLS[protocol.name] = protocol


def get(name: str) -> Protocol:
    """The protocol of this name."""
    if name in _PROTOCOLS:
        return _PROTOCOLS[name]
    if name in _OWN:
        module, kind = _OWN[name]
        register(getattr(importlib.import_module(f"{__name__}.{module}"), kind)())
        return _PROTOCOLS[name]
    if name == "yaml_xml":
        return _yaml_xml()
    dialects = _dialects()
    if name not in dialects:
        near = difflib.get_close_matches(str(name), names(), n=1) or difflib.get_close_matches(str(name), dialects, n=1)
        hint = f"did you mean {near[0]!r}? Known: " if near else "choose one of "
        others = f"and {len(dialects)} dialects of open models (joey protocols)"
        raise UsageError(f"there is no protocol {name!r}; {hint}{', '.join(names())}, {others}")
    return dialects[name]


def dialect_names() -> tuple[str, ...]:
    """The names of the dialects of open models."""
    return tuple(_dialects())


def likely_dialects(
    *, template: str = "", model: str = "", reply: str = "", tools: Sequence[ToolSpec] = ()
) -> tuple[str, ...]:
    """The dialects that fit a chat template, a model's name or a reply, the most likely first; see `detect`."""
    detect = importlib.import_module("joey.protocols.detect").detect
    return tuple(found.name for found in detect(template=template, model=model, reply=reply, tools=tools))


def _dialects() -> Mapping[str, Protocol]:
    """The dialects, imported with the first call: their table costs more than the rest of this package."""
    found: Mapping[str, Protocol] = importlib.import_module("joey.protocols.dialects.protocol").PROTOCOLS
    return found


@cache
def _yaml_xml() -> Protocol:
    """Read and written like a dialect: by those who ask for it."""
    found: Protocol = importlib.import_module("joey.protocols.yaml_xml.protocol").YamlXmlProtocol()
    return found


def names() -> tuple[str, ...]:
    return tuple(dict.fromkeys((*_OWN, *_PROTOCOLS)))


def task_names() -> tuple[str, ...]:
    """The protocols that a task can be held in: all but those of forced calls."""
    return tuple(name for name in names() if not get(name).forced)


def text_names() -> tuple[str, ...]:
    """Those of them in which calls are written in the answer's text."""
    return tuple(name for name in task_names() if get(name).in_text)


def parse(
    stream: str | Iterable[str | Chunk],
    *,
    protocol: str | Protocol = "native",
    tools: Sequence[ToolSpec | Any] = (),
    on_error: OnError | None = None,
) -> Reply:
    """Read a whole reply: a text, or the chunks a provider sent. Tools may be OpenAI or Anthropic tool objects."""
    codec = protocol if isinstance(protocol, Protocol) else get(protocol)
    specs = [tool if isinstance(tool, ToolSpec) else ToolSpec.read(tool) for tool in tools]
    parser = codec.parser(specs, on_error=on_error)
    events: list[StreamEvent] = []
    for chunk in [stream] if isinstance(stream, str) else stream:
        if not isinstance(chunk, str | Chunk):
            raise UsageError(f"a reply is a text or the chunks of joey.chunks, not {type(chunk).__name__}: {chunk!r}")
        events += parser.feed(chunk)
    return collect(events + parser.finish())
