"""`joey run` as people and scripts run it: a process of its own, against a local server that speaks both formats."""

from __future__ import annotations

import asyncio
import io
import json
import os
import signal
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from image_kit import made
from joey.chunks import UsageChunk
from joey.cli import main
from joey.messages import ToolUseBlock
from joey.system.trust import TrustStore
from joey.testing.script import Failure, Faults, Scripted, reply
from joey.testing.server import LocalServer
from process_kit import all_ended_in


def call(call_id: str, name: str, **arguments: Any) -> ToolUseBlock:
    return ToolUseBlock(call_id, name, arguments)


def done(result: str = "All done.") -> Scripted:
    return reply(call("done", "attempt_completion", result=result))


SCHEMA = Path(__file__).parents[2] / "docs" / "events.schema.json"
"""What is published for programs that read --json; every line of every run here must be what it says."""
WRITE = reply("Writing.", call("w", "write_to_file", path="a.txt", file_text="hello\n"))
DEAR = reply(call("w", "write_to_file", path="a.txt", file_text="x"), usage=UsageChunk(1_000_000, 0))


@dataclass
class Ran:
    code: int
    out: str
    err: str
    server: LocalServer

    @property
    def events(self) -> list[Any]:
        events = [json.loads(line) for line in self.out.splitlines()]
        schema = Draft202012Validator(json.loads(SCHEMA.read_text()))
        for event in events:
            schema.validate(event)
        return events


class Runner:
    """Runs joey in a scratch folder with a scratch home."""

    def __init__(self, folder: Path) -> None:
        self.home, self.workspace = folder / "home", folder / "project"
        self.key = "test"
        self.home.mkdir()
        self.workspace.mkdir()

    async def __call__(
        self,
        script: Iterable[Scripted],
        *args: str,
        stdin: str | bytes = "",
        provider: str = "anthropic",
        stop_after: Sequence[str] = (),
    ) -> Ran:
        """Run it to its end, interrupted each time one of these words has appeared on stderr."""
        async with LocalServer(list(script)) as server:
            url = server.anthropic_url if provider == "anthropic" else server.openai_url
            process = await asyncio.create_subprocess_exec(
                sys.executable, "-m", "joey", "run", "--model", f"{provider}/scripted", "--base-url", url, *args,
                cwd=self.workspace, env=self.environment, stdin=-1, stdout=-1, stderr=-1,
            )  # fmt: skip
            assert process.stdin is not None
            process.stdin.write(stdin.encode() if isinstance(stdin, str) else stdin)
            process.stdin.close()
            for words in stop_after:
                await self._interrupt(process, words)
            out, err = await process.communicate()
            assert process.returncode is not None
            return Ran(process.returncode, out.decode(), err.decode(), server)

    async def _interrupt(self, process: asyncio.subprocess.Process, seen: str) -> None:
        assert process.stderr is not None
        text = b""
        while seen.encode() not in text:
            read = await process.stderr.read(1)
            assert read, f"it ended before it said {seen!r}: {text.decode()}"
            text += read
        process.send_signal(signal.SIGINT)

    def trust_workspace(self) -> None:
        settings = Path(self.environment.get("XDG_CONFIG_HOME") or self.home / ".config")
        TrustStore(settings / "joey" / "trusted.json").trust(self.workspace)

    @property
    def environment(self) -> dict[str, str]:
        kept = {key: value for key, value in os.environ.items() if not key.endswith("_API_KEY") and key != "JOEY_MODEL"}
        return {**kept, "HOME": str(self.home), "ANTHROPIC_API_KEY": self.key, "OPENAI_API_KEY": self.key}


@pytest.fixture
def joey(tmp_path: Path) -> Runner:
    return Runner(tmp_path)


@pytest.mark.parametrize("provider", ["anthropic", "openai"])
async def test_a_task_is_carried_out_and_its_result_is_all_that_stdout_has(joey: Runner, provider: str) -> None:
    ran = await joey([WRITE, done("Wrote a.txt.")], "Write a.txt", "--approve", "edits", provider=provider)
    assert ran.code == 0, ran.err
    assert ran.out == "Wrote a.txt.\n"
    assert "● write_to_file  " in ran.err
    assert (joey.workspace / "a.txt").read_text() == "hello\n"


async def test_json_prints_every_event_with_its_task(joey: Runner) -> None:
    ran = await joey([WRITE, done()], "Write a.txt", "--approve", "all", "--json")
    kinds = [event["type"] for event in ran.events]
    assert kinds[0] == "task_started"
    assert ran.events[0]["schema"] == 1
    assert {"tool_call_delta", "tool_run_finished", "turn_finished", "task_completed"} <= set(kinds)
    assert ran.events[-1] == {
        "task": ran.events[0]["task"],
        "type": "task_finished",
        "outcome": "completed",
        "message": "All done.",
    }


async def test_what_needs_leave_is_denied_not_asked(joey: Runner) -> None:
    ran = await joey([WRITE, done()], "Write a.txt")
    assert ran.code == 0
    assert not (joey.workspace / "a.txt").exists()
    assert "no user is there to approve" in ran.err
    last = ran.err.strip().splitlines()[-1]
    assert last.startswith("note: 1 call was denied and did nothing (write_to_file)"), "whatever the result claims"


async def test_allow_and_deny_rules_hold_for_commands(joey: Runner) -> None:
    command = reply(call("x", "execute_command", command="echo hi > out.txt"))
    ran = await joey([command, done()], "Run it", "--approve", "edits", "--allow", "echo")
    assert (joey.workspace / "out.txt").read_text() == "hi\n", ran.err
    denied = await joey(
        [reply(call("x", "execute_command", command="touch b")), done()], "x", "--approve", "all", "--deny", "touch"
    )
    assert not (joey.workspace / "b").exists(), denied.err


@pytest.mark.parametrize(
    ("script", "args", "code"),
    [
        ([Failure(401, "bad key", "authentication_error")], [], 1),
        ([WRITE] * 3, [], 3),
        ([reply("No, I will not.", stop="refusal")], [], 3),
        ([reply("hm")] * 3, ["--plain-answers", "remind"], 4),
        ([reply("It is 42.")], [], 0),
        ([WRITE] * 3, ["--max-turns", "1", "--approve", "edits"], 4),
        ([DEAR], ["--model", "anthropic/claude-haiku-4-5", "--max-cost", "0.5", "--approve", "edits"], 4),
        ([reply("slow", faults=Faults(latency=30))], ["--timeout", "0.5"], 4),
    ],
    ids=["error", "not approved", "model refuses", "mistakes", "plain answer", "turns", "cost", "time"],
)
async def test_the_exit_code_tells_how_it_ended(
    joey: Runner, script: list[Scripted], args: list[str], code: int
) -> None:
    ran = await joey(script, "Do it", *args)
    assert ran.code == code, ran.err
    assert ran.out == ("" if code else "It is 42.\n")
    assert ("\nResume this task with: joey run --resume 2" in ran.err) is bool(code)
    assert "Traceback" not in ran.err


async def test_a_refused_key_names_the_provider_its_address_and_its_variable(joey: Runner) -> None:
    ran = await joey([Failure(401, "invalid x-api-key", "authentication_error")], "Do it")
    words = " ".join(ran.err.split())
    assert f"anthropic at {ran.server.anthropic_url} answered HTTP 401: invalid x-api-key. Check the API key" in words
    assert "The key of anthropic is set in ANTHROPIC_API_KEY." in words


async def test_piped_input_that_is_no_utf_8_is_read_as_a_file_is(joey: Runner) -> None:
    ran = await joey([done()], "review this", stdin=b"latin \xe9\xff\n")
    assert "latin \xe9\xff" in str(ran.server.requests) and "the piped input was read as Windows-1252" in ran.err


async def test_ctrl_c_cancels_cleanly_and_the_task_can_be_resumed(joey: Runner) -> None:
    slow = reply(call("s", "execute_command", command="echo ready; sleep 60"))
    ran = await joey([slow], "Do it", "--approve", "all", stop_after=["ready\n"])
    assert ran.code == 130
    assert "Traceback" not in ran.err
    again = await joey([done("Went on.")], "go on", "--resume", "last")
    assert again.code == 0, again.err
    assert again.out == "Went on.\n"


async def test_a_second_ctrl_c_ends_it_at_once_and_leaves_nothing_running(joey: Runner) -> None:
    stubborn = "trap '' TERM; echo ready >&2; for i in $(seq 99); do sleep 0.1; done"
    script = [reply(call("x", "execute_command", command=stubborn))]
    ran = await joey(script, "Do it", "--approve", "all", stop_after=["ready\n", "again to end at once"])
    assert ran.code == 130
    assert "cancelled" not in ran.err, "the first one would have text how it ended"
    assert await asyncio.to_thread(all_ended_in, joey.workspace)


async def test_the_workspace_the_mode_and_an_image_are_those_that_were_named(joey: Runner, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "p.png").write_bytes(made(8, 8))
    options = ["--workspace", str(elsewhere), "--mode", "architect", "--attach", str(elsewhere / "p.png")]
    ran = await joey([WRITE, done()], "Look", *options, "--approve", "edits", "--max-cost", "9", "--json")
    assert ran.code == 0, ran.err
    assert "the price of anthropic/scripted is unknown" in ran.err
    assert ran.events[0]["mode"] == "architect"
    first = ran.server.requests[0].body
    assert str(elsewhere) in json.dumps(first["system"])
    assert [block["type"] for block in first["messages"][0]["content"]].count("image") == 1
    [written] = [event for event in ran.events if event["type"] == "tool_run_finished" and event["call_id"] == "w"]
    assert written["result"]["is_error"], "architect writes Markdown alone"


@pytest.mark.parametrize("provider", ["anthropic", "openai"])
async def test_a_key_that_a_server_repeats_is_neither_shown_nor_kept(joey: Runner, provider: str) -> None:
    joey.key = "sk-test-0123456789abcdef"
    failure = Failure(401, f"Incorrect API key provided: {joey.key}.", "authentication_error")
    ran = await joey([failure], "Do it", "--json", provider=provider)
    assert ran.code == 1
    assert " answered HTTP 401: Incorrect API key provided: [the key]." in ran.events[-1]["message"]
    kept = "".join(path.read_text() for path in joey.home.rglob("*") if path.is_file())
    assert "Incorrect API key" in kept
    assert joey.key not in ran.out + ran.err + kept


@pytest.mark.parametrize("provider", ["anthropic", "openai"])
async def test_a_server_that_failed_is_named_while_it_is_tried_again(joey: Runner, provider: str) -> None:
    ran = await joey([Failure(500, "boom", retry_after=0), done()], "Do it", provider=provider)
    assert ran.code == 0, ran.err
    assert "127.0.0.1 failed with HTTP 500: boom. Trying again in 0 s (attempt 1)." in ran.err


needs_full = pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full, a disk without room")


async def _in_shell(joey: Runner, command: str) -> tuple[int | None, str, str]:
    """How `joey run …`, as a shell starts it, ended: its code, stdout and stderr."""
    async with LocalServer([done()]) as server:
        joey_run = f"{sys.executable} -m joey run --model anthropic/m --base-url {server.anthropic_url} Go"
        process = await asyncio.create_subprocess_shell(
            f"{joey_run} {command}", cwd=joey.workspace, env=joey.environment, stdin=-3, stdout=-1, stderr=-1
        )
        out, err = await process.communicate()
        return process.returncode, out.decode(), err.decode()


@pytest.mark.parametrize("closed", ["2>&-", "<&- 2>&-", pytest.param("2>/dev/full", marks=needs_full)])
async def test_a_task_does_not_need_anybody_to_see_its_progress(joey: Runner, closed: str) -> None:
    assert await _in_shell(joey, closed) == (0, "All done.\n", "")


async def test_a_task_whose_output_is_closed_still_runs(joey: Runner) -> None:
    code, _, err = await _in_shell(joey, ">&-")
    assert code == 0 and "Traceback" not in err


@needs_full
@pytest.mark.parametrize(("options", "what"), [("", "output"), ("--json", "events")])
async def test_a_result_that_cannot_be_written_is_an_error_in_words(joey: Runner, options: str, what: str) -> None:
    code, _, err = await _in_shell(joey, f"{options} >/dev/full")
    assert code == 1
    assert f"joey: the {what} cannot be written: No space left on device; make room" in err
    assert "Traceback" not in err and "Exception ignored" not in err


async def test_a_server_that_does_not_run_is_named(joey: Runner) -> None:
    folder = Path(joey.environment.get("XDG_CONFIG_HOME") or joey.home / ".config") / "joey"
    folder.mkdir(parents=True)
    (folder / "mcp.json").write_text(json.dumps({"mcpServers": {"gone": {"command": "/no/such/program"}}}))
    ran = await joey([done()], "Do it")
    assert ran.code == 0
    assert "note: MCP server 'gone' is not available: it " in ran.err  # it cannot be run, or was still starting


async def test_what_is_piped_in_is_added_to_the_prompt(joey: Runner) -> None:
    ran = await joey([done()], "review this", stdin="the diff\n")
    first = ran.server.requests[0].body["messages"][0]["content"][0]["text"]
    assert first == "review this\n\n<input>\nthe diff\n</input>"


async def test_a_pipe_that_stays_open_does_not_hold_up_the_task(joey: Runner) -> None:
    async with LocalServer([done("Went on.")]) as server:
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "joey", "run", "Do it", "--model", "anthropic/scripted", "--base-url",
            server.anthropic_url, cwd=joey.workspace, env=joey.environment, stdin=-1, stdout=-1, stderr=-1,
        )  # fmt: skip
        assert process.stdout is not None
        assert await process.stdout.read() == b"Went on.\n"
        assert process.stdin is not None
        process.stdin.close()
        assert await process.wait() == 0


async def test_the_prompt_may_come_from_a_pipe_or_a_file(joey: Runner, tmp_path: Path) -> None:
    ran = await joey([done()], "-", stdin="from the pipe")
    assert ran.server.requests[0].body["messages"][0]["content"][0]["text"] == "from the pipe"
    (tmp_path / "p.txt").write_text("from a file")
    ran = await joey([done()], "--file", str(tmp_path / "p.txt"))
    assert ran.server.requests[0].body["messages"][0]["content"][0]["text"] == "from a file"


@pytest.mark.parametrize("protocol", ["xml", "json_mix", "morph_xml"])
async def test_a_text_protocol_by_flag(joey: Runner, protocol: str) -> None:
    from joey import protocols
    from joey.messages import TextBlock

    block = protocols.get(protocol).encode_call(call("", "attempt_completion", result="Said in text."))
    assert isinstance(block, TextBlock)
    ran = await joey([reply(block.text)], "Do it", "--protocol", protocol)
    assert ran.out == "Said in text.\n", ran.err
    assert "tools" not in ran.server.requests[0].body


async def test_what_to_make_of_a_model_that_does_not_call_tools(joey: Runner) -> None:
    in_text = reply("<write_to_file>\n<path>a.txt</path>\n<content>hi</content>\n</write_to_file>")
    options = ["--approve", "edits", "--text-calls", "run", "--plain-answers", "finish"]
    ran = await joey([in_text, reply("That was it.")], "Do it", *options)
    assert (ran.code, ran.out) == (0, "That was it.\n"), ran.err
    assert (joey.workspace / "a.txt").exists()


@pytest.mark.parametrize(
    ("args", "complaint"),
    [
        ([], "no prompt given; use joey run"),
        (["x", "--mode", "nope"], "unknown mode 'nope'"),
        (["x", "--mode", "arch"], "unknown mode 'arch'; did you mean 'architect'?"),
        (["x", "--protocol", "nope"], "there is no protocol 'nope'"),
        (["x", "--approve", "nope"], "argument --approve: must be one of 'ask', 'edits', 'read-only', "),
        (["x", "--modle", "y"], "unrecognized arguments: --modle y; did you mean --model?"),
        (["x", "--bogus"], "unrecognized arguments: --bogus; `joey run --help` lists the options"),
        (["x", "--file", "task.txt"], "the prompt as an argument or with --file, not both"),
        (["--file", "nowhere.txt"], "cannot read nowhere.txt: No such file or directory\n"),
        (["x", "--max-turns", "many"], "argument --max-turns: must be a whole number of 1 or more, got 'many'"),
        (["x", "--resume", "nope"], "there is no task 'nope'"),
        (["x", "--workspace", "/nowhere"], "/nowhere is not a folder"),
        (["x", "--attach", "a.exe"], "cannot read a.exe: No such file"),
        (["x", "--attach", __file__], "not an image that models accept"),
    ],
)
async def test_a_wrong_option_is_named(joey: Runner, args: list[str], complaint: str) -> None:
    ran = await joey([], *args)
    assert ran.code == 2
    assert complaint in ran.err
    assert "Traceback" not in ran.err


async def _without_keys(joey: Runner, *args: str) -> tuple[int | None, str]:
    """How it ended, and what it printed on stderr."""
    environment = {key: value for key, value in joey.environment.items() if not key.endswith("_API_KEY")}
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "joey", "run", "hello", *args,
        cwd=joey.workspace, env=environment, stdin=-3, stdout=-1, stderr=-1,
    )  # fmt: skip
    _, err = await process.communicate()
    return process.returncode, err.decode()


async def test_no_key_shows_the_ways_forward(joey: Runner) -> None:
    code, err = await _without_keys(joey)
    assert code == 1
    assert "no model is configured" in err
    assert all(way in err for way in ("ANTHROPIC_API_KEY", "joey local install", "joey demo"))


@pytest.mark.parametrize("provider", ["anthropic", "openai", "openrouter"])
async def test_without_the_key_of_its_provider_no_task_begins(joey: Runner, provider: str) -> None:
    code, err = await _without_keys(joey, "--model", f"{provider}/some-model")
    assert code == 1
    assert err == f"joey: no API key for {provider}; set {provider.upper()}_API_KEY\n"
    assert not list((joey.home / ".local" / "state").rglob("*.jsonl"))


async def test_a_server_that_is_not_there_is_not_waited_for(joey: Runner) -> None:
    async with LocalServer([]) as server:
        gone = server.openai_url
    code, err = await _without_keys(joey, "--model", "ollama/qwen3", "--base-url", gone)
    assert code == 1
    assert f"no server answers at {gone} (connection refused). Start the server" in err
    assert "Trying again" not in err


def test_a_place_where_no_task_can_be_saved_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file"))
    monkeypatch.setattr(sys, "stdin", io.StringIO())
    assert main(["run", "hello", "--model", "ollama/qwen3"]) == 2
    assert f"tasks cannot be saved in {tmp_path}/file/joey/tasks: Not a directory; name" in capsys.readouterr().err


def test_a_current_folder_that_is_gone_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    assert main(["config", "get", "mode"]) == 2
    assert capsys.readouterr().err == "joey: the current folder does not exist any more; change to another one\n"


async def test_settings_choose_what_no_flag_does(joey: Runner) -> None:
    folder = joey.home / ".config" / "joey"
    folder.mkdir(parents=True)
    (joey.workspace / "AGENTS.md").write_text("Use tabs.\n")
    async with LocalServer([WRITE, done("Wrote it.")]) as server:
        (folder / "config.toml").write_text(
            f'model = "openai/scripted"\nbase_url = "{server.openai_url}"\nmode = "architect"\n'
            '[approvals]\nprofile = "all"\n[task]\nmax_tokens = 777\n[tools]\ndisabled = ["new_task"]\n'
        )
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "joey", "run", "Write a.txt", "--mode", "code",
            cwd=joey.workspace, env=joey.environment, stdin=-3, stdout=-1, stderr=-1,
        )  # fmt: skip
        out, err = await process.communicate()
    assert out == b"Wrote it.\n", err
    assert (joey.workspace / "a.txt").exists()
    body = server.requests[0].body
    assert 777 in (body.get("max_tokens"), body.get("max_completion_tokens"))
    assert "new_task" not in [tool["function"]["name"] for tool in body["tools"]]
    assert "You are in code mode" in body["messages"][0]["content"]
    assert "# Rules from AGENTS.md:\n\nUse tabs." in body["messages"][0]["content"]


async def test_a_project_s_settings_do_not_let_it_write_unless_it_is_trusted(joey: Runner) -> None:
    (joey.workspace / ".joey").mkdir()
    (joey.workspace / ".joey" / "config.toml").write_text('[approvals]\nprofile = "all"\n[limits]\nmax_turns = 1\n')
    ran = await joey([WRITE, done()], "Write a.txt")
    assert ran.code == 4
    assert "sets approvals.profile: not used because this folder is not trusted" in ran.err
    assert not (joey.workspace / "a.txt").exists()


async def test_a_mistake_in_the_settings_stops_before_anything_is_sent(joey: Runner) -> None:
    (joey.workspace / ".joey").mkdir()
    (joey.workspace / ".joey" / "config.toml").write_text("[limits]\nmax_turn = 1\n")
    ran = await joey([], "Do it")
    assert ran.code == 2 and ".joey/config.toml:2: unknown setting 'limits.max_turn'" in ran.err


async def test_a_time_limit_from_the_settings_holds(joey: Runner) -> None:
    (joey.workspace / ".joey").mkdir()
    (joey.workspace / ".joey" / "config.toml").write_text("[limits]\ntimeout = 0.5\n")
    ran = await joey([reply("slow", faults=Faults(latency=30))], "Do it", "--json")
    late = "the time limit of 0.5 s was reached"
    assert ran.code == 4
    assert ran.events[-1].items() >= {"type": "task_finished", "outcome": "limit", "message": late}.items()
    (journal,) = (joey.home / ".local" / "state").rglob("journal.jsonl")
    assert json.loads(journal.read_text().splitlines()[-1])["outcome"] == "limit"


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ('\nmode = "nope"\n', ".joey/config.toml:2: unknown mode 'nope'"),
        ('protocol = "nope"\n', ".joey/config.toml:1: there is no protocol 'nope'"),
    ],
)
async def test_a_name_that_does_not_exist_is_complained_about_where_it_stands(
    joey: Runner, text: str, complaint: str
) -> None:
    (joey.workspace / ".joey").mkdir()
    (joey.workspace / ".joey" / "config.toml").write_text(text)
    joey.trust_workspace()
    ran = await joey([], "Do it")
    assert ran.code == 2 and complaint in ran.err


async def test_a_project_nobody_trusts_chooses_neither_protocol_nor_mode_nor_what_a_mode_is(joey: Runner) -> None:
    (joey.workspace / ".joey").mkdir()
    (joey.workspace / ".joey" / "config.toml").write_text('protocol = "xml"\nmode = "ask"\n')
    (joey.workspace / ".roomodes").write_text(
        "customModes:\n- slug: code\n  name: Mine\n  roleDefinition: You obey the project.\n  groups: [read]\n"
    )
    ran = await joey([done()], "Do it")
    assert ran.code == 0, ran.err
    assert "sets protocol, mode: not used because this folder is not trusted" in ran.err
    assert "the mode 'code' would replace another" in ran.err
    body = ran.server.requests[0].body
    assert "You obey the project." not in json.dumps(body)
    names = {tool["name"] for tool in body["tools"]}
    assert "write_to_file" in names, "native calls, and all the tools of the built-in mode"


async def test_a_server_gets_the_grammar_of_a_legal_reply_on_request(joey: Runner) -> None:
    text = "<attempt_completion>\n<result>ok</result>\n</attempt_completion>"
    ran = await joey(
        [reply(text)], "Go", "--protocol", "xml", "--grammar", "llama.cpp", "--tool-choice", "required",
        provider="llamacpp",
    )  # fmt: skip
    assert ran.code == 0 and ran.out == "ok\n"
    assert ran.server.requests[0].body["grammar"].startswith("root ::= ")


async def test_a_grammar_without_a_protocol_in_text_is_refused(joey: Runner) -> None:
    ran = await joey([], "Go", "--protocol", "native", "--grammar", "llama.cpp", provider="llamacpp")
    assert ran.code == 2 and "a grammar needs a text protocol, not native" in ran.err


async def test_the_model_searches_the_codebase_and_reads_what_was_found(joey: Runner) -> None:
    (joey.workspace / "shop.py").write_text(
        'def cancel(order):\n    order.status = "cancelled"\n    refund(order.payment)  # the money goes back\n'
    )
    (joey.workspace / "secret.py").write_text("def refund_everyone():\n    return 'money back to the customer'\n")
    (joey.workspace / ".joeyignore").write_text("secret.py\n")
    asks = reply(call("s", "codebase_search", query="give the customer the money back", path=None))
    ran = await joey([asks, done()], "Where are refunds made?", "--approve", "edits")
    assert ran.code == 0, ran.err
    request = str(ran.server.requests[-1])
    assert "File path: shop.py" in request and "by keywords and by meaning" in request
    assert "refund_everyone" not in request
