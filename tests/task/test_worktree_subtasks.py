"""Subtasks that write at the same time, each in a git worktree of its own: merged by approval, or kept."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from git_kit import IDENTITY
from joey.commands import Answer, Cancel
from joey.events import ApprovalRequested, Request, SubtaskOpened, TaskFinished, TurnStarted
from joey.journal.journal import read_journal
from joey.journal.project_permissions import ProjectPermissions
from joey.journal.records import ChildMerged, ChildOpened
from joey.messages import ShownDiff, TextBlock, ToolResultBlock, ToolUseBlock
from joey.providers.base import ModelRequest
from joey.system.worktrees import Worktrees
from joey.testing.script import Faults, Scripted, reply
from joey.tools.builtin.new_task import NewTask
from task_kit import Kit, call, done, yes


class Play:
    """A model for a task and its subtasks: each is known by its first word, and has replies of its own, in order."""

    def __init__(self, **replies: list[Scripted]) -> None:
        self.replies = replies

    def __call__(self, request: ModelRequest) -> Scripted:
        first = next(block.text for block in request.messages[0].content if isinstance(block, TextBlock))
        return self.replies[first.split()[0]][sum(message.role == "assistant" for message in request.messages)]


def hand(number: int, words: str, mode: str = "code") -> ToolUseBlock:
    return call(f"n{number}", "new_task", mode=mode, message=words)


def write(path: str, text: str, *, call_id: str = "w") -> Scripted:
    return reply(call(call_id, "write_to_file", path=path, file_text=text))


def git(folder: Path, *arguments: str) -> str:
    done = subprocess.run(["git", *IDENTITY, *arguments], cwd=folder, check=True, capture_output=True, text=True)
    return done.stdout.strip()


@pytest.fixture
def kit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Kit]:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))

    def make(play: Play, **changes: Any) -> Kit:
        kit = Kit(tmp_path, play, **changes)
        (kit.workspace / "a.txt").write_text("1\n2\n3\n4\n5\n")
        git(kit.workspace, "init", "-q", "-b", "main")
        git(kit.workspace, "add", "-A")
        git(kit.workspace, "commit", "-qm", "Begin")
        kit.change(worktrees=Worktrees({"HOME": str(tmp_path / "home"), "PATH": os.environ["PATH"]}))
        return kit

    return make


def results(kit: Kit) -> dict[str, str]:
    blocks = [block for block in kit.sent[-1].content if isinstance(block, ToolResultBlock)]
    return {each.tool_use_id: "".join(getattr(part, "text", "") for part in each.content) for each in blocks}


def last_blocks(kit: Kit) -> list[str]:
    """The last block of each result."""
    found = [block.content[-1] for block in kit.sent[-1].content if isinstance(block, ToolResultBlock)]
    return [block.text for block in found if isinstance(block, TextBlock)]


def worktrees(kit: Kit) -> Worktrees:
    assert kit.config.workspace.worktrees is not None
    return kit.config.workspace.worktrees


LEFT = [write("a.txt", "ONE\n2\n3\n4\n5\n"), write("left.txt", "l\n", call_id="w2"), done("c", "left")]
RIGHT = [write("a.txt", "1\n2\n3\n4\nFIVE\n"), done("c", "right")]
BOTH = [reply(hand(1, "Left"), hand(2, "Right")), done("d", "Both.")]


async def test_each_writes_in_a_worktree_of_its_own_and_both_are_merged(kit: Callable[..., Kit]) -> None:
    made = kit(Play(Do=BOTH, Left=LEFT, Right=RIGHT))
    (made.workspace / "mine.txt").write_text("not committed\n")
    assert await made.run("Do it") == TaskFinished("completed", "Both.")
    assert (made.workspace / "a.txt").read_text() == "ONE\n2\n3\n4\nFIVE\n"
    assert (made.workspace / "left.txt").read_text() == "l\n"
    assert "Merged: 2 files changed." in results(made)["n1"] and "Merged: 1 file changed." in results(made)["n2"]
    opened = made.of(SubtaskOpened)
    assert len({each.worktree for each in opened}) == 2
    assert len(git(made.workspace, "worktree", "list").splitlines()) == 1
    assert git(made.workspace, "branch", "--list") == "* main" and worktrees(made).all() == ()
    assert git(made.workspace, "log", "--format=%s") == "Begin", "nothing is committed that nobody wanted"
    assert (made.workspace / "mine.txt").read_text() == "not committed\n"


async def test_a_merge_is_approved_by_its_diff(kit: Callable[..., Kit]) -> None:
    seen: list[ApprovalRequested] = []

    def user(request: Request) -> Answer:
        if isinstance(request, ApprovalRequested) and request.name == "merge_worktree":
            seen.append(request)
            return Answer(request.request_id, yes=len(seen) == 1, text="" if len(seen) == 1 else "not that one")
        return yes(request)

    made = kit(Play(Do=BOTH, Left=LEFT, Right=RIGHT), policy="ask", user=user)
    assert (await made.run("Do it")).outcome == "completed"
    diffs = ["".join(each.diff for each in request.shown if isinstance(each, ShownDiff)) for request in seen]
    assert len(diffs) == 2 and all("+ONE" in each or "+FIVE" in each for each in diffs)
    merged, kept = [*results(made).values()][:: 1 if "Merged" in results(made)["n1"] else -1]
    assert "Merged" in merged and "Its changes were not merged." in kept and "not that one" in kept
    (left,) = worktrees(made).all()
    assert left.folder in kept and left.branch in kept and left.path.is_dir()
    assert [*map(NewTask.display.failed, last_blocks(made))].count("changes were not merged") == 1
    assert git(made.workspace, "diff", "--name-only", "main", left.branch), "they are on the branch"


async def test_what_is_allowed_in_a_worktree_is_not_allowed_in_the_workspace(kit: Callable[..., Kit]) -> None:
    merges: list[str] = []

    def user(request: Request) -> Answer:
        if isinstance(request, ApprovalRequested) and request.name == "merge_worktree":
            merges.append(request.request_id)
            return Answer(request.request_id)
        writes = isinstance(request, ApprovalRequested) and request.name == "write_to_file"
        if writes:
            assert isinstance(request, ApprovalRequested) and request.scopes == ("task",)
        return Answer(request.request_id, yes=True, always=writes, scope="project")

    made = kit(Play(Do=BOTH, Left=LEFT, Right=RIGHT), policy="ask", user=user)
    allowed = ProjectPermissions(made.workspace.parent / "permissions.json", made.workspace)
    made.change(permissions=allowed)
    assert (await made.run("Do it")).outcome == "completed"
    assert len(merges) == 2 and not allowed.listed()
    assert made.task is not None and made.task.permissions == ()


async def test_a_conflict_is_named_and_nothing_is_half_merged(kit: Callable[..., Kit]) -> None:
    clash = [write("a.txt", "uno\n2\n3\n4\n5\n"), write("new.txt", "n\n", call_id="w2"), done("c", "right")]
    made = kit(Play(Do=BOTH, Left=LEFT, Right=clash))
    assert (await made.run("Do it")).outcome == "completed"
    text = "\n".join(results(made).values())
    assert "It conflicts with what is there now, in a.txt. Nothing was merged." in text and "Merged:" in text
    assert (made.workspace / "left.txt").exists() != (made.workspace / "new.txt").exists()
    assert "<<<<" not in (made.workspace / "a.txt").read_text()
    (kept,) = worktrees(made).all()
    assert kept.path.is_dir()


async def test_where_nobody_can_approve_it_the_changes_are_kept(kit: Callable[..., Kit]) -> None:
    made = kit(Play(Do=BOTH, Left=LEFT, Right=RIGHT), policy="read-only", headless=True)
    made.change(approvals=made.config.approvals.changed(subtasks="allow"))
    assert (await made.run("Do it")).outcome == "completed"
    assert (made.workspace / "a.txt").read_text() == "1\n2\n3\n4\n5\n"


async def test_what_a_mode_may_not_edit_is_not_merged_either(kit: Callable[..., Kit]) -> None:
    """A command in the worktree can write what the tools of the mode cannot."""
    run = reply(call("x", "execute_command", command="echo x > code.py"))
    made = kit(
        Play(Do=[reply(hand(1, "Left", "architect"), hand(2, "Right")), done()], Left=[run, done()], Right=RIGHT)
    )
    code = made.config.tools(made.config.modes["code"])
    made.change(tools=lambda _mode: code)
    assert (await made.run("Do it")).outcome == "completed"
    assert "can only edit files matching" in results(made)["n1"] and not (made.workspace / "code.py").exists()


COMMIT = "git commit -q --allow-empty -m x"
SPECIAL = [
    ("ln -s /etc/passwd link", "Symbolic links or submodules"),
    (f"mkdir n && git init -q n && cd n && {COMMIT} && cd .. && echo x > y", "repositories: n"),
]


@pytest.mark.parametrize(("command", "words"), SPECIAL)
async def test_what_is_no_edit_of_a_file_is_not_merged(kit: Callable[..., Kit], command: str, words: str) -> None:
    line = f"export GIT_AUTHOR_NAME=x GIT_AUTHOR_EMAIL=x GIT_COMMITTER_NAME=x GIT_COMMITTER_EMAIL=x; {command}"
    made = kit(Play(Do=BOTH, Left=[reply(call("x", "execute_command", command=line)), done()], Right=RIGHT))
    assert (await made.run("Do it")).outcome == "completed"
    assert words in results(made)["n1"]
    assert not (made.workspace / "link").is_symlink() and not (made.workspace / "n").exists()


async def test_an_executable_file_stays_one(kit: Callable[..., Kit]) -> None:
    run = reply(call("x", "execute_command", command="echo x > run.sh && chmod +x run.sh a.txt"))
    made = kit(Play(Do=BOTH, Left=[run, done()], Right=[done("c", "nothing")]))
    assert (await made.run("Do it")).outcome == "completed"
    assert os.access(made.workspace / "run.sh", os.X_OK) and os.access(made.workspace / "a.txt", os.X_OK)
    assert "It changed no files." in results(made)["n2"]


async def test_the_parents_files_are_outside_for_a_subtask(kit: Callable[..., Kit]) -> None:
    def user(request: Request) -> Answer:
        outside = isinstance(request, ApprovalRequested) and "outside" in request.reason
        return Answer(request.request_id, yes=not outside)

    made = kit(Play(Do=BOTH, Left=[], Right=RIGHT), policy="edits", user=user)
    made.change(approvals=made.config.approvals.changed(subtasks="allow"))
    escape = write(str(made.workspace / "a.txt"), "escaped\n")
    play = Play(Do=BOTH, Left=[escape, write("../../../../../project/a.txt", "x", call_id="w2"), done()], Right=RIGHT)
    made.change(provider=type(made.provider)(play))
    made.provider = made.config.model.provider  # type: ignore[assignment]
    assert (await made.run("Do it")).outcome in ("completed", "refused")
    assert "escaped" not in (made.workspace / "a.txt").read_text()


async def test_a_cancelled_task_leaves_worktrees_that_are_listed_and_continue(kit: Callable[..., Kit]) -> None:
    slow = [write("left.txt", "l\n"), reply("slow", faults=Faults(latency=60))]
    made = kit(Play(Do=BOTH, Left=slow, Right=slow))
    running = asyncio.ensure_future(made.run("Do it"))
    while len(made.of(TurnStarted)) < 5:  # noqa: ASYNC110 - what is waited for is a list that grows
        await asyncio.sleep(0.01)
    assert made.task is not None and made.task.send(Cancel("enough"))
    assert (await running).outcome == "cancelled"
    assert len(asyncio.all_tasks()) == 1
    listed = worktrees(made).all()
    assert {each.task for each in listed} == {each.child_id for each in made.of(SubtaskOpened)}
    quick = [slow[0], done("c", "at last")]
    again = await made.resume(made.task.id, Play(Do=BOTH, Left=quick, Right=quick))
    assert again.message == "Both." and worktrees(made).all() == ()
    assert (made.workspace / "left.txt").read_text() == "l\n"


@pytest.mark.parametrize("kept", range(3))
async def test_a_crash_around_the_merge_loses_nothing(kit: Callable[..., Kit], kept: int) -> None:
    """Killed after the merges and before they were written down, after one was, and before the last result."""
    play = Play(Do=BOTH, Left=LEFT, Right=RIGHT)
    made = kit(play)
    assert (await made.run("Do it")).message == "Both."
    assert made.task is not None
    path = made.store.journal_path(made.task.id)
    lines = path.read_bytes().splitlines(keepends=True)
    tags = [json.loads(line)["record"]["type"] if "record" in json.loads(line) else "" for line in lines]
    opened = [at for at, line in enumerate(lines) if b'"child_opened"' in line]
    merged = [at for at, line in enumerate(lines) if b'"child_merged"' in line]
    assert len(opened) == len(merged) == 2, tags
    path.write_bytes(b"".join(lines[: [opened[-1], merged[0], merged[1]][kept] + 1]))
    assert (await made.resume(made.task.id, play)).message == "Both."
    assert (made.workspace / "a.txt").read_text() == "ONE\n2\n3\n4\nFIVE\n"
    records = [*read_journal(path)]
    assert {each.placement for each in records if isinstance(each, ChildOpened)} == {"worktree"}
    assert len({each.child_id for each in records if isinstance(each, ChildMerged)}) <= 2
    assert worktrees(made).all() == ()
