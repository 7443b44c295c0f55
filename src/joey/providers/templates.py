"""What a server of the user's own says of the model that it runs, as far as it shows which dialect the model writes.

    llama.cpp   its properties have the chat template
    Ollama      what it shows of a model has the template, and whether Ollama itself reads the model's calls
    vLLM        its list names where the weights come from; if that is a folder of this machine, the template is there

A server that does not answer, or with something else, says nothing.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from joey.bounded.files import read_regular_text
from joey.providers.decoding.shapes import items, mapping, text
from joey.providers.discovery import LOCAL_TIMEOUT, ModelServer
from joey.providers.errors import NetworkError
from joey.system.hosts import host_of, is_this_machine

_TIMEOUT = 2.0
_MAX_TEMPLATE = 4 * 2**20


@dataclass(frozen=True, slots=True)
class ServedModel:
    """A model as its server describes it. Empty: the server does not say."""

    template: str = ""
    weights: str = ""
    """What the weights are called, where that is not the name by which the model is asked for."""
    calls_are_read: bool | None = None
    """Whether the server says that it reads the model's calls itself."""


def look_at_server(provider: str, address: str, model: str, key: str | None = None) -> ServedModel:
    """What the server at an address says of a model; nothing for a provider that is none of these."""
    look = _LOOKS.get(provider)
    if look is None:
        return ServedModel()
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    timeout = LOCAL_TIMEOUT if is_this_machine(host_of(address)) else _TIMEOUT
    try:
        return look(ModelServer(address, headers, timeout), model)
    except NetworkError:
        return ServedModel()


def _llamacpp(server: ModelServer, _model: str) -> ServedModel:
    properties = mapping(server.above().get("/props"))
    template = text(properties.get("chat_template_tool_use")) or text(properties.get("chat_template"))
    return ServedModel(template, Path(text(properties.get("model_path"))).name)


def _ollama(server: ModelServer, model: str) -> ServedModel:
    shown = mapping(server.above().get("/api/show", {"model": model}))
    can = shown.get("capabilities")
    return ServedModel(text(shown.get("template")), calls_are_read="tools" in can if isinstance(can, list) else None)


def _vllm(server: ModelServer, model: str) -> ServedModel:
    listed = map(mapping, items(mapping(server.get("/models")).get("data")))
    root = next((text(each.get("root")) for each in listed if each.get("id") == model), "")
    here = is_this_machine(host_of(server.address)) and root.startswith("/")
    return ServedModel(_template_in(Path(root)) if here else "", root)


def _template_in(folder: Path) -> str:
    """The chat template among the files of a model."""
    try:
        return read_regular_text(folder / "chat_template.jinja", _MAX_TEMPLATE)
    except (OSError, ValueError):
        pass
    try:
        data = json.loads(read_regular_text(folder / "tokenizer_config.json", _MAX_TEMPLATE))
    except (OSError, ValueError, RecursionError):
        return ""
    return text(mapping(data).get("chat_template"))


_LOOKS: Mapping[str, Callable[[ModelServer, str], ServedModel]] = {
    "llamacpp": _llamacpp,
    "ollama": _ollama,
    "vllm": _vllm,
}
