"""A server without the SDK, for what a server made with it would never do: `raw_server.py BEHAVIOUR`."""

from __future__ import annotations

import json
import sys
import time
from typing import Any

BEHAVIOUR = sys.argv[1]
GOOD = {
    "name": "good",
    "description": "Works.",
    "inputSchema": {"type": "object", "properties": {"x": {"type": "integer"}}},
}
OUTPUT = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
LIES: list[Any] = [
    GOOD,
    "not even an object",
    {"name": "no schema at all"},
    {"name": "text schema", "inputSchema": "nope"},
    {"name": "array", "inputSchema": {"type": "array"}},
    {"name": "bad type", "inputSchema": {"type": "object", "properties": {"x": {"type": "integr"}}}},
    {"name": "far", "inputSchema": {"type": "object", "properties": {"x": {"$ref": "http://127.0.0.1:9/x.json"}}}},
    {"name": "required", "inputSchema": {"type": "object", "properties": {"x": True}, "required": ["x", "ghost"]}},
    {"name": "promises", "inputSchema": {"type": "object"}, "outputSchema": OUTPUT},
    {"name": "*", "inputSchema": {"type": "object"}},
    {"name": "good", "inputSchema": {"type": "object"}},
]


def tools(params: dict[str, Any]) -> dict[str, Any]:
    cursor = params.get("cursor")
    if BEHAVIOUR == "pages":
        page = int(cursor or 0)
        more = {"nextCursor": str(page + 1)} if page < 4 else {}
        return {"tools": [{**GOOD, "name": f"tool_{page}"}], **more}
    if BEHAVIOUR == "endless":
        return {"tools": [], "nextCursor": "again"}
    return {"tools": LIES if BEHAVIOUR == "lying" else [GOOD]}


def call(params: dict[str, Any]) -> dict[str, Any] | None:
    if BEHAVIOUR == "deaf":
        return None
    if BEHAVIOUR == "flooding":
        sys.stdout.write("x" * (40 * 1024 * 1024))
        sys.stdout.flush()
        time.sleep(60)
    if params["name"] == "promises":
        return {"content": [], "structuredContent": {"n": "many"}}
    return {"content": [{"type": "text", "text": f"called with {params['arguments']}"}]}


def answer(method: str, params: dict[str, Any]) -> dict[str, Any] | None:
    if method == "initialize":
        info = {"name": "raw", "version": "1"}
        return {"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": info}
    if method == "tools/list":
        return tools(params)
    return call(params) if method == "tools/call" else {}


def main() -> None:
    if BEHAVIOUR == "flooding":
        print("noise " * 100_000, file=sys.stderr)
        print("this is a log line on the wrong stream")
    for line in sys.stdin:
        request = json.loads(line)
        if BEHAVIOUR == "hung" or "id" not in request:
            continue
        if request["method"] == "server/discover":
            reply: dict[str, Any] = {"error": {"code": -32601, "message": "Method not found"}}
        else:
            result = answer(request["method"], request.get("params") or {})
            if result is None:
                continue
            reply = {"result": result}
        print(json.dumps({"jsonrpc": "2.0", "id": request["id"], **reply}), flush=True)


main()
