"""Images of the running program for the docs: `make screenshots` writes those in docs/images again.

A scripted model answers over real HTTP; the terminal, the page, the task and the tools are those that everybody runs.
The images are taken where a file was written and a command waits for approval. Those of the page need Playwright and a
Chromium; where they are missing, only the terminal's is taken.
"""

from __future__ import annotations

import asyncio
import os
import socket
import sys
import tempfile
from pathlib import Path
from typing import Literal

from textual.pilot import Pilot

from joey.app.services import Services
from joey.app.tasks import TaskOptions
from joey.chunks import UsageChunk
from joey.config.files import settings_from
from joey.messages import ReasoningBlock, ToolUseBlock
from joey.terminal.screen.app import Interactive
from joey.terminal.screen.prompt import Prompt
from joey.terminal.screen.request_panel import RequestPanel
from joey.testing.screenshot import svg
from joey.testing.script import reply
from joey.testing.server import LocalServer
from joey.tools.browser.chromium import find_chromium, why_no_browser
from joey.web.runner import Wanted

IMAGE = Path(__file__).parent.parent / "docs" / "images" / "terminal.svg"
SIZE = (104, 42)
WINDOWS: dict[str, tuple[int, int, Literal["light", "dark"]]] = {
    "web.png": (1240, 780, "light"),
    "web-phone.png": (390, 800, "dark"),
}
TOKEN = "only-for-the-screenshot"
MODEL = "anthropic/claude-sonnet-5-5"
TASK = "Add a /hello endpoint to server.py and try it"
BEFORE = """\
from http.server import BaseHTTPRequestHandler, HTTPServer


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_error(404)


HTTPServer(("127.0.0.1", 8000), Handler).serve_forever()
"""
AFTER = BEFORE.replace(
    "        self.send_error(404)\n",
    '        if self.path != "/hello":\n'
    "            return self.send_error(404)\n"
    "        self.send_response(200)\n"
    "        self.end_headers()\n"
    '        self.wfile.write(b"Hello!")\n',
)
SCRIPT = [
    reply(
        ReasoningBlock("The handler answers everything with 404. One branch on the path is enough."),
        "The server answers every path with 404. I add **one branch** for `/hello`:",
        ToolUseBlock("todo", "update_todo_list", {"todos": "[x] Read server.py\n[-] Add /hello\n[ ] Try it"}),
        ToolUseBlock("write", "write_to_file", {"path": "server.py", "file_text": AFTER}),
        usage=UsageChunk(1_850, 420, 0, 9_300),
    ),
    reply(
        "Now I start it and ask it.",
        ToolUseBlock("try", "execute_command", {"command": "python server.py & curl -s localhost:8000/hello"}),
        usage=UsageChunk(640, 95, 0, 11_600),
    ),
]


async def take_screenshot(scratch: Path) -> str:
    """The screen, as SVG, when it asks for approval of a command."""
    project = scratch / "project"
    project.mkdir()
    (project / "server.py").write_text(BEFORE)
    async with LocalServer(SCRIPT) as server:
        flags = {"model": MODEL, "base_url": server.anthropic_url, "approve": "edits"}
        services = Services(TaskOptions(project, settings_from(flags)))
        app = Interactive(services, services.first_choices())
        async with app.run_test(size=SIZE) as pilot:
            app.query_one(Prompt).cursor_blink = False
            await pilot.press(*(" " if letter == " " else letter for letter in TASK), "enter")
            await _until_approval_is_required(app, pilot)
            return svg(app)


async def _until_approval_is_required(app: Interactive, pilot: Pilot[None]) -> None:
    panel = app.query_one(RequestPanel)
    for _ in range(600):
        await pilot.pause(0.05)
        if panel.accepts_keys:
            await pilot.pause(0.2)
            return
    sys.exit("the screen never asked for approval, so there is no image to take")


async def take_web_screenshots(scratch: Path) -> dict[str, bytes]:
    """The page in a window and on a phone, as PNG, when it asks for approval of a command."""
    from playwright.async_api import async_playwright

    from joey.web.guard import Access
    from joey.web.server import serving

    os.environ["XDG_STATE_HOME"] = str(scratch / "web-state")  # without the task of the terminal
    project = scratch / "hello-server"
    project.mkdir(parents=True)
    (project / "server.py").write_text(BEFORE)
    listening = socket.create_server(("127.0.0.1", 0))
    link = f"http://127.0.0.1:{listening.getsockname()[1]}/?token={TOKEN}"
    async with LocalServer(SCRIPT) as server, async_playwright() as playwright:
        flags = settings_from({"model": MODEL, "base_url": server.anthropic_url, "approve": "edits"})
        async with serving(project, Access(TOKEN), listening, flags) as api:
            task_id = await api.runner.start(project, Wanted(TASK))
            browser = await playwright.chromium.launch(executable_path=find_chromium(), args=["--no-sandbox"])
            taken = {}
            for name, (width, height, scheme) in WINDOWS.items():
                page = await browser.new_page(
                    viewport={"width": width, "height": height}, color_scheme=scheme, device_scale_factor=1.5
                )
                await page.goto(f"{link}#/task/{task_id}")
                await page.wait_for_selector(".request")
                await page.wait_for_timeout(400)
                taken[name] = await page.screenshot()
            await browser.close()
            return taken


def main() -> None:
    with tempfile.TemporaryDirectory() as scratch:
        own = {"HOME": scratch, "XDG_STATE_HOME": scratch, "XDG_CONFIG_HOME": scratch, "ANTHROPIC_API_KEY": "none"}
        os.environ.update(own)
        os.environ.pop("NO_COLOR", None)
        image = asyncio.run(take_screenshot(Path(scratch)))
        missing = why_no_browser()
        pages = {} if missing else asyncio.run(take_web_screenshots(Path(scratch)))
    IMAGE.parent.mkdir(parents=True, exist_ok=True)
    IMAGE.write_text(image, encoding="utf-8")
    print(f"wrote {IMAGE}")
    for name, data in pages.items():
        (IMAGE.parent / name).write_bytes(data)
        print(f"wrote {IMAGE.parent / name}")
    if missing:
        print(f"the images of the page were not taken: {missing}", file=sys.stderr)


if __name__ == "__main__":
    main()
