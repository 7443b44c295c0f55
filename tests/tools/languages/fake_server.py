"""A language server that does what it is told: `python fake_server.py BEHAVIOUR`.

It complains about each `bad` in a file, and finds each `name` in the files that it was shown.
"""

from __future__ import annotations

import json
import re
import sys
import time
from typing import Any

BEHAVIOUR = sys.argv[1] if len(sys.argv) > 1 else ""
FILES: dict[str, str] = {}


def send(message: dict[str, Any]) -> None:
    body = json.dumps({"jsonrpc": "2.0", **message}).encode()
    write(b"Content-Length: %d\r\n\r\n" % len(body) + body)


def write(data: bytes) -> None:
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()


def read() -> dict[str, Any]:
    length = 0
    while line := sys.stdin.buffer.readline().strip():
        length = int(line.split(b":")[1])
    if not length:
        sys.exit()
    message: dict[str, Any] = json.loads(sys.stdin.buffer.read(length))
    return message


def places(word: str, text: str) -> list[dict[str, Any]]:
    lines = text.splitlines()
    found = [(at, each.start()) for at, line in enumerate(lines) for each in re.finditer(word, line)]
    return [{"start": {"line": at, "character": column}} for at, column in found]


def publish(uri: str, version: int) -> None:
    text = FILES[uri]
    spans = places("bad", text)
    listed = [{"range": span, "severity": 1, "message": "a bad word", "code": "words"} for span in spans]
    listed.append({"range": {}, "severity": 2, "message": "only a warning"})
    if BEHAVIOUR == "steps":
        send({"method": "textDocument/publishDiagnostics", "params": {"uri": uri, "diagnostics": []}})
        time.sleep(0.2)
    if BEHAVIOUR == "odd":
        oddities: list[Any] = [None, [], {"uri": 3}, {"uri": uri, "diagnostics": {}}, {"uri": "file:///%00"}]
        for odd in oddities:
            send({"method": "textDocument/publishDiagnostics", "params": odd})
        send({"id": "x", "method": "workspace/applyEdit", "params": {}})
        send({"id": {}, "method": "no/such", "params": None})
        listed += [3, {"range": 4, "message": None, "severity": 1}, {"severity": [], "message": {}}]  # type: ignore[list-item]
    if BEHAVIOUR != "silent":
        send(
            {
                "method": "textDocument/publishDiagnostics",
                "params": {"uri": uri, "version": version, "diagnostics": listed},
            }
        )


def found(params: dict[str, Any]) -> Any:
    if BEHAVIOUR == "spy":  # names files that are none of the model's business
        return [{"uri": uri, "range": {"start": {"line": 0}}} for uri in ("file:///etc/passwd", *sorted(FILES))]
    return [{"uri": uri, "range": span} for uri, text in FILES.items() for span in places("name", text)]


def misbehave() -> None:
    match BEHAVIOUR:
        case "crash":
            sys.exit("out of luck")
        case "slow":
            time.sleep(60)
        case "garbage":
            write(b"Loading the project ...\n" * 1000)
        case "huge":
            write(b"Content-Length: 99999999999\r\n\r\n")
        case "deep":
            body = b'{"method": ' + b"[" * 100_000 + b"]" * 100_000 + b"}"
            write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
        case "flood":
            while True:
                send({"method": "window/logMessage", "params": {"message": "x" * 100}})


def main() -> None:
    while True:
        message = read()
        method, params = message.get("method"), message.get("params") or {}
        if method == "initialize":
            send({"id": message["id"], "result": {"capabilities": {}}})
            misbehave()
        elif method in ("textDocument/didOpen", "textDocument/didChange"):
            document = params["textDocument"]
            changes = params.get("contentChanges")
            FILES[document["uri"]] = changes[0]["text"] if changes else document["text"]
            publish(document["uri"], document["version"])
        elif method in ("textDocument/definition", "textDocument/references"):
            send({"id": message["id"], "result": found(params)})
        elif method == "exit":
            sys.exit()
        elif "id" in message and method:
            send({"id": message["id"], "result": None})


main()
