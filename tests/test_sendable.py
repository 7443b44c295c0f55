"""Text from outside that no encoding has: it gets neither into a request nor into a journal."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from joey.commands import Say
from joey.events import Event, TurnStarted
from joey.journal.journal import Journal, read_journal
from joey.journal.records import MessageAdded, TaskOpened
from joey.messages import Message, TextBlock, ToolUseBlock
from joey.providers.base import ModelRequest
from joey.providers.catalogue import Abilities
from joey.providers.encoding.conversation import Preparation
from joey.testing.script import reply
from joey.toolspec import ToolSpec
from joey.wire import sendable
from task_kit import Kit, call, done

HALF = os.fsdecode(b"caf\xe9")


@pytest.mark.parametrize(
    ("value", "clean"),
    [
        (HALF, "caf\ufffd"),
        ("\ud83d\ude00 \ude00\ud83d", "\U0001f600 \ufffd\ufffd"),
        ({HALF: [HALF, 1, None], "b": (HALF,)}, {"caf\ufffd": ["caf\ufffd", 1, None], "b": ("caf\ufffd",)}),
        (TextBlock(HALF), TextBlock("caf\ufffd")),
        (Message("user", (ToolUseBlock(HALF, "f", {"a": HALF}),)),
         Message("user", (ToolUseBlock("caf\ufffd", "f", {"a": "caf\ufffd"}),))),
    ],
)  # fmt: skip
def test_halves_are_replaced_wherever_they_stand(value: Any, clean: Any) -> None:
    assert sendable(value) == clean


@pytest.mark.parametrize("value", ["é \U0001f600", {"a": ["é"]}, Message("user", (TextBlock("é"),)), 1.5, None])
def test_what_can_be_sent_stays_the_same_object(value: Any) -> None:
    assert sendable(value) is value


def test_tools_of_servers_can_be_sent() -> None:
    tool = ToolSpec("f", HALF, {"type": "object", "properties": {"a": {"description": HALF}}})
    request = ModelRequest("m", (Message("user", (TextBlock(HALF),)),), HALF, (tool,))
    prepared = Preparation(Abilities()).prepare(request)
    assert sendable(prepared) is prepared
    assert prepared.tools[0].description == "caf\ufffd"


def lines_with_halves(journal: Path) -> list[str]:
    return [line for line in journal.read_text().splitlines() if sendable(data := json.loads(line)) is not data]


async def test_nothing_of_it_is_recorded_or_sent(tmp_path: Path) -> None:
    script = [reply(HALF, call("x", "execute_command", command="printf 'caf\\351'"), call("r", "no", a=HALF)), done()]
    kit = Kit(tmp_path, script)

    def watch(task_id: str, event: Event) -> None:
        kit.watch(task_id, event)
        if event == TurnStarted(1) and kit.task is not None:
            kit.task.send(Say(HALF))

    kit.change(watch=watch)
    assert (await kit.run(HALF, attached=[TextBlock(HALF)])).outcome == "completed"
    assert kit.task is not None
    assert lines_with_halves(kit.store.journal_path(kit.task.id)) == []
    assert all(sendable(request.messages) is request.messages for request in kit.provider.requests)


async def test_a_journal_that_holds_some_is_repaired_on_reading(tmp_path: Path) -> None:
    kit = Kit(tmp_path, [])
    path = kit.store.journal_path("old")
    with Journal(path) as journal:
        journal.append(TaskOpened("old", "MARK", str(kit.workspace), "code", "m", "native"))
        journal.append(MessageAdded(Message("user", (TextBlock("MARK"),))))
    path.write_text(path.read_text().replace("MARK", "caf\\udce9"))
    assert len(lines_with_halves(path)) == 2
    assert (await kit.resume("old", [done()])).outcome == "completed"
    assert kit.sent[0].content[0] == TextBlock("caf\ufffd")
    assert all(sendable(record) is record for record in read_journal(path))


async def test_a_workspace_whose_name_is_no_text_is_found_again(tmp_path: Path) -> None:
    kit = Kit(tmp_path, [done()])
    folder = tmp_path / HALF
    folder.mkdir()
    kit.change(workspace=replace(kit.config.workspace, folder=folder))
    assert (await kit.run()).outcome == "completed"
    assert kit.task is not None
    assert lines_with_halves(kit.store.journal_path(kit.task.id)) == []
    kit.change(workspace=replace(kit.config.workspace, folder=kit.workspace))
    assert (await kit.resume(kit.task.id, [done()], "again")).outcome == "completed"
    assert kit.task.workspace == folder
