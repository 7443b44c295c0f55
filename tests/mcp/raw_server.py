"""A server without the SDK, for what a server made with it would never do: `raw_server.py BEHAVIOUR`."""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

BEHAVIOUR = sys.argv[1]
OBJECT = {"type": "object"}
GOOD = {
    "name": "good",
    "description": "Works.",
    "inputSchema": {"type": "object", "properties": {"x": {"type": "integer"}}},
}
OUTPUT = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
TREE = {
    "type": "object",
    "properties": {"node": {"$ref": "#/$defs/node"}},
    "$defs": {"node": {"type": "object", "properties": {"next": {"$ref": "#/$defs/node"}, "n": {"type": "integer"}}}},
}


def nested(depth: int) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "object"}
    for _ in range(depth):
        schema = {"type": "object", "properties": {"x": schema}}
    return schema


LIES: list[Any] = [
    GOOD,
    "not even an object",
    {"name": "no schema at all"},
    {"name": "text schema", "inputSchema": "nope"},
    {"name": "array", "inputSchema": {"type": "array"}},
    {"name": "bad type", "inputSchema": {"type": "object", "properties": {"x": {"type": "integr"}}}},
    {"name": "far", "inputSchema": {"type": "object", "properties": {"x": {"$ref": "http://127.0.0.1:9/x.json"}}}},
    {"name": "required", "inputSchema": {"type": "object", "properties": {"x": True}, "required": ["x", "ghost"]}},
    {"name": "promises", "inputSchema": OBJECT, "outputSchema": OUTPUT},
    {"name": "*", "inputSchema": OBJECT},
    {"name": "good", "inputSchema": OBJECT},
    {"name": "tree", "inputSchema": TREE},
    {"name": "circle", "inputSchema": {"type": "object", "properties": {"x": {"$ref": "#"}}, "allOf": [{"$ref": "#"}]}},
    {"name": "abyss", "inputSchema": nested(150)},
    {"name": "odd: name/with ünï\n", "inputSchema": OBJECT},
    {"name": "same_name", "inputSchema": OBJECT},
    {"name": "same-name", "inputSchema": OBJECT},
    {"name": "long" * 50, "inputSchema": OBJECT},
    {"name": "long" * 50 + "er", "inputSchema": OBJECT},
]

state = {"grown": 0, "lists read": 0, "request": 0}


def send(**message: Any) -> None:
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)


def tools(params: dict[str, Any]) -> dict[str, Any]:
    state["lists read"] += 1
    cursor = params.get("cursor")
    if BEHAVIOUR == "pages":
        page = int(cursor or 0)
        more = {"nextCursor": str(page + 1)} if page < 4 else {}
        return {"tools": [{**GOOD, "name": f"tool_{page}"}], **more}
    if BEHAVIOUR == "endless":
        return {"tools": [], "nextCursor": "again"}
    return {"tools": LIES if BEHAVIOUR == "lying" else [GOOD, *([{**GOOD, "name": "grown"}] if state["grown"] else [])]}


def call(params: dict[str, Any]) -> dict[str, Any] | None:
    token = (params.get("_meta") or {}).get("progressToken")
    if BEHAVIOUR == "deaf":
        return None
    if BEHAVIOUR == "flooding":
        sys.stdout.write("x" * (40 * 1024 * 1024))
        sys.stdout.flush()
        time.sleep(60)
    if BEHAVIOUR == "dying":
        print("farewell from the server", file=sys.stderr, flush=True)
        sys.stdout.write('{"jsonrpc": "2.0", "id": 1, "resu')  # half an answer
        sys.stdout.flush()
        os._exit(3)
    if BEHAVIOUR == "restless":  # reports progress for ever and never answers
        for step in range(10**9):
            send(method="notifications/progress", params={"progressToken": token, "progress": step})
            time.sleep(0.0002)
    if BEHAVIOUR == "moody":
        send(method="notifications/tools/list_changed")
    if BEHAVIOUR == "changing":
        state["grown"] = 1
        for _ in range(1_000):
            send(method="notifications/tools/list_changed")
        return text(f"lists read: {state['lists read']}")
    if BEHAVIOUR == "asking":
        send(id="mine", method="sampling/createMessage", params={"messages": [], "maxTokens": 5})
        return text(f"the client said {json.loads(sys.stdin.readline()).get('error', {}).get('code')}")
    if BEHAVIOUR == "babbling":
        print("[1, 2, 3]\nnull\n{}\n\x00\xff not json", flush=True)
        send(id=987654, result={"content": []})
        send(id=None, error={"code": 1, "message": "for nobody"})
        send(method="notifications/unheard_of", params={"x": 1})
    if BEHAVIOUR == "deep":
        depth = 300 if params["arguments"]["x"] == 1 else 30_000
        inner = '{"x":' * depth + "1" + "}" * depth
        start = f'{{"jsonrpc":"2.0","id":{state["request"]},"result":{{"content":[],"structuredContent":'
        print(start + inner + "}}", flush=True)
        return None
    if BEHAVIOUR == "slow":
        wait_until_cancelled(token, Path(params["arguments"]["marker"]))
        return None
    if params["name"] == "promises":
        return {"content": [], "structuredContent": {"n": "many"}}
    return text(f"called with {params['arguments']}")


def wait_until_cancelled(token: Any, marker: Path) -> None:
    send(method="notifications/progress", params={"progressToken": token, "progress": 1, "total": 2, "message": "half"})
    for line in sys.stdin:
        if json.loads(line).get("method") == "notifications/cancelled":
            marker.write_text("cancelled")
            return


def text(words: str) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": words}]}


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
        if BEHAVIOUR == "moody" and request["method"] == "tools/list" and state["lists read"]:
            reply: dict[str, Any] = {"error": {"code": -32603, "message": "not now"}}
        elif request["method"] == "server/discover":
            reply = {"error": {"code": -32601, "message": "Method not found"}}
        else:
            state["request"] = request["id"]
            result = answer(request["method"], request.get("params") or {})
            if result is None:
                continue
            reply = {"result": result}
        send(id=request["id"], **reply)


main()
