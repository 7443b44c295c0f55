"""Where `joey acp` begins: the answer to `initialize` goes out before anything else is loaded.

Editors start many agents and wait for each, so the first message is answered with the standard library alone; the rest
of Joey is loaded while the editor reads the answer.
"""

from __future__ import annotations

import importlib
import json
import os
import sys

from joey import __version__
from joey.acp.lines import InputLines
from joey.system.places import models_place, user_place

TYPE_CHECKING = False
if TYPE_CHECKING:  # `typing` takes longer to load than all the rest
    from collections.abc import Mapping
    from typing import Any, BinaryIO

VERSION = 1
"""The version of the protocol, whatever the client asks for."""
KEY_VARIABLES = ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "OPENROUTER_API_KEY", "DEEPSEEK_API_KEY", "MISTRAL_API_KEY")
"""The variables that hold keys of providers."""
_LOGIN = {
    "id": "login",
    "name": "Set up a model",
    "description": "Store the key of a provider in the keyring, or see how to use a model on this machine",
}
_ELSEWHERE = "Run `joey login` in a terminal, or set a key such as ANTHROPIC_API_KEY for the editor, then try again"


def answer_to_initialize(
    params: Mapping[str, Any], environment: Mapping[str, str] = os.environ, *, chosen: bool = False
) -> dict[str, Any]:
    """`chosen`: the command line names a model."""
    return {
        "protocolVersion": VERSION,
        "agentInfo": {"name": "joey", "title": "Joey", "version": __version__},
        "agentCapabilities": {
            "loadSession": True,
            "promptCapabilities": {"image": True, "audio": False, "embeddedContext": True},
            "mcpCapabilities": {"http": True, "sse": True},
            "sessionCapabilities": {"list": {}, "resume": {}, "close": {}, "delete": {}, "additionalDirectories": {}},
            "auth": {"logout": {}},
        },
        "authMethods": [] if chosen or _has_model(environment) else [_login(params)],
    }


def _login(params: Mapping[str, Any]) -> dict[str, Any]:
    """In a terminal of the client's, where it has one for this; otherwise in one of the user's."""
    offered = params.get("clientCapabilities")
    auth = offered.get("auth") if isinstance(offered, dict) else None
    if isinstance(auth, dict) and auth.get("terminal") is True:
        return {**_LOGIN, "type": "terminal", "args": ["login"]}
    return {**_LOGIN, "description": _ELSEWHERE}


def _has_model(environment: Mapping[str, str]) -> bool:
    """Whether there is a key or a model, as far as a quick look tells: no module is loaded for it. A session looks
    closely."""
    if any(environment.get(name) for name in ("JOEY_MODEL", *KEY_VARIABLES)):
        return True
    return _names_model(f"{user_place(environment)}/config.toml") or _has_weights(models_place(environment))


def _names_model(settings: str) -> bool:
    try:
        with open(settings, encoding="utf-8") as file:  # noqa: PTH123 - without pathlib
            return any(line.split("=")[0].strip() == "model" for line in file)
    except (OSError, ValueError):
        return False


def _has_weights(folder: str) -> bool:
    try:
        return any(name.endswith(".gguf") for name in os.listdir(folder))  # noqa: PTH208 - without pathlib
    except OSError:
        return False


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
