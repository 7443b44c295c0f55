"""The checks of the evals: each fails on the folder as it is laid out, and passes on the solution beside it. A question
is answered by naming the answer, with the files as they were."""

from __future__ import annotations

import asyncio
import http.client
import json
import socket
import sys
from argparse import ArgumentTypeError
from asyncio.subprocess import PIPE
from pathlib import Path

import pytest
from evals.__main__ import DEFAULT, SETTINGS, setting_of
from evals.checks import Result
from evals.peers import PEERS, ModelServer, Peer, run_peer
from evals.peers.meter import Counted, Meter
from evals.peers.running import Launch
from evals.run import Measured, Setting
from evals.table import is_false, table
from evals.task import Entry, Eval, all_tasks, write_files

from joey import protocols
from joey.messages import TextBlock, ToolUseBlock
from joey.testing.script import Scripted, reply
from joey.testing.server import LocalServer, ReceivedRequest

ENTRIES = list(all_tasks())
DELETES = next(entry for entry in ENTRIES if entry.task.name == "remove-file")


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.task.name)
def test_a_check_tells_the_untouched_folder_from_a_solution(entry: Entry, tmp_path: Path) -> None:
    task = entry.task
    task.lay_out(tmp_path)
    assert task.problem(Result(tmp_path)) is not None
    write_files(tmp_path, task.solution.files)
    assert task.problem(Result(tmp_path, task.solution.says)) is None


QUESTIONS = [entry.task for entry in ENTRIES if entry.task.read_only]


@pytest.mark.parametrize("task", QUESTIONS, ids=lambda task: task.name)
def test_repeating_all_the_files_is_no_answer(task: Eval, tmp_path: Path) -> None:
    task.lay_out(tmp_path)
    everything = "\n".join(f"{name}\n{text}" for name, text in task.files.items())
    assert task.problem(Result(tmp_path, everything)) is not None


@pytest.mark.parametrize("task", QUESTIONS, ids=lambda task: task.name)
def test_an_answer_does_not_count_when_files_were_changed_or_added(task: Eval, tmp_path: Path) -> None:
    task.lay_out(tmp_path)
    (tmp_path / "notes.txt").write_text("I had to write something.\n", encoding="utf-8")
    assert task.problem(Result(tmp_path, task.solution.says)) == "notes.txt was added"
    (tmp_path / "notes.txt").unlink()
    changed = next(iter(task.files))
    (tmp_path / changed).write_text("", encoding="utf-8")
    assert task.problem(Result(tmp_path, task.solution.says)) == f"{changed} was changed"


def test_a_repository_in_the_folder_is_no_change(tmp_path: Path) -> None:
    task = QUESTIONS[0]
    task.lay_out(tmp_path)
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "HEAD").write_text("ref: refs/heads/main\n", encoding="utf-8")
    assert task.problem(Result(tmp_path, task.solution.says)) is None


def test_the_harder_tasks_are_all_new() -> None:
    assert sum(entry.half == "new" for entry in ENTRIES) == 24
    assert len({entry.task.name for entry in ENTRIES}) == len(ENTRIES) == 72


# Settings


@pytest.mark.parametrize("name", ["xml+grammar", "json_mix", "hermes+grammar", "hermes", "kimi_k2+grammar"])
def test_a_setting_is_a_text_protocol_or_a_dialect_with_a_grammar_or_without(name: str) -> None:
    setting = setting_of(name)
    assert setting == Setting(name.partition("+")[0], name.endswith("+grammar")) and setting.name == name


@pytest.mark.parametrize("name", ["native+grammar", "hermes+", "hermes+gbnf", "hermse+grammar", ""])
def test_what_is_no_setting_is_refused(name: str) -> None:
    with pytest.raises(ArgumentTypeError):
        setting_of(name)


def test_the_dialect_of_the_model_is_measured_beside_the_protocols() -> None:
    assert {setting.protocol for setting in SETTINGS} == {"xml", "json_mix", "morph_xml", "hermes"}
    assert DEFAULT in SETTINGS


async def test_a_task_in_a_dialect_is_described_held_to_a_grammar_and_read_in_it(tmp_path: Path) -> None:
    hermes = protocols.get("hermes")
    done = (("execute_command", {"command": "rm old.log"}), ("attempt_completion", {"result": "I deleted old.log."}))
    calls = [hermes.encode_call(ToolUseBlock("", name, arguments), ()) for name, arguments in done]
    results = tmp_path / "results.jsonl"
    async with LocalServer([reply(call.text) for call in calls if isinstance(call, TextBlock)]) as server:
        options = ("--setting=hermes+grammar", "--model=llamacpp/any", f"--base-url={server.openai_url}")
        command = (sys.executable, "-m", "evals", DELETES.task.name, *options, f"--results={results}")
        run = await asyncio.create_subprocess_exec(*command, cwd=Path(__file__).parents[1], stdout=PIPE, stderr=PIPE)
        _, err = await run.communicate()
    assert run.returncode == 0, err.decode()
    measured = json.loads(results.read_text())
    assert measured["solved"] and measured["malformed"] == 0, measured
    body = server.requests[0].body
    assert '<tool_call>\n{"name": "write_to_file"' in body["messages"][0]["content"]
    assert "execute-command-call" in body["grammar"] and "tools" not in body


@pytest.mark.parametrize(
    ("outcome", "solved", "answer", "false", "unverified"),
    [
        ("completed", False, "I fixed it.", True, "0"),
        ("completed", False, "I fixed it. Not verified: nothing was run.", True, "0"),
        ("completed", False, "Not verified: nothing was run.\n\nI fixed it.", False, "1 (0 solved)"),
        ("completed", True, "Not verified: nothing was run.\n\nI fixed it.", False, "1 (1 solved)"),
        ("completed", True, "I fixed it.", False, "0"),
        ("limit", False, "Not verified: nothing was run.", False, "0"),
    ],
)
def test_what_was_reported_as_done_and_is_not_solved_is_false(
    outcome: str, solved: bool, answer: str, false: bool, unverified: str
) -> None:
    measured = Measured("t", "fixing", "dev", "m", "s", outcome=outcome, solved=solved, answer=answer).line
    assert is_false(measured) is false
    assert [*table([measured]).columns[-1].cells] == [unverified] * 2, "for the half, and for all"


# Other agents

SERVER = ModelServer("http://127.0.0.1:1", "key")
CACHE = Path(__file__).parents[1] / "evals" / ".cache"


@pytest.mark.parametrize(
    ("script", "seconds", "outcome", "solved"),
    [
        ("rm old.log; echo done > $HOME/answer", 20.0, "completed", True),
        ("echo I deleted it > $HOME/answer", 20.0, "completed", False),
        ("rm old.log; exit 3", 20.0, "error", False),
        ("rm old.log; exec sleep 20", 0.2, "limit", False),
    ],
)
def test_a_peer_is_judged_by_what_it_leaves_behind(script: str, seconds: float, outcome: str, solved: bool) -> None:
    def answer(home: Path) -> str:
        return (home / "answer").read_text() if (home / "answer").exists() else ""

    peer = Peer("peer", lambda _server, _prompt, _home: Launch(["/bin/sh", "-c", script]), answer)
    measured = run_peer(DELETES, peer, "local/coder-1.5b", SERVER, seconds=seconds)
    assert (measured.outcome, measured.solved, measured.setting) == (outcome, solved, "peer")


def test_the_answer_of_aider_is_what_its_model_wrote(tmp_path: Path) -> None:
    (tmp_path / "chat.md").write_text(
        "\n# aider chat started at 2026\n\n> Added three.txt to the chat.  \n\n#### Which?  \n#### Say it.  \n\n"
        "It is two.txt.\n\n> Tokens: 600 sent, 5 received.  \n"
    )
    peer = PEERS["aider"]
    assert peer.answer(tmp_path) == "It is two.txt." and peer.answer(tmp_path / "nothing") == ""
    assert "--message=Which?" in peer.launch(SERVER, "Which?", tmp_path).command


DELETE = "rm old.log"
SCRIPTED: dict[str, list[str | ToolUseBlock]] = {
    "smolagents": ["Thought: I see.\n<code>\nimport os\nos.remove('old.log')\nfinal_answer('It is gone.')\n</code>"],
    "mini-swe-agent": [
        f"THOUGHT: I delete it.\n\n```mswea_bash_command\n{DELETE}\n```",
        "THOUGHT: It is gone.\n\n```mswea_bash_command\necho COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT\n```",
    ],
    "gptme": [f"I delete it.\n\n```shell\n{DELETE}\n```", "It is gone.\n\n```complete\n```"],
    "pi": [ToolUseBlock("c1", "bash", {"command": DELETE}), "It is gone."],
}


def _hermes(name: str, **arguments: str) -> str:
    block = protocols.get("hermes").encode_call(ToolUseBlock("", name, arguments), ())
    assert isinstance(block, TextBlock)
    return block.text


SCRIPTED |= {
    "claude": [_hermes("Bash", command=DELETE, description="Delete it"), "It is gone."],
    "codex": [_hermes("exec_command", cmd=DELETE), "It is gone."],
    "opencode": [_hermes("bash", command=DELETE, description="Delete it"), "It is gone."],
}


@pytest.mark.parametrize("name", SCRIPTED)
async def test_a_peer_does_a_task_with_a_scripted_model(name: str) -> None:
    if not (CACHE / name / ".installed").exists():
        pytest.skip(f"{name} is not installed; `make eval PEERS={name}` does that")
    waiting = list(SCRIPTED[name])

    def answer(request: ReceivedRequest) -> Scripted:
        """Some have the model name the conversation as well, beside the task."""
        named = "title" in str(request.body["messages"][0]) and name in ("gptme", "opencode")
        return reply("A title") if named else reply(waiting.pop(0))

    async with LocalServer(answer) as server:
        at = ModelServer(server.url, "key")
        measured = await asyncio.to_thread(run_peer, DELETES, PEERS[name], "local/any", at, seconds=300)
    assert (measured.outcome, measured.problem, measured.solved) == ("completed", "", True), measured.output
    turns = sum("completions" in request.path for request in server.requests)
    assert "It is gone." in measured.answer and measured.turns == turns, measured
    assert not waiting


def test_the_meter_counts_what_the_server_says_of_its_work() -> None:
    counted = Counted()
    counted.add(b'data: {"choices": []}\n\ndata: {"timings": {"prompt_n": 5, "cache_n": 100, "predicted_n": 7}}\n\n')
    counted.add(b'{"error": "no"}')
    assert counted == Counted(turns=2, tokens_in=5, tokens_cached=100, tokens_out=7)


def test_a_request_that_nobody_waits_for_ends_with_the_meter() -> None:
    """Otherwise the model continues with it while the next agent waits."""
    with socket.create_server(("127.0.0.1", 0)) as upstream:
        with Meter(f"http://127.0.0.1:{upstream.getsockname()[1]}") as meter:
            agent = http.client.HTTPConnection(meter.address.removeprefix("http://"))
            agent.request("POST", "/v1/chat/completions", "{}")
            model, _ = upstream.accept()
            model.settimeout(30)
            while b"{}" not in model.recv(65536):
                pass
        assert model.recv(1) == b""
        model.close()
        agent.close()


def test_what_a_peer_started_ends_with_it(tmp_path: Path) -> None:
    script = f"sleep 30 & echo $! > {tmp_path}/child"
    peer = Peer("peer", lambda _server, _prompt, _home: Launch(["/bin/sh", "-c", script]))
    run_peer(DELETES, peer, "local/any", SERVER, seconds=20)
    child = Path(f"/proc/{(tmp_path / 'child').read_text().strip()}/stat")
    assert not child.exists() or " Z " in child.read_text()
