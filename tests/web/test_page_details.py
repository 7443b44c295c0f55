"""More of the page in a real Chromium: colours, images, plans, going back and forth, and being called."""

from __future__ import annotations

import json
from typing import Any

from image_kit import made
from joey.messages import ReasoningBlock
from joey.testing.script import reply
from joey_process import call, done
from pages_kit import needs_browser
from web_kit import WebKits, until
from web_visitor import visit

pytestmark = needs_browser

WRITE = reply(call("w", "write_to_file", path="a.txt", file_text="one\n"))


async def test_the_output_of_a_command_comes_live_and_in_its_colours(kits: WebKits, browser: Any) -> None:
    wait = "while [ ! -e go ]; do sleep 0.05; done"
    command = rf"printf '\033[1;31mred\033[0m \033[38;5;46mgreen\033[0m\n'; {wait}; printf '\033[34mblue\033[0m\n'"
    kit = await kits.start([reply(call("e", "execute_command", command=command)), done()])
    task_id = await kit.start()
    person = await visit(browser, kit, f"#/task/{task_id}")
    await person.button("Yes").click()
    await person.says(".output.live .a-1.a-bold", "red")
    await person.says(".output.live .a-2", "green")
    assert not (kit.workspace / "go").exists()
    (kit.workspace / "go").touch()
    await person.see(".end.good")
    for _ in range(2):
        await person.page.eval_on_selector(".card", "card => { card.open = true; }")
        assert await person.text(".card .output") == "red green\nblue\n"
        await person.says(".output .a-1", "red")
        await person.says(".output .a-4", "blue")
        await person.page.reload()
        await person.see(".end.good")
    assert "red green\\nblue" in json.dumps(kit.model.requests[-1].body)
    assert "\\u001b" not in json.dumps(kit.model.requests[-1].body)
    assert not person.problems


async def test_images_are_attached_sent_and_shown(kits: WebKits, browser: Any) -> None:
    kit = await kits.start([reply("A grey image."), reply("Another.")])
    image = {"name": "grey.png", "mimeType": "image/png", "buffer": made(8, 8)}
    words = {"name": "notes.txt", "mimeType": "text/plain", "buffer": b"words"}
    person = await visit(browser, kit)
    await person.button("New task").click()
    await person.see("dialog select")
    await person.page.get_by_label("What would you like to do?").fill("What is this?")
    await person.page.set_input_files("dialog input[type=file]", [image, image, words])
    await person.says("dialog .error", "Only png, jpeg, gif and webp")
    await person.button("Remove image 2").click()
    await person.button("Start").click()
    await person.says(".turn .md", "A grey image.")
    await person.see(".end.good")
    await person.page.set_input_files(".composer input[type=file]", [image])
    await person.see(".composer .attached img")
    await person.page.get_by_label("Message").fill("And this?")
    await person.button("Send").click()
    await person.says(".turn .md", "Another.")
    assert await person.page.locator(".composer .attached img").count() == 0
    for n, count in enumerate((1, 2)):
        assert json.dumps(kit.model.requests[n].body).count('"image/png"') == count
    await person.page.reload()
    await person.says(".turn .md", "Another.")
    assert await person.page.locator(".you img").count() == 2
    assert await person.page.eval_on_selector(".you img", "node => node.naturalWidth") == 8
    assert not person.problems


async def test_a_plan_is_changed_and_then_carried_out_with_the_approvals_that_were_chosen(
    kits: WebKits, browser: Any
) -> None:
    kit = await kits.start([done("1. Write a.txt"), done("1. Write a.txt\n2. Stop"), WRITE, done("Written.")])
    task_id = await kit.start(profile="plan")
    person = await visit(browser, kit, f"#/task/{task_id}")
    await person.says(".request h2", "Carry out this plan?")
    await person.page.get_by_label("Message").fill("and stop then")
    await person.button("Send").click()
    await person.says(".outcome", "Stop")
    await person.says(".request h2", "Carry out this plan?")
    await person.button("Change files without asking").click()
    await person.says(".outcome", "Written.")
    await person.see(".end.good")
    assert (kit.workspace / "a.txt").read_text() == "one\n"
    assert "and stop then" in json.dumps(kit.model.requests[1].body)
    assert not person.problems


async def test_a_plan_is_declined(kits: WebKits, browser: Any) -> None:
    kit = await kits.start([done("1. Delete it all"), done("1. Add a test")])
    task_id = await kit.start(profile="plan")
    person = await visit(browser, kit, f"#/task/{task_id}")
    await person.says(".request h2", "Carry out this plan?")
    await person.button("No").click()
    await person.says(".end", "the plan was declined. None of it was carried out; plan mode stays on")
    assert await person.page.locator(".request h2").count() == 0
    await person.page.get_by_label("Message").fill("Only add a test")
    await person.button("Send").click()
    await person.says(".request h2", "Carry out this plan?")
    assert not person.problems


async def test_an_approval_without_scopes_is_shown(kits: WebKits, browser: Any) -> None:
    """As a Joey asks that knows none yet; and one of a subtask that works in a worktree."""
    person = await visit(browser, await kits.start([]))
    text = await person.page.evaluate("""async () => {
      const { RequestPanel } = await import("/requests.js");
      const request = { type: "approval_requested", request_id: "1", name: "x", reason: "", shown: [], always: ["ls"] };
      const requests = [request, { ...request, scopes: ["task"] }];
      return requests.map((each) => new RequestPanel(each, () => {}).node.textContent);
    }""")
    assert "In this task" in text[0] and "In this project" in text[0] and not person.problems
    assert "In this subtask" in text[1] and "In this task" not in text[1] and "In this project" not in text[1]


async def test_files_go_back_and_forth(kits: WebKits, browser: Any) -> None:
    kit = await kits.start([WRITE, done("Written.")], **{"approvals.profile": "edits"})
    task_id = await kit.start()
    await kit.status(task_id, "completed")
    file = kit.workspace / "a.txt"
    person = await visit(browser, kit, f"#/task/{task_id}")
    await person.page.get_by_role("tab", name="Files").click()
    await person.button("Undo…").click()
    await person.says("dialog .diff", "one")
    await person.button("Undo").click()
    await until(lambda: not file.exists())
    await person.says(".toast", "Undo: ")
    await person.button("Redo…").click()
    await person.says("dialog .diff", "one")
    await person.button("Redo").click()
    await person.says(".toast", "Redo: ")  # what is written before that counts as a part of the step
    file.write_text("mine\n")
    await person.button("Undo…").click()
    await person.says("dialog .error", "Changed by somebody else since: a.txt")
    await person.button("Cancel").click()
    assert file.read_text() == "mine\n"
    await person.button("Undo…").click()
    await person.button("Undo anyway").click()
    await until(lambda: not file.exists())
    assert not person.problems


HIDDEN = """
Object.defineProperty(document, "hidden", { get: () => window.isHidden ?? false });
window.shown = [];
window.Notification = class extends Notification {
  constructor(title, options) { super(title, options); window.shown.push([title, options.body]); window.last = this; }
};
"""


async def test_a_person_who_looks_elsewhere_is_notified_once(kits: WebKits, browser: Any) -> None:
    other = reply(call("w", "write_to_file", path="b.txt", file_text="two\n"))
    kit = await kits.start([WRITE, other, done()])
    person = await visit(browser, kit, script=HIDDEN, permissions=["notifications"])
    await person.see(".welcome")
    assert not await person.page.get_by_label("Notify me").is_visible()
    await person.page.evaluate("window.isHidden = true")
    task_id = await kit.start("Write <b>it</b>")
    await person.says(".group.waits", "Write <b>it</b>")
    await person.page.wait_for_function("() => window.shown.length === 1")
    assert await person.page.evaluate("window.shown") == [["Write <b>it</b>", "Joey needs approval"]]
    assert (await person.page.title()).startswith("(1) ")
    await kit.answer(task_id, yes=True)
    await person.page.wait_for_function("() => window.shown.length === 2")  # the next request is another
    await person.page.evaluate("window.last.onclick()")
    await person.says(".request", "b.txt")
    await person.page.evaluate("window.isHidden = false")
    assert not person.problems


BIDI, NOTHING = "\u202e", "\u200b"
NAMED = "() => /[\\u202e\\u200b]/.test(document.body.innerText)"


async def test_characters_that_reorder_or_hide_text_are_signs(kits: WebKits, browser: Any) -> None:
    """In what is to be approved, in what the model writes, in output, and in the exported file."""
    words = f"a{BIDI}b{NOTHING}c"
    write = call("w", "write_to_file", path="x.py", file_text=f"{words}{' ' * 300}hidden()\n")
    command = call("e", "execute_command", command=f"echo {words}")
    kit = await kits.start([reply(ReasoningBlock(words), words, write), reply(command), done(words)])
    task_id = await kit.start(words)
    person = await visit(browser, kit, f"#/task/{task_id}")
    sign = "a‹U+202E›b‹U+200B›c"
    await person.says(".request .diff", sign)
    width = "node => node.scrollWidth <= node.clientWidth"
    assert await person.page.eval_on_selector(".request .diff-body", width)  # nothing stands outside of what is seen
    await person.button("Yes").click()
    await person.says(".request .command", f"echo {sign}")
    await person.button("Yes").click()
    await person.says(".outcome", sign)
    await person.see(".end.good")
    await person.page.eval_on_selector_all("details", "all => { for (const each of all) each.open = true; }")
    for part in (".you", ".turn .md", ".thought", ".card .subject", ".card .output"):
        await person.says(part, sign)
    assert not await person.page.evaluate(NAMED)
    path = kit.folder / "task.html"
    path.write_text((await kit.client.get(f"/api/v1/tasks/{task_id}/export")).text)
    await person.page.goto(path.as_uri())
    await person.says(".outcome", sign)
    await person.page.eval_on_selector_all("details", "all => { for (const each of all) each.open = true; }")
    assert not await person.page.evaluate(NAMED)
    assert not person.problems


async def test_a_page_whose_token_is_not_valid_any_more_says_what_to_do(kits: WebKits, browser: Any) -> None:
    kit = await kits.start([])
    person = await visit(browser, kit)
    await person.see(".welcome")
    await person.page.context.clear_cookies()  # as after a new start of the server with another token
    kit.api.hub.send_away()
    await person.says("#offline", "open the link that `joey web` printed last")


async def test_the_tree_of_subtasks_says_which_model_each_has(kits: WebKits, browser: Any) -> None:
    """Of two agents in a folder that nobody trusts, one may have its model, and the other reads why not."""
    both = [call(n, "new_task", mode=n, message=f"{n} work") for n in ("small", "large")]

    def answer(request: Any) -> Any:
        messages = request.body["messages"]
        return reply(*both) if len(messages) == 1 and "work" not in str(messages) else done("It is.")

    kit = await kits.start(answer)
    agents = kit.workspace / ".claude" / "agents"
    agents.mkdir(parents=True)
    for name, model in (("small", "haiku"), ("large", "opus")):
        (agents / f"{name}.md").write_text(f"---\nname: {name}\ntools: Read\nmodel: {model}\n---\nYou help.\n")
    task_id = await kit.start()
    person = await visit(browser, kit, f"#/task/{task_id}")
    await person.says(".request .reason", "starting a subtask with anthropic/claude-haiku-5-5")
    await person.button("Yes").click()
    await person.says(".request .reason", "starting subtasks")
    await person.button("Yes").click()
    await kit.status(task_id, "completed")
    small, large = "Subtask (small, anthropic/claude-haiku-5-5)", "Subtask (large, anthropic/claude-sonnet-5-5)"
    for place in (".subtask > summary .who", ".tree button"):
        await person.says(place, small)
        await person.says(place, large)
    await person.says(".subtask .note", "costs more than anthropic/claude-sonnet-5-5, and this folder is not trusted")
    await person.page.reload()
    await person.says(".subtask > summary .who", small)
    assert {each.body["model"] for each in kit.model.requests} == {"claude-sonnet-5-5", "claude-haiku-5-5"}
    assert not person.problems


async def test_a_line_for_later_tasks_is_shown_as_a_diff_and_added_by_a_click(kits: WebKits, browser: Any) -> None:
    kit = await kits.start([reply("Hello."), reply("A title it is.")])
    rules = kit.workspace / "AGENTS.md"
    task_id = await kit.start()
    await kit.status(task_id, "completed")
    person = await visit(browser, kit, f"#/task/{task_id}")
    field = person.page.get_by_label("Message")
    for label, added in (("Cancel", False), ("Add", True)):
        await field.fill("# use tabs")
        await field.press("Enter")
        await person.says("dialog h2", "Add this to AGENTS.md?")
        await person.says("dialog tr.add", "- use tabs")
        assert not rules.exists()
        await person.button(label).click()
        await person.says("#toast", "Added to AGENTS.md" if added else "Nothing was added.")
        assert rules.exists() == added
    assert rules.read_text() == "- use tabs\n" and len(kit.model.requests) == 1
    await field.fill("## What is this?")
    await field.press("Enter")
    await person.says(".turn .md", "A title it is.")
    await person.button("New task").click()
    await person.page.get_by_label("What would you like to do?").fill("# and spaces")
    await person.button("Start").click()
    await person.button("Add").click()
    await until(lambda: rules.read_text() == "- use tabs\n- and spaces\n")
    assert len(kit.model.requests) == 2 and not person.problems
