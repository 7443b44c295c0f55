"""A model in this process: llama.cpp's own server on a loopback port, loaded when it is first needed.

One server for a file, shared by all tasks of the process. It has one slot: requests wait in its queue, first come,
first served, and a client that goes away leaves the queue or stops the decoding. The slot keeps what it has computed of
a prompt, so the next turn of a conversation costs only what is new.

    planned ──first request (in a thread)──► loaded ──exit of the process──► stopped
       └──────────file cannot be loaded──► planned, and the request fails; the next one tries again

The server is reached with a key that nobody else knows: other users of the machine can see the port.
"""

from __future__ import annotations

import atexit
import importlib
import json
import secrets
import threading
import urllib.request
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from joey.errors import UsageError
from joey.providers.base import EngineOptions
from joey.providers.catalogue import Abilities
from joey.providers.errors import BadRequestError
from joey.providers.local.weights import control_words, read_facts, silent_tokens, why_unreadable
from joey.system import machine
from joey.system.installation import add_extra

WINDOW, SMALL_WINDOW = 8192, 4096
_SIDE_CACHE_MIB = 256
"""For prompts of other conversations, when several share the slot."""
_BATCH = 64
"""Tokens of a prompt that are read at once. Between batches the engine sees that a client has gone; on a processor,
larger ones are no faster."""
_TIMEOUT = 600.0
_directly = urllib.request.build_opener(urllib.request.ProxyHandler({}))


@dataclass(frozen=True, slots=True)
class EnginePlan:
    """How a file is to be run."""

    path: Path
    context: int
    threads: int | None = None
    slots: int = 1
    """How many replies are written at once, each with a window of its own."""

    @property
    def abilities(self) -> Abilities:
        """Small models call tools badly by themselves: calls are in the text, held to a grammar."""
        return Abilities(tools=False, images=False, context_window=self.context)


def plan(path: Path, options: EngineOptions) -> EnginePlan:
    """The window that the model and the memory allow. Only the beginning of the file is read."""
    facts = read_facts(path)
    max_context = facts.context or WINDOW
    if options.context is not None:
        return EnginePlan(path, min(options.context, max_context), options.threads)
    free, cache = machine.free_memory(), (facts.cache_per_token or 0) * WINDOW
    # The cache is memory of its own; the weights are read from the file and may take the rest.
    is_tight = free is not None and free < path.stat().st_size + 2 * cache
    return EnginePlan(path, min(SMALL_WINDOW if is_tight else WINDOW, max_context), options.threads)


def threads_for(wanted: int | None) -> int:
    """As many as there are physical cores. On a busy machine one: several would mostly wait for each other."""
    if wanted is not None:
        return wanted
    cores = machine.cores()
    return 1 if machine.is_busy(cores) else cores


def require_runtime() -> Any:
    """The module that runs models, or a complaint that names the extra it comes with."""
    try:
        return importlib.import_module("xllamacpp")
    except ImportError as error:
        raise UsageError(f"models on this machine need the extra `local`: {add_extra('local')} ({error})") from None


def ask_server(address: str, path: str, key: str, body: dict[str, Any] | None = None) -> Any:
    """What the server answers to one of its own endpoints, for which no provider is needed."""
    headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(f"{address}{path}", data, headers)  # noqa: S310 - our own server
    with _directly.open(request, timeout=_TIMEOUT) as reply:
        return json.load(reply)


class Engine:
    """One model file and the server that runs it."""

    def __init__(self, plan: EnginePlan) -> None:
        self.plan = plan
        self.key = secrets.token_urlsafe(24)
        self._server: Any = None
        self._loading = threading.Lock()

    def load(self) -> str:
        """The server's address. Takes seconds the first time: call it in a thread."""
        with self._loading:
            if self._server is None:
                self._server = self._start()
                _ = self.silent_tokens, self.control_words  # while nobody waits for the event loop
            return str(self._server.listening_address)

    @cached_property
    def silent_tokens(self) -> tuple[int, ...]:
        """See joey.providers.local.weights."""
        return silent_tokens(self.plan.path)

    @cached_property
    def control_words(self) -> tuple[str, ...]:
        """See joey.providers.local.weights."""
        return control_words(self.plan.path)

    def stop(self) -> None:
        with self._loading:
            self._server = None  # its end is the end of the object

    def _start(self) -> Any:
        runtime = require_runtime()
        try:
            server = runtime.Server(self._parameters(runtime))
        except RuntimeError as error:
            path = self.plan.path
            reason = why_unreadable(path) or f"llama.cpp cannot load {path}: {error}"
            raise BadRequestError(f"the model cannot be loaded: {reason}") from None
        # A server that is stopped before its loop has begun never ends. After an answer of the loop's it has.
        ask_server(server.listening_address, "/slots", self.key)
        return server

    def _parameters(self, runtime: Any) -> Any:
        parameters = runtime.CommonParams()
        parameters.model.path = str(self.plan.path)
        parameters.n_ctx = self.plan.context * self.plan.slots
        parameters.n_parallel = self.plan.slots
        parameters.n_batch = parameters.n_ubatch = _BATCH
        threads = threads_for(self.plan.threads)
        parameters.cpuparams.n_threads = parameters.cpuparams_batch.n_threads = threads
        parameters.cache_ram_mib = _SIDE_CACHE_MIB
        parameters.warmup = False
        parameters.verbosity = -1
        parameters.api_keys = [self.key]
        parameters.ui = False
        parameters.offline = True
        parameters.sse_ping_interval = 1  # an open stream holds up the end of the server this long
        return parameters


_engines: dict[EnginePlan, Engine] = {}


def engine_for(plan: EnginePlan) -> Engine:
    """The one engine of this process for a plan."""
    return _engines.setdefault(plan, Engine(plan))


def stop_engines() -> None:
    """End all servers and free their memory. Runs at exit, too."""
    while _engines:
        _engines.popitem()[1].stop()


atexit.register(stop_engines)
