"""Parse a model's stream.

The input is a file or stdin. For text protocols it is the model's text; for native calls, or with --chunks, it is
one JSON value per line: a string, {"index", "id", "name", "arguments"} for a piece of a call, or any chunk of
docs/events.md such as {"type": "stop_chunk", "reason": "length"}.

The output is the content: text and tool calls in order, and errors; or, with --events, every event as a JSON line as
it happens.

--batch reads one reply per line, {"id", "protocol", "tools", "chunks"}, and writes one line for each:
{"id", "content": [{"type": "text", "text"}, {"type": "reasoning", "text"} or {"type": "tool_call", "name", "input",
"id"}], "errors": [...]}. The protocol may be a dialect of an open model (`joey protocols`); "prompt_tail" is then what
the prompt ended with, such as "<think>" where the reply begins inside reasoning, and a call between markers that cannot
be read stands in the content as {"type": "malformed_call", "name", "source", "message"}. In all other protocols it is
text, and in the dialects whose servers leave it in the text. With the protocol `auto` the dialect is the one that could
have written the reply; the answer names it as "protocol".
A line may also hold "options" of its protocol: for json_mix other tags, {"start": "<call>", "end": "</call>"}; for
morph_xml the schemas that arguments are coerced to, {"original_schemas": {"tool": {...}}}. The errors are those
that a parser's error callback gets. A json_mix call cut off by the end of the reply is not an error: it stays in the
text.

--debug writes every chunk and every event to stderr, then the reply with its calls highlighted. JOEY_DEBUG_PARSER does
the same without the option: off, stream (no summary) or parse; JOEY_DEBUG_PARSER_STYLE is bg, inverse, underline or
bold.

examples:
  joey parse --protocol xml --tools tools.json reply.txt
  some-model | joey parse --protocol json_mix --events
  joey parse --protocol auto --tools tools.json reply.txt
  joey parse --batch < replies.jsonl
"""

from __future__ import annotations

import argparse
import codecs
import io
import json
import os
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

from joey import protocols
from joey.app.parsing import FALLBACK_DIALECT, chunk_from_json, likely_dialect, reply_as_json
from joey.chunks import Chunk
from joey.errors import JoeyError, UsageError
from joey.protocols import ParseError, Parser, Protocol, Reply, collect, debug
from joey.system.visible import unfiltered
from joey.toolspec import ToolSpec
from joey.wire import encode

_PROTOCOL_HELP = f"one of: {', '.join(protocols.names())}, yaml_xml, auto, or a dialect that `joey protocols` lists"
_AUTO = "auto"


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", nargs="?", default="-", help="file to read (default: -, stdin)")
    parser.add_argument("--protocol", "-p", default="native", help=_PROTOCOL_HELP)
    parser.add_argument("--tools", "-t", metavar="FILE", help="tools offered to the model, as a JSON array")
    parser.add_argument("--chunks", action="store_true", help="read one JSON chunk per line instead of plain text")
    parser.add_argument("--cut", type=_size, metavar="N", help="feed text N characters at a time")
    parser.add_argument("--events", action="store_true", help="print every event as a JSON line, as it happens")
    parser.add_argument("--debug", action="store_true", help="show on stderr how the reply is parsed")
    parser.add_argument("--batch", action="store_true", help="read one whole reply per line")


def _size(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"must be a whole number of 1 or more, got {text!r}")
    return int(text)


def run(args: argparse.Namespace) -> int:
    # Whatever bytes come in go out again: half a character becomes an escape, never an exception.
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")
    with _open(args.file) as stream:
        return _batch(stream) if args.batch else _single(stream, args)


def _open(name: str) -> BinaryIO:
    if name == "-":
        return sys.stdin.buffer
    try:
        return Path(name).open("rb")
    except OSError as error:
        raise UsageError(f"cannot read {name}: {error.strerror}") from None


# One reply


def _single(stream: BinaryIO, args: argparse.Namespace) -> int:
    if args.protocol == _AUTO:
        text = "".join(_text_chunks(stream, None))
        stream = io.BytesIO(text.encode("utf-8", "surrogateescape"))
        found = likely_dialect(text, _read_tools(args.tools))
        args.protocol = found or FALLBACK_DIALECT
        print(f"note: {'' if found else 'no dialect was recognized; '}read as {args.protocol}", file=sys.stderr)
    protocol = protocols.get(args.protocol)
    mode, style = debug.settings(os.environ)
    if args.debug and mode == "off":
        mode = "parse"
    parser = debug.wrap(protocol.parser(_read_tools(args.tools)), mode, style, unfiltered(sys.stderr).write)
    chunks: Iterable[str | Chunk] = (
        _json_chunks(stream) if args.chunks or not protocol.in_text else _text_chunks(stream, args.cut)
    )
    if args.events:
        return _print_events(parser, chunks)
    reply = collect([event for chunk in chunks for event in parser.feed(chunk)] + parser.finish())
    errors = [ParseError(call.message, call.source, call.name) for call in reply.malformed]
    print(json.dumps(_as_json(protocol, reply, errors), indent=2, ensure_ascii=False))
    if protocol.in_text and args.tools is None and not (reply.calls or reply.malformed or args.debug):
        print("note: no call was found; name the tools that were offered with --tools FILE", file=sys.stderr)
    return 1 if errors else 0


def _print_events(parser: Parser, chunks: Iterable[str | Chunk]) -> int:
    failed = False
    for chunk in chunks:
        failed |= _print_lines(parser.feed(chunk))
    return int(failed | _print_lines(parser.finish()))


def _print_lines(events: Iterable[Any]) -> bool:
    failed = False
    for event in events:
        line = encode(event)
        failed |= line["type"] == "tool_call_malformed"
        print(json.dumps(line, ensure_ascii=False), flush=True)
    return failed


def _read_tools(name: str | None) -> list[ToolSpec]:
    if name is None:
        return []
    with _open(name) as stream:
        try:
            data = json.loads(stream.read())
        except ValueError as error:
            raise UsageError(f"{name} is not JSON: {error}") from None
    if not isinstance(data, list):
        raise UsageError(f"{name} must hold a JSON array of tools, got {type(data).__name__}")
    return [ToolSpec.read(tool) for tool in data]


def _text_chunks(stream: BinaryIO, size: int | None) -> Iterator[str]:
    """The text as it arrives, or N characters at a time. Bytes that are no UTF-8 are kept as lone surrogates; a byte
    order mark is the file's, not the model's."""
    decoder = codecs.getincrementaldecoder("utf-8-sig")("surrogateescape")
    read = getattr(stream, "read1", stream.read)
    while data := read(65536):
        yield from _pieces(decoder.decode(data), size)
    yield decoder.decode(b"", final=True)


def _pieces(text: str, size: int | None) -> Iterator[str]:
    if size is None or size < 1:
        yield text
    else:
        yield from (text[start : start + size] for start in range(0, len(text), size))


def _json_chunks(stream: BinaryIO) -> Iterator[str | Chunk]:
    for number, data in _json_lines(stream):
        try:
            yield chunk_from_json(data)
        except JoeyError as error:
            raise UsageError(f"line {number}: {error}") from None


def _json_lines(stream: BinaryIO) -> Iterator[tuple[int, Any]]:
    for number, line in enumerate(stream, 1):
        if line.strip():
            try:
                yield number, json.loads(line)
            except ValueError as error:
                raise UsageError(f"line {number}: expected one JSON value, got {_excerpt(line)} ({error})") from None


# Many replies


def _batch(stream: BinaryIO) -> int:
    failed = False
    for number, line in enumerate(stream, 1):
        if line.strip():
            answer, ok = _answer(number, line)
            failed |= not ok
            print(json.dumps(answer), flush=False)
    return int(failed)


def _answer(number: int, line: bytes) -> tuple[dict[str, Any], bool]:
    """What to write for one line, and whether it could be read. A bad line is answered, not fatal."""
    request: Any = None
    try:
        request = json.loads(line)
        return {"id": request.get("id"), **_parse_request(request)}, True
    except (JoeyError, ValueError, AttributeError) as error:
        reason = str(error) if isinstance(error, JoeyError) else f"expected a JSON object, got {_excerpt(line)}"
        reply_id = request.get("id") if isinstance(request, dict) else None
        return {
            "id": reply_id,
            "content": [],
            "errors": [{"message": f"line {number}: {reason}", "segment": ""}],
        }, False


def _parse_request(request: dict[str, Any]) -> dict[str, Any]:
    chunks = request.get("chunks", [request["text"]] if "text" in request else None)
    if not isinstance(chunks, list):
        raise UsageError('expected "chunks": a JSON array of strings or call pieces')
    tools = request.get("tools") or []
    if not isinstance(tools, list):
        raise UsageError('expected "tools": a JSON array of tool objects')
    errors: list[ParseError] = []
    automatic = request.get("protocol") == _AUTO
    if automatic:
        text = "".join(chunk for chunk in chunks if isinstance(chunk, str))
        found = likely_dialect(text, [ToolSpec.read(tool) for tool in tools])
        request = {**request, "protocol": found or FALLBACK_DIALECT}
    protocol = _protocol_of(request)
    reply = protocols.parse(
        [chunk_from_json(chunk) for chunk in chunks], protocol=protocol, tools=tools, on_error=errors.append
    )
    answer = _as_json(protocol, reply, errors)
    return {"protocol": protocol.name, **answer} if automatic else answer


def _as_json(protocol: Protocol, reply: Reply, errors: list[ParseError]) -> dict[str, Any]:
    return reply_as_json(reply, errors, in_dialect=protocol.thinks_in_text, broken_as_text=protocol.broken_as_text)


def _protocol_of(request: dict[str, Any]) -> Protocol:
    name, options = request.get("protocol", "native"), request.get("options") or {}
    if not isinstance(name, str):
        raise UsageError(f'expected "protocol": one of {", ".join(protocols.names())}')
    if not isinstance(options, dict):
        raise UsageError('expected "options": a JSON object of the protocol\'s options')
    if request.get("prompt_tail"):
        options = {"prompt_tail": request["prompt_tail"], **options}
    return protocols.get(name).with_options(**options)


def _excerpt(line: bytes) -> str:
    text = line.decode("utf-8", "replace").strip()
    return repr(text if len(text) <= 60 else text[:57] + "...")
