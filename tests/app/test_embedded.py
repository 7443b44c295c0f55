"""`joey.Task` and `joey.run` as a program uses them: real tools, real folders, a scripted model."""

from __future__ import annotations

import asyncio
import base64
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

import joey
from joey import protocols
from joey.events import ModeChanged, SubtaskOpened, TaskStarted, ToolRunProgressed, UserMessageQueued
from joey.journal.store import TaskStore
from joey.messages import ImageBlock, Message, TextBlock, ToolUseBlock
from joey.providers import ModelRequest
from joey.testing import Failure, Faults, LocalServer, Scripted, ScriptedProvider, reply
from joey.tools import Params, failed, ok
from process_kit import all_ended_in, running_in


def call(name: str, **arguments: Any) -> ToolUseBlock:
    return ToolUseBlock(f"call_{name}", name, arguments)


def done(result: str = "All done.") -> Scripted:
    return reply(call("attempt_completion", result=result))


WRITE = reply("Writing.", call("write_to_file", path="a.txt", file_text="hello\n"))
COMMAND = reply(call("execute_command", command="touch made.txt"))
SLEEP = reply(call("execute_command", command="echo started; sleep 1000"))
QUESTION = reply(call("ask_followup_question", question="Red or blue?", follow_up=[{"text": "red"}, {"text": "blue"}]))


DOT = "iVBORw0KGgoAAAANSUhEUgAAAAIAAAACCAIAAAD91JpzAAAAFklEQVR4nGOsYGBgYGBgYmBgYGBgAAAGQgB82ppKewAAAABJRU5ErkJggg=="
"""A small PNG image, in base64."""


class Program:
    """A program with a scratch folder, that makes tasks of a scripted model."""

    def __init__(self, folder: Path) -> None:
        self.workspace = folder / "project"
        self.workspace.mkdir(parents=True)
        self.store = folder / "tasks"
        self.provider = ScriptedProvider(())

    def options(self, *script: Scripted, **options: Any) -> dict[str, Any]:
        self.provider = ScriptedProvider(script)
        defaults = {"model": self.provider, "workspace": self.workspace, "store": self.store, "config": False}
        return {**defaults, **options}

    def task(self, *script: Scripted, prompt: str = "Do it.", **options: Any) -> joey.Task:
        return joey.Task(prompt, **self.options(*script, **options))

    def sent(self, request: int = -1) -> str:
        """What the model was sent in a request, as text."""
        return text_of(self.provider.requests[request])


def text_of(request: ModelRequest) -> str:
    return "\n".join(str(block) for message in request.messages for block in message.content)


@pytest.fixture
def program(tmp_path: Path) -> Program:
    return Program(tmp_path)


async def events_of(task: joey.Task) -> list[Any]:
    async with task:
        return [event async for event in task]


def of(kind: type, events: Iterable[Any]) -> list[Any]:
    return [event for event in events if isinstance(event, kind)]


# Running


@pytest.mark.parametrize("wire", ["anthropic", "openai"])
async def test_a_task_runs_over_both_wires_with_the_configuration_of_the_command_line(
    wire: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv(f"{wire.upper()}_API_KEY", "key-of-the-test")
    (tmp_path / ".config/joey").mkdir(parents=True)
    (tmp_path / ".config/joey/config.toml").write_text(f'model = "{wire}/scripted"\n')
    async with LocalServer([WRITE, done()]) as server:
        url = server.anthropic_url if wire == "anthropic" else server.openai_url
        async with joey.Task("Do it.", workspace=tmp_path, approve="edits", settings={"base_url": url}) as task:
            async for _ in task:
                pass
    assert task.result == joey.TaskResult("completed", "All done.", task.id)
    assert (tmp_path / "a.txt").read_text() == "hello\n"
    assert "key-of-the-test" in str(server.requests[0].headers)
    assert (tmp_path / ".local/state/joey/tasks" / task.id).is_dir()


async def test_a_model_that_is_opened_by_the_program_is_used_and_stays_open(program: Program) -> None:
    async with LocalServer([done("one"), done("two")]) as server:
        model = joey.open_model("openai/any", base_url=server.openai_url, api_key="key")
        for expected in ("one", "two"):
            async with program.task(model=model) as task:
                assert str(await task.wait()) == expected
        await model[0].close()


def test_a_script_needs_one_line(program: Program) -> None:
    result = joey.run("Do it.", **program.options(WRITE, done(), approve="edits"))
    assert result.completed and str(result) == "All done."
    assert (program.workspace / "a.txt").exists()


def test_a_script_is_denied_what_needs_approval_and_never_hangs(program: Program) -> None:
    result = joey.run("Do it.", **program.options(COMMAND, QUESTION, done(), approve="edits"))
    assert result.completed and not (program.workspace / "made.txt").exists()
    assert "no user is there to approve" in program.sent(1)
    assert "red" in program.sent(2)


def test_a_script_may_decide_by_a_function(program: Program) -> None:
    result = joey.run("Do it.", **program.options(COMMAND, done(), approve=lambda request: "touch" in str(request)))
    assert result.completed and (program.workspace / "made.txt").exists()


async def test_run_is_refused_where_an_event_loop_runs(program: Program) -> None:
    with pytest.raises(joey.UsageError, match=r"async with joey\.Task"):
        joey.run("Do it.", **program.options(done()))


def test_a_script_has_nobody_who_answers_later(program: Program) -> None:
    with pytest.raises(joey.UsageError, match="nobody who could answer later"):
        joey.run("Do it.", **program.options(done(), unanswered="wait"))


async def test_the_result_says_how_a_task_failed(program: Program) -> None:
    async with program.task(Failure(401, "no such key")) as task:
        result = await task.wait()
    assert result.outcome == "error" and not result.completed and "no such key" in result.text


async def test_two_tasks_run_at_once(tmp_path: Path) -> None:
    programs = Program(tmp_path / "one"), Program(tmp_path / "two")
    both = [each.task(WRITE, done(str(each.workspace)), approve="edits") for each in programs]
    await asyncio.gather(*(events_of(task) for task in both))
    assert [task.result.text for task in both] == [str(each.workspace) for each in programs]
    assert all((each.workspace / "a.txt").exists() for each in programs)


async def test_events_of_subtasks_come_with_their_id(program: Program) -> None:
    script = reply(call("new_task", mode="code", message="Part.")), WRITE, done("part"), done("whole")
    async with program.task(*script, approve="all") as task:
        events = [each async for each in task.events()]
    (child,) = of(SubtaskOpened, [event for _, event in events])
    started = {task_id for task_id, event in events if isinstance(event, TaskStarted)}
    finished = {task_id: event.message for task_id, event in events if isinstance(event, joey.TaskFinished)}
    assert started == {task.id, child.child_id}
    assert finished == {task.id: "whole", child.child_id: "part"}


async def test_images_and_mode_and_protocol_reach_the_model(program: Program, tmp_path: Path) -> None:
    (tmp_path / "dot.png").write_bytes(base64.b64decode(DOT))
    block = ImageBlock("image/png", DOT)
    finish = reply("<attempt_completion>\n<result>\nBlue.\n</result>\n</attempt_completion>")
    async with program.task(finish, protocol="xml", mode="ask", images=[tmp_path / "dot.png", block]) as task:
        events = [event async for event in task]
    (started,) = of(TaskStarted, events)
    assert (started.mode, started.protocol, task.result.text) == ("ask", "xml", "Blue.")
    message: Message = program.provider.requests[0].messages[0]
    assert len(of(ImageBlock, message.content)) == 2


async def test_a_time_limit_ends_the_task(program: Program) -> None:
    async with program.task(SLEEP, approve="all", settings={"limits.timeout": 0.2}) as task:
        assert (await task.wait()).outcome == "limit"
    assert all_ended_in(program.workspace)


# Answers


async def test_the_loop_answers_requests(program: Program) -> None:
    async with program.task(COMMAND, QUESTION, done("first"), done("second")) as task:
        async for event in task:
            match event:
                case joey.ApprovalRequested():
                    await task.answer(event, yes=True)
                case joey.QuestionRequested():
                    await task.answer(event, text="green")
                case joey.CompletionRequested(result="first"):
                    await task.answer(event, text="more")
                case joey.CompletionRequested():
                    await task.answer(event, yes=True)
    assert task.result.text == "second" and (program.workspace / "made.txt").exists()
    assert "green" in program.sent(2) and "more" in program.sent(3)


async def test_a_plan_is_declined_with_a_no(program: Program) -> None:
    async with program.task(done("Delete it all."), approve="plan") as task:
        async for event in task:
            if isinstance(event, joey.CompletionRequested):
                assert event.plan
                await task.answer(event, yes=False)
    assert task.result.outcome == "cancelled" and "the plan was declined" in task.result.text


async def test_a_request_that_the_loop_passes_over_is_answered_as_without_a_user(program: Program) -> None:
    async with program.task(COMMAND, QUESTION, done()) as task:
        events = [event async for event in task]
    assert task.result.completed and not (program.workspace / "made.txt").exists()
    assert of(joey.ApprovalRequested, events) and of(joey.CompletionRequested, events)
    assert "Nobody is there to approve this call." in program.sent(1) and "The user" not in program.sent(1)
    assert "red" in program.sent(2)


async def test_answers_may_come_from_elsewhere_while_the_loop_goes_on(program: Program) -> None:
    async def approve_later(task: joey.Task, request: joey.ApprovalRequested) -> None:
        await asyncio.sleep(0.01)
        await task.answer(request, yes=True)

    async with program.task(COMMAND, done(), unanswered="wait") as task, asyncio.TaskGroup() as group:
        async for event in task:
            if isinstance(event, joey.ApprovalRequested):
                group.create_task(approve_later(task, event))
            elif isinstance(event, joey.CompletionRequested):
                await task.answer(event, yes=True)
    assert (program.workspace / "made.txt").exists()


async def test_an_answer_to_a_request_that_is_gone_is_an_error(program: Program) -> None:
    seen: list[joey.ApprovalRequested] = []
    async with program.task(COMMAND, COMMAND, done()) as task:
        async for event in task:
            if isinstance(event, joey.ApprovalRequested):
                if seen:
                    with pytest.raises(joey.UsageError, match=r"approval_1 is not open.*unanswered='wait'"):
                        await task.answer(seen[0], yes=True)
                seen.append(event)
        with pytest.raises(joey.UsageError, match="approval_2 is not open any more"):
            await task.answer(seen[1], yes=True)
    assert not (program.workspace / "made.txt").exists()


async def test_only_a_request_is_answered_and_only_by_one(program: Program) -> None:
    async with program.task(COMMAND, done(), approve=lambda _: True) as task:
        async for event in task:
            if isinstance(event, joey.ApprovalRequested):
                with pytest.raises(joey.UsageError, match="the function approve= answered it"):
                    await task.answer(event, yes=True)
            elif isinstance(event, TaskStarted):
                with pytest.raises(joey.UsageError, match="only requests are answered"):
                    await task.answer(event, yes=True)  # type: ignore[arg-type]


async def test_the_answer_to_a_parent_s_request_approves_nothing_of_a_subtask(program: Program) -> None:
    script = reply(call("new_task", mode="code", message="Part.")), COMMAND, done(), done()
    first: joey.ApprovalRequested | None = None
    async with program.task(*script) as task:
        async for event in task:
            if isinstance(event, joey.ApprovalRequested):
                if first is None:
                    first = event
                    await task.answer(event, yes=True)
                else:
                    assert event.request_id != first.request_id
                    with pytest.raises(joey.UsageError, match="not open any more"):
                        await task.answer(first, yes=True)
    assert first is not None and not (program.workspace / "made.txt").exists()


async def test_an_answer_that_says_nothing_is_an_error(program: Program) -> None:
    async with program.task(QUESTION, done()) as task:
        async for event in task:
            if isinstance(event, joey.QuestionRequested):
                with pytest.raises(joey.UsageError, match="answered with a text"):
                    await task.answer(event, yes=True)
                with pytest.raises(joey.UsageError, match="text is a text, not 3"):
                    await task.answer(event, text=3)  # type: ignore[arg-type]
                with pytest.raises(joey.UsageError, match="text is a text, not None"):
                    task.say(None)  # type: ignore[arg-type]
            elif isinstance(event, joey.CompletionRequested):
                with pytest.raises(joey.UsageError, match="say what to change"):
                    await task.answer(event)
    assert task.result.completed


async def only_touch(request: joey.ApprovalRequested) -> bool | str:
    return "touch" in str(request.arguments) or "Only touch may run."


@pytest.mark.parametrize("approve", [only_touch, lambda request: request.name == "execute_command"])
async def test_a_function_approves(program: Program, approve: Any) -> None:
    assert (await events_of(program.task(COMMAND, done(), approve=approve)))[-1].outcome == "completed"
    assert (program.workspace / "made.txt").exists()


async def test_the_reason_of_a_function_is_sent_to_the_model(program: Program) -> None:
    await events_of(program.task(WRITE, done(), approve=only_touch))
    assert "Only touch may run." in program.sent(1) and not (program.workspace / "a.txt").exists()


@pytest.mark.parametrize(
    ("approve", "error"), [(lambda _: None, joey.UsageError), (lambda _: 1 / 0, ZeroDivisionError)]
)
async def test_a_function_that_fails_approves_nothing_and_ends_the_task(
    program: Program, approve: Any, error: type[Exception]
) -> None:
    task = program.task(COMMAND, done(), approve=approve)
    with pytest.raises(error):
        await events_of(task)
    assert task.result.outcome == "cancelled" and not (program.workspace / "made.txt").exists()


# Messages, cancelling and closing


async def test_a_message_meanwhile_is_sent_with_the_next_request(program: Program) -> None:
    async with program.task(WRITE, done(), approve="edits") as task:
        async for event in task:
            if isinstance(event, joey.ToolRunStarted) and event.name == "write_to_file":
                task.say("Mind the gap.")
            assert not isinstance(event, ModeChanged)
        with pytest.raises(joey.UsageError, match=f"resume='{task.id}'"):
            task.say("Too late.")
    assert "Mind the gap." in program.sent(1)


async def test_cancel_ends_the_task_and_the_loop(program: Program) -> None:
    async with program.task(SLEEP, approve="all") as task:
        async for event in task:
            if isinstance(event, ToolRunProgressed):
                task.cancel("enough")
    assert task.result == joey.TaskResult("cancelled", "enough", task.id)
    assert all_ended_in(program.workspace)


class OwnError(Exception):
    """Of the program."""


@pytest.mark.parametrize("how", ["break", "raise", "cancel"])
async def test_leaving_early_closes_everything(program: Program, how: str) -> None:
    task = program.task(SLEEP, approve="all")

    async def stop_early() -> None:
        async with task:
            async for event in task:
                if isinstance(event, ToolRunProgressed):
                    assert running_in(program.workspace)
                    if how == "break":
                        break
                    if how == "raise":
                        raise OwnError
                    current = asyncio.current_task()
                    assert current is not None
                    current.cancel()

    expected = {"break": (), "raise": (OwnError,), "cancel": (asyncio.CancelledError,)}[how]
    if expected:
        with pytest.raises(expected):
            await stop_early()
    else:
        await stop_early()
    assert task.result.outcome == "cancelled"
    assert all_ended_in(program.workspace)
    await events_of(again := program.task(done("resumed"), prompt="", resume=task.id))  # so its journal is not locked
    assert again.result.text == "resumed"


async def test_a_second_loop_continues_where_the_first_was_left(program: Program) -> None:
    async with program.task(WRITE, done(), approve="edits") as task:
        async for event in task:
            if isinstance(event, joey.ToolRunFinished):
                break
        later = [event async for event in task]
        assert not of(TaskStarted, later) and task.result.completed
        assert [event async for event in task] == []


async def test_a_task_that_is_never_read_sends_nothing_and_can_be_resumed(program: Program) -> None:
    async with program.task(done()) as task:
        with pytest.raises(joey.UsageError, match="no result yet"):
            _ = task.result
    assert program.provider.requests == [] and task.result.outcome == "cancelled"
    with pytest.raises(joey.UsageError, match="closed"):
        await anext(task)
    async with program.task(done("now"), prompt="", resume=task.id) as again:
        assert (await again.wait()).text == "now"
    assert "Do it." in program.sent(0)


async def test_a_resumed_task_remembers_and_keeps_its_protocol(program: Program) -> None:
    finish = reply("<attempt_completion>\n<result>\nOne.\n</result>\n</attempt_completion>")
    async with program.task(finish, prompt="The word is plum.", protocol="xml") as first:
        await first.wait()
    async with program.task(finish, prompt="Which word?", resume="last") as second:
        await second.wait()
    assert second.id == first.id
    assert "The word is plum." in program.sent() and "Which word?" in program.sent()
    assert not program.provider.requests[0].tools


async def test_a_resumed_task_names_the_model_that_answers_and_keeps_its_protocol(program: Program) -> None:
    async with program.task(done()) as first:
        await first.wait()
    other = program.task(done(), model=(ScriptedProvider([done()]), "another"), resume=first.id)
    (started,) = of(TaskStarted, await events_of(other))
    assert started.model == "scripted/another"
    with pytest.raises(joey.UsageError, match="keeps its protocol, native; start a new task to use xml"):
        await events_of(program.task(done(), resume=first.id, protocol="xml"))


async def test_a_resumed_task_goes_to_the_server_that_it_was_opened_with(
    program: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "key-of-the-test")
    options: dict[str, Any] = {"workspace": program.workspace, "store": program.store, "config": False}
    async with LocalServer([done("one"), done("two"), done("three")]) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
        at_server = {"base_url": server.openai_url}
        async with joey.Task("Do it.", model="openai/any", settings=at_server, **options) as first:
            await first.wait()
        for model, expected in (("openai/any", "two"), ("openai/another", "three")):
            async with joey.Task("Go on.", model=model, resume=first.id, **options) as again:
                assert str(await again.wait()) == expected


@pytest.mark.parametrize("use", [lambda task: task.id, lambda task: task.say("x"), lambda task: task.cancel()])
def test_a_task_is_used_inside_async_with(program: Program, use: Any) -> None:
    with pytest.raises(joey.UsageError, match="async with"):
        use(program.task(done()))


async def test_a_task_is_opened_once(program: Program) -> None:
    async with program.task(done()) as task:
        with pytest.raises(joey.UsageError, match=r"resume=task\.id"):
            await task.__aenter__()


# Tools


@joey.tool(group="read")
def shout(word: str, *, here: joey.ToolContext) -> str:
    """Say a word loudly.

    Args:
        word: The word.
    """
    return f"{word.upper()} from {here.workspace.name}"


@joey.tool
def deploy() -> str:
    """Put it on the server."""
    raise RuntimeError("the server is down")


class Count(joey.Tool[Params]):
    """Count how often it was called."""

    name = "count"
    group = "read"
    params = Params

    def __init__(self) -> None:
        self.calls = 0

    async def run(self, params: Params, context: joey.ToolContext) -> Any:
        self.calls += 1
        return ok(f"{self.calls} calls") if self.calls < 2 else failed("Too often.")


async def test_functions_and_classes_are_tools(program: Program) -> None:
    script = reply(call("shout", word="plum")), reply(call("count")), reply(call("count")), done()
    events = await events_of(program.task(*script, tools=[shout, Count], approve="read-only"))
    results = [(event.result.text, event.result.is_error) for event in of(joey.ToolRunFinished, events)]
    assert results[:3] == [("PLUM from project", False), ("1 calls", False), ("Too often.", True)]


async def test_a_method_is_a_tool_with_the_state_of_its_object(program: Program) -> None:
    class Basket:
        def __init__(self) -> None:
            self.fruits: list[str] = []

        @joey.tool(group="read")
        async def put(self, fruit: str) -> str:
            """Put a fruit into the basket."""
            self.fruits.append(fruit)
            return "ok"

    basket = Basket()
    await events_of(program.task(reply(call("put", fruit="plum")), done(), tools=[basket.put], approve="edits"))
    assert basket.fruits == ["plum"]


async def test_a_tool_that_may_do_anything_needs_approval_and_its_errors_are_results(program: Program) -> None:
    script = reply(call("deploy")), done()
    (request,) = of(joey.ApprovalRequested, await events_of(program.task(*script, tools=[deploy], approve="edits")))
    assert request.name == "deploy" and "test_embedded.py" in request.reason
    assert "the server is down" not in program.sent(1)
    await events_of(program.task(*script, tools=[deploy], approve="all"))
    assert "the server is down" in program.sent(1)


def test_a_small_model_is_offered_the_program_s_tools(program: Program) -> None:
    small = {"task.prompt": "compact"}
    joey.run("Do it.", **program.options(done(), tools=[shout], settings=small))
    offered = [tool.name for tool in program.provider.requests[0].tools]
    assert "shout" in offered and len(offered) < 12


# Configuration


async def test_without_configuration_nothing_of_the_user_and_the_project_counts(
    program: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("JOEY_PROTOCOL", "xml")
    (tmp_path / ".config/joey/rules").mkdir(parents=True)
    (tmp_path / ".config/joey/config.toml").write_text("this is invalid TOML\n")
    (tmp_path / ".config/joey/rules/mine.md").write_text("Speak Latin.")
    (program.workspace / "AGENTS.md").write_text("Speak Greek.")
    (started,) = of(TaskStarted, await events_of(program.task(done())))
    assert started.protocol == "native"
    assert not {"Latin", "Greek"} & set(program.provider.requests[0].system.replace(".", " ").split())
    with pytest.raises(joey.UsageError, match="invalid TOML"):
        await events_of(program.task(done(), config=True))
    (tmp_path / ".config/joey/config.toml").unlink()
    (started,) = of(TaskStarted, await events_of(program.task(done(), config=True)))
    assert started.protocol == "xml"
    assert {"Latin", "Greek"} <= set(program.provider.requests[0].system.replace(".", " ").split())


async def test_the_program_can_show_what_does_not_count_and_why(program: Program) -> None:
    (program.workspace / ".joey").mkdir()
    (program.workspace / ".joey/config.toml").write_text('protocol = "xml"\n')
    (program.workspace / ".mcp.json").write_text('{"mcpServers": {"git": {"command": "git"}}}')
    async with program.task(done(), config=True) as task:
        first, second = task.notices
    assert "sets protocol: not used because this folder is not trusted" in first
    assert "MCP servers are not started (git)" in second
    async with program.task(done()) as task:
        assert task.notices == ()


def hinted(hint: Any) -> Callable[..., str]:
    """A function whose only parameter has this type hint."""

    def hinted(value: Any) -> str:
        """Return the value."""
        return str(value)

    hinted.__annotations__["value"] = hint
    return hinted


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"prompt": "  "}, "no prompt; say what to do"),
        ({"prompt": None}, "prompt is a text, not None"),
        ({"max_turns": 3}, 'no option .max_turns.; it is a setting: settings={"limits.max_turns": …}'),
        ({"aprove": "all"}, "no option 'aprove'; did you mean 'approve'"),
        ({"plum": 1}, "the options are prompt, model, workspace"),
        ({"model": "gpt-9"}, "model: 'gpt-9' is not of the form provider/model"),
        ({"model": None}, "name one: model="),
        ({"model": 5}, "model is a name such as"),
        ({"approve": "edit"}, "unknown profile 'edit'; did you mean 'edits'"),
        ({"approve": 1}, "approve is a profile .ask, edits, read-only, auto, all, plan, strict. or a function"),
        ({"allow": "pytest"}, "allow=.'pytest'."),
        ({"allow": [""]}, "allow is a list of rules, such as"),
        ({"deny": 5}, "deny is a list of rules, such as"),
        ({"protocol": "yaml"}, "there is no protocol 'yaml'; choose one of native"),
        ({"protocol": 5}, "protocol is a text, not 5"),
        ({"protocol": "xlm"}, "protocol: there is no protocol 'xlm'; did you mean 'xml'"),
        ({"mode": "coed"}, "mode: unknown mode 'coed'"),
        ({"resume": "20200101"}, "there is no task '20200101'"),
        ({"workspace": "nowhere"}, "nowhere is not a folder"),
        ({"workspace": 5}, "workspace is the path of a folder, not 5"),
        ({"tools": shout}, r"tools is a list: tools=\[shout\]"),
        ({"tools": [5]}, "a function or a subclass of joey.Tool, not 5"),
        ({"tools": [joey.Tool]}, "finish the class"),
        ({"tools": [lambda: 1]}, "not a valid tool name"),
        ({"tools": [shout, shout]}, "two tools named 'shout'; give yours another name"),
        ({"tools": [hinted(threading.Thread)]}, "a type hint of 'hinted' cannot be used"),
        ({"tools": [hinted(type)]}, "the parameters of 'hinted' have no JSON Schema"),
        ({"tools": [hinted("1 +")]}, "a type hint of 'hinted' cannot be resolved"),
        ({"tools": [joey.tool(timeout=0)(hinted(str))]}, "the timeout of 'hinted' must be greater than 0 seconds"),
        ({"config": "no"}, "config is True or False, not 'no'"),
        ({"images": "nowhere.png"}, "cannot read nowhere.png"),
        ({"images": 5}, "images is a list of paths"),
        ({"settings": ["x"]}, "settings is a dict by full names"),
        ({"settings": {"limits": {"max_turns": 3}}}, 'by its full name: {"limits.max_turns": …}'),
        ({"settings": {"limits.max_turn": 5}}, "did you mean 'limits.max_turns'"),
        ({"settings": {"limits.max_turns": "five"}}, "limits.max_turns must be"),
        ({"unanswered": "ask"}, "unanswered is 'default' or 'wait'"),
        ({"store": "."}, "store is inside the workspace"),
        ({"store": "/proc/joey"}, "tasks cannot be saved in /proc/joey"),
        ({"store": __file__}, "tasks cannot be saved in .*: Not a directory"),
    ],
)
async def test_a_wrong_option_is_an_error_that_says_what_to_do(
    program: Program, options: dict[str, Any], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(program.workspace)
    with pytest.raises(joey.UsageError, match=message):
        await events_of(program.task(done(), **options))
    assert program.provider.requests == []


def test_a_script_with_a_wrong_option_gets_one_error_and_no_other_behind_it(program: Program) -> None:
    with pytest.raises(joey.UsageError, match="no option 'max_turns'") as caught:
        joey.run("Do it.", **program.options(done(), max_turns=3))
    assert caught.value.__context__ is None


@pytest.mark.parametrize("provider", ["anthropic", "openai", "openrouter"])
def test_without_a_key_no_task_begins_whoever_the_provider_is(
    program: Program, provider: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", "/nonexistent")
    monkeypatch.delenv(f"{provider.upper()}_API_KEY", raising=False)
    with pytest.raises(joey.ProviderError, match=f"no API key for {provider}; set {provider.upper()}_API_KEY"):
        joey.run("Do it.", **program.options(model=f"{provider}/any"))
    assert not list(program.store.iterdir())


# The package


def test_every_name_of_the_package_is_there_and_has_a_docstring() -> None:
    assert 20 <= len(joey.__all__) <= 26
    for name in joey.__all__:
        assert getattr(joey, name) is not None and name in dir(joey)
        assert name == "__version__" or (getattr(joey, name).__doc__ or "").strip(), name
    with pytest.raises(AttributeError, match="tasks"):
        _ = joey.tasks


def test_every_name_of_the_package_is_on_the_page_about_the_library() -> None:
    page = (Path(__file__).parents[2] / "docs/guides/library.md").read_text(encoding="utf-8")
    assert [name for name in joey.__all__ if f"`joey.{name}" not in page] == []


def test_importing_the_package_loads_nothing_else() -> None:
    code = "import sys; before = set(sys.modules); import joey; print(sorted(set(sys.modules) - before))"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "['joey']"


def test_type_checkers_see_the_names_that_are_there() -> None:
    source = (Path(joey.__file__)).read_text(encoding="utf-8")
    assert [name for name in joey.__all__ if f" as {name}\n" not in source] == ["__version__"]


async def test_a_message_can_be_added_before_the_task_runs(program: Program) -> None:
    async with program.task(done(), done()) as task:
        task.say("One more thing.")
        events = [event async for event in task]
    assert "One more thing." in program.sent() and not of(UserMessageQueued, events[1:])
    assert task.result.completed


async def test_a_slow_reply_can_be_left(program: Program) -> None:
    async with program.task(reply("Hm.", faults=Faults(silent_after=1))) as task:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.2):
                await task.wait()
    assert task.result.outcome == "cancelled"


TYPED = """
import asyncio, sys, joey
from joey.messages import ToolUseBlock
from joey.testing import ScriptedProvider, reply
from joey.tools import Params, ok

class Count(joey.Tool[Params]):
    '''Count.'''
    name, group, params = "count", "read", Params
    async def run(self, params, context):
        return ok("1 call")

script = [reply(ToolUseBlock("1", "count", {})), reply(ToolUseBlock("2", "attempt_completion", {"result": "Counted."}))]
options = {"workspace": sys.argv[1], "store": sys.argv[2], "config": False}
print(joey.run("x", model=ScriptedProvider(script), tools=[Count], approve="edits", **options))
"""


def test_what_is_typed_at_a_prompt_works_too(program: Program) -> None:
    command = [sys.executable, "-", str(program.workspace), str(program.store)]
    ran = subprocess.run(command, input=TYPED, capture_output=True, text=True)
    assert (ran.stdout, ran.stderr) == ("Counted.\n", "")


INTERRUPTED = """
import signal, sys, joey
from joey.messages import ToolUseBlock
from joey.testing import ScriptedProvider, reply

signal.signal(signal.SIGINT, signal.default_int_handler)
script = [reply(ToolUseBlock("1", "execute_command", {"command": "touch started; sleep 1000"}))]
joey.run("x", model=ScriptedProvider(script), workspace=sys.argv[1], store=sys.argv[2], approve="all", config=False)
"""


async def test_ctrl_c_ends_a_script_and_what_it_started(program: Program) -> None:
    script = await asyncio.create_subprocess_exec(
        sys.executable, "-c", INTERRUPTED, str(program.workspace), str(program.store), stderr=subprocess.PIPE
    )
    async with asyncio.timeout(60):
        while not (program.workspace / "started").exists():  # noqa: ASYNC110 - another process makes it
            await asyncio.sleep(0.05)
        script.send_signal(signal.SIGINT)
        _, errors = await script.communicate()
    assert errors.decode().rstrip().endswith("KeyboardInterrupt")
    assert all_ended_in(program.workspace)
    (entry,) = TaskStore(program.store).entries()
    assert entry.status == "cancelled"


# Dialects of open models


async def test_a_task_is_held_in_the_dialect_that_the_model_writes(program: Program) -> None:
    write = {"path": "a.txt", "file_text": "hi\n"}
    script = [
        reply(f"I write it.{kimi('functions.write_to_file:0', 'write_to_file', write)}"),
        reply(kimi("functions.attempt_completion:1", "attempt_completion", {"result": "Written."})),
    ]
    options = program.options(*script, protocol="auto", approve="edits")
    options["model"] = (program.provider, "moonshotai/Kimi-K2-Instruct")
    events = await events_of(joey.Task("Do it.", **options))
    assert of(TaskStarted, events)[0].protocol == "kimi_k2"
    assert (program.workspace / "a.txt").read_text() == "hi\n"
    assert "<|tool_call_begin|>functions.write_to_file:0" in program.sent()
    assert "## Return of functions.write_to_file:0" in program.sent()
    assert events[-1].message == "Written."


def kimi(call_id: str, name: str, arguments: dict[str, Any]) -> str:
    block = protocols.get("kimi_k2").encode_call(ToolUseBlock(call_id, name, arguments))
    assert isinstance(block, TextBlock)
    return block.text


async def test_a_function_of_the_program_is_a_hook(tmp_path: Path) -> None:
    @joey.hook("PreToolUse", matcher="Bash")
    def no_commands(event: dict[str, Any]) -> dict[str, str]:
        return {"decision": "block", "reason": f"no {event['tool_input']['command']}"}

    script = [reply(ToolUseBlock("c", "execute_command", {"command": "ls"})), reply("Done.")]
    provider = ScriptedProvider(script)
    async with joey.Task("go", model=provider, workspace=tmp_path, config=False, approve="all",
                         store=tmp_path.parent / "store-of-hooks", hooks=[no_commands]) as task:  # fmt: skip
        await task.wait()
    assert "A hook does not allow this call: no ls" in str(provider.requests[-1].messages)


def test_hooks_are_functions_that_were_made_hooks(tmp_path: Path) -> None:
    with pytest.raises(joey.UsageError, match=r"made with @joey.hook"):
        joey.Task("go", model="anthropic/x", workspace=tmp_path, hooks=[print])  # type: ignore[list-item]
