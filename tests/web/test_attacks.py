"""What others try: pages of other origins in the same browser, and a model that writes against the page."""

from __future__ import annotations

import json
from typing import Any

import pytest

from joey.testing.script import reply
from joey_process import call, done
from pages_kit import Pages, needs_browser
from web_kit import WebKit, WebKits
from web_visitor import visit

pytestmark = needs_browser

EVIL = """<!doctype html><title>evil</title><body><script>
const target = location.hash.slice(1), got = [];
const note = (how) => (what) => got.push(`${how}: ${what}`);
async function attack() {
  const post = { method: "POST", credentials: "include", body: JSON.stringify({ text: "run it" }) };
  await fetch(`${target}/api/v1/tasks`, { credentials: "include" }).then((a) => a.text()).then(note("read"), () => {});
  await fetch(`${target}/api/v1/tasks`, { ...post, headers: { "content-type": "application/json" } }).then((a) => a.status).then(note("post"), () => {});
  await fetch(`${target}/api/v1/tasks`, { ...post, mode: "no-cors", headers: { "content-type": "text/plain" } }).catch(() => {});
  await new Promise((done) => { const s = document.createElement("script"); s.type = "module"; s.src = `${target}/app.js`; s.onload = () => { note("script")("ran"); done(); }; s.onerror = done; document.body.append(s); });
  await new Promise((done) => { const s = document.createElement("img"); s.src = `${target}/icon.svg`; s.onload = () => { note("image")("loaded"); done(); }; s.onerror = done; document.body.append(s); });
  await new Promise((done) => { const s = new EventSource(`${target}/api/v1/events`, { withCredentials: true }); s.onopen = () => { note("events")("open"); done(); }; s.onerror = () => { s.close(); done(); }; });
  await new Promise((done) => { const s = new WebSocket(target.replace("http", "ws") + "/api/v1/events"); s.onopen = () => { note("socket")("open"); done(); }; s.onerror = done; });
  await new Promise((done) => { const f = document.createElement("iframe"); f.src = target; f.onload = () => { try { note("frame")(f.contentDocument.body.innerHTML); } catch {} done(); }; document.body.append(f); });
  const w = window.open(target);
  await new Promise((done) => setTimeout(done, 1000));
  try { note("window")(w.document.title); } catch {}
  document.title = "done";
}
attack();
</script>"""  # noqa: E501 - one attack a line


async def test_a_page_of_another_port_gets_nothing_although_the_browser_has_the_cookie(
    kits: WebKits, browser: Any, capfd: pytest.CaptureFixture[str]
) -> None:
    """To a browser it is the same site: cookies are sent, and no wall of its own stands between the two."""
    kit = await kits.start([done()])
    person = await visit(browser, kit)
    await person.see(".welcome")
    async with Pages({"/evil": EVIL}) as pages:
        other = await person.page.context.new_page()
        await other.goto(f"{pages.url}/evil#{kit.url}")
        await other.wait_for_function("() => document.title === 'done'", timeout=20_000)
        assert await other.evaluate("got") == []
    assert capfd.readouterr().err == ""  # nor does it write into the terminal of `joey web`
    assert (await kit.get("/tasks"))["tasks"] == [] and kit.model.requests == []


async def test_the_token_is_in_no_address_and_goes_nowhere(kits: WebKits, browser: Any) -> None:
    kit = await kits.start([reply("See http://127.0.0.1:1/x and [this](http://127.0.0.1:1/y).")])
    task_id = await kit.start()
    await kit.status(task_id, "completed")
    person = await visit(browser, kit, f"#/task/{task_id}")
    sent: list[str] = []
    person.page.on("request", lambda request: sent.append(f"{request.url} {json.dumps(request.headers)}"))
    await person.see(".turn a")
    assert "token" not in person.page.url
    await person.page.go_back()
    assert "token" not in person.page.url
    await person.page.go_forward()
    await person.page.reload()
    await person.see(".turn a")
    assert sent and not [each for each in sent if kit.link.split("=")[1] in each]
    assert await person.page.get_attribute(".turn a", "rel") == "noopener noreferrer"
    assert not await person.page.evaluate("document.cookie")


FENCES = "".join(f"```{name}\nx\n```\n" for name in ("constructor", "__proto__", "toString"))
NAMES = ("constructor", "__proto__", "hasOwnProperty", "toString")


async def test_a_model_that_writes_against_the_page_breaks_nothing(kits: WebKits, browser: Any) -> None:
    """Names that every object has, depth without end, and what a terminal would obey."""
    deep = ">" * 3_000 + "deep\n\n" + "\n".join(" " * (2 * n) + "- list" for n in range(40))
    calls = [call(f"c{n}", name, __proto__={"a": 1}, constructor="b") for n, name in enumerate(NAMES)]
    shout = call(
        "e", "execute_command", command=r"printf '\033]0;evil\007\033[2J\033[8mgone\033[0m \033[999999999m%s\n' end"
    )
    kit = await kits.start([reply(f"{FENCES}\n{deep}\n\nThe end.", *calls, shout), done("Still here.")])
    task_id = await kit.start()
    person = await visit(browser, kit, f"#/task/{task_id}")
    await person.says(".turn .md", "The end.")
    await person.button("Yes").click()
    await person.says(".outcome", "Still here.")
    await person.page.eval_on_selector_all("details", "all => { for (const each of all) each.open = true; }")
    await person.says(".output", "gone end")
    assert await person.page.locator(".turn .md pre.code").count() == 3
    assert await person.page.locator(".card .tool-name").all_text_contents() == [*NAMES, "execute_command"]
    await person.page.reload()
    await person.says(".outcome", "Still here.")
    assert not person.problems


async def test_the_journals_of_a_fleet_are_no_way_to_other_files(kits: WebKits) -> None:
    from joey.cli.web_fleet import connect_fleet

    kit: WebKit = await kits.start([], connect_fleet)
    for path in ("/fleet/tasks/..%2f..", "/fleet/tasks/x/journals/..%2f..%2fetc", "/fleet/batches/%00"):
        answer = await kit.client.get(f"/api/v1{path}")
        assert answer.status_code in (400, 404) and "error" in answer.json(), path
