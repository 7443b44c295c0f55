"""What a server answered, as a result for the model.

| it sent            | the model gets                                                                    |
|--------------------|-----------------------------------------------------------------------------------|
| text               | the text                                                                          |
| image              | the image, if it is of a kind models take; else a file                           |
| audio, other bytes | a file with the task's data, and where it is                                       |
| resource           | its address and its text (or image, or file)                                     |
| link               | its address, and how to read it                                                    |
| structured data    | as JSON, unless the text says the same already                                     |

Text beyond LIMIT bytes is kept whole with the outputs of commands, under an id that read_command_output takes, and the
model gets both ends of it.
"""

from __future__ import annotations

import base64
import binascii
import contextlib
import json
import mimetypes
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from joey.bounded.folders import reason
from joey.images.sizing import KINDS, can_shrink
from joey.messages import ImageBlock, ResultBlock, ShownText, TextBlock, ToolResult
from joey.system.filenames import quoted
from joey.system.folders import close_to_others, make_private, private_file
from joey.tools.base import ToolContext
from joey.tools.shell.artifacts import CommandRecord, new_artifact, write_record
from joey.tools.shell.output import joined_ends, shorten_output
from joey.wire import JsonObject

LIMIT = 40_000
_MAX_IMAGE = 5 * 1024 * 1024
_MAX_TO_SHRINK = 20 * 1024 * 1024
_MAX_IMAGES = 20
_USER_LINES = 200


def call_result(answer: JsonObject, what: str, context: ToolContext, *, notes: Iterable[str] = ()) -> ToolResult:
    """The answer to a tools/call. `what` names the call for the record; notes are for the model."""
    blocks = [block for item in answer.get("content", ()) for block in _item(item, context)]
    blocks += _structured(answer, blocks)
    is_error = bool(answer.get("isError"))
    return _result(blocks, what, context, empty="(No response)", is_error=is_error, notes=tuple(notes))


def resource_result(answer: JsonObject, what: str, context: ToolContext) -> ToolResult:
    """The answer to a resources/read."""
    blocks = [block for item in answer.get("contents", ()) for block in _contents(item, context)]
    return _result(blocks, what, context, empty="(Empty response)")


def _result(
    blocks: list[ResultBlock],
    what: str,
    context: ToolContext,
    *,
    empty: str,
    is_error: bool = False,
    notes: tuple[str, ...] = (),
) -> ToolResult:
    text = "\n\n".join(block.text for block in blocks if isinstance(block, TextBlock) and block.text)
    images = [block for block in blocks if isinstance(block, ImageBlock)]
    dropped = [f"({len(images) - _MAX_IMAGES} more images were left out.)"] if images[_MAX_IMAGES:] else []
    sent = _within_limit(text, what, context) or ("" if images else empty)
    sent = "\n\n".join(filter(None, [f"Error:\n{sent}" if is_error else sent, *dropped, *notes]))
    shown = (ShownText(shorten_output(text, _USER_LINES, LIMIT)),) if text else ()
    return ToolResult((TextBlock(sent), *images[:_MAX_IMAGES]), shown, is_error=is_error)


def _item(item: JsonObject, context: ToolContext) -> Iterator[ResultBlock]:
    match item:
        case {"type": "text", "text": str(text)}:
            yield TextBlock(text)
        case {"type": "image" | "audio" as kind, "data": str(data)}:
            yield _bytes(data, str(item.get("mimeType", "")), f"{kind} from the server", context)
        case {"type": "resource", "resource": dict(resource)}:
            yield TextBlock(f"Resource {quoted(str(resource.get('uri', '')))}:")
            yield from _contents(resource, context)
        case {"type": "resource_link", "uri": str(uri)}:
            described = f": {item['description']}" if item.get("description") else ""
            name = quoted(str(item.get("name") or uri))
            yield TextBlock(f"Link to the resource {name} ({quoted(uri)}){described}. access_mcp_resource reads it.")
        case _:
            yield TextBlock(json.dumps(item, ensure_ascii=False, indent=2))


def _contents(item: JsonObject, context: ToolContext) -> Iterator[ResultBlock]:
    if isinstance(item.get("text"), str):
        yield TextBlock(item["text"])
    elif isinstance(item.get("blob"), str):
        yield _bytes(item["blob"], str(item.get("mimeType", "")), str(item.get("uri", "resource")), context)


def _structured(answer: JsonObject, blocks: list[ResultBlock]) -> list[ResultBlock]:
    structured = answer.get("structuredContent")
    if structured is None:
        return []
    texts = [block.text for block in blocks if isinstance(block, TextBlock)]
    if any(_says(text, structured) for text in texts):
        return []
    return [TextBlock(json.dumps(structured, ensure_ascii=False, indent=2))]


def _says(text: str, structured: Any) -> bool:
    """Whether a text is the structured data over again: as JSON, or as the one value in it."""
    only = next(iter(structured.values())) if isinstance(structured, dict) and len(structured) == 1 else None
    if only == text:
        return True
    reported = {_canonical(structured), _canonical(only)} - {_canonical(None)}
    with contextlib.suppress(ValueError, RecursionError):
        return _canonical(json.loads(text)) in reported
    return False


def _canonical(value: Any) -> str:
    """JSON that is the same for the same data; Python alone would take 1 for true."""
    return json.dumps(value, sort_keys=True)


# Bytes


def _bytes(data: str, media_type: str, what: str, context: ToolContext) -> ResultBlock:
    if media_type in KINDS and len(data) <= (_MAX_TO_SHRINK if can_shrink() else _MAX_IMAGE):
        return ImageBlock(media_type, data)
    try:
        raw = base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError):
        return TextBlock(f"[{what} ({media_type or 'of no known kind'}) is not base64 and was left out]")
    try:
        path = _kept(raw, media_type, context.storage)
    except OSError as problem:
        return TextBlock(f"[{what} ({media_type}, {len(raw)} bytes) could not be kept: {reason(problem)}]")
    return TextBlock(f"[{what}: {media_type or 'bytes'}, {len(raw)} bytes, kept in {quoted(str(path))}]")


def _kept(raw: bytes, media_type: str, storage: Path) -> Path:
    folder = storage / "mcp"
    make_private(folder)
    close_to_others(folder)
    ending = mimetypes.guess_extension(media_type) or ".bin"
    number = len(list(folder.iterdir())) + 1
    while True:
        path = folder / f"{number}{ending}"
        try:
            with open(path, "xb", opener=private_file) as file:
                file.write(raw)
        except FileExistsError:
            number += 1
            continue
        return path


# Length


def _within_limit(text: str, what: str, context: ToolContext) -> str:
    data = text.encode("utf-8", "replace")
    if len(data) <= LIMIT:
        return text
    head = data[: LIMIT // 2].decode("utf-8", "ignore")
    tail = data[-LIMIT // 2 :].decode("utf-8", "ignore")
    ends = joined_ends(head, tail, len(data) - LIMIT, "bytes")
    try:
        artifact = new_artifact(context.storage)
        artifact.write_bytes(data)
        write_record(artifact, CommandRecord(what, str(context.workspace), 0))
    except OSError as problem:
        return f"{ends}\n\n(The whole answer, {len(data)} bytes, could not be kept: {reason(problem)}.)"
    return (
        f"{ends}\n\nThe answer ({len(data)} bytes) was kept whole. Artifact ID: {artifact.name}\n"
        f'To see the rest, call read_command_output with artifact_id "{artifact.name}" and an offset, or a search.'
    )
