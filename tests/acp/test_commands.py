"""What can be typed after a slash in an editor."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from acp_kit import Desks, Editor, choose
from joey.testing.script import Faults, reply
from joey_process import call

KIT = Path(__file__).parents[1] / "mcp_kit_server.py"
SERVER = {"name": "kit", "command": sys.executable, "args": [str(KIT)], "env": []}
BROKEN = {"name": "broken", "command": "/no/such/program", "args": [], "env": []}


def offered(editor: Editor) -> dict[str, Any]:
    """The commands that the editor was told of last."""
    sent = editor.updates("available_commands_update")
    return {each["name"]: each for each in sent[-1]["availableCommands"]} if sent else {}


async def test_prompts_of_servers_are_commands_and_a_server_that_fails_is_a_notice(desks: Desks) -> None:
    desk = await desks.set_up(reply("It looks fine."))
    editor = desk.open()
    await editor.initialize(session={"notices": {}})
    where = {"cwd": str(desk.workspace), "mcpServers": [SERVER, BROKEN]}
    session = (await editor.request("session/new", **where))["sessionId"]
    await editor.until(lambda: "mcp--kit--review" in offered(editor))
    assert "result" in editor.seen[1], "no update of a session comes before its id"
    assert offered(editor)["mcp--kit--review"]["input"] == {"hint": "path focus"}
    assert [each["title"] for each in editor.updates("notice")] == ["The MCP server broken is not running"]
    await editor.prompt(session, "/mcp--kit--review a.py speed")
    assert "Review a.py with an eye on speed." in json.dumps(desk.server.requests[0].body)
    await editor.close()


async def test_commands_of_files_are_offered_with_their_hints_and_again_when_they_change(desks: Desks) -> None:
    desk = await desks.set_up(reply("Hello."))
    commands = desk.workspace / ".joey" / "commands"
    commands.mkdir(parents=True)
    (commands / "deploy.md").write_text("---\ndescription: Ship it\nargument-hint: <where>\n---\nDeploy to $1.\n")
    (commands / "undo.md").write_text("This is not what /undo does here.\n")
    editor = desk.open()
    session = await desk.session(editor)
    await editor.until(lambda: bool(editor.updates("available_commands_update")))
    about = {"name": "deploy", "description": "Ship it", "input": {"hint": "<where>"}}
    assert offered(editor)["deploy"] == about
    assert "Restore the files" in offered(editor)["undo"]["description"]
    (commands / "more.md").write_text("More words.\n")
    await editor.prompt(session, "Hello")
    assert "more" in offered(editor)
    await editor.close()


async def test_undo_and_redo_work_between_turns_and_not_while_one_runs(desks: Desks) -> None:
    write = reply(call("w", "write_to_file", path="x.txt", file_text="one\n"))
    slow = reply("Slowly, " * 200, faults=Faults(pause=0.05))
    desk = await desks.set_up(write, reply("Written."), slow, reply("Here I am."))
    editor = desk.open(choose("allow_once"))
    session = await desk.session(editor)
    await editor.prompt(session, "/undo")
    assert editor.text() == "There is nothing to take back yet."
    await editor.prompt(session, "Write it")
    await editor.prompt(session, "/undo")
    assert not (desk.workspace / "x.txt").exists()
    await editor.prompt(session, "/redo")
    assert (desk.workspace / "x.txt").read_text() == "one\n"
    running = editor.begin_request("session/prompt", sessionId=session, prompt=[{"type": "text", "text": "Go on"}])
    await editor.until(lambda: "Slowly, S" in editor.text())
    await editor.prompt(session, "/undo")
    assert "Joey is still working; cancel that first, then send /undo." in editor.text()
    assert (desk.workspace / "x.txt").exists()
    editor.notify("session/cancel", sessionId=session)
    assert (await running)["result"] == {"stopReason": "cancelled"}
    assert await editor.prompt(session, "And now") == {"stopReason": "end_turn"}
    await editor.close()


async def test_a_line_for_later_tasks_is_shown_as_a_diff_and_added_when_allowed(desks: Desks) -> None:
    desk = await desks.set_up(reply("A title it is."))
    (desk.workspace / "AGENTS.md").write_text("# Rules\n")
    editor = desk.open(choose("reject_once"))
    session = await desk.session(editor)
    assert await editor.prompt(session, "# use tabs") == {"stopReason": "end_turn"}
    assert editor.text() == "Nothing was added." and (desk.workspace / "AGENTS.md").read_text() == "# Rules\n"
    editor.answer = choose("allow_once")
    assert await editor.prompt(session, "# use tabs") == {"stopReason": "end_turn"}
    assert (desk.workspace / "AGENTS.md").read_text() == "# Rules\n\n- use tabs\n"
    request = editor.requests()[-1]["toolCall"]
    assert request["title"] == "Add this to AGENTS.md?" and request["kind"] == "edit"
    (diff,) = request["content"]
    assert (diff["oldText"], diff["newText"]) == ("# Rules\n", "# Rules\n\n- use tabs\n")
    assert [each["status"] for each in editor.updates("tool_call_update")] == ["failed", "completed"]
    assert not desk.server.requests, "the model gets no request"
    await editor.prompt(session, "## What is this?")
    assert "A title it is." in editor.text()
    await editor.close()
