"""Journals as recorded steps, and answers that belong to one request."""

from __future__ import annotations

import base64
import json
import zlib
from pathlib import Path

from joey.events import ApprovalRequested
from joey.fleet.recorded import JournalFiles, RecordedTurn, joined
from joey.fleet.session import TurnReply
from joey.journal.store import TaskStore
from joey.wire import encode

HEADER = '{"format": "joey-journal", "version": 1}\n'
TURN = '{"type":"turn_ended","usage":{},"cost":0.25,"at":1}\n'


def journal(machine: Path, text: str) -> JournalFiles:
    """The journal of a task on a machine, as its own workspace has it."""
    store = TaskStore(machine / "journals")
    path = store.journal_path("t")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text.replace("HERE", str(machine / "work")))
    return JournalFiles(store, machine / "work")


def recorded(tmp_path: Path) -> RecordedTurn:
    files = journal(tmp_path / "one", f'{HEADER}{{"type":"task_opened","workspace":"HERE"}}\n{TURN}')
    files.know("t")
    assert files.new_turns() == 1
    turn = files.take()
    assert (files.new_turns(), files.take().journals) == (0, {})
    return RecordedTurn.decoded(json.loads(json.dumps(turn.encoded())))


def test_a_turn_that_was_recorded_in_the_form_of_before_is_read() -> None:
    data = base64.b85encode(zlib.compress(b'{"t": "a line\\n"}')).decode()
    kept = {"journals": data, "turns": 1, "cost": 0.5, "head": "", "outcome": "", "message": ""}
    assert RecordedTurn.decoded(kept) == RecordedTurn({"t": "a line\n"}, 1, 0.5)


def test_another_machine_writes_the_journal_with_its_own_paths(tmp_path: Path) -> None:
    turn = recorded(tmp_path)
    assert (turn.turns, turn.cost) == (1, 0.25)
    files = JournalFiles(TaskStore(tmp_path / "two" / "journals"), tmp_path / "two" / "work")
    assert not files.restore(joined([turn]))
    text = (tmp_path / "two" / "journals" / "t" / "journal.jsonl").read_text()
    assert str(tmp_path / "two" / "work") in text
    assert str(tmp_path / "one") not in text
    assert files.new_turns() == 0


def test_a_journal_that_knows_more_than_is_recorded_is_kept(tmp_path: Path) -> None:
    turn = recorded(tmp_path)
    path = tmp_path / "one" / "journals" / "t" / "journal.jsonl"
    with path.open("a") as file:
        file.write('{"type":"run_began","call_id":"1","name":"execute_command","at":2}\n')
    before = path.read_text()
    files = JournalFiles(TaskStore(tmp_path / "one" / "journals"), tmp_path / "one" / "work")
    assert files.restore(joined([turn]))
    assert path.read_text() == before


def test_a_journal_that_says_something_else_gives_way(tmp_path: Path) -> None:
    turn = recorded(tmp_path)
    files = journal(tmp_path / "two", f"{HEADER}{TURN}")
    assert not files.restore(joined([turn]))
    assert (tmp_path / "two" / "journals" / "t" / "journal.jsonl").read_text().count("task_opened") == 1


def test_an_answer_is_for_the_request_that_was_put_and_no_other() -> None:
    request = ApprovalRequested("approval_1", "call-1", "execute_command", {"command": "make"}, "no rule names it")
    reply = TurnReply(json.dumps(encode(request)), json.dumps({"yes": True, "text": "go"}))
    again = ApprovalRequested("approval_7", "call-1", "execute_command", {"command": "make"}, "no rule names it")
    other = ApprovalRequested("approval_1", "call-2", "execute_command", {"command": "rm -r x"}, "no rule names it")
    assert reply.is_to(again)
    assert not reply.is_to(other)
    assert (reply.given_to(again).request_id, reply.given_to(again).yes) == ("approval_7", True)
    assert not TurnReply(reply.request, "").given_to(again).yes
