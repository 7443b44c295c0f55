"""Where `joey acp` begins: the answer to `initialize` goes out before anything else is loaded.

Editors start many agents and wait for each, so the first message is answered with the standard library alone; the rest
of Joey is loaded while the editor reads the answer.
"""

from __future__ import annotations

import importlib
import json
import sys

from joey.acp.greeting import answer_to_initialize
from joey.acp.lines import InputLines

TYPE_CHECKING = False
if TYPE_CHECKING:  # `typing` takes longer to load than all the rest
    from typing import Any, BinaryIO


def serve(flags: dict[str, Any]) -> int:
    """Serve the client on standard input and output until it leaves."""
    lines, stdout = InputLines(sys.stdin.fileno()), _own_output()
    first, params = _greeted(lines, stdout, chosen=bool(flags.get("model")))
    if params is None:
        return 0
    agent = importlib.import_module("joey.acp.agent")
    client = importlib.import_module("joey.acp.client")
    return int(agent.run(lines, stdout, first, agent.Agent(client.Client.read(params), flags)))


def _own_output() -> BinaryIO:
    """Standard output for messages alone: whatever prints goes to the error stream."""
    output = sys.stdout.buffer
    sys.stdout = sys.stderr
    return output


def _greeted(lines: InputLines, stdout: BinaryIO, *, chosen: bool) -> tuple[tuple[bytes, ...], dict[str, Any] | None]:
    """Answer `initialize`, if it comes first as it should. Any other line is for the one who serves the rest; None: the
    input ended."""
    line = lines.next()
    if not line:
        return (), None
    message = _initialize(line)
    if message is None:
        return (line,), {}
    given = message.get("params")
    params = given if isinstance(given, dict) else {}
    answer = {"jsonrpc": "2.0", "id": message["id"], "result": answer_to_initialize(params, chosen=chosen)}
    stdout.write(json.dumps(answer, separators=(",", ":")).encode() + b"\n")
    stdout.flush()
    return (), params


def _initialize(line: bytes) -> dict[str, Any] | None:
    try:
        message = json.loads(line)
    except (ValueError, RecursionError):
        return None
    valid = isinstance(message, dict) and message.get("method") == "initialize"
    return message if valid and isinstance(message.get("id"), (int, str)) else None
