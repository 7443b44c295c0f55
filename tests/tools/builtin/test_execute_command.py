"""Real processes. Nothing here depends on how fast they are: a test waits for what it needs to see."""

from __future__ import annotations

import asyncio
import os
import sys
import tracemalloc
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from joey.actions import RunCommand
from joey.messages import ShownText, ToolResult
from joey.tools.base import ToolContext
from joey.tools.builtin.execute_command import ExecuteCommand, ExecuteCommandParams
from joey.tools.builtin.read_command_output import ReadCommandOutput, ReadCommandOutputParams
from joey.tools.shell.artifacts import artifacts
from joey.tools.shell.jobs import Jobs, finished_jobs, running_jobs


@pytest.fixture
async def task(context: ToolContext) -> AsyncIterator[ToolContext]:
    """A task whose jobs and sandboxes are ended with the test."""
    yield context
    await context.memory.close()


async def run(context: ToolContext, command: str, tool: ExecuteCommand | None = None, **arguments: Any) -> ToolResult:
    return await (tool or ExecuteCommand()).run(ExecuteCommandParams(command=command, **arguments), context)


async def output_of(context: ToolContext, artifact_id: str, **arguments: Any) -> ToolResult:
    return await ReadCommandOutput().run(ReadCommandOutputParams(artifact_id=artifact_id, **arguments), context)


async def until(condition: Any) -> None:
    async with asyncio.timeout(20):
        while not condition():  # noqa: ASYNC110 - what is waited for happens outside this process
            await asyncio.sleep(0.02)


LONG = f"1000.{os.getpid()}"
"""Seconds to sleep that no other process sleeps: a sandbox counts processes by itself, so they are found by this."""


def sleeping() -> int:
    """How many processes sleep that long, seen from outside."""
    return sum(LONG.encode() in _words_of(process) for process in Path("/proc").glob("[0-9]*"))


def _words_of(process: Path) -> list[bytes]:
    try:
        return (process / "cmdline").read_bytes().split(b"\0")
    except OSError:
        return []


async def test_the_output_is_returned(task: ToolContext) -> None:
    result = await run(task, "echo one; echo two >&2")
    assert result.text == "Command executed.\n\nOutput:\none\ntwo"
    assert result.shown == (ShownText("one\ntwo\n"),)


async def test_a_last_line_without_newline_is_not_lost(task: ToolContext) -> None:
    assert (await run(task, "printf 'no newline'")).text.endswith("Output:\nno newline")


async def test_no_output_is_reported_as_none(task: ToolContext) -> None:
    assert (await run(task, "true")).text == "Command executed.\n\nOutput:\n(none)"


@pytest.mark.parametrize(
    ("command", "ending"),
    [
        ("exit 3", "Command failed: exit code 3."),
        ("exit 255", "Command failed: exit code 255."),
        ("kill -9 $$", "Command failed: terminated by signal SIGKILL (exit code 137)."),
        ("kill -TERM $$", "Command failed: terminated by signal SIGTERM (exit code 143)."),
        (
            "sh -c 'kill -SEGV $$'; exit $?",
            "Command failed: terminated by signal SIGSEGV (exit code 139, core dump possible).",
        ),
        ("no-such-program-anywhere", "Command failed: exit code 127."),
    ],
)
async def test_how_it_ended_is_reported_truly(task: ToolContext, command: str, ending: str) -> None:
    result = await run(task, f"ulimit -c 0; {command}")
    assert result.text.splitlines()[0] == ending


async def test_it_runs_where_it_should(task: ToolContext) -> None:
    (task.workspace / "sub").mkdir()
    assert (await run(task, "pwd", cwd="sub")).text == (
        f"Command executed in 'sub'.\n\nOutput:\n{task.workspace.resolve()}/sub"
    )
    assert str(task.workspace.resolve()) in (await run(task, "pwd")).text


@pytest.mark.parametrize("cwd", ["missing", "a\0b"])
async def test_a_folder_that_is_none_runs_nothing(task: ToolContext, cwd: str) -> None:
    result = await run(task, "touch ran", cwd=cwd)
    assert result.is_error and not (task.workspace / "ran").exists()


async def test_a_command_with_a_nul_is_an_error(task: ToolContext) -> None:
    assert (await run(task, "echo a\0b")).is_error


async def test_the_command_is_not_altered(task: ToolContext) -> None:
    assert (await run(task, "echo 'a &amp; b &lt;'")).text.endswith("\na &amp; b &lt;")


async def test_nobody_can_answer(task: ToolContext) -> None:
    assert (await run(task, "read answer || echo nobody there")).text.endswith("nobody there")


async def test_output_looks_as_a_person_would_have_seen_it(task: ToolContext) -> None:
    result = await run(task, r"printf '10%%\r100%%\n\033[31mred\033[0m\nab\bc\n'")
    assert result.text.endswith("Output:\n100%\nred\nac")


async def test_broken_characters_are_replaced_and_whole_ones_are_not_split(task: ToolContext) -> None:
    result = await run(task, r"printf 'a\xff\xc3'; sleep 0.1; printf '\xa9\n'")
    assert result.text.endswith("Output:\na\ufffdé")


async def test_a_terminal_is_given_on_request(task: ToolContext) -> None:
    question = "test -t 1 && echo terminal || echo pipe"
    assert (await run(task, question)).text.endswith("pipe")
    assert (
        (await run(task, f"{question}; stty size < /dev/tty", terminal=True))
        .text.partition("Output:\n")[2]
        .startswith("terminal")
    )
    assert (await run(task, "printf 'last line'", terminal=True)).text.endswith("Output:\nlast line")


async def test_output_is_shown_while_it_comes(task: ToolContext) -> None:
    pieces: list[str] = []
    task = replace(task, progress=pieces.append)
    call = asyncio.create_task(run(task, "echo first; while [ ! -e go ]; do sleep 0.05; done; printf last"))
    await until(lambda: "first" in "".join(pieces))
    assert not call.done()
    (task.workspace / "go").touch()
    await call
    assert "".join(pieces) == "first\nlast"


async def test_colours_are_for_the_user_and_not_for_the_model(task: ToolContext) -> None:
    pieces: list[str] = []
    result = await run(replace(task, progress=pieces.append), r"printf '\033[31mred\033[0m\033]0;title\007 plain\n'")
    assert result.text.endswith("Output:\nred plain") and "\x1b" not in result.text
    assert result.shown == (ShownText("\x1b[31mred\x1b[0m plain\n"),)
    assert "".join(pieces) == "\x1b[31mred\x1b[0m plain\n"


async def test_the_user_is_told_how_many_lines_are_not_shown(task: ToolContext) -> None:
    result = await run(task, "seq 100000")
    [shown] = result.shown
    assert isinstance(shown, ShownText)
    lines = shown.text.splitlines()
    [gap] = [line for line in lines if "omitted" in line]
    assert gap == f"[...{100_000 + 1 - 500} lines omitted...]"
    assert lines[0] == "1" and lines[-1] == "100000" and len(lines) < 510
    assert lines[lines.index(gap) + 1] == f"[the whole output is in {artifacts(task.storage)[0]}]"


async def test_large_output_is_kept_and_shown_at_both_ends(task: ToolContext) -> None:
    result = await run(task, "seq 1 20000; printf end")
    assert "was kept whole. Artifact ID: cmd-1.txt" in result.text
    preview = result.text.partition("Preview:\n")[2]
    assert preview.startswith("1\n2\n3\n") and "bytes omitted...]" in preview and "\n20000\nend\n" in preview
    assert len(preview) < 11_000
    kept = artifacts(task.storage)[0].read_text()
    assert kept == "".join(f"{number}\n" for number in range(1, 20001)) + "end"


@pytest.mark.parametrize("size", [10_239, 10_240, 10_241, 10_300, 60_000, 140_000])
@pytest.mark.parametrize("width", [0, 60])
async def test_not_a_byte_is_lost_around_the_limits(task: ToolContext, size: int, width: int) -> None:
    fold = f"| fold -w {width}" if width else ""
    result = await run(task, f"head -c {size} /dev/zero | tr '\\0' x {fold}")
    text = "x" * size if not width else "\n".join("x" * min(width, size - at) for at in range(0, size, width))
    if len(text) <= 10_240:
        assert result.text.endswith(f"Output:\n{text}") and not artifacts(task.storage)
    else:
        assert artifacts(task.storage)[0].read_text() == text
        before, _, after = result.text.partition("[...")
        head = before.partition("Preview:\n")[2].removesuffix("\n")
        omitted = int(after.split()[0])
        tail = after.partition("]\n")[2].partition("\n\nTo see the rest")[0]
        assert text.startswith(head) and text.endswith(tail)
        assert len(head) + omitted + len(tail) in (len(text), len(text) - 1)  # the line end before the note


async def test_a_hundred_megabytes_use_bounded_memory(task: ToolContext) -> None:
    tracemalloc.start()
    try:
        result = await run(task, "yes 'a line of output like any other' | head -c 100000000")
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 8_000_000
    assert artifacts(task.storage)[0].stat().st_size == 100_000_000
    assert "95.4 MB" in result.text


async def test_ids_are_unique_and_survive_a_resume(task: ToolContext) -> None:
    await asyncio.gather(run(task, "seq 9000"), run(task, "seq 9001"), run(task, "seq 9002"))
    resumed = ToolContext(task.workspace, task.storage)
    await run(resumed, "seq 9003")
    assert [path.name for path in artifacts(task.storage)] == ["cmd-1.txt", "cmd-2.txt", "cmd-3.txt", "cmd-4.txt"]
    first = await output_of(resumed, "cmd-1.txt", search="^9$")
    assert "Status: exit code 0" in first.text and "    9 | 9" in first.text
    await resumed.memory.close()


async def test_after_its_timeout_a_command_goes_on_and_is_kept(task: ToolContext) -> None:
    result = await run(task, "echo before; while [ ! -e go ]; do sleep 0.05; done; echo after", timeout=2)
    assert "is still running" in result.text and "Output so far:\nbefore" in result.text
    (job,) = running_jobs(task)
    assert job.id == "cmd-1.txt" and job.status == "running"
    assert "Status: running" in (await output_of(task, job.id)).text
    (task.workspace / "go").touch()
    await until(lambda: not running_jobs(task))
    text = (await output_of(task, job.id)).text
    assert "Status: exit code 0" in text and "    1 | before\n    2 | after" in text
    (finished,) = finished_jobs(task)
    assert finished.status == "exit code 0"
    assert finished_jobs(task) == ()


async def test_a_background_job_returns_with_what_it_printed(task: ToolContext) -> None:
    result = await run(task, "echo listening; sleep 1000", ExecuteCommand(watched=2), background=True)
    assert "is still running" in result.text and "Output so far:\nlistening" in result.text
    await task.memory[Jobs].close()
    assert finished_jobs(task)[0].status == "terminated by signal SIGTERM (exit code 143)"


async def test_a_background_job_that_fails_at_once_says_so(task: ToolContext) -> None:
    result = await run(task, "echo port in use; exit 1", ExecuteCommand(watched=60), background=True)
    assert result.text == "Command failed: exit code 1.\n\nOutput:\nport in use"
    assert running_jobs(task) == ()


async def test_live_output_ends_with_the_call(task: ToolContext) -> None:
    pieces: list[str] = []
    task = replace(task, progress=pieces.append)
    await run(task, "while [ ! -e go ]; do sleep 0.05; done; echo late", timeout=0.2)
    (task.workspace / "go").touch()
    await until(lambda: not running_jobs(task))
    assert pieces == []


async def test_what_a_command_leaves_behind_does_not_hang_the_call(task: ToolContext) -> None:
    result = await run(task, f"sleep {LONG} & echo started")
    assert "Command executed. It left processes running." in result.text
    assert sleeping() == 1 and len(running_jobs(task)) == 1
    await task.memory[Jobs].close()
    await until(lambda: not sleeping())
    assert running_jobs(task) == ()


async def test_cancelling_ends_the_whole_group(task: ToolContext) -> None:
    call = asyncio.create_task(run(task, f"sleep {LONG} & (trap '' TERM; sleep {LONG}); wait"))
    await until(lambda: sleeping() == 2)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    await until(lambda: not sleeping())
    assert running_jobs(task) == ()


async def test_the_users_limit_ends_a_command(task: ToolContext) -> None:
    tool = ExecuteCommand(kill_after=2)
    result = await run(task, f"echo begun; sleep {LONG} & wait", tool)
    assert result.is_error
    assert "was ended after 2 s, the user's limit" in result.text and "Output:\nbegun" in result.text
    await until(lambda: not sleeping())


async def test_the_users_limit_holds_for_a_command_that_went_on(task: ToolContext) -> None:
    await run(task, "sleep 1000", ExecuteCommand(kill_after=0.5), timeout=0.1)
    await until(lambda: not running_jobs(task))
    assert "SIGTERM" in finished_jobs(task)[0].status


async def test_exempt_commands_have_no_limit(task: ToolContext) -> None:
    tool = ExecuteCommand(kill_after=0.1, never_killed=("sleep 0.4",))
    assert (await run(task, "sleep 0.4; echo done", tool)).text.endswith("done")


async def test_a_disk_that_is_full_loses_only_the_middle(task: ToolContext) -> None:
    task.storage.write_text("a file where a folder should be")
    result = await run(task, "seq 1 20000")
    assert "it could not be kept: " in result.text and "\n20000" in result.text and "\n1\n2\n" in result.text


def test_the_command_is_the_action(context: ToolContext) -> None:
    params = ExecuteCommandParams(command="make test", cwd="sub")
    assert ExecuteCommand().actions(params, context) == (RunCommand("make test", "sub"),)


async def test_output_and_errors_keep_their_order(task: ToolContext) -> None:
    script = "import sys\nfor i in range(50): print(i, flush=True); print(-i, file=sys.stderr, flush=True)"
    result = await run(task, f"{sys.executable} -c '{script}'")
    assert result.text.partition("Output:\n")[2].split() == [text for i in range(50) for text in (str(i), str(-i))]


async def test_descriptors_are_given_back(task: ToolContext) -> None:
    await run(task, "true")
    before = open_descriptors()
    for terminal in (False, True):
        await run(task, "seq 9000", terminal=terminal)
    await until(lambda: open_descriptors() <= before)


def open_descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))
