"""A reply of the Responses API, event by event or whole, to chunks.

A reply is a list of items. An item begins (`output_item.added`), grows by deltas and is given once more, whole, at its
end (`output_item.done`); at the very end the whole reply comes again (`response.completed`). Servers that resemble
OpenAI leave any of these out. So the reader notes what it has passed on of each item, and takes from a later, more
complete event only what is missing: a reply of deltas alone, of whole items alone, or of one last event reads the same.

    item:   unseen ──first piece──► open ──output_item.done──► closed
    reply:  open ──completed, incomplete──► ended        failed, error ──► ProviderError

An item of reasoning must go back as it came, before the calls it led to. It travels as a signature: its JSON. Without
`encrypted_content` it cannot go back (nothing is stored), and its words are all there is. The text of a custom tool is
passed on as the arguments of a call, piece by piece: one text in a JSON object. Items of tools that the server runs
itself are never requested, and are passed over, as is whatever is not known.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from joey.chunks import Chunk, ReasoningChunk, StopChunk, TextChunk, ToolCallChunk, UsageChunk
from joey.messages import StopReason
from joey.providers import errors
from joey.providers.decoding import shapes
from joey.providers.decoding.reader import ReplyReader, unexpected
from joey.providers.error_body import message_in

_TEXTS = {"output_text": "text", "refusal": "refusal", "text": "text"}
"""The kinds of content that a message has, and where each keeps its words."""
_UNFINISHED: dict[str, StopReason] = {"max_output_tokens": "length", "content_filter": "refusal"}
_PARTED = "\n\n"


@dataclass(slots=True)
class _Item:
    """What has been passed on of an item."""

    kind: str
    index: int
    parts: set[Any] = field(default_factory=set)
    """The parts of a text or a thought of which something came."""
    started: bool = False
    argument: str | None = None
    """For a custom tool: the argument that its text is, once that is known."""
    grew: bool = False
    closed: bool = False


class ResponsesReader(ReplyReader):
    """Reads one reply. `custom` names the argument of each tool that was offered as a custom one."""

    def __init__(self, custom: Mapping[str, str] | None = None) -> None:
        self._custom = custom or {}
        self._items: dict[Any, _Item] = {}
        self._stop: StopChunk | None = None
        self._called = False
        self._refused = False
        self._error: errors.ProviderError | None = None
        self._handlers: dict[str, Callable[[Mapping[str, Any]], Iterator[Chunk]]] = {
            "response.output_item.added": self._added,
            "response.output_item.done": self._done,
            "response.output_text.delta": self._text_delta,
            "response.refusal.delta": self._text_delta,
            "response.output_text.done": self._text_done,
            "response.refusal.done": self._text_done,
            "response.reasoning_summary_text.delta": self._thought,
            "response.reasoning_text.delta": self._thought,
            "response.function_call_arguments.delta": self._arguments,
            "response.custom_tool_call_input.delta": self._arguments,
            "response.completed": self._ended,
            "response.done": self._ended,
            "response.incomplete": self._ended,
            "response.failed": self._failed,
            "response.cancelled": self._failed,
            "error": self._note_error,
        }

    def read(self, name: str, data: Any) -> Iterator[Chunk]:
        event = shapes.mapping(data)
        kind = shapes.text(event.get("type")) or name
        if handler := self._handlers.get(kind):
            yield from handler({**event, "type": kind})
        elif event.get("error"):
            raise _error(event)

    def read_whole(self, body: Any) -> Iterator[Chunk]:
        response = shapes.mapping(body)
        if response.get("error") or response.get("status") in ("failed", "cancelled"):
            raise _error(response)
        if not isinstance(response.get("output"), list):
            raise errors.from_body(body) if message_in(body) else unexpected("the body", body)
        yield from self._ended({"response": response})

    @property
    def is_complete(self) -> bool:
        return self._stop is not None or self._error is not None

    def end(self, *, marked: bool) -> Iterator[Chunk]:
        if self._error is not None and self._stop is None:
            raise self._error
        if self._stop is None and not (marked and self._items):
            raise errors.CutStreamError("the reply broke off before its end")
        yield self._stop or self._reason({}, incomplete=False)

    # Items

    def _item(self, event: Mapping[str, Any], kind: str = "") -> _Item:
        """The item that an event belongs to: by its place, else by its id, else the newest of its kind."""
        index = shapes.index(event.get("output_index"))
        given = shapes.mapping(event.get("item"))
        name = shapes.word(event.get("item_id")) or shapes.word(given.get("id"))
        key: Any = index if index is not None else name or next(reversed(self._items), 0)
        if key not in self._items:
            self._items[key] = _Item(kind, len(self._items) if index is None else index)
        return self._items[key]

    def _added(self, event: Mapping[str, Any]) -> Iterator[Chunk]:
        given = _given(event)
        item = self._item(event)
        item.kind = shapes.text(given.get("type"))
        if item.kind in ("function_call", "custom_tool_call"):
            yield from self._start(item, given)

    def _done(self, event: Mapping[str, Any]) -> Iterator[Chunk]:
        """An item as it is at its end: what no delta brought is taken from it."""
        given = _given(event)
        item = self._item(event)
        if item.closed:
            return
        item.closed, item.kind = True, shapes.text(given.get("type"))
        if item.kind == "message":
            yield from self._rest_of_message(item, given)
        elif item.kind == "reasoning":
            yield from self._rest_of_reasoning(item, given)
        elif item.kind in ("function_call", "custom_tool_call"):
            yield from self._rest_of_call(item, given)

    # Text

    def _text_delta(self, event: Mapping[str, Any]) -> Iterator[Chunk]:
        self._refused = self._refused or event.get("type") == "response.refusal.delta"
        if piece := _piece(event.get("delta")):
            self._item(event, "message").parts.add(shapes.index(event.get("content_index")) or 0)
            yield TextChunk(piece)

    def _text_done(self, event: Mapping[str, Any]) -> Iterator[Chunk]:
        item, part = self._item(event, "message"), shapes.index(event.get("content_index")) or 0
        if part not in item.parts:
            yield from self._content(item, part, {**event, "type": event["type"].split(".")[1]})

    def _rest_of_message(self, item: _Item, given: Mapping[str, Any]) -> Iterator[Chunk]:
        content = given.get("content")
        parts = [{"type": "output_text", "text": content}] if isinstance(content, str) else shapes.items(content)
        for number, part in enumerate(map(shapes.mapping, parts)):
            if number not in item.parts:
                yield from self._content(item, number, part)

    def _content(self, item: _Item, number: int, part: Mapping[str, Any]) -> Iterator[Chunk]:
        kind = shapes.text(part.get("type")).removeprefix("response.")
        words = shapes.text(part.get(_TEXTS.get(kind, "")))
        self._refused = self._refused or kind == "refusal"
        if words:
            item.parts.add(number)
            yield TextChunk(words)

    # Reasoning

    def _thought(self, event: Mapping[str, Any]) -> Iterator[Chunk]:
        item = self._item(event, "reasoning")
        kind = event["type"].split(".")[1]
        part = (kind, shapes.index(event.get("summary_index", event.get("content_index"))) or 0)
        if piece := _piece(event.get("delta")):
            parted = bool(item.parts) and part not in item.parts
            item.parts.add(part)
            yield ReasoningChunk(_PARTED + piece if parted else piece)

    def _rest_of_reasoning(self, item: _Item, given: Mapping[str, Any]) -> Iterator[Chunk]:
        thoughts = _thoughts(given) if not item.parts else ""
        signature = json.dumps(given) if shapes.text(given.get("encrypted_content")) else None
        if thoughts or signature:
            yield ReasoningChunk(thoughts, signature)

    # Calls

    def _start(self, item: _Item, given: Mapping[str, Any]) -> Iterator[Chunk]:
        if item.started:
            return
        item.started = self._called = True
        name = shapes.word(given.get("name"))
        item.argument = self._custom.get(name, "input") if item.kind == "custom_tool_call" else None
        call_id = shapes.word(given.get("call_id")) or shapes.word(given.get("id"))
        yield ToolCallChunk(item.index, call_id or None, name or None)

    def _arguments(self, event: Mapping[str, Any]) -> Iterator[Chunk]:
        custom = event.get("type") == "response.custom_tool_call_input.delta"
        item = self._item(event, "custom_tool_call" if custom else "function_call")
        self._called = True
        if piece := _piece(event.get("delta")):
            yield self._grow(item, _escaped(piece) if item.argument else piece)

    def _grow(self, item: _Item, piece: str) -> ToolCallChunk:
        opening = f'{{"{item.argument}":"' if item.argument and not item.grew else ""
        item.grew = True
        return ToolCallChunk(item.index, arguments=opening + piece)

    def _rest_of_call(self, item: _Item, given: Mapping[str, Any]) -> Iterator[Chunk]:
        yield from self._start(item, given)
        if item.kind == "function_call":
            arguments = shapes.json_text(given.get("arguments"))
            if arguments and not item.grew:
                yield self._grow(item, arguments)
            return
        if not item.grew:
            yield self._grow(item, _escaped(shapes.text(given.get("input"))))
        yield ToolCallChunk(item.index, arguments='"}')

    # The end

    def _ended(self, event: Mapping[str, Any]) -> Iterator[Chunk]:
        response = shapes.mapping(event.get("response"))
        if response.get("status") == "failed":
            raise _error(response)
        for index, given in enumerate(shapes.items(response.get("output"))):
            yield from self._done({"output_index": self._place(index, given), "item": given})
        usage = response.get("usage")
        if isinstance(usage, dict):
            yield _usage(usage)
        self._stop = self._stop or self._reason(response, incomplete=event.get("type") == "response.incomplete")

    def _place(self, index: int, given: Any) -> Any:
        """The key of an item in the whole reply: servers that number nothing name their items."""
        name = shapes.word(shapes.mapping(given).get("id"))
        return index if index in self._items or name not in self._items else None

    def _reason(self, response: Mapping[str, Any], *, incomplete: bool) -> StopChunk:
        status = shapes.text(response.get("status"))
        if incomplete or status == "incomplete":
            why = shapes.text(shapes.mapping(response.get("incomplete_details")).get("reason"))
            return StopChunk(_UNFINISHED.get(why, "length"), why or "incomplete")
        if self._refused:
            return StopChunk("refusal", status)
        return StopChunk("tool_calls" if self._called else "end", status)

    def _note_error(self, event: Mapping[str, Any]) -> Iterator[Chunk]:
        """An error. That the reply failed may follow, with a better reason."""
        self._error = _error(event)
        yield from ()

    def _failed(self, event: Mapping[str, Any]) -> Iterator[Chunk]:
        response = shapes.mapping(event.get("response"))
        raise self._error if self._error and not response.get("error") else _error(response or event)


def _given(event: Mapping[str, Any]) -> Mapping[str, Any]:
    item = event.get("item")
    if not isinstance(item, dict):
        raise unexpected("an item", item)
    return item


def _piece(delta: Any) -> str:
    if delta is not None and not isinstance(delta, str):
        raise unexpected("a piece", delta)
    return delta or ""


def _error(source: Mapping[str, Any]) -> errors.ProviderError:
    error = source.get("error") or source
    return errors.from_body(error, began=True) if message_in(error) else errors.CutStreamError("the reply failed")


def _escaped(text: str) -> str:
    """A piece of a text as it stands in a JSON string. In ASCII, so that half a surrogate pair finds its other half."""
    return json.dumps(text)[1:-1]


def _thoughts(given: Mapping[str, Any]) -> str:
    """The words of a whole item of reasoning: its summary, else its content."""
    for name in ("summary", "content"):
        parts = (shapes.text(shapes.mapping(part).get("text")) for part in shapes.items(given.get(name)))
        if words := _PARTED.join(filter(None, parts)):
            return words
    return ""


def _usage(usage: Mapping[str, Any]) -> UsageChunk:
    """OpenAI counts cached tokens into the input; we do not."""
    details = shapes.mapping(usage.get("input_tokens_details"))
    read = shapes.count(details.get("cached_tokens")) or 0
    written = shapes.count(details.get("cache_write_tokens")) or 0
    everything = shapes.count(usage.get("input_tokens")) or 0
    thought = shapes.count(shapes.mapping(usage.get("output_tokens_details")).get("reasoning_tokens")) or 0
    output = shapes.count(usage.get("output_tokens")) or 0
    return UsageChunk(max(0, everything - read - written), output, written, read, thought)
