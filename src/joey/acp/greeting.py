"""The answer to `initialize`: what Joey can do, and whether a key is missing. With the standard library alone."""

from __future__ import annotations

import os
from collections.abc import Mapping

from joey import __version__
from joey.system.places import models_place, user_place

TYPE_CHECKING = False
if TYPE_CHECKING:  # `typing` takes longer to load than all the rest
    from collections.abc import Mapping
    from typing import Any

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
    """Whether there is a key or a model, as far as a quick look tells. A session looks closely."""
    return any(environment.get(name) for name in ("JOEY_MODEL", *KEY_VARIABLES)) or has_own_model(environment)


def has_own_model(environment: Mapping[str, str]) -> bool:
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
