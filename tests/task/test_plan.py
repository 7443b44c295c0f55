"""Profiles that are switched while a task runs, and plan mode: nothing is done before a plan is accepted."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from joey.app.tasks import TaskOptions, open_task, prepare_task, task_store
from joey.commands import Answer, Cancel, SetProfile
from joey.errors import UsageError
from joey.events import (
    ApprovalRequested,
    CompletionAnswered,
    CompletionRequested,
    ProfileChanged,
    Request,
    TaskFinished,
    ToolRunFinished,
)
from joey.journal.project_permissions import ProjectPermissions
from joey.journal.records import ProfileSet, TaskOpened
from joey.permissions import Permission
from joey.policy.settings import CYCLE, PROFILES, Settings
from joey.task import wording
from joey.task.opening import resume_task, start_task
from joey.testing.script import Scripted, reply
from task_kit import Kit, call, done, yes


def write(path: str, call_id: str) -> Scripted:
    return reply(call(call_id, "write_to_file", path=path, file_text="x"))


def planner(folder: Path, *script: Scripted, user: Callable[[Request], Answer | None] = yes) -> Kit:
    return Kit(folder, script, user=user, policy="ask")


def accepting(profile: str, text: str = "") -> Callable[[Request], Answer]:
    """A user who accepts the first plan, and whatever follows."""

    def user(request: Request) -> Answer:
        if isinstance(request, CompletionRequested) and request.plan:
            return Answer(request.request_id, yes=True, text=text, profile=profile)
        return yes(request)

    return user


@pytest.mark.parametrize("edited", ["", "Write only b."])
async def test_nothing_is_done_before_a_plan_is_accepted_and_then_it_is_carried_out(
    tmp_path: Path, edited: str
) -> None:
    script = [write("early", "1"), done("p", "Write a, then b."), write("a", "2"), done("d", "Wrote it.")]
    kit = planner(tmp_path, *script, user=accepting("edits", edited))
    assert await kit.run("Do it.", profile="plan") == TaskFinished("completed", "Wrote it.")
    assert sorted(path.name for path in kit.workspace.iterdir()) == ["a"]
    assert wording.PLAN_DENIED in kit.of(ToolRunFinished)[0].result.text
    assert [event.profile for event in kit.of(ProfileChanged)] == ["edits"] and not kit.of(ApprovalRequested)
    first, after_plan = kit.provider.requests[0].messages[-1], str(kit.provider.requests[2].messages[-1])
    assert wording.PLAN_MODE in str(first) and "accepted the plan" in after_plan
    assert (edited in after_plan) if edited else ("<plan>" not in after_plan)
    assert str(kit.sent).count(wording.PLAN_MODE) == 1


async def test_words_about_a_plan_go_back_to_the_planning_model(tmp_path: Path) -> None:
    answers = iter(["Shorter.", ""])

    def user(request: Request) -> Answer:
        text = next(answers)
        return Answer(request.request_id, yes=not text, text=text)

    kit = planner(tmp_path, done("1", "Long."), done("2", "Short."), user=user)
    assert await kit.run("Do it.", profile="plan") == TaskFinished("completed", "Short.")
    assert [event.plan for event in kit.of(CompletionRequested)] == [True, True] and not kit.of(ProfileChanged)


async def test_a_reply_without_the_call_is_an_answer_and_no_plan(tmp_path: Path) -> None:
    answers = iter(["Then plan it.", ""])

    def user(request: Request) -> Answer:
        text = next(answers)
        return Answer(request.request_id, yes=not text, text=text)

    kit = planner(tmp_path, reply("It is a parser."), done("1", "First a, then b."), user=user)
    assert await kit.run("What is this?", profile="plan") == TaskFinished("completed", "First a, then b.")
    assert [event.plan for event in kit.of(CompletionRequested)] == [False, True] and kit.task is not None
    assert kit.task.profile == "plan" and "<feedback>" not in str(kit.provider.requests[1].messages[-1])


async def test_a_plan_that_is_declined_stops_the_task_until_the_next_message(tmp_path: Path) -> None:
    kit = planner(tmp_path, done("1", "Delete it all."), user=lambda request: Answer(request.request_id))
    assert await kit.run("Do it.", profile="plan") == TaskFinished("cancelled", wording.plan_stopped("plan"))
    assert [answer.accepted for answer in kit.of(CompletionAnswered)] == [False] and len(kit.provider.requests) == 1
    assert kit.task is not None and kit.task.profile == "plan"
    await kit.resume(kit.task.id, [done("2", "Delete nothing.")], text="Delete nothing.")
    assert (
        "accepted" not in str(kit.sent)
        and kit.task.profile == "plan"
        and wording.plan_declined("plan") in str(kit.sent)
    )


async def test_a_plan_that_is_declined_under_another_profile_names_it_and_demands_nothing(tmp_path: Path) -> None:
    def user(request: Request) -> Answer:
        assert kit.task is not None and kit.task.send(SetProfile("edits"))
        return Answer(request.request_id)

    kit = planner(tmp_path, done("1", "Delete it all."), user=user)
    ended = await kit.run("Do it.", profile="plan")
    assert ended.message.endswith("plan mode is off: the approval profile is edits")
    assert kit.task is not None and kit.task.profile == "edits"
    sent = str(kit.task.state.messages[-1])
    assert "the approval profile is edits. Wait" in sent and wording.PLAN_MODE_OFF not in sent


async def test_a_plan_that_nobody_decided_about_is_not_finished(tmp_path: Path) -> None:
    kit = planner(tmp_path, done("1", "First a."), user=lambda _request: None)
    running = asyncio.create_task(kit.run("Do it.", profile="plan"))
    await kit.saw(CompletionRequested)
    assert kit.task is not None
    kit.task.send(Cancel())
    assert (await running).outcome == "cancelled"
    kit.user = lambda request: Answer(request.request_id)
    await kit.resume(kit.task.id, [done("2", "First b.")], text="First b.")
    assert wording.UNDECIDED in str(kit.sent) and [event.plan for event in kit.of(CompletionRequested)][-1]


@pytest.mark.parametrize(
    ("permissions", "rules", "allowed"),
    [
        ((), (), ()),
        ((Permission("writes"),), (), ("changes",)),
        ((Permission("command", "make it"),), (), ("some commands",)),
        ((Permission("writes"),), ("*",), ("changes", "commands")),
    ],
)
async def test_a_plan_says_what_needs_no_approval_when_it_is_carried_out(
    tmp_path: Path, permissions: tuple[Permission, ...], rules: tuple[str, ...], allowed: tuple[str, ...]
) -> None:
    kit = planner(tmp_path, done("1", "First a."), write("a", "2"), done("3"), user=accepting("ask"))
    store = ProjectPermissions(tmp_path / "permissions.json", kit.workspace)
    for each in permissions:
        store.add(each)
    kit.change(permissions=store, profiles=lambda name: Settings.for_profile(name).changed(allow=rules))
    await kit.run("Do it.", profile="plan")
    plan, result = kit.of(CompletionRequested)
    assert (plan.allowed, result.allowed) == (allowed, ())
    assert bool(kit.of(ApprovalRequested)) == ("changes" not in allowed)


async def left_with_a_plan(kit: Kit) -> str:
    running = asyncio.create_task(kit.run("Do it.", profile="plan"))
    await kit.saw(CompletionRequested)
    assert kit.task is not None
    kit.task.send(Cancel())
    await running
    return kit.task.id


async def test_a_plan_that_nobody_decided_about_is_put_again_and_then_carried_out(tmp_path: Path) -> None:
    kit = planner(tmp_path, done("1", "First a."), user=lambda _request: None)
    task_id = await left_with_a_plan(kit)
    kit.user = accepting("edits")
    ended = await kit.resume(task_id, [write("a", "2"), done("3", "Wrote it.")])
    assert ended == TaskFinished("completed", "Wrote it.") and (kit.workspace / "a").exists()
    assert [event.plan for event in kit.of(CompletionRequested)] == [True, True, False]
    assert wording.UNDECIDED not in str(kit.sent) and "accepted the plan" in str(kit.sent)


async def test_a_plan_that_is_put_again_can_be_declined(tmp_path: Path) -> None:
    kit = planner(tmp_path, done("1", "First a."), user=lambda _request: None)
    task_id = await left_with_a_plan(kit)
    kit.user = lambda request: Answer(request.request_id)
    ended = await kit.resume(task_id, [])
    assert ended == TaskFinished("cancelled", wording.plan_stopped("plan"))
    assert kit.task is not None and wording.plan_declined("plan") in str(kit.task.state.messages[-1])


async def test_a_plan_is_not_put_again_where_plan_mode_is_off_by_then(tmp_path: Path) -> None:
    kit = planner(tmp_path, done("1", "First a."), user=lambda _request: None)
    task_id = await left_with_a_plan(kit)
    kit.user = yes
    await kit.resume(task_id, [done("2", "Nothing was done.")], profile="ask")
    assert wording.UNDECIDED in str(kit.sent) and not kit.of(CompletionRequested)[-1].plan


async def test_a_plan_that_waits_when_the_time_is_over_ends_at_that_limit(tmp_path: Path) -> None:
    kit = planner(tmp_path, done("1", "First a."), user=lambda _request: None)
    running = asyncio.create_task(kit.run("Do it.", profile="plan"))
    await kit.saw(CompletionRequested)
    assert kit.task is not None
    kit.task.expire("it took too long")
    finished = await running
    assert (finished.outcome, finished.message) == ("limit", "it took too long")


async def test_with_nobody_there_the_plan_is_the_result(tmp_path: Path) -> None:
    kit = planner(tmp_path, done("1", "First a, then b."))
    kit.change(headless=True)
    assert await kit.run(profile="plan") == TaskFinished("completed", "First a, then b.")


async def test_a_profile_is_switched_while_a_task_runs_and_kept_on_resume(tmp_path: Path) -> None:
    def user(request: Request) -> Answer:
        assert kit.task is not None
        kit.task.send(SetProfile("edits"))
        return yes(request)

    kit = planner(tmp_path, write("a", "1"), write("b", "2"), done(), user=user)
    await kit.run()
    assert len(kit.of(ApprovalRequested)) == 1 and kit.of(ProfileChanged) == [ProfileChanged("edits")]
    assert kit.task is not None
    kit.events.clear()
    await kit.resume(kit.task.id, [write("c", "3"), done("d2")], text="More.")
    assert not kit.of(ApprovalRequested) and kit.task.profile == "edits"
    again = resume_task(kit.config, kit.task.id, profile="")
    assert again.profile == "ask", "the settings decide again, where a flag says so"
    again.close()


@pytest.mark.parametrize("always", [False, True])
async def test_a_yes_that_is_given_after_plan_mode_was_switched_on_changes_nothing(
    tmp_path: Path, always: bool
) -> None:
    def user(request: Request) -> Answer:
        assert kit.task is not None
        if not isinstance(request, ApprovalRequested):
            return yes(request)
        kit.task.send(SetProfile("plan"))
        return Answer(request.request_id, yes=True, text="Only this one.", always=always)

    kit = planner(tmp_path, write("a", "1"), done("p", "Write a."), user=user)
    assert (await kit.run()).outcome == "completed"
    assert len(kit.of(ApprovalRequested)) == 1 and not list(kit.workspace.iterdir())
    refused = kit.of(ToolRunFinished)[0].result
    assert refused.is_error and wording.PLAN_DENIED in refused.text and "Only this one." in refused.text


async def test_plan_mode_is_announced_when_it_is_switched_on_and_off(tmp_path: Path) -> None:
    kit = planner(tmp_path, reply("Hello."), reply("I plan."), reply("I work."), user=lambda _request: None)
    running = asyncio.ensure_future(kit.run())
    for profile in ("plan", "ask", ""):
        await kit.saw(CompletionRequested)
        await asyncio.sleep(0)
        kit.events.clear()
        assert kit.task is not None
        if profile:
            kit.task.send(SetProfile(profile))
        kit.task.send(Answer(f"completion_{len(kit.provider.requests)}", yes=not profile, text=profile))
    await running
    last = [str(message) for message in kit.sent if message.role == "user"]
    assert [wording.PLAN_MODE in each for each in last] == [False, True, False]
    assert [wording.PLAN_MODE_OFF in each for each in last] == [False, False, True]


async def test_a_profile_that_there_is_not_is_an_error(tmp_path: Path) -> None:
    kit = planner(tmp_path, done())
    task = start_task(kit.config, "Do it.")
    with pytest.raises(UsageError, match="unknown profile"):
        task.send(SetProfile("everything"))
    task.close()


def test_reading_the_workspace_asks_in_the_strict_profile_only() -> None:
    assert [name for name, settings in PROFILES.items() if settings.reads != "allow"] == ["strict"]
    assert Settings() == PROFILES["strict"] and set(CYCLE) <= set(PROFILES)


@pytest.mark.parametrize(("kept", "holds"), [("edits", "edits"), ("all", "ask"), ("strict", "ask")])
async def test_a_journal_is_believed_only_what_a_session_switches_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kept: str, holds: str
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "k")
    store = task_store()
    with store.open("t") as journal:
        journal.append(TaskOpened("t", "Do it.", str(tmp_path), "code", "anthropic/m", "native"))
        journal.append(ProfileSet(kept))
    async with open_task(prepare_task(TaskOptions(tmp_path, resume="t")), "Go on.", lambda _task, _event: None) as task:
        assert task.profile == holds
