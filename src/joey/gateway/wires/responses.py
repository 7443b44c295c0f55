"""OpenAI's Responses.

The conversation is a list of items: messages, calls, results, reasoning, and lists of tools in the middle of it. Tools
may be in namespaces, or take one text ("custom"). Replies are kept for a while, so that `previous_response_id` and
`item_reference` work.

A stream: created, in_progress, then for each item its added event, what grows in it, and its done event with the whole
item, which is all that Codex reads; then completed, incomplete or failed, with the whole response. A call that must not
run never gets its done event.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

from joey.gateway.arguments import compact
from joey.gateway.offered import INPUT, OfferedTool, OfferedTools, custom_tool, function_tool
from joey.gateway.pieces import (
    CallBegin,
    CallBroken,
    CallEnd,
    CallPiece,
    Piece,
    ReasoningEnd,
    ReasoningPiece,
    ReplyEnd,
    TextEnd,
    TextPiece,
)
from joey.gateway.refusal import Refusal, invalid
from joey.gateway.replies import KeptReplies
from joey.gateway.request import ClientRequest, ConversationReader
from joey.gateway.wires.base import ReadingContext, WholeReply, Wire, WireWriter, new_id, sse
from joey.gateway.wires.chat import format_of, openai_error
from joey.gateway.wires.choices import choice_of
from joey.gateway.wires.content import (
    arguments_of,
    effort_of,
    items,
    mapping,
    model_of,
    number,
    parts_of,
    temperature_of,
    text_of,
    unknown_role,
)
from joey.gateway.wires.fields import sent_on
from joey.messages import ReasoningBlock, ToolResultBlock, ToolUseBlock
from joey.usage import Usage
from joey.wire import JsonObject

_ECHOED = (
    "max_output_tokens", "metadata", "parallel_tool_calls", "previous_response_id", "reasoning", "store",
    "temperature", "text", "tool_choice", "top_p", "truncation", "user", "prompt_cache_key",
)  # fmt: skip
_SEALED = "reasoning.encrypted_content"
_TOOL_LISTS = ("additional_tools", "tool_search_output")
_COMPACTED = "[The conversation before this was compacted by another server and cannot be read.]"


class ResponsesWire(Wire):
    """POST /v1/responses."""

    name: ClassVar[str] = "responses"
    path: ClassVar[str] = "/responses"

    def read(self, body: JsonObject, context: ReadingContext) -> ClientRequest:
        given = _items(body, context.replies)
        tools = _tools(body, given)
        parallel = body.get("parallel_tool_calls") is not False
        choice, callable_tools = choice_of(tools, body.get("tool_choice"), parallel=parallel)
        conversation = ConversationReader()
        conversation.system(text_of(body.get("instructions") or ""))
        for item in given:
            _add(conversation, mapping(item), tools, context)
        if not conversation.messages and not conversation.system_prompt:
            raise invalid(f"input {'has no content' if body.get('input') else 'must not be empty'}", "input")
        included = body.get("include")
        return ClientRequest(
            model=model_of(body),
            messages=conversation.messages,
            system=conversation.system_prompt,
            tools=tools,
            choice=choice,
            callable_tools=callable_tools,
            max_tokens=number(body, "max_output_tokens"),
            temperature=temperature_of(body),
            effort=effort_of(mapping(body.get("reasoning")).get("effort")),
            sent_on=sent_on(self.name, body),
            format=format_of(mapping(body.get("text")).get("format"), "text.format"),
            stream=body.get("stream") is True,
            include_usage=True,
            include_sealed=isinstance(included, list) and _SEALED in included,
            conversation=str(body.get("prompt_cache_key") or ""),
            echo={**{name: body[name] for name in _ECHOED if name in body}, "input": given},
        )

    def writer(self, request: ClientRequest, replies: KeptReplies) -> WireWriter:
        return ResponsesWriter(request, replies)

    def error(self, refusal: Refusal) -> JsonObject:
        return openai_error(refusal)


# The request


def _items(body: JsonObject, replies: KeptReplies) -> list[Any]:
    given = body.get("input")
    listed = [{"role": "user", "content": given}] if isinstance(given, str) else items(given, "input")
    new = [_referred(item, replies) for item in listed]
    previous = body.get("previous_response_id")
    if previous is None:
        return new
    kept = replies.find(str(previous))
    if kept is None:
        raise invalid(
            f"the previous response {previous!r} was not found; send the whole conversation",
            "previous_response_id",
        )
    return [*kept, *new]


def _referred(item: Any, replies: KeptReplies) -> Any:
    """The item itself, or the one of an earlier response that it refers to."""
    if mapping(item).get("type") != "item_reference":
        return item
    found = replies.item(str(item.get("id")))
    if found is None:
        raise invalid(f"input: the item {item.get('id')!r} was not found; send the whole item", "input")
    return found


def _tools(body: JsonObject, given: Sequence[Any]) -> OfferedTools:
    """Those of the request, and those of every item that brings some."""
    listed = list(items(body.get("tools"), "tools"))
    for item in map(mapping, given):
        if item.get("type") in _TOOL_LISTS:
            listed += items(item.get("tools"), "tools")
    dropped: list[str] = []
    return OfferedTools.of(list(_offered(listed, "", dropped)), dropped)


def _offered(listed: Sequence[Any], namespace: str, dropped: list[str]) -> Iterator[OfferedTool]:
    for tool in listed:
        kind = mapping(tool).get("type", "function")
        if kind == "namespace":
            inner = items(tool.get("tools"), "tools")
            yield from _offered(inner, str(tool.get("name") or ""), dropped)
        elif kind == "function":
            yield function_tool(tool, namespace)
        elif kind == "custom":
            if not isinstance(tool.get("name"), str) or not tool["name"]:
                raise invalid("a custom tool needs a name", "tools")
            yield custom_tool(tool, namespace)
        else:
            dropped.append(str(kind))


def _add(
    conversation: ConversationReader, item: Mapping[str, Any], tools: OfferedTools, context: ReadingContext
) -> None:
    kind = item.get("type") or "message"
    if kind == "message":
        _message(conversation, item)
    elif kind == "reasoning":
        conversation.add("assistant", list(_reasoning(item, context)))
    elif problem := _refused_item(kind, item):
        raise invalid(f"input: {problem}", "input")
    elif kind == "compaction":
        conversation.system(_COMPACTED)
    elif kind in _TOOL_LISTS or kind == "tool_search_call":
        pass  # the tools are offered
    elif str(kind).endswith("_output") and ("call_id" in item or "id" in item):
        content = tuple(parts_of(_output(item.get("output", item.get("result")))))
        conversation.add("user", [ToolResultBlock(str(item.get("call_id") or item.get("id")), content)])
    elif "call_id" in item:
        name = str(item.get("name") or kind)
        text = item.get("input", item.get("code"))
        given = {INPUT: str(text)} if text is not None else arguments_of(item.get("arguments") or item.get("action"))
        flat = tools.flat_name(name, str(item.get("namespace") or ""))
        conversation.add("assistant", [ToolUseBlock(str(item["call_id"]), flat, given)])


def _refused_item(kind: Any, item: Mapping[str, Any]) -> str:
    """Why an item cannot be understood: without it the answer would be another one."""
    if kind == "compaction_trigger":
        return "compaction is not supported; ask for a summary in a message"
    if kind == "configuration_update" and item.get("text") is not None:
        return "configuration_update is not supported; send `text` with the request"
    return ""


def _output(output: Any) -> Any:
    """A text, or parts that can be shown. Anything else is shown as the JSON that it is."""
    listed = output if isinstance(output, list) else [output]
    is_parts = all(isinstance(part, str) or "type" in mapping(part) for part in listed)
    is_own = isinstance(output, Mapping) and output.get("type") != "computer_screenshot"
    return output if output is None or (is_parts and not is_own) else compact(output)


def _message(conversation: ConversationReader, item: Mapping[str, Any]) -> None:
    role, content = item.get("role"), item.get("content")
    if role in ("system", "developer"):
        conversation.system(text_of(content))
    elif role == "assistant":
        conversation.add("assistant", parts_of(content))
    elif role in ("user", None):
        conversation.add("user", parts_of(content))
    else:
        raise unknown_role(role, "input")


def _reasoning(item: Mapping[str, Any], context: ReadingContext) -> Iterator[ReasoningBlock]:
    sealed = context.seal.open(item.get("encrypted_content"))
    text = text_of(item.get("content") or item.get("summary") or [])
    if sealed is not None or text:
        yield sealed or ReasoningBlock(text)


# The answer


class ResponsesWriter(WireWriter):
    """Writes events; the last has the whole response, which is the answer that is not streamed."""

    def __init__(self, request: ClientRequest, replies: KeptReplies) -> None:
        self._request = request
        self._replies = replies
        self._id, self._created = new_id("resp_"), int(time.time())
        self._number = 0
        self._output: list[JsonObject] = []
        self._item: dict[str, Any] = {}
        self._text = ""

    def begin(self) -> bytes:
        response = self._response("in_progress")
        return self._event("response.created", response=response) + self._event(
            "response.in_progress", response=response
        )

    def write(self, piece: Piece) -> bytes:
        match piece:
            case TextPiece(text):
                begun = b"" if self._item else self._begin_text()
                self._text += text
                place = {"item_id": self._item["id"], "output_index": len(self._output), "content_index": 0}
                return begun + self._event("response.output_text.delta", **place, delta=text, logprobs=[])
            case TextEnd():
                return self._end_text()
            case ReasoningPiece(text):
                begun = b"" if self._item else self._begin_reasoning()
                self._text += text
                return begun + self._event("response.reasoning_summary_text.delta", **self._summary, delta=text)
            case ReasoningEnd(text, sealed):
                begun = b"" if self._item else self._begin_reasoning()
                return begun + self._end_reasoning(text, sealed)
            case CallBegin(call_id, tool):
                return self._added(_call_item(call_id, tool, ""))
            case CallPiece(_, text):
                return self._event(f"response.{self._growing}.delta", **self._place, delta=text)
            case CallEnd(_, _, _, written):
                return self._end_call(written)
            case CallBroken():
                self._item = {}
            case ReplyEnd():
                return self._end(piece)
        return b""

    def fail(self, refusal: Refusal) -> bytes:
        error = openai_error(refusal)["error"]
        shown = {"code": error["code"] or error["type"], "message": refusal.message}
        return self._event("response.failed", response={**self._response("failed"), "error": shown})

    def body(self, pieces: Sequence[Piece]) -> JsonObject:
        reply = WholeReply.of(pieces)
        for part in reply.parts:
            match part:
                case TextPiece(text):
                    self._output.append(_message_item(new_id("msg_"), text))
                case ReasoningEnd(text, sealed):
                    self._output.append(self._reasoning_item(new_id("rs_"), text, sealed))
                case CallEnd(call_id, tool, _, written):
                    self._output.append({**_call_item(call_id, tool, written), "status": "completed"})
        return self._finished(reply.end)

    # Items

    @property
    def _place(self) -> JsonObject:
        return {"item_id": self._item["id"], "output_index": len(self._output)}

    @property
    def _summary(self) -> JsonObject:
        return {**self._place, "summary_index": 0}

    @property
    def _growing(self) -> str:
        is_custom = self._item["type"] == "custom_tool_call"
        return "custom_tool_call_input" if is_custom else "function_call_arguments"

    def _added(self, item: JsonObject) -> bytes:
        self._item, self._text = dict(item), ""
        return self._event("response.output_item.added", output_index=len(self._output), item=item)

    def _done(self, item: JsonObject) -> bytes:
        event = self._event("response.output_item.done", output_index=len(self._output), item=item)
        self._output.append(item)
        self._item = {}
        return event

    def _begin_text(self) -> bytes:
        added = self._added({**_message_item(new_id("msg_"), ""), "status": "in_progress", "content": []})
        return added + self._event("response.content_part.added", **self._place, content_index=0, part=_text_part(""))

    def _end_text(self) -> bytes:
        if not self._item:
            return b""
        place, text = {**self._place, "content_index": 0}, self._text
        return (
            self._event("response.output_text.done", **place, text=text, logprobs=[])
            + self._event("response.content_part.done", **place, part=_text_part(text))
            + self._done(_message_item(self._item["id"], text))
        )

    def _begin_reasoning(self) -> bytes:
        added = self._added({"type": "reasoning", "id": new_id("rs_"), "summary": []})
        return added + self._event("response.reasoning_summary_part.added", **self._summary, part=_summary_part(""))

    def _end_reasoning(self, text: str, sealed: str) -> bytes:
        place = self._summary
        return (
            self._event("response.reasoning_summary_text.done", **place, text=text)
            + self._event("response.reasoning_summary_part.done", **place, part=_summary_part(text))
            + self._done(self._reasoning_item(self._item["id"], text, sealed))
        )

    def _reasoning_item(self, item_id: str, text: str, sealed: str) -> JsonObject:
        item: dict[str, Any] = {"type": "reasoning", "id": item_id, "summary": [_summary_part(text)] if text else []}
        return {**item, "encrypted_content": sealed} if self._request.include_sealed else item

    def _end_call(self, written: str) -> bytes:
        name = "input" if self._growing == "custom_tool_call_input" else "arguments"
        done = self._event(f"response.{self._growing}.done", **self._place, **{name: written})
        return done + self._done({**self._item, name: written, "status": "completed"})

    # The response

    def _end(self, end: ReplyEnd) -> bytes:
        response = self._finished(end)
        return self._event(f"response.{response['status']}", response=response)

    def _finished(self, end: ReplyEnd) -> JsonObject:
        details = {"length": "max_output_tokens", "refusal": "content_filter"}.get(end.stop)
        response = self._response("incomplete" if details else "completed")
        response["incomplete_details"] = {"reason": details} if details else None
        response["usage"] = _usage(end.usage)
        if self._request.echo.get("store") is not False:
            self._replies.keep(self._id, self._request.echo["input"], self._output)
        return response

    def _response(self, status: str) -> dict[str, Any]:
        echoed = {name: value for name, value in self._request.echo.items() if name != "input"}
        return {
            "id": self._id,
            "object": "response",
            "created_at": self._created,
            "status": status,
            "model": self._request.model,
            "error": None,
            "incomplete_details": None,
            "instructions": None,
            "metadata": {},
            "parallel_tool_calls": True,
            "temperature": self._request.temperature,
            "tool_choice": "auto",
            "tools": [],
            "top_p": None,
            **echoed,
            "output": list(self._output),
            "usage": None,
        }

    def _event(self, kind: str, **fields: Any) -> bytes:
        number, self._number = self._number, self._number + 1
        return sse({"type": kind, "sequence_number": number, **fields}, kind)


def _text_part(text: str) -> JsonObject:
    return {"type": "output_text", "text": text, "annotations": [], "logprobs": []}


def _summary_part(text: str) -> JsonObject:
    return {"type": "summary_text", "text": text}


def _message_item(item_id: str, text: str) -> JsonObject:
    content = [_text_part(text)]
    return {"type": "message", "id": item_id, "status": "completed", "role": "assistant", "content": content}


def _call_item(call_id: str, tool: OfferedTool, written: str) -> JsonObject:
    kind, prefix, field = (
        ("custom_tool_call", "ctc_", "input") if tool.is_custom else ("function_call", "fc_", "arguments")
    )
    item: dict[str, Any] = {"type": kind, "id": new_id(prefix), "call_id": call_id, "name": tool.name, field: written}
    return {**item, **({"namespace": tool.namespace} if tool.namespace else {}), "status": "in_progress"}


def _usage(usage: Usage) -> JsonObject:
    read = usage.input_tokens + usage.cache_read_tokens + usage.cache_write_tokens
    return {
        "input_tokens": read,
        "input_tokens_details": {"cached_tokens": usage.cache_read_tokens},
        "output_tokens": usage.output_tokens,
        "output_tokens_details": {"reasoning_tokens": usage.reasoning_tokens},
        "total_tokens": read + usage.output_tokens,
    }
