"""One browser for one task, from `open` to `close`.

    closed ── open(url) ──► a page ── click, type, … ──► settled ── look() ──► an image and what the page said
                 ▲                │
                 └── open(url) ───┘   crash, end of the browser: an error, and `open` begins again

The page that is shown is the newest tab; when it closes, the one before it. Nothing a page does waits for a person:
an alert is accepted, every other question of a page is answered with no, a wish to leave is granted, downloads and
file choosers go nowhere, permissions are not given. All of that is reported, and none of it is done without a limit: of
time (`settle`), of lines (`Notes`), of tabs.

Every connection goes through the gate (`gate.py`). Going from a page of this machine to one of elsewhere, or back,
begins with nothing: no cookie and no running script of the one is there with the other.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import os
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, TypeVar
from urllib.parse import urlsplit

from playwright.async_api import (
    Browser,
    BrowserContext,
    ConsoleMessage,
    Dialog,
    Error,
    Page,
    Playwright,
    Request,
    async_playwright,
)

from joey.system.hosts import host_of
from joey.tools.browser.gate import Gate, Trouble
from joey.tools.browser.view import Notes, Size, View
from joey.tools.shell.environment import command_environment

VIEWPORT = Size(900, 600)
_QUIET = (
    "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-quic",
    "--no-first-run", "--disable-gpu", "--dns-prefetch-disable",
    "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
)  # fmt: skip
"""No traffic of the browser's own, and none that goes around the gate."""
_START, _CLOSE, _STEP = 30.0, 10.0, 0.1
_MAX_TABS = 10
_TEXT = "() => document.body ? document.body.innerText.slice(0, 20000) : ''"
_SCROLL = "() => [window.scrollY, document.documentElement.scrollHeight].map(Math.round)"

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Timeouts:
    """Seconds that are waited at most."""

    load: float = 15.0
    act: float = 5.0
    settle: float = 5.0
    look: float = 5.0


class BrowsingError(Exception):
    """Words for the model on what did not work."""


class BrowserSession:
    """The browser of a task. `may_visit` says which addresses need no approval; what `open` is given is approved."""

    def __init__(
        self, program: str, may_visit: Callable[[str], bool], *, sandbox: bool = True, max_side: int = 1568
    ) -> None:
        self._program, self._sandbox, self._max_side = program, sandbox and os.geteuid() != 0, max_side
        self._granted: set[str] = set()
        self._gate = Gate(lambda url: host_of(url) in self._granted or may_visit(url))
        self._driver: Playwright | None = None
        self._browser: Browser | None = None
        self._context: BrowserContext | None = None
        self._local = False
        self._tabs: list[Page] = []
        self._loading: set[Request] = set()
        self._wanted: set[str] = set()
        """The hosts that pages asked for. The browser asks for some of its own, which are nobody's business."""
        self._console, self._notes = Notes(), Notes()
        self._lost = ""
        """What became of the page, if nothing more can be had of it."""
        self.timeouts = Timeouts()
        self.viewport = self.image_size = VIEWPORT
        self.mouse: tuple[int, int] | None = None

    @property
    def is_open(self) -> bool:
        return bool(self._tabs) and self._browser is not None and self._browser.is_connected()

    @property
    def page(self) -> Page:
        if self._browser is not None and not self._browser.is_connected():
            raise BrowsingError("the browser has ended. Launch the page again.")
        if not self._tabs:
            raise BrowsingError("no page is open. Launch one first.")
        if self._lost:
            raise BrowsingError(f"the page {self._lost}. Launch it again.")
        return self._tabs[-1]

    # From nothing to a page and back

    async def open(self, url: str) -> None:
        """Show this address, which is approved: its host may be visited from now on."""
        self._grant(host_of(url))
        local = await self._gate.open_for(url)
        if self._browser is None or not self._browser.is_connected():
            await self._start()
        if self._context is None or local != self._local or self._lost:
            await self._new_context(local=local)
        for tab in self._tabs[1:]:
            await tab.close()
        self._gate.troubles.clear()
        self._notes.take()  # what we did ourselves
        async with self._explained(url, self.timeouts.load), self._watched():
            await _again(lambda: self._goto(url), "interrupted by another navigation")

    async def _goto(self, url: str) -> None:
        answer = await self._tabs[0].goto(url, timeout=self.timeouts.load * 1000, wait_until="domcontentloaded")
        if answer is not None and answer.status >= 400:
            self._notes.add(f"The server answered with HTTP {answer.status}.")

    def _grant(self, host: str) -> None:
        self._granted |= {host, host.removeprefix("www."), f"www.{host}"}

    async def _start(self) -> None:
        await self.close()
        address = await self._gate.start()
        try:
            async with asyncio.timeout(_START):
                self._driver = await async_playwright().start()
                self._browser = await self._driver.chromium.launch(
                    executable_path=self._program, args=list(_QUIET), chromium_sandbox=self._sandbox,
                    proxy={"server": address}, timeout=_START * 1000,
                    env={**command_environment(os.environ).variables},
                )  # fmt: skip
        except (Error, OSError, TimeoutError) as error:
            await self.close()
            raise BrowsingError(f"the browser {self._program} could not be started: {first_lines(error)}") from None

    async def _new_context(self, *, local: bool) -> None:
        assert self._browser is not None
        if self._context is not None:
            await _bounded(self._context.close)
        self._tabs, self._lost, self._local, self.mouse = [], "", local, None
        self._context = await self._browser.new_context(
            viewport={"width": self.viewport.width, "height": self.viewport.height},
            accept_downloads=False,
            service_workers="block",
            ignore_https_errors=local,  # a server under development signs for itself
        )
        self._context.on("page", self._watch)
        self._context.on("request", self._on_request)
        self._context.on("requestfinished", self._on_loaded)
        self._context.on("requestfailed", self._on_loaded)
        await self._context.new_page()

    async def close(self) -> None:
        """End the browser and everything that came with it. Closing what is closed does nothing."""
        browser, driver = self._browser, self._driver
        self._browser = self._driver = self._context = None
        self._tabs = []
        if browser is not None:
            await _bounded(browser.close)
        if driver is not None:
            await _bounded(driver.stop)
        await self._gate.close()

    # What a page does by itself

    def _watch(self, page: Page) -> None:
        self._tabs.append(page)
        if len(self._tabs) > 1:
            self._notes.add(f"A new tab was opened and is shown now ({len(self._tabs)} are open).")
        page.on("console", self._on_console)
        page.on("pageerror", lambda error: self._console.add(f"[uncaught error] {error}"))
        page.on("dialog", self._answer)
        page.on("download", lambda download: self._notes.add(f"A download was refused: {download.suggested_filename}"))
        page.on("filechooser", lambda _: self._notes.add("The page asked for a file: nothing was chosen."))
        page.on("crash", self._on_crash)
        page.on("close", self._on_closed)
        page.on("websocket", lambda socket: self._wanted.add(urlsplit(socket.url).hostname or ""))
        if len(self._tabs) > _MAX_TABS:
            asyncio.ensure_future(self._tabs[1].close())  # noqa: RUF006 - the browser holds it until it is done

    def _on_console(self, message: ConsoleMessage) -> None:
        where = message.location.get("url", "")
        if not where.endswith("/favicon.ico"):  # the browser asks for it, not the page
            address = f" ({where})" if message.text.startswith("Failed to load resource") else ""
            self._console.add(f"[{message.type}] {message.text}{address}")

    def _on_request(self, request: Request) -> None:
        self._loading.add(request)
        self._wanted.add(host_of(request.url))

    def _on_loaded(self, request: Request) -> None:
        self._loading.discard(request)

    async def _answer(self, dialog: Dialog) -> None:
        accepted = dialog.type in ("alert", "beforeunload")
        done = "accepted" if accepted else "answered with no"
        self._console.add(f"[{dialog.type} dialog, {done}] {dialog.message}")
        with contextlib.suppress(Error):
            await (dialog.accept() if accepted else dialog.dismiss())

    def _on_crash(self, page: Page) -> None:
        if page is self._tabs[-1]:
            self._lost = "has crashed"

    def _on_closed(self, page: Page) -> None:
        if page in self._tabs:
            self._tabs.remove(page)
            self._notes.add("A tab was closed." if self._tabs else "The page closed itself.")

    # Acting

    async def click(self, x: int, y: int) -> None:
        await self._act(lambda page: page.mouse.click(x, y))
        self.mouse = x, y

    async def hover(self, x: int, y: int) -> None:
        await self._act(lambda page: page.mouse.move(x, y))
        self.mouse = x, y

    async def type(self, text: str) -> None:
        async def typed(page: Page) -> None:
            if not await page.evaluate("() => document.activeElement && document.activeElement !== document.body"):
                self._notes.add("Nothing on the page has the focus: click the field first.")
            # Key by key where it is short, as a person would; else in one piece.
            await (page.keyboard.type(text) if len(text) <= 500 else page.keyboard.insert_text(text))

        await self._act(typed)

    async def press(self, keys: str) -> None:
        await self._act(lambda page: page.keyboard.press(keys))

    async def scroll(self, pages: int) -> None:
        """Down by so many heights of the viewport; up if it is less than 0. What is under the mouse scrolls."""

        async def scrolled(page: Page) -> None:
            if self.mouse is None:
                await page.mouse.move(self.viewport.width // 2, self.viewport.height // 2)
            await page.mouse.wheel(0, pages * self.viewport.height)

        await self._act(scrolled)

    async def resize(self, size: Size) -> None:
        await self._act(lambda page: page.set_viewport_size({"width": size.width, "height": size.height}))
        self.viewport = size

    async def _act(self, action: Callable[[Page], Awaitable[Any]]) -> None:
        page = self.page
        async with self._explained(page.url, self.timeouts.act), self._watched():
            await action(page)

    @asynccontextmanager
    async def _explained(self, url: str, seconds: float) -> AsyncIterator[None]:
        """What goes wrong inside, in words."""
        try:
            async with asyncio.timeout(seconds + self.timeouts.settle + 1):
                yield
        except TimeoutError:
            self._lost = "does not respond"
            raise BrowsingError(f"the page at {url} does not respond. Launch it again.") from None
        except Error as error:
            self.page  # noqa: B018 - says so if there is none any more
            raise BrowsingError(self._failure(url, error)) from None

    def _failure(self, url: str, error: Error) -> str:
        for trouble in self._gate.troubles:
            if trouble.host not in self._wanted:
                continue
            if not trouble.refused:
                return f"{trouble.host}:{trouble.port} cannot be reached: {trouble.reason}."
            if trouble.host != host_of(url):
                return f"{url} leads to {_place(trouble)}, and {trouble.reason}. {_how_to_ask(trouble)}"
        if "Download is starting" in error.message or "ERR_ABORTED" in error.message:
            return f"{url} is no page: it would be a download, or has no content."
        return f"{url}: {first_lines(error)}"

    @asynccontextmanager
    async def _watched(self) -> AsyncIterator[None]:
        """After what is done inside, wait until the page has settled, for a while."""
        self._loading.clear()  # what was still loading before (a stream, a long poll) is not waited for again
        try:
            yield
        except Error as error:
            if "Timeout" not in error.message or "exceeded" not in error.message:
                raise
            self._notes.add(f"The page was still loading after {self.timeouts.load:g} s; this is how far it had come.")
        await self._settle()

    async def _settle(self) -> None:
        """Until nothing is loading at two looks in a row, or the time is over."""
        quiet = 0
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(self.timeouts.settle):
                while quiet < 2 and not self._lost and self.is_open:
                    await asyncio.sleep(_STEP)
                    quiet = 0 if self._loading or not await self._is_ready() else quiet + 1

    async def _is_ready(self) -> bool:
        with contextlib.suppress(Error):
            return bool(await self._tabs[-1].evaluate("() => document.readyState === 'complete'"))
        return False  # it is on its way to another page

    # Looking

    async def look(self) -> View:
        """What the page shows, and what it logged since the last look."""
        page = self.page
        image = await self._within(lambda: self.image("webp"), "the image of the page could not be taken")
        title = await self._within(page.title, "the title could not be read")
        text = await self._within(lambda: page.evaluate(_TEXT), "the text of the page could not be read")
        scrolled = await self._within(lambda: page.evaluate(_SCROLL), "how far it is scrolled could not be read")
        self._tell_refusals()
        return View(
            page.url, image, self.image_size, self.viewport, self.mouse,
            None if scrolled is None else (scrolled[0], scrolled[1]),
            title or "", text or "", self._console.take(), self._notes.take(),
        )  # fmt: skip

    async def _within(self, work: Callable[[], Awaitable[T]], problem: str) -> T | None:
        try:
            async with asyncio.timeout(self.timeouts.look):
                return await work()
        except (Error, TimeoutError) as error:
            self.page  # noqa: B018 - says so if there is none any more
            self._notes.add(f"{problem}: {first_lines(error) if isinstance(error, Error) else 'it does not respond'}")
            return None

    def _tell_refusals(self) -> None:
        refused = [trouble for trouble in self._gate.troubles if trouble.refused and trouble.host in self._wanted]
        self._gate.troubles.clear()
        for trouble in dict.fromkeys(refused):
            self._notes.add(f"Not connected to {_place(trouble)}: {trouble.reason}. {_how_to_ask(trouble)}")

    async def image(self, kind: str) -> bytes:
        """The viewport as png, jpeg or webp, not larger than the model looks at."""
        return await _again(lambda: self._taken(kind), "Not attached to an active page")

    async def _taken(self, kind: str) -> bytes:
        assert self._context is not None
        options: dict[str, Any] = {"format": kind, **({} if kind == "png" else {"quality": 80})}
        scale = min(1.0, self._max_side / max(self.viewport.width, self.viewport.height))
        devtools = await self._context.new_cdp_session(self.page)
        try:
            if scale < 1:
                seen = (await devtools.send("Page.getLayoutMetrics"))["cssVisualViewport"]
                options["clip"] = {
                    "x": seen["pageX"], "y": seen["pageY"], "scale": scale,
                    "width": self.viewport.width, "height": self.viewport.height,
                }  # fmt: skip
            taken = await devtools.send("Page.captureScreenshot", options)
        finally:
            with contextlib.suppress(Error):
                await devtools.detach()
        self.image_size = Size(round(self.viewport.width * scale), round(self.viewport.height * scale))
        return base64.b64decode(taken["data"])


def _place(trouble: Trouble) -> str:
    return trouble.host if trouble.port in (80, 443) else f"{trouble.host}:{trouble.port}"


def _how_to_ask(trouble: Trouble) -> str:
    return f"To visit it, launch an address on {_place(trouble)}: the user is asked."


def first_lines(error: Exception) -> str:
    """The beginning of an error, without the log that Playwright adds."""
    text = str(error) or type(error).__name__
    return " ".join(text.split("Call log:")[0].split())[:300]


async def _again(work: Callable[[], Awaitable[T]], passing: str) -> T:
    """What the work returns; tried a few times if it fails for a reason that passes while a page makes way."""
    for _ in range(3):
        try:
            return await work()
        except Error as error:
            if passing not in error.message:
                raise
            await asyncio.sleep(_STEP)
    return await work()


async def _bounded(work: Callable[[], Awaitable[Any]]) -> None:
    with contextlib.suppress(Error, OSError, TimeoutError):
        async with asyncio.timeout(_CLOSE):
            await work()
