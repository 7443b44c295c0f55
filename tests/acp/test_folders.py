"""The folders of a session: its own, further ones, and what a task keeps when it is opened again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from acp_kit import Desks
from joey.acp.prompt import read_prompt
from joey.testing.script import reply
from joey.testing.server import LocalServer
from joey_process import call


async def test_a_further_folder_belongs_to_the_workspace(desks: Desks, tmp_path: Path) -> None:
    library = tmp_path / "library"
    library.mkdir()
    (library / "notes.txt").write_text("words of the library\n")
    written = library / "new.txt"
    desk = await desks.set_up(reply(call("a", "write_to_file", path=str(written), file_text="one\n")), reply("Done."))
    editor = desk.open()
    await editor.initialize()
    where = {"cwd": str(desk.workspace), "mcpServers": [], "additionalDirectories": [str(library)]}
    session = (await editor.request("session/new", **where))["sessionId"]
    await editor.request("session/set_config_option", sessionId=session, configId="approvals", value="edits")
    link = {"type": "resource_link", "name": "notes", "uri": (library / "notes.txt").as_uri()}
    words = {"type": "text", "text": "Look at "}
    assert await editor.request("session/prompt", sessionId=session, prompt=[words, link]) == {"stopReason": "end_turn"}
    assert written.read_text() == "one\n"
    assert editor.requests() == [], "an edit there is an edit of the workspace"
    sent = json.dumps(desk.server.requests[0].body)
    assert "words of the library" in sent
    assert f"by absolute path: {library}" in sent
    await editor.close()


@pytest.mark.parametrize("wrong", ["x", ["relative"], ["/no/such/folder"], [7]], ids=str)
async def test_a_further_folder_that_is_none_is_named(desks: Desks, wrong: Any) -> None:
    desk = await desks.set_up()
    editor = desk.open()
    refused = await editor.request("session/new", cwd=str(desk.workspace), mcpServers=[], additionalDirectories=wrong)
    assert refused["error"]["code"] == -32602
    assert "additionalDirectories" in refused["error"]["message"] or "/no/such" in refused["error"]["message"]
    await editor.close()


@pytest.mark.parametrize(
    ("uri", "words"),
    [
        ("file:///w/src/a%20b.py", "@/src/a\\ b.py"),
        ("file:///w/a.py#L3-L9", "@/a.py (lines L3-L9)"),
        ("file:///lib/x.py", "@../lib/x.py"),
        ("file:///library/x.py", "/library/x.py"),
        ("zed:///agent/thread/1", "zed:///agent/thread/1"),
        ("https://example.com/a#b", "https://example.com/a#b"),
    ],
)
def test_links_are_mentions_where_they_lead_into_the_workspace(uri: str, words: str) -> None:
    assert read_prompt([{"type": "resource_link", "name": "x", "uri": uri}], "/w", "/lib").text == words


async def test_a_task_that_is_loaded_keeps_its_model_and_its_server(
    desks: Desks, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk = await desks.set_up(reply("Hello."), reply("Hello again."))
    editor = desk.open(model="anthropic/first-model")
    session = await desk.session(editor)
    await editor.prompt(session, "Hello")
    await editor.close()
    monkeypatch.setenv("JOEY_MODEL", "anthropic/another-model")
    async with LocalServer([reply("From elsewhere.")]) as elsewhere:
        again = desk.open(base_url=elsewhere.anthropic_url)
        await again.initialize()
        loaded = await again.request("session/load", sessionId=session, cwd=str(desk.workspace), mcpServers=[])
        options = {each["id"]: each["currentValue"] for each in loaded["configOptions"]}
        assert options["model"] == "anthropic/first-model"
        await again.prompt(session, "And again")
        assert again.text().endswith("Hello again.")
        assert elsewhere.requests == []
        await again.close()
    assert [each.body["model"] for each in desk.server.requests] == ["first-model", "first-model"]
