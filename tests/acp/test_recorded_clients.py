"""Conversations of real clients, replayed: everything is answered, valid and in order. What the model does is scripted
by the words of the prompt, as it was when they were recorded."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from acp_kit import Desk, Desks
from joey.testing.script import Faults, Scripted, reply
from joey_process import call

RECORDED = sorted((Path(__file__).parents[1] / "vectors" / "acp").glob("client-*.jsonl"))
CALLS: dict[str, Any] = {
    "plan": ("update_todo_list", {"todos": "[x] look\n[ ] write"}),
    "mode": ("switch_mode", {"mode_slug": "ask", "reason": "to look"}),
    "read": ("read_file", {"path": "hello.txt"}),
    "edit": ("write_to_file", {"path": "new.txt", "file_text": "new\n"}),
    "shell": ("execute_command", {"command": "echo hi"}),
    "question": ("ask_followup_question", {"question": "Which?", "follow_up": [{"text": "This"}, {"text": "That"}]}),
}
OPTIONS = {"yes": "allow_once", "no": "reject_once"}


def connections(path: Path) -> Iterator[list[dict[str, Any]]]:
    """The lines of each process that the client started."""
    found: list[dict[str, Any]] = []
    for line in path.read_text().splitlines():
        each = json.loads(line)
        if each["message"].get("method") == "initialize" and found:
            yield found
            found = []
        found.append(each)
    yield found


def script(lines: list[dict[str, Any]]) -> Iterator[Scripted]:
    """What the model answers to each prompt of a connection."""
    for number, each in enumerate(lines):
        if each["message"].get("method") != "session/prompt":
            continue
        words = each["message"]["params"]["prompt"][0]["text"].split()
        if "slow" in words:
            yield reply("Slowly, " * 200, faults=Faults(pause=0.05))
            continue
        for word in filter(CALLS.get, words):
            name, arguments = CALLS[word]
            yield reply(call(f"{word}-{number}", name, **arguments))
        if "question" not in words:
            yield reply("Done.")


class Replay:
    """The client's side of one connection, with ids and folders of this run."""

    def __init__(self, desk: Desk, lines: list[dict[str, Any]], session: str) -> None:
        self.session = session
        self._desk, self._lines = desk, lines
        methods = {each["message"]["id"]: each["message"]["method"] for each in lines
                 if each["from"] == "agent" and "method" in each["message"] and "id" in each["message"]}  # fmt: skip
        self._answers = [each["message"]["result"] for each in lines
                         if each["from"] == "client" and "result" in each["message"]
                         and methods[each["message"]["id"]] == "session/request_permission"]  # fmt: skip
        self._editor = desk.open(self._answer)

    def _answer(self, method: str, _params: Mapping[str, Any]) -> Any:
        assert method == "session/request_permission", "nothing else was offered"
        recorded = self._answers.pop(0)["outcome"] if self._answers else {"outcome": "selected", "optionId": "yes"}
        if "optionId" in recorded:
            recorded = {**recorded, "optionId": OPTIONS[recorded["optionId"]]}
        return {"outcome": recorded}

    async def run(self) -> list[tuple[str, Any]]:
        """The methods, and what each was answered with."""
        waiting: dict[Any, tuple[str, asyncio.Future[Any]]] = {}
        answered: list[tuple[str, Any]] = []
        for each in self._lines:
            message = each["message"]
            if each["from"] == "client" and "method" in message:
                message = self._mapped(message)
                if "id" in message:
                    waiting[message["id"]] = message["method"], self._editor.send_request(message)
                else:
                    await self._editor.until(lambda: "Slowly, S" in self._editor.text())
                    self._editor.send(message)
            elif each["from"] == "agent" and "method" not in message:
                method, answer = waiting.pop(message["id"])
                got = await asyncio.wait_for(answer, 60)
                self.session = got.get("result", {}).get("sessionId", self.session)
                answered.append((method, got))
        assert not waiting
        await self._editor.close()
        return answered

    def _mapped(self, message: dict[str, Any]) -> dict[str, Any]:
        text = json.dumps(message).replace("/srv/project", str(self._desk.workspace)).replace("sess-1", self.session)
        return dict(json.loads(text))


@pytest.mark.parametrize("path", RECORDED, ids=lambda path: path.stem)
async def test_a_recorded_client_is_served(desks: Desks, path: Path) -> None:
    recorded = [*connections(path)]
    desk = await desks.set_up(*(each for lines in recorded for each in script(lines)))
    (desk.workspace / "hello.txt").write_text("old\n")
    session, answered = "", []
    for lines in recorded:
        replay = Replay(desk, lines, session)
        answered += await replay.run()
        session = replay.session
    reasons = [got["result"]["stopReason"] for method, got in answered if method == "session/prompt"]
    cancels = sum(each["message"].get("method") == "session/cancel" for lines in recorded for each in lines)
    assert set(reasons) <= {"end_turn", "cancelled"}
    assert reasons.count("cancelled") == cancels
    failed = [(method, got["error"]["code"]) for method, got in answered if "error" in got]
    assert all(each in (("session/set_config_option", -32602), ("_nope", -32601)) for each in failed), failed
