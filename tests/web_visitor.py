"""A person in a real Chromium who has the page open."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from web_kit import WebKit

AXE = Path(__file__).parent / ".cache/axe-npm/node_modules/axe-core/axe.min.js"


class Visitor:
    """A window with the page in it. What goes wrong there, and which hosts are asked, is written down."""

    def __init__(self, page: Any) -> None:
        self.page = page
        self.problems: list[str] = []
        self.hosts: set[str] = set()
        page.set_default_timeout(20_000)
        page.on("pageerror", lambda error: self.problems.append(str(error)))
        page.on("console", self._logged)
        page.on("dialog", lambda dialog: self.problems.append(f"a dialog: {dialog.message}"))
        page.on("request", lambda request: self.hosts.add(request.url.split("/")[2]))

    def _logged(self, message: Any) -> None:
        if message.type == "error":
            self.problems.append(message.text)

    def button(self, name: str) -> Any:
        return self.page.get_by_role("button", name=name, exact=True).last

    async def see(self, selector: str, **more: Any) -> None:
        await self.page.wait_for_selector(selector, **more)

    async def text(self, selector: str) -> str:
        return str(await self.page.eval_on_selector(selector, "node => node.textContent"))

    async def says(self, selector: str, words: str) -> None:
        """Wait until some words are shown."""
        await self.page.locator(selector, has_text=words).first.wait_for()


async def visit(
    browser: Any, kit: WebKit, path: str = "", width: int = 1280, height: int = 860, script: str = "", **more: Any
) -> Visitor:
    """Open the link. `script` runs before the page does."""
    context = await browser.new_context(viewport={"width": width, "height": height}, **more)
    await context.add_init_script(script)
    visitor = Visitor(await context.new_page())
    await visitor.page.goto(f"{kit.link}{path}")
    return visitor


async def serious(visitor: Visitor, where: str) -> list[str]:
    await visitor.page.evaluate(AXE.read_text())
    result = await visitor.page.evaluate("axe.run(document, {resultTypes: ['violations']})")
    return [
        f"{where}: {each['id']}: {each['nodes'][0]['html'][:160]} {each['nodes'][0]['failureSummary'][:200]}"
        for each in result["violations"]
        if each["impact"] in ("serious", "critical")
    ]
