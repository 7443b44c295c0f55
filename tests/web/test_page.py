"""The page in a real Chromium: everything a person does with it, and everything it must not do."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from typing import Any

import pytest

from joey.messages import ReasoningBlock
from joey.testing.script import Faults, reply
from joey_process import call, done
from pages_kit import needs_browser
from web_kit import WebKit, WebKits, long_task, until
from web_visitor import AXE, Visitor, serious, visit

pytestmark = needs_browser

FILE = "".join(f"line {n}\n" for n in range(30))
WROTE = call("w", "write_to_file", path="a.txt", file_text=FILE)
WRITE = reply(ReasoningBlock("Let me think."), "I write **it**.", WROTE)
AGAIN = reply(call("w2", "write_to_file", path="b.txt", file_text="second\n"))
QUESTION = reply(call("q", "ask_followup_question", question="Which?", follow_up=[{"text": "red"}, {"text": "blue"}]))
TODOS = call("t", "update_todo_list", todos="[x] One\n[-] Two")


async def test_a_task_from_start_to_feedback(kits: WebKits, browser: Any) -> None:
    """Start, stream, deny with a comment, approve, answer, and what to do next."""
    kit = await kits.start([WRITE, AGAIN, QUESTION, done("First."), reply("Second answer.")])
    person = await visit(browser, kit)
    await person.button("New task").click()
    await person.see("dialog select")
    await person.page.get_by_label("What would you like to do?").fill("Write a file")
    await person.button("Start").click()
    await person.see(".request")
    assert "token" not in person.page.url
    assert await person.text(".you .md") == "Write a file"
    assert await person.text(".turn strong") == "it"
    assert "Let me think." in await person.text(".reasoning")
    assert await person.page.locator(".request tr.add").count() == 30
    assert "changing files of the workspace requires approval" in await person.text(".request .reason")
    await person.page.get_by_label("Comment").fill("use b.txt")
    await person.button("No").click()
    await person.says(".comment", "use b.txt")
    await person.says(".request h2", "write_to_file")
    await person.page.wait_for_function("() => document.querySelectorAll('.request tr.add').length === 1")
    await person.button("Side by side").click()
    await person.see(".request .diff.split")
    await person.button("Yes").click()
    await person.see(".suggestion")
    assert (kit.workspace / "b.txt").read_text() == "second\n" and not (kit.workspace / "a.txt").exists()
    await person.button("blue").click()
    await person.says(".outcome", "First.")
    await person.see(".end.good")
    await person.page.get_by_label("Message").fill("and more")
    await person.page.get_by_label("Message").press("Enter")
    await person.says(".turn .md", "Second answer.")
    shown = await person.page.locator(".you .md").all_text_contents()
    # A run that was over before anybody looked is read from the journal, which has the comment as the user's words.
    assert [words for words in shown if words != "use b.txt"] == ["Write a file", "blue", "and more"]
    await person.page.reload()
    await person.says(".turn .md", "Second answer.")
    # What was denied with a comment is there, too: the journal has it as words of the user's.
    assert await person.page.locator(".you .md").all_text_contents() == [
        "Write a file",
        "use b.txt",
        "blue",
        "and more",
    ]
    assert not person.problems
    assert person.hosts == {f"127.0.0.1:{kit.port}"}


async def test_with_the_keyboard_alone(kits: WebKits, browser: Any) -> None:
    kit = await kits.start([WRITE, QUESTION, done("First."), reply("Again.")])
    person = await visit(browser, kit)
    keys = person.page.keyboard
    await person.see(".welcome")
    await keys.press("n")
    await person.see("dialog select")
    await keys.type("Write y and n")
    await keys.press("Control+Enter")
    await person.see(".request")
    await keys.press("y")  # too soon: it may have been meant for something else
    assert not (kit.workspace / "a.txt").exists()
    await keys.press("m")
    await keys.type("y n 1")  # words are no answers
    await keys.press("Escape")
    await person.page.wait_for_timeout(750)
    assert await person.page.locator(".request").count() == 1
    await keys.press("y")
    await person.see(".suggestion")
    assert (kit.workspace / "a.txt").exists()
    await person.page.wait_for_timeout(750)
    await keys.press("2")
    await person.see(".end.good")
    await person.page.wait_for_timeout(750)
    await keys.press("m")
    await keys.press("Enter")
    await person.says(".turn .md", "Again.")
    assert "y n 1" in json.dumps(kit.model.requests[-1].body)
    await keys.press("Escape")
    await keys.press("/")
    await keys.type("nothing like it")
    await person.says(".groups", "No task contains this.")
    assert not person.problems


async def test_a_page_that_loses_its_connection_misses_nothing(kits: WebKits, browser: Any) -> None:
    words = "".join(f"word{n} " for n in range(250))
    kit = await kits.start([reply(words, faults=Faults(pause=0.006))])
    task_id = await kit.start()
    person = await visit(browser, kit, f"#/task/{task_id}")
    for part in (20, 90, 160):
        await person.says(".turn .md", f"word{part} ")
        kit.api.hub.send_away()
    await person.see(".end.good")
    assert (await person.text(".turn .md")).split() == words.split()
    assert await person.page.locator(".turn").count() == 1


async def test_two_browsers_and_a_terminal_at_one_task(kits: WebKits, browser: Any) -> None:
    """The task runs in the terminal. The first answer counts, wherever it comes from, and everybody sees it."""
    kit = await kits.start([WRITE, AGAIN, done("All done.")])
    terminal = await _terminal(kit, "Write two files")
    listed = await until(lambda: [each["id"] for each in kit.api.table.refresh()[0]])
    first, second = [await visit(browser, kit, f"#/task/{listed[0]}") for _ in range(2)]
    for each in (first, second):
        await each.says(".request", "a.txt")
    await first.button("Yes").click()
    for each in (first, second):
        await each.says(".request", "b.txt")
    assert (kit.workspace / "a.txt").read_text() == FILE
    assert terminal.stdin is not None and terminal.stdout is not None
    terminal.stdin.write(b"y\n")
    for each in (first, second):
        await each.says(".outcome", "All done.")
        await each.see(".request.done")  # whoever accepts it first ends it
    assert (kit.workspace / "b.txt").exists()
    await second.page.get_by_label("Message").fill("Thanks")
    terminal.stdin.write(b"\n")
    terminal.stdin.close()
    shown = (await terminal.stdout.read()).decode()
    assert "(answered elsewhere)" in shown
    assert await terminal.wait() == 0
    for each in (first, second):
        await each.see(".chip.completed")
        assert await each.page.locator(".request").count() == 0
        assert not each.problems


async def _terminal(kit: WebKit, prompt: str) -> asyncio.subprocess.Process:
    kept = {name: os.environ[name] for name in ("PYTHONPATH", "LANG", "PATH") if name in os.environ}
    environment = {**kept, "HOME": str(kit.folder / "home"), "ANTHROPIC_API_KEY": "k", "TERM": "dumb"}
    flags = ("--model", "anthropic/claude-sonnet-5-5", "--base-url", kit.model.anthropic_url)
    return await asyncio.create_subprocess_exec(
        sys.executable, "-m", "joey", prompt, "--plain", *flags,
        cwd=kit.workspace, env=environment, stdin=-1, stdout=-1,
    )  # fmt: skip


BAD = "<img src=x onerror=hacked()><script>hacked()</script><a href='javascript:hacked()'>x</a>"
HOSTILE_TEXT = (
    f"{BAD}\n\n# {BAD}\n\n- {BAD}\n\n| {BAD} |\n|---|\n| {BAD} |\n\n[click](javascript:hacked()) "
    f"[data](data:text/html,{BAD}) ![i](https://evil.example/track.png) {'x' * 20_000}\n\n"
    f'```"><script>hacked()\n{BAD}\n```\n'
    "\u202e\u2066 ~~" + "*" * 3_000 + "[" * 3_000
)


async def test_a_hostile_task_runs_nothing_and_breaks_no_layout(kits: WebKits, browser: Any) -> None:
    name = "<b onmouseover=hacked()>.txt"
    write = call("w", "write_to_file", path=name, file_text=f"{BAD}\n" + "y" * 50_000)
    quoted = BAD.replace("'", "")
    shout = call("e", "execute_command", command=f"printf '\033[31m%s\033[0m\033]0;title\007' '{quoted}'")
    unknown = call("u", BAD, **{BAD: BAD})
    question = call("q", "ask_followup_question", question=BAD, follow_up=[{"text": BAD}])
    kit = await kits.start([reply(HOSTILE_TEXT, write, shout, unknown), reply(question), done(BAD)])
    task_id = await kit.start(BAD)
    person = await visit(browser, kit, f"#/task/{task_id}", 390, 844)
    await person.page.evaluate("() => { window.hacked = () => { window.wasHacked = true; }; }")
    for _ in range(2):
        await person.see(".request h2 code")
        await person.button("Yes").click()
        await asyncio.sleep(0.3)
    await person.see(".suggestion")
    await person.page.locator(".suggestion").first.click()
    await person.see(".end.good")
    for tab in ("Timeline", "Files", "State", "Conversation"):
        await person.page.get_by_role("tab", name=tab).click()
        await person.page.wait_for_timeout(100)
        assert await person.page.evaluate("document.documentElement.scrollWidth <= innerWidth"), tab
    made = "document.querySelectorAll('.pieces script, .pieces img, .pieces iframe, .pieces b').length"
    assert await person.page.evaluate(made) == 0
    links = await person.page.evaluate("[...document.querySelectorAll('.pieces a')].map((link) => link.protocol)")
    assert set(links) <= {"http:", "https:", "mailto:"}
    assert await person.page.evaluate("window.wasHacked") is None
    assert person.hosts == {f"127.0.0.1:{kit.port}"} and not person.problems
    await _exported_runs_nothing(kit, browser, task_id)


async def _exported_runs_nothing(kit: WebKit, browser: Any, task_id: str) -> None:
    """The same task in one file, opened without a server."""
    answer = await kit.client.get(f"/api/v1/tasks/{task_id}/export")
    path = kit.folder / "task.html"
    path.write_text(answer.text)
    visitor = Visitor(await (await browser.new_context()).new_page())
    await visitor.page.add_init_script("window.hacked = () => { window.wasHacked = true; }")
    await visitor.page.goto(path.as_uri())
    await visitor.see(".outcome")
    assert BAD[:50] in await visitor.text("h1")
    assert await visitor.page.evaluate("window.wasHacked") is None
    assert not visitor.problems
    assert visitor.hosts == {""}


async def test_no_serious_problems_of_accessibility(kits: WebKits, browser: Any) -> None:
    if not AXE.exists():
        pytest.skip("axe-core is not there: `make tests/.cache/axe-npm` fetches it")
    kit = await kits.start([reply("Some *words*.", TODOS), WRITE, QUESTION, done("**Done.**")])
    task_id = await kit.start()
    await kit.request(task_id)
    wide = await visit(browser, kit, f"#/task/{task_id}", color_scheme="dark")
    phone = await visit(browser, kit, f"#/task/{task_id}", 390, 844)
    found = []
    for each in (wide, phone):
        await each.see(".request")
        found += await serious(each, "a request")
    await wide.button("Yes").click()
    await wide.see(".suggestion")
    found += await serious(wide, "a question")
    await wide.button("red").click()
    await wide.see(".end.good")
    for tab in ("Conversation", "Timeline", "Files"):
        await wide.page.get_by_role("tab", name=tab).click()
        await wide.page.wait_for_timeout(150)
        found += await serious(wide, tab)
    await wide.button("New task").click()
    await wide.see("dialog select")
    found += await serious(wide, "the dialog")
    for path in ("#/playground", "#/overview", "#/"):
        await phone.page.goto(f"{kit.url}/{path}")
        await phone.page.wait_for_timeout(300)
        found += await serious(phone, path)
    assert found == []


async def test_a_task_of_5000_messages_is_no_larger_in_the_page_than_a_short_one(kits: WebKits, browser: Any) -> None:
    """Counted: nodes of the document. Older messages come when they are wanted."""
    kit = await kits.start([reply("Short.")])
    short = await kit.start()
    await kit.status(short, "completed")
    long_task(kit.folder / "home/.local/state/joey/tasks", 2_500)
    person = await visit(browser, kit, f"#/task/{short}")
    await person.see(".end.good")
    few = await person.page.evaluate("document.querySelectorAll('*').length")
    person = await visit(browser, kit, "#/task/long")
    await person.says(".turn", "Step 2499.")
    assert await person.page.evaluate("document.querySelectorAll('*').length") <= 5 * few
    await person.page.eval_on_selector(".log", "node => { node.scrollTop = 0; }")
    await person.says(".turn", "Step 2478.")
    assert not person.problems


async def test_a_long_stream_costs_linear_work(kits: WebKits, browser: Any) -> None:
    """Counted: nodes that are made while text of each size comes in small pieces."""
    kit = await kits.start([])
    person = await visit(browser, kit)
    await person.see(".welcome")
    made = await person.page.evaluate(
        """async () => {
          const { MarkdownStream } = await import("/markdown.js");
          const counts = [];
          for (const size of [64, 256, 1024]) {
            const node = document.createElement("div");
            let made = 0;
            const count = (list) => { for (const each of list) made += each.addedNodes.length; };
            new MutationObserver(count).observe(node, { childList: true, subtree: true });
            const stream = new MarkdownStream(node);
            const text = "Some *words* and `code` here.\\n\\n- one\\n- two\\n\\n```py\\nx = 1\\n```\\n";
            const piece = text.padEnd(1024, "and more text, ");
            for (let n = 0; n < size; n += 1) { stream.push(piece); await null; }
            stream.end();
            await null;
            counts.push(made);
          }
          return counts;
        }"""
    )
    assert made[1] <= made[0] * 4.4 and made[2] <= made[1] * 4.4
