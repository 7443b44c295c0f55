"""Where `joey acp` begins: the answer to `initialize` goes out before anything else is loaded.

Editors start many agents and wait for each, so the first message is answered with the standard library alone; the rest
of Joey is loaded while the editor reads the answer.
"""

from __future__ import annotations

import importlib
import json
import sys
from typing import Any, BinaryIO

from joey import __version__

VERSION = 1
"""The version of the protocol, whatever the client asks for."""


def serve(flags: dict[str, Any]) -> int:
    """Serve the client on standard input and output until it leaves."""
    stdin, stdout = sys.stdin.buffer, _own_output()
    first, params = _greeted(stdin, stdout)
    if params is None:
        return 0
    running = importlib.import_module("joey.acp.running")
    agent = importlib.import_module("joey.acp.agent")
    client = importlib.import_module("joey.acp.client")
    return int(running.run(stdin, stdout, first, agent.Agent(client.Client.read(params), flags)))


def _own_output() -> BinaryIO:
    """Standard output for messages alone: whatever prints goes to the error stream."""
    output = sys.stdout.buffer
    sys.stdout = sys.stderr
    return output


def _greeted(stdin: BinaryIO, stdout: BinaryIO) -> tuple[tuple[bytes, ...], dict[str, Any] | None]:
    """Answer `initialize`. Lines that come before it are for the one who serves the rest; None: the input ended."""
    before: list[bytes] = []
    while line := stdin.readline():
        message = _initialize(line)
        if message is None:
            before.append(line)
            return tuple(before), {}
        answer = {"jsonrpc": "2.0", "id": message.get("id"), "result": answer_to_initialize()}
        stdout.write(json.dumps(answer, separators=(",", ":")).encode() + b"\n")
        stdout.flush()
        params = message.get("params")
        return (), params if isinstance(params, dict) else {}
    return (), None


def _initialize(line: bytes) -> dict[str, Any] | None:
    try:
        message = json.loads(line)
    except ValueError:
        return None
    return message if isinstance(message, dict) and message.get("method") == "initialize" and "id" in message else None


def answer_to_initialize() -> dict[str, Any]:
    return {
        "protocolVersion": VERSION,
        "agentInfo": {"name": "joey", "title": "Joey", "version": __version__},
        "agentCapabilities": {
            "loadSession": True,
            "promptCapabilities": {"image": True, "audio": False, "embeddedContext": True},
            "mcpCapabilities": {"http": True, "sse": True},
            "sessionCapabilities": {"list": {}, "resume": {}, "close": {}, "delete": {}},
        },
        "authMethods": [
            {
                "id": "login",
                "name": "Set a key",
                "description": "Set the key of a provider in the environment, or install a local model",
                "type": "terminal",
                "args": ["doctor"],
            }
        ],
    }
