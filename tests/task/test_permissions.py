"""What a user allows with an answer: exactly that, for as long as it was said, and until it is revoked."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from joey.actions import RunCommand
from joey.commands import Answer, Revoke
from joey.errors import JoeyError
from joey.events import ApprovalRequested, Request
from joey.journal.project_permissions import ProjectPermissions
from joey.permissions import Granted, Permission, Scope
from joey.policy.judge import judge
from joey.policy.paths import Workspace
from joey.policy.permissions import permissions_for, permitted
from joey.policy.settings import Settings
from joey.task.opening import resume_task
from joey.testing.script import Scripted, reply
from task_kit import Kit, call, changed, done, yes


def run(command: str, call_id: str) -> Scripted:
    return reply(call(call_id, "execute_command", command=command))


def lasting(scope: Scope) -> Callable[[Request], Answer]:
    def user(request: Request) -> Answer:
        if isinstance(request, ApprovalRequested):
            return Answer(request.request_id, yes=True, always=True, scope=scope)
        return yes(request)

    return user


def kit(folder: Path, *script: Scripted, scope: Scope = "task") -> Kit:
    made = Kit(folder, script, user=lasting(scope), policy="ask")
    made.change(permissions=ProjectPermissions(folder / "state" / "permissions.json", made.workspace))
    return made


def requested(made: Kit) -> list[str]:
    return [event.arguments["command"] for event in made.of(ApprovalRequested)]


async def test_it_is_exact_and_no_prefix_and_named_before_it_is_given(tmp_path: Path) -> None:
    made = kit(tmp_path, run("rm -rf build", "1"), run("rm -rf build", "2"), run("rm -rf build src", "3"), done())
    await made.run()
    assert requested(made) == ["rm -rf build", "rm -rf build src"]
    assert made.of(ApprovalRequested)[0].always == ("exactly `rm -rf build`",)


@pytest.mark.parametrize("line", ["curl http://127.0.0.1/x", "ls -la && curl http://127.0.0.1/x", "touch a; touch b"])
def test_what_is_approved_for_good_may_use_the_network_as_what_is_approved_once(tmp_path: Path, line: str) -> None:
    settings, workspace, action = (
        Settings.for_profile("ask").changed(allow=("ls",)),
        Workspace.of(tmp_path),
        RunCommand(line),
    )
    first = judge([action], settings, workspace)
    given = permissions_for([action], first.parts)
    verdict = judge([action], permitted(settings, given), workspace)
    assert (first.decision, verdict.decision, verdict.network) == ("ask", "allow", True)
    assert not judge([RunCommand("ls")], permitted(settings, given), workspace).network


async def test_it_holds_after_the_result_was_accepted_and_on_resume(tmp_path: Path) -> None:
    made = kit(tmp_path, run("touch a && touch b", "1"), done())
    await made.run()
    assert made.task is not None
    made.events.clear()
    await made.resume(made.task.id, [run("touch a && touch b", "2"), run("touch b", "3"), done("d2")], text="Again.")
    assert requested(made) == []
    assert made.task.permissions == tuple(Granted(Permission("command", f"touch {name}"), "task") for name in "ab")


@pytest.mark.parametrize(("scope", "again"), [("task", 1), ("project", 0)])
async def test_a_project_is_every_task_in_the_same_folder_and_a_task_is_no_other(
    tmp_path: Path, scope: Scope, again: int
) -> None:
    await kit(tmp_path, run("touch a", "1"), done(), scope=scope).run()
    other = kit(tmp_path, run("touch a", "1"), done(), scope=scope)
    await other.run()
    assert len(requested(other)) == again
    elsewhere = kit(tmp_path, run("touch a", "1"), done())
    elsewhere.change(permissions=ProjectPermissions(tmp_path / "state" / "permissions.json", tmp_path))
    await elsewhere.run()
    assert len(requested(elsewhere)) == 1
    assert not list(made_in(other.workspace) - {"a"}), "nothing is kept in the project"


def made_in(folder: Path) -> set[str]:
    return {path.name for path in folder.rglob("*")}


async def test_what_is_revoked_is_asked_about_again(tmp_path: Path) -> None:
    made = kit(tmp_path, run("touch a", "1"), run("touch a", "2"), done())

    def user(request: Request) -> Answer:
        answer = lasting("task")(request)
        if isinstance(request, ApprovalRequested) and made.task is not None:
            assert not made.task.send(Revoke(Permission("command", "touch a"))), "it is not allowed yet"
        return answer

    made.user = user
    await made.run()
    assert requested(made) == ["touch a"]
    assert made.task is not None
    made.task = resume_task(changed(made.config), made.task.id)
    assert made.task.send(Revoke(Permission("command", "touch a"))) and not made.task.permissions
    made.task.close()


async def test_a_subtask_shares_what_its_task_was_allowed(tmp_path: Path) -> None:
    subtask = reply(call("s", "new_task", mode="code", message="Do it."))
    child = [run("touch a", "1"), run("touch a", "2"), done("d1")]
    made = kit(tmp_path, subtask, *child, run("touch a", "3"), done("d2"))
    await made.run()
    assert [event.name for event in made.of(ApprovalRequested)] == ["new_task", "execute_command"]


def test_a_permission_never_allows_what_is_denied() -> None:
    given = [Permission("command", "rm x"), Permission("writes"), Permission("pages", "a.example"), Permission("reads")]
    denied = Settings.for_profile("read-only")
    assert permitted(denied, given) == denied
    assert permitted(Settings.for_profile("ask"), given).allow == ("+network =rm x",)


@pytest.mark.parametrize("text", ["", "[]", '{"/": 1}', '{"FOLDER": [1, {"type": "permission", "kind": "all"}]}'])
def test_a_file_that_cannot_be_read_allows_nothing(tmp_path: Path, text: str) -> None:
    file = tmp_path / "permissions.json"
    file.write_text(text.replace("FOLDER", str(tmp_path)))
    kept = ProjectPermissions(file, tmp_path)
    assert kept.listed() == ()
    kept.add(Permission("reads"))
    assert kept.listed() == (Permission("reads"),) and kept.revoke(Permission("reads"))
    assert not kept.revoke(Permission("reads"))


def test_a_file_that_cannot_be_written_is_an_error_in_words(tmp_path: Path) -> None:
    (tmp_path / "state").write_text("")
    with pytest.raises(JoeyError, match="cannot write"):
        ProjectPermissions(tmp_path / "state" / "permissions.json", tmp_path).add(Permission("reads"))


def test_a_long_command_is_named_by_its_beginning_and_its_length() -> None:
    lines = Permission("command", "echo 1\necho 2\nrm x")
    assert lines.words == "exactly the command `echo 1 …` of 3 lines"
    assert Permission("command", "x" * 200).words.endswith("…` of 200 characters")
