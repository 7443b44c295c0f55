"""What is checked of models: keys, servers, models on this machine, how calls are made."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

from joey.cli.doctor.finding import Finding
from joey.errors import JoeyError
from joey.system.hosts import host_of, is_this_machine

if TYPE_CHECKING:
    from joey.config import Config
    from joey.providers import Endpoint

_TIMEOUT = 3.0


def model_findings(config: Config | None, *, online: bool) -> Iterator[Finding]:
    """One finding for each key that is set and each local server, and one if no model can be used at all."""
    from joey.providers import ENDPOINTS
    from joey.system.keyring import find_key

    usable, without = False, []
    for name, endpoint in ENDPOINTS.items():
        key = find_key(endpoint.key_variable)
        if key is not None:
            usable = True
            yield Finding(f"{name} key", "ok", f"{endpoint.key_variable} is set in {key.where}")
        address = _address(endpoint)
        if is_this_machine(host_of(address)):
            server = _server(name, address)
            usable = usable or server.state == "ok"
            yield server
        elif key is None:
            without.append(endpoint.key_variable)
        elif online:
            yield _answering(name, address, "check the network, the proxy and the address")
    for finding in (*_in_this_process(), *_own_server(config)):
        usable = usable or finding.state == "ok"
        yield finding
    yield from _upstreams(config)
    if usable and config and (calls := _calls(config, online=online)):
        yield calls
    if without:
        yield Finding("keys", "note", f"not set: {', '.join(without)}")
    if not usable:
        yield Finding("a model", "missing", "no API key, no local server, no installed model", _ways())


def _calls(config: Config, *, online: bool) -> Finding | None:
    """How the model of tasks here is had to call tools, and why."""
    from joey.app.dialects import protocol_of, server_of_model
    from joey.app.settings import default_model

    try:
        model = config.value("model") or default_model()
        address = server_of_model(model, config)
        if address and not online and not is_this_machine(host_of(address)):
            return None
        return Finding("calls", "ok", f"{model}: {protocol_of(model, config)}")
    except JoeyError:
        return None  # a model that cannot be used is a finding of its own


def _in_this_process() -> Iterator[Finding]:
    """The models that Joey can run itself; one finding each, ok if it can be used now."""
    from joey.cli.local import has_runtime, measured, megabytes, runtime_state, speed_words
    from joey.providers.local.weights import CATALOGUE, installed_models
    from joey.system.machine import free_memory

    names, free = installed_models(), free_memory()
    room = f"{megabytes(free)} of memory free" if free is not None else "free memory unknown"
    if not names:
        advice = "`joey local install` downloads a small coding model that needs no key (1.1 GB)"
        yield Finding("local", "note", f"no model installed; {runtime_state()}; {room}", advice)
    for name in names:
        weights, speed = CATALOGUE[name], measured(CATALOGUE[name].path())
        pace = speed_words(speed) if speed else f"`joey local bench {name}` measures its speed"
        found = f"installed, {megabytes(weights.size)}; {runtime_state()}; {room}; {pace}"
        enough = free is None or free > weights.memory
        advice = "" if enough else f"it needs about {megabytes(weights.memory)} of memory; close other programs first"
        yield Finding(f"local/{name}", "ok" if has_runtime() and enough else "note", found, advice)


def _own_server(config: Config | None) -> Iterator[Finding]:
    """The server that the settings name in place of a provider's."""
    if config and (address := config.value("base_url")):
        yield _server("base_url", address)


def _upstreams(config: Config | None) -> Iterator[Finding]:
    """The servers that the gateway is to be in front of."""
    for name, entry in config.upstreams.items() if config else ():
        subject, url = f"upstream {name}", entry.get("url")
        if url is None:
            yield Finding(subject, "ok", entry.get("model", "no model; set `model` or `url`"))
        else:
            yield _server(subject, url, "start the server, or check the address")


def _server(subject: str, address: str, advice: str = "") -> Finding:
    """A server of the user's. Only one on this machine is contacted."""
    if is_this_machine(host_of(address)):
        return _answering(subject, address, advice)
    return Finding(subject, "ok", f"{address} (not contacted; it is not on this machine)")


def _answering(subject: str, address: str, advice: str) -> Finding:
    if answers(address):
        return Finding(subject, "ok", f"{address} answers")
    return Finding(subject, "note", f"{address} does not answer", advice)


def _ways() -> str:
    from joey.system.keyring import how_to_store, keyring_program

    stored = f" (or `{how_to_store('ANTHROPIC_API_KEY')}`)" if keyring_program() else ""
    return (
        f"set ANTHROPIC_API_KEY or OPENAI_API_KEY{stored}, run `joey local install`, start a local server such as "
        "Ollama, or try `joey demo`"
    )


def _address(endpoint: Endpoint) -> str:
    own = os.environ.get(endpoint.base_url_variable) if endpoint.base_url_variable else None
    usual = {"anthropic": "https://api.anthropic.com", "openai": "https://api.openai.com/v1"}
    return own or endpoint.base_url or usual[endpoint.wire]


def answers(address: str) -> bool:
    """Whether anything at all answers there. No key is sent, and no proxy is used."""
    import http.client
    from urllib.parse import urlsplit

    try:
        parts = urlsplit(address)
        kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
        connection = kind(parts.hostname or "", parts.port, timeout=_TIMEOUT)
    except ValueError:
        return False
    try:
        connection.request("GET", f"{parts.path.rstrip('/')}/models")
        connection.getresponse()
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()
    return True
