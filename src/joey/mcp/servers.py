"""The servers of a task: started side by side in the background, kept running, ended with the task.

    starting --handshake and lists--> ready --connection lost--> down --a pause--> starting
        |                                                          ^
        +--it fails, or takes too long-----------------------------+
        +--there is no such program--> failed                     (any) --close--> stopped

The pause doubles with each failure in a row, up to a minute, and is short again for a server that stayed up a while.
Nobody waits for a server but a call to it: a call to one that is starting waits for it, a call to one that is down
fails at once and says why. `version` grows with every change of what there is to offer.
"""

from __future__ import annotations

import asyncio
import importlib
import importlib.util
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import replace
from typing import TYPE_CHECKING, Literal, TypeAlias

from joey.mcp.config import ServerConfig
from joey.mcp.errors import CallError, ErrorOutput
from joey.mcp.listing import ServerListing
from joey.system.installation import add_extra
from joey.tools.forms import AskForm, decline
from joey.wire import JsonObject

if TYPE_CHECKING:
    from joey.mcp.session import McpSession, Progress

State: TypeAlias = Literal["starting", "ready", "down", "failed", "stopped"]

FIRST_PAUSE = 1.0
_MAX_PAUSE = 60.0
_STEADY = 30.0
"""Seconds after which a server counts as one that works."""
_BETWEEN_LISTINGS = 1.0
_CLOSING = 6.0
_SWITCHED_OFF = "it is switched off"
_JUST_ENDED = "its connection has ended, and it will be started again"


def not_installed() -> str:
    return f"the SDK for MCP is not installed: `{add_extra('mcp')}` adds it"


def sdk_is_installed() -> bool:
    return importlib.util.find_spec("mcp") is not None


class Server:
    """One server and the task that keeps it running."""

    def __init__(self, config: ServerConfig, on_change: Callable[[], None], *, first_pause: float) -> None:
        self.config = config
        self.state: State = "starting"
        self.problem = ""
        """Why it is not ready."""
        self.listing = ServerListing()
        self.words = ErrorOutput()
        self._on_change = on_change
        self._first_pause = first_pause
        self._session: McpSession | None = None
        self._changed, self._stop, self._settled = asyncio.Event(), asyncio.Event(), asyncio.Event()

    @property
    def name(self) -> str:
        return self.config.name

    @property
    def why_not(self) -> str:
        """Why it cannot be called, for whoever tried."""
        output = f"\nIts last words:\n{self.words.tail}" if self.words.tail else ""
        return f"The MCP server {self.name!r} is not running: {self.problem or _JUST_ENDED}.{output}"

    async def settled(self) -> None:
        """Wait until it is ready, or is known not to be."""
        await self._settled.wait()

    async def call(self, tool: str, arguments: JsonObject, progress: Progress, ask: AskForm = decline) -> JsonObject:
        return await (await self._ready()).call(tool, arguments, progress, ask)

    async def read(self, uri: str) -> JsonObject:
        return await (await self._ready()).read(uri)

    async def prompt(self, name: str, arguments: Mapping[str, str]) -> JsonObject:
        return await (await self._ready()).prompt(name, arguments)

    async def _ready(self) -> McpSession:
        await self.settled()
        if self._session is None or self._session.ended.is_set():
            raise CallError(self.why_not, lost=True)
        return self._session

    def stop(self) -> None:
        self._stop.set()

    def switch_off(self) -> None:
        """The user does not want it for now: it ends, and offers nothing."""
        self.stop()
        self.listing = ServerListing()
        self._become("stopped", _SWITCHED_OFF)

    def switch_on(self) -> None:
        """It may run again."""
        self._stop.clear()
        self._become("starting", "")

    # The task

    async def run(self) -> None:
        """Keep the server running until it is stopped."""
        failures = 0
        try:
            while not self._stop.is_set():
                began = time.monotonic()
                reason, can_retry = await self._attempt()
                if not can_retry:
                    self._become("failed", reason)
                    return
                if self._stop.is_set():
                    return
                failures = 1 if time.monotonic() - began > _STEADY else failures + 1
                pause = min(_MAX_PAUSE, self._first_pause * 2 ** min(failures - 1, 10))
                self._become("down", f"{reason}; it is started again after {pause:g} s")
                await _first(self._stop, seconds=pause)
                self._become("starting", "")
        finally:
            if self.problem != _SWITCHED_OFF:
                self._become("stopped", "it was stopped")

    async def _attempt(self) -> tuple[str, bool]:
        """One life of the server: how it ended, and whether to try again."""
        try:
            return await self._converse(), True
        except TimeoutError:
            return f"it did not answer within {self.config.timeout:g} s of being started", True
        except (FileNotFoundError, PermissionError, NotADirectoryError) as error:
            return f"it cannot be run: {error.strerror} ({error.filename or self.config.command})", False
        except ModuleNotFoundError as error:
            return f"{not_installed()} ({error})", False
        except Exception as error:  # noqa: BLE001 - whatever a server or the SDK does, the next attempt may work
            return _in_words(error), True
        finally:
            self._session = None

    async def _converse(self) -> str:
        # Loading the SDK takes a while; in a thread, it holds up nobody.
        sessions = await asyncio.to_thread(importlib.import_module, "joey.mcp.session")
        async with AsyncExitStack() as stack:
            async with asyncio.timeout(self.config.timeout):
                opened = sessions.open_session(self.config, self.words, self._changed.set)
                session: McpSession = await stack.enter_async_context(opened)
                listing = await session.listing()
            self._session = session
            self._publish(listing)
            while not session.ended.is_set() and not self._stop.is_set():
                await _first(session.ended, self._changed, self._stop)
                await self._list_again(session)
            self._session = None
        return "its connection ended"

    async def _list_again(self, session: McpSession) -> None:
        if not self._changed.is_set() or session.ended.is_set():
            return
        self._changed.clear()
        try:
            listing = await session.listing()
        except CallError as error:
            if error.lost:
                raise
            # What it said before still holds, as far as anybody knows.
            listing = replace(self.listing, problems=(str(error),))
        if listing != self.listing:
            self._publish(listing)
        # A server that calls out changes without end must not keep us listing.
        await _first(session.ended, self._stop, seconds=_BETWEEN_LISTINGS)

    def _publish(self, listing: ServerListing) -> None:
        if self._stop.is_set():
            return
        self.listing = listing
        self._become("ready", "")

    def _become(self, state: State, problem: str) -> None:
        if state == "stopped" and self.state == "failed":
            return
        self.state, self.problem = state, problem
        (self._settled.clear if state == "starting" else self._settled.set)()
        self._on_change()


class McpServers:
    """All the servers of a task."""

    def __init__(
        self, configs: Sequence[ServerConfig], *, first_pause: float = FIRST_PAUSE, off: Collection[str] = ()
    ) -> None:
        """Those that are `off` do not start until they are switched on."""
        self.version = 0
        self.servers = tuple(Server(config, self._bump, first_pause=first_pause) for config in configs)
        self._tasks: list[tuple[Server, asyncio.Task[None]]] = []
        for server in self.servers:
            if server.name in off:
                server.switch_off()

    def _bump(self) -> None:
        self.version += 1

    def start(self) -> None:
        """Begin to start them all. Returns at once."""
        on = (server for server in self.servers if server.problem != _SWITCHED_OFF)
        self._tasks = [(server, asyncio.create_task(server.run())) for server in on]

    def unavailable(self, late: str) -> list[str]:
        """What a person should know of those that were to run and are not ready; `late` is the reason given for a
        server that is still starting."""
        lost = (each for each in self.servers if each.state in ("starting", "down", "failed"))
        return [f"MCP server {each.name!r} is not available: {each.problem or late}" for each in lost]

    def find(self, name: str) -> Server | None:
        return next((server for server in self.servers if server.name == name), None)

    def switch(self, name: str, *, on: bool) -> None:
        """Switch a server off, or on again; one that failed is started again, too."""
        server = self.find(name)
        if server is None or (on and server.state in ("starting", "ready")):
            return
        before = [task for each, task in self._tasks if each is server]
        self._tasks = [(each, task) for each, task in self._tasks if each is not server]
        if not on:
            starting = server.state == "starting"
            server.switch_off()
            for task in before if starting else ():
                task.cancel()
            self._tasks += [(server, task) for task in before]
            return
        self._tasks.append((server, asyncio.create_task(_switched_on(server, before))))

    def restart(self, name: str) -> None:
        """End a server and start it again, such as after a sign-in."""
        self.switch(name, on=False)
        self.switch(name, on=True)

    async def settled(self) -> None:
        """Wait until every server is ready, or is known not to be."""
        await asyncio.gather(*(server.settled() for server in self.servers))

    async def close(self) -> None:
        """End them all, and wait until they have ended."""
        for server, task in self._tasks:
            busy_starting = server.state == "starting"
            server.stop()
            if busy_starting:
                task.cancel()
        tasks = [task for _, task in self._tasks]
        if tasks:
            _, slow = await asyncio.wait(tasks, timeout=_CLOSING)
            for task in slow:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        self._tasks = []


async def _switched_on(server: Server, before: Sequence[asyncio.Task[None]]) -> None:
    """Run a server again, when its life before has ended."""
    await asyncio.gather(*before, return_exceptions=True)
    server.switch_on()
    await server.run()


async def _first(*events: asyncio.Event, seconds: float | None = None) -> None:
    """Wait for any of the events, or so long."""
    waiting = [asyncio.create_task(event.wait()) for event in events]
    try:
        await asyncio.wait(waiting, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in waiting:
            task.cancel()


def _in_words(error: BaseException) -> str:
    """The error that matters, out of the groups that it comes wrapped in."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return f"{str(error) or type(error).__name__}".rstrip(".")
