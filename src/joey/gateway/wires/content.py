"""Parts of messages that the wires have in common, read generously: what cannot be shown to a model is mentioned."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from joey.gateway.refusal import Refusal, invalid
from joey.messages import ImageBlock, ResultBlock, TextBlock
from joey.protocols.json.repair import as_object
from joey.providers.catalogue import EFFORTS, Effort
from joey.wire import JsonObject

_DATA_URL = re.compile(r"data:([\w.+-]+/[\w.+-]+)(?:;[\w=.+-]+)*;base64,(.*)", re.DOTALL)
_TEXT_KINDS = ("text", "input_text", "output_text", "summary_text", "reasoning_text")


def items(value: Any, name: str) -> list[Any]:
    """A list that may be missing."""
    if value is None:
        return []
    if not isinstance(value, list):
        raise invalid(f"{name} must be a list", name)
    return value


def mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def unknown_role(role: Any, name: str) -> Refusal:
    return invalid(
        f"{name}: " + ("each message needs a role" if role is None else f"the role {role!r} is unknown"), name
    )


def text_of(content: Any) -> str:
    """The words of a content: a string, or a list of parts."""
    if isinstance(content, str):
        return content
    return "\n".join(part.text for part in parts_of(content) if isinstance(part, TextBlock))


def parts_of(content: Any) -> list[ResultBlock]:
    """Texts and images of a content; anything else is mentioned."""
    if content is None:
        return []
    if isinstance(content, str):
        return [TextBlock(content)] if content else []
    if isinstance(content, Mapping):
        content = [content]
    if not isinstance(content, list):
        raise invalid("content must be a string or a list of parts", "content")
    found: list[ResultBlock] = []
    for part in content:
        found += [TextBlock(part)] if isinstance(part, str) else _part(mapping(part)) if part is not None else []
    return [part for part in found if not isinstance(part, TextBlock) or part.text]


def _part(part: Mapping[str, Any]) -> list[ResultBlock]:
    kind = part.get("type")
    if kind in _TEXT_KINDS or (kind is None and "text" in part):
        return [TextBlock(str(part.get("text") or ""))]
    if kind == "refusal":
        return [TextBlock(str(part.get("refusal") or ""))]
    if kind in ("image_url", "input_image", "computer_screenshot"):
        url = part.get("image_url")
        return [_image_at(url.get("url") if isinstance(url, Mapping) else url)]
    if kind in ("image", "document"):
        return [_source(str(kind), mapping(part.get("source")), part)]
    if kind == "compaction":
        return [TextBlock(str(part.get("content") or ""))]
    if kind == "search_result":
        return [TextBlock(f"{part.get('title', '')}\n{text_of(part.get('content'))}".strip())]
    if kind is None:  # left out, it might be all that a tool found
        raise invalid("content: each part must be a string or an object with a type", "content")
    return [TextBlock(f"[A part of type {kind} was left out: the gateway cannot show it to the model.]")]


def _source(kind: str, source: Mapping[str, Any], part: Mapping[str, Any]) -> ResultBlock:
    """Anthropic's images and documents."""
    if kind == "image" and source.get("type") == "base64":
        return ImageBlock(str(source.get("media_type") or "image/png"), str(source.get("data") or ""))
    if kind == "image":
        return _image_at(source.get("url"))
    if source.get("type") in ("text", "content"):
        title = f"{part['title']}\n" if part.get("title") else ""
        return TextBlock(title + text_of(source.get("data", source.get("content"))))
    return TextBlock("[A document was left out: the gateway cannot show it to the model.]")


def _image_at(url: Any) -> ResultBlock:
    found = _DATA_URL.fullmatch(url) if isinstance(url, str) else None
    if found:
        return ImageBlock(found[1], found[2])
    return TextBlock("[An image was left out: the gateway does not fetch URLs; send it as a data: URL.]")


def arguments_of(text: Any) -> JsonObject:
    """The arguments of an earlier call. What is not JSON was the model's mistake, and must not make every request of
    the conversation fail."""
    if isinstance(text, Mapping):
        return dict(text)
    if not isinstance(text, str):
        return {}
    found = as_object(text)
    return {"arguments": text} if found is None else found


def number(body: Mapping[str, Any], *names: str) -> int | None:
    """A count of tokens under the first of these names that has one."""
    for name in names:
        value = body.get(name)
        if value is None:
            continue
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not 1 <= value < 1e15:
            raise invalid(f"{name} must be a positive number", name)
        return int(value)
    return None


def temperature_of(body: Mapping[str, Any]) -> float | None:
    value = body.get("temperature")
    return None if value is None else float(value)


def effort_of(value: Any) -> Effort | None:
    return next((effort for effort in EFFORTS if effort == value), None)


def strings(body: Mapping[str, Any], name: str) -> tuple[str, ...]:
    """One string, a list of them, or nothing."""
    value = body.get(name)
    found = [value] if isinstance(value, str) else items(value, name)
    if not all(isinstance(each, str) for each in found):
        raise invalid(f"{name} must be a string or a list of strings", name)
    return tuple(filter(None, found))


def model_of(body: Mapping[str, Any]) -> str:
    name = body.get("model", "")
    if not isinstance(name, str):
        raise invalid("model must be a string", "model")
    return name
