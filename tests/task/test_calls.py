"""One call's way: resolved once, declared once, planned once, judged as often as needed, its command line read once."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from pydantic import field_validator

from joey.actions import Action, ReadPath, RunCommand, WritePath
from joey.commands import Answer
from joey.events import ApprovalRequested, Request, ToolRunFinished
from joey.messages import ToolResult, ToolUseBlock
from joey.modes.builtin import CODE
from joey.policy.paths import Located, Workspace
from joey.policy.settings import Settings
from joey.policy.shell.lines import read_line
from joey.task.calls import Approved, Grants, Judged, Refused, Rules, approve, execute, judge, resolve
from joey.testing.script import reply
from joey.tools.base import Params, Permissions, Plan, Tool, ToolContext, failed, ok
from joey.tools.builtin import builtin_tools
from joey.tools.registry import Registry, ResolvedCall
from joey.tools.toolset import build_toolset
from task_kit import Kit, call, done, yes

seen: Counter[str] = Counter()


@pytest.fixture(autouse=True)
def _nothing_seen_yet() -> None:
    seen.clear()


class Where(Params):
    path: str

    @field_validator("path")
    @classmethod
    def _resolved(cls, path: str) -> str:
        seen["resolved"] += 1
        return path


class Counted(Tool[Where]):
    """Reads a file, and counts how often it is asked what it would do. `adds` is what its plan does besides."""

    name = "counted"
    group = "read"
    params = Where

    def __init__(self, adds: tuple[Action, ...] = (), refusal: ToolResult | None = None) -> None:
        self.adds, self.refusal = adds, refusal

    def actions(self, params: Where, context: ToolContext) -> tuple[Action, ...]:
        seen["declared"] += 1
        return (ReadPath(params.path),)

    async def plan(self, params: Where, context: ToolContext) -> Plan:
        seen["planned"] += 1
        assert context.declared == (ReadPath(params.path),)
        source = (context.workspace / params.path).resolve()
        return Plan(self.adds, lambda: self.run(params, context), sources=(source,), refusal=self.refusal)

    async def run(self, params: Where, context: ToolContext) -> ToolResult:
        seen["run"] += 1
        return ok("read")


@dataclass(frozen=True, slots=True)
class CountingWorkspace(Workspace):
    """Notes each path that is judged."""

    judged: list[str] = field(default_factory=list)

    def locate(self, path: str, base: str | None = None) -> Located:
        if self.backlinks is None:  # else it is the snapshot that the path is handed on to
            self.judged.append(path)
        return Workspace.locate(self, path, base)


def rules(folder: Path, profile: str = "strict", *, headless: bool = False) -> Rules:
    return Rules(CODE, folder, Settings.for_profile(profile), Workspace.of(folder), headless)


async def resolved(tool: Tool[Any], folder: Path, **arguments: Any) -> ResolvedCall:
    registry = Registry(build_toolset(CODE, [tool]))
    found = await resolve(ToolUseBlock("c", tool.name, arguments), registry, folder)
    assert isinstance(found, ResolvedCall)
    return found


async def judged(tool: Tool[Any], folder: Path, profile: str = "strict") -> Judged:
    found = await judge(await resolved(tool, folder, path="a"), ToolContext(folder, folder), rules(folder, profile))
    assert isinstance(found, Judged)
    return found


async def test_two_reads_in_a_turn_are_resolved_declared_and_planned_once_each_and_judged_twice(tmp_path: Path) -> None:
    kit = Kit(tmp_path, [reply(call("1", "counted", path="a"), call("2", "counted", path="b")), done()])
    paths, tools = CountingWorkspace(str(kit.workspace)), [*builtin_tools(), Counted()]
    kit.change(paths=paths, tools=lambda mode: build_toolset(mode, tools))
    assert (await kit.run()).outcome == "completed"
    assert seen == {"resolved": 2, "declared": 2, "planned": 2, "run": 2}
    assert paths.judged == ["a", str(kit.workspace / "a"), "b", str(kit.workspace / "b")]


@pytest.mark.parametrize("line", ["echo one && echo two", "for i in 1; do echo $i; done"], ids=["plain", "not plain"])
async def test_a_command_line_is_read_once_however_often_it_is_judged_and_asked_about(
    tmp_path: Path, line: str
) -> None:
    def always(request: Request) -> Answer:
        return replace(yes(request), always=True)

    kit = Kit(tmp_path, [reply(call("1", "execute_command", command=line)), done()], policy="ask", user=always)
    read_line.cache_clear()
    assert (await kit.run()).outcome == "completed"
    assert len(kit.of(ApprovalRequested)) == 1 and not kit.of(ToolRunFinished)[0].result.is_error
    assert read_line.cache_info().misses == 1


async def test_what_a_call_declares_is_judged_before_its_plan_looks_at_anything(tmp_path: Path) -> None:
    (tmp_path / ".joeyignore").write_text("a\n")
    call = await resolved(Counted(), tmp_path, path="a")
    refused = await judge(call, ToolContext(tmp_path, tmp_path), rules(tmp_path, "all"))
    assert isinstance(refused, Refused) and refused.denied and not seen["planned"]


async def test_what_a_plan_adds_is_judged_with_the_rest(tmp_path: Path) -> None:
    verdict = (await judged(Counted((RunCommand("rm x"),)), tmp_path, "edits")).verdict
    assert [part.subject for part in verdict.parts] == ["a", "rm x", str(tmp_path / "a")]
    assert verdict.decision == "ask" and "rm x" in verdict.reason


async def test_a_file_that_a_plan_resolves_to_outside_is_judged_there(tmp_path: Path) -> None:
    folder = tmp_path / "w"
    folder.mkdir()
    (folder / "a").symlink_to("/etc/hostname")
    verdict = (await judged(Counted(), folder, "edits")).verdict
    assert verdict.decision == "ask" and "outside the workspace" in verdict.reason


async def test_headless_what_a_plan_adds_is_refused_where_it_would_be_asked_about(tmp_path: Path) -> None:
    call = await resolved(Counted((WritePath("b"),)), tmp_path, path="a")
    reads_only = replace(rules(tmp_path, headless=True), policy=replace(Settings(), reads="allow"))
    refused = await judge(call, ToolContext(tmp_path, tmp_path), reads_only)
    assert isinstance(refused, Refused) and refused.denied and "no user is there" in refused.result.text


@pytest.mark.parametrize("answer", [True, False])
async def test_the_user_is_asked_only_where_the_verdict_asks(tmp_path: Path, answer: bool) -> None:
    requested: list[Judged] = []

    async def ask(call: Judged) -> Answer:
        requested.append(call)
        return Answer("", yes=answer, text="words")

    allowed = await judged(Counted(), tmp_path, "edits")
    assert await approve(allowed, ask, lambda: rules(tmp_path)) == Approved(allowed)
    assert not requested
    approved = await approve(await judged(Counted(), tmp_path), ask, lambda: rules(tmp_path))
    assert len(requested) == 1 and approved.comment == "words"
    assert approved.by_user if isinstance(approved, Approved) else approved.denied and "words" in approved.result.text


async def test_why_a_plan_cannot_work_is_told_only_with_approval(tmp_path: Path) -> None:
    async def no(_call: Judged) -> Answer:
        return Answer("", yes=False)

    tool = Counted(refusal=failed("the line was: secret"))
    assert "secret" not in (await refused_by(tool, tmp_path, "strict", no)).result.text
    reported = await refused_by(tool, tmp_path, "edits", no)
    assert reported.result.text == "the line was: secret" and not reported.denied


NOT_THERE = "<<<<<<< SEARCH\nnot there\n=======\nnew\n>>>>>>> REPLACE"
CANNOT_WORK = call("1", "apply_diff", path="a.txt", diff=NOT_THERE)
IS_SO_ALREADY = call("1", "write_to_file", path="a.txt", file_text="one\n")


def editing(folder: Path, edit: ToolUseBlock, policy: str) -> Kit:
    kit = Kit(folder, [reply(edit), done()], policy=policy)
    (kit.workspace / "a.txt").write_text("one\n")
    return kit


@pytest.mark.parametrize("edit", [CANNOT_WORK, IS_SO_ALREADY], ids=["cannot work", "is so already"])
async def test_an_edit_that_would_change_nothing_is_answered_at_once(tmp_path: Path, edit: ToolUseBlock) -> None:
    kit = editing(tmp_path, edit, "ask")
    assert (await kit.run()).outcome == "completed"
    assert not kit.of(ApprovalRequested)
    assert kit.of(ToolRunFinished)[0].result.is_error is (edit is CANNOT_WORK)


async def test_where_reading_asks_so_does_an_edit_that_cannot_work_and_it_says_what_yes_does(tmp_path: Path) -> None:
    kit = editing(tmp_path, CANNOT_WORK, "strict")
    assert (await kit.run()).outcome == "completed"
    assert "yes only tells the model why" in kit.of(ApprovalRequested)[0].reason


async def refused_by(tool: Tool[Any], folder: Path, profile: str, ask: Any) -> Refused:
    outcome = await approve(await judged(tool, folder, profile), ask, lambda: rules(folder, profile))
    assert isinstance(outcome, Refused)
    return outcome


async def test_what_runs_is_the_plan_that_was_approved(tmp_path: Path) -> None:
    approved = Approved(await judged(Counted(), tmp_path, "edits"))
    assert (await execute(approved, tmp_path)).text == "read"
    assert seen == {"resolved": 1, "declared": 1, "planned": 1, "run": 1}


async def test_a_call_is_by_the_user_only_if_somebody_was_asked_about_it(tmp_path: Path) -> None:
    grants, call = Grants(), await judged(Counted(), tmp_path, "edits")

    def given(profile: str, call_id: str = "c") -> Permissions:
        return grants.permissions(call_id, lambda: rules(tmp_path, profile))

    grants.add(Approved(call))
    assert given("auto").approved_by() == "sandbox" and given("ask").approved_by() == "rule"
    grants.add(Approved(call, by_user=True))
    assert given("auto").approved_by() == "user" and given("auto", "other").approved_by() == "sandbox"
    assert not given("ask").may_widen("network") and given("all").may_widen("network")


@pytest.mark.parametrize("always", [False, True])
@pytest.mark.parametrize("line", ["cat f/victim.py", "frobnicate f/victim.py", "echo x > f/victim.py"])
async def test_a_link_that_is_put_on_the_way_while_somebody_thinks_is_not_followed(
    tmp_path: Path, line: str, always: bool
) -> None:
    def swapped(request: Request) -> Answer:
        (kit.workspace / "f").rename(kit.workspace / "old")
        (kit.workspace / "f").symlink_to(tmp_path / "outside")
        return replace(yes(request), always=always)

    kit = Kit(tmp_path, [reply(call("1", "execute_command", command=line)), done()], policy="ask", user=swapped)
    (kit.workspace / "f").mkdir()
    (kit.workspace / "f" / "victim.py").write_text("inside\n")
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "victim.py").write_text("secret\n")
    await kit.run()
    result = kit.of(ToolRunFinished)[0].result
    assert result.is_error and "leads somewhere else than when it was approved" in result.text
    assert "secret" not in result.text and (tmp_path / "outside" / "victim.py").read_text() == "secret\n"


async def test_a_command_whose_paths_are_as_they_were_runs(tmp_path: Path) -> None:
    line = "cat ../outside/a.txt f/b.txt"
    kit = Kit(tmp_path, [reply(call("1", "execute_command", command=line)), done()], policy="ask", user=yes)
    outside = kit.workspace.parent / "outside"
    outside.mkdir()
    (outside / "a.txt").write_text("one\n")
    (kit.workspace / "f").symlink_to("../outside")
    (outside / "b.txt").write_text("two\n")
    await kit.run()
    assert not kit.of(ToolRunFinished)[0].result.is_error
