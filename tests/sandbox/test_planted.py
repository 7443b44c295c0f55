"""What commands plant by moving folders, as repositories under other names, and after the last look of all."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from joey.policy.paths import Workspace
from joey.policy.protected import is_guarded
from joey.tools.base import ApprovedBy, Permissions, ToolContext
from joey.tools.builtin.execute_command import ExecuteCommand, ExecuteCommandParams
from joey.tools.shell.planted_files import look_for_planted, watch_for_planted
from sandbox_kit import World, a_world, need_bubblewrap


class Task:
    """A task in the workspace of the world, and what the user was warned of."""

    def __init__(self, world: World) -> None:
        self.workspace = world.workspace
        self.warnings: list[str] = []
        self.approved_by: ApprovedBy = "sandbox"
        self.context = ToolContext(
            world.workspace,
            world.home / ".local/state/joey/tasks/2",
            ignored=lambda path: Workspace.of(world.workspace).hides(path),
            permissions=Permissions(guarded=is_guarded, approved_by=lambda: self.approved_by),
            warn=self.warnings.append,
        )

    async def run(self, command: str, *, background: bool = False) -> str:
        params = ExecuteCommandParams(command=command, background=background)
        return (await ExecuteCommand(watched=0.3).run(params, self.context)).text

    async def comes_back(self, name: str) -> None:
        """Wait until something that runs has planted it again."""
        for _ in range(2000):
            if (self.workspace / name).exists():
                return
            await asyncio.sleep(0.01)
        raise AssertionError(f"{name} did not come back")

    async def end(self) -> None:
        await self.context.memory.close()


@pytest.fixture
def world() -> Iterator[World]:
    with a_world() as made:
        for name in ("sub/.envrc", "sub/.vscode/tasks.json", "pkg/AGENTS.md", "other/AGENTS.md"):
            (made.workspace / name).parent.mkdir(parents=True, exist_ok=True)
            (made.workspace / name).write_text("mine\n")
        (made.workspace / ".gdbinit").symlink_to("other/AGENTS.md")
        made.git("worktree", "add", "-q", "tree")
        yield made


@pytest.fixture
async def task(world: World, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Task]:
    need_bubblewrap()
    monkeypatch.setenv("HOME", str(world.home))
    made = Task(world)
    yield made
    await made.end()


EVIL_CONFIG = "printf '[core]\\n\\tbare = false\\n\\tworktree = ..\\n\\tfsmonitor = evil\\n'"
MODULE = ".git/modules/m/config"
BARE = "mkdir -p docs/objects docs/refs && echo 'ref: refs/heads/master' > docs/HEAD"
BY_MOVING = {
    "a file": ("mv sub sub2 && mkdir sub && echo evil > sub/.envrc", "sub/.envrc"),
    "a folder": ("mv sub s2 && mkdir -p sub/.vscode && echo evil > sub/.vscode/tasks.json", "sub/.vscode"),
    "what agents obey": ("mv pkg pkg2 && mkdir pkg && echo evil > pkg/AGENTS.md", "pkg/AGENTS.md"),
    "in two steps": ("mkdir new && echo evil > new/AGENTS.md && mv pkg pkg2 && mv new pkg", "pkg/AGENTS.md"),
    "from a folder that is not looked into": (
        "mkdir -p node_modules/x && echo evil > node_modules/x/AGENTS.md; sleep 0.2; mv node_modules/x fresh",
        "fresh/AGENTS.md",
    ),
    "in place of a link": ("rm .gdbinit && echo evil > .gdbinit", ".gdbinit"),
    "where a worktree leads": (
        "cd .git/worktrees && mv tree old && cp -r old tree && echo ../../../evil > tree/commondir",
        ".git/worktrees/tree/commondir",
    ),
    "a toolchain": ("echo '[toolchain]' > rust-toolchain.toml", "rust-toolchain.toml"),
    "hooks of another version control": ("mkdir .hg && echo '[hooks]' > .hg/hgrc", ".hg/hgrc"),
    "a rebase that runs a program": (
        "mkdir .git/rebase-merge && printf 'pick 1\\nexec evil\\n' > .git/rebase-merge/git-rebase-todo",
        ".git/rebase-merge/git-rebase-todo",
    ),
    "a bare repository": (f"{BARE} && {EVIL_CONFIG} > docs/config", "docs/config"),
    "hooks of a bare repository": (f"{BARE} && mkdir docs/hooks && echo x > docs/hooks/pre-commit", "docs/hooks/pre"),
    "one that leads elsewhere": ("mkdir docs && echo 'ref: x' > docs/HEAD && echo ../e > docs/commondir", "docs/comm"),
    "a module": (
        f"mkdir -p .git/modules/m && cp -r .git/objects .git/refs .git/HEAD .git/modules/m && {EVIL_CONFIG} > {MODULE}",
        MODULE,
    ),
}


@pytest.mark.parametrize(("command", "name"), BY_MOVING.values(), ids=BY_MOVING)
async def test_what_takes_the_place_of_a_guarded_file_is_moved_aside(task: Task, command: str, name: str) -> None:
    result = await task.run(command)
    assert "moved aside" in result and name in result, result
    assert not list(task.workspace.glob(name + "*"))
    assert "Careful" not in await task.run("true")


async def test_a_rebase_that_stopped_and_runs_nothing_is_nothing_to_report(task: Task) -> None:
    stopped = "mkdir .git/rebase-merge && printf 'pick 1\\n# x, exec = run\\n' > .git/rebase-merge/git-rebase-todo"
    assert "Careful" not in await task.run(stopped)


async def test_what_was_hidden_by_one_command_and_moved_by_the_next_is_found(task: Task) -> None:
    assert "Careful" not in await task.run("mkdir -p node_modules/x && echo evil > node_modules/x/.envrc")
    await asyncio.sleep(0.2)
    assert "fresh/.envrc" in await task.run("mv node_modules/x fresh")


async def test_a_guarded_file_that_moves_with_its_folder_is_reported_and_stays(task: Task) -> None:
    await asyncio.sleep(0.2)
    result = await task.run("mv pkg renamed")
    assert "renamed/AGENTS.md" in result and "moved aside" not in result
    assert (task.workspace / "renamed/AGENTS.md").read_text() == "mine\n"


async def test_a_bare_repository_as_git_makes_it_is_nothing_to_report(task: Task) -> None:
    result = await task.run(
        "git init -q --bare store && git push -q store HEAD:refs/heads/x; git clone -q --bare . two"
    )
    assert "Careful" not in result, result


async def test_what_the_user_writes_between_commands_stays_theirs(task: Task) -> None:
    await task.run("true")
    await asyncio.sleep(0.2)
    new = task.workspace / "replacement"
    new.write_text("the user's\n")
    new.replace(task.workspace / "pkg/AGENTS.md")
    (task.workspace / "CLAUDE.md").write_text("the user's\n")
    await asyncio.sleep(0.2)
    assert "Careful" not in await task.run("touch one")
    assert (task.workspace / "CLAUDE.md").exists()
    # The mount went with the file that was replaced; what commands change now is found all the same.
    assert "pkg/AGENTS.md" in await task.run("echo evil >> pkg/AGENTS.md")


LOOP = "(while :; do echo evil > .lldbinit; mkdir -p .claude; echo {} > .claude/settings.json; sleep 0.01; done)"


@pytest.mark.parametrize("redirection", ["", " >/dev/null 2>&1 </dev/null"])
async def test_what_is_planted_after_the_last_command_is_moved_aside_with_a_warning(
    task: Task, redirection: str
) -> None:
    await task.run(f"{LOOP}{redirection} &")
    await task.run("true")
    await task.comes_back(".lldbinit")
    await task.end()
    assert not (task.workspace / ".lldbinit").exists() and not (task.workspace / ".claude").exists()
    assert len(task.warnings) == 1 and "moved aside to" in task.warnings[0] and ".lldbinit" in task.warnings[0]


async def test_one_that_plants_once_between_two_commands_is_found(task: Task) -> None:
    await task.run("(sleep 0.5; echo evil > CLAUDE.md; sleep 0.2) >/dev/null 2>&1 &")
    await asyncio.sleep(1.2)
    assert "CLAUDE.md" in await task.run("true")


async def test_what_a_command_planted_that_the_user_approved_stays_and_is_named_at_the_end(task: Task) -> None:
    task.approved_by = "user"
    await task.run(f"{LOOP} &")
    (task.workspace / ".lldbinit").unlink()
    await task.comes_back(".lldbinit")
    await task.end()
    assert (task.workspace / ".lldbinit").exists() and ".lldbinit" in task.warnings[0]


async def test_a_task_without_plants_ends_without_a_warning(task: Task) -> None:
    await task.run("sleep 1000", background=True)
    await task.run("touch one")
    await task.end()
    assert task.warnings == [] and (task.workspace / "sub/.envrc").exists()


async def test_a_command_that_is_cancelled_leaves_nothing_behind_unnoticed(task: Task) -> None:
    running = asyncio.create_task(task.run("echo evil > CLAUDE.md; sleep 1000"))
    await task.comes_back("CLAUDE.md")
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    await task.end()
    assert not (task.workspace / "CLAUDE.md").exists() and "CLAUDE.md" in task.warnings[0]


async def test_the_user_is_warned_once_that_the_look_does_not_reach_the_end(task: Task, world: World) -> None:
    await watch_for_planted(world.open("full"), task.context, max_folders=50)
    await look_for_planted(task.context)
    assert task.warnings == []
    await task.run("mkdir many && cd many && seq 50 | xargs mkdir")
    await task.run("mkdir many/1/deep && echo evil > many/1/deep/.envrc")
    assert len(task.warnings) == 1 and "more than 50 folders" in task.warnings[0]


async def test_the_user_is_warned_before_the_first_command_where_the_workspace_is_too_large(
    task: Task, world: World
) -> None:
    await watch_for_planted(world.open("full"), task.context, max_folders=2)
    assert len(task.warnings) == 1 and "more than 2 folders" in task.warnings[0]


NESTED = {
    "with git": "git -C lib config core.fsmonitor evil",
    "in place": "printf '[core]\\n\\tfsmonitor = evil\\n' >> lib/.git/config",
    "by another file": "printf '[core]\\n\\tfsmonitor = evil\\n' > new && mv new lib/.git/config",
    "by a link": "echo evil > evil && ln -sf ../../evil lib/.git/config",
}


@pytest.mark.parametrize("background", [False, True], ids=["", "while another command runs"])
@pytest.mark.parametrize("command", NESTED.values(), ids=NESTED)
async def test_the_configuration_of_a_nested_repository_is_put_back(
    task: Task, world: World, command: str, *, background: bool
) -> None:
    world.git("init", "-q", "lib")
    world.git("config", "alias.mine", "!run", cwd=world.workspace / "lib")
    hook = world.workspace / "lib/.git/hooks/pre-commit"
    hook.write_text("mine\n")
    hook.chmod(0o755)
    config = world.workspace / "lib/.git/config"
    before = config.read_text()
    await task.run("sleep 100" if background else "true", background=background)
    await asyncio.sleep(0.2)
    result = await task.run(f"{command}; echo evil >> lib/.git/hooks/pre-commit")
    assert "moved aside" in result and "put back as they were before: " in result, result
    assert "lib/.git/config" in result and "lib/.git/hooks/pre-commit" in result
    assert config.read_text() == before and not config.is_symlink()
    assert hook.read_text() == "mine\n" and hook.stat().st_mode & 0o777 == 0o755
    assert "Careful" not in await task.run("true")


async def test_what_the_user_approved_is_what_is_put_back_later(task: Task, world: World) -> None:
    world.git("init", "-q", "lib")
    task.approved_by = "user"
    await task.run("git -C lib config alias.x '!approved'")
    task.approved_by = "sandbox"
    await asyncio.sleep(0.2)
    await task.run("true")
    await task.run("git -C lib config alias.x '!evil'")
    config = (world.workspace / "lib/.git/config").read_text()
    assert "approved" in config and "evil" not in config


async def test_commands_that_run_at_the_same_time_share_one_watch(task: Task) -> None:
    commands = [f"mkdir at{number} && echo evil > at{number}/AGENTS.md" for number in range(6)]
    texts = "\n".join(await asyncio.gather(*(task.run(command) for command in commands)))
    assert [number for number in range(6) if f"at{number}/AGENTS.md" not in texts] == []
    assert list(task.workspace.glob("at*/AGENTS.md")) == []


# Places that are known by where they are


@pytest.fixture
def places(world: World) -> World:
    """What git's configuration names, what guarded links lead to, and what an ignore file hides: all in subfolders."""
    for name in ("tools/hooks/pre-commit", "cfg/git/inc", "deep/agents.md", "conf/secrets/a.txt"):
        (world.workspace / name).parent.mkdir(parents=True, exist_ok=True)
        (world.workspace / name).write_text("mine\n")
    (world.workspace / "CLAUDE.md").symlink_to("deep/agents.md")
    (world.workspace / ".joeyignore").write_text("/conf/secrets/a.txt\n")
    world.git("config", "core.hooksPath", "tools/hooks")
    world.git("config", "include.path", "../cfg/git/inc")
    return world


KNOWN = {
    "hooks": ("tools", "tools/hooks/pre-commit"),
    "included configuration": ("cfg", "cfg/git/inc"),
    "a folder further down": ("cfg/git", "cfg/git/inc"),
    "what a guarded link leads to": ("deep", "deep/agents.md"),
    "what is hidden": ("conf", "conf/secrets/a.txt"),
    "what is hidden, further down": ("conf/secrets", "conf/secrets/a.txt"),
}


@pytest.mark.parametrize(("folder", "known"), KNOWN.values(), ids=KNOWN)
async def test_a_file_that_is_known_by_its_place_stays_there(
    places: World, task: Task, folder: str, known: str
) -> None:
    await task.run(f"mv {folder} elsewhere; mkdir -p {Path(known).parent}; echo evil > {known}; mv elsewhere/* .")
    assert (task.workspace / known).read_text() == "mine\n"
    hidden = [each for each in task.workspace.rglob("a.txt") if each.read_text() == "mine\n"]
    assert hidden == [task.workspace / "conf/secrets/a.txt"]


async def test_work_beside_such_a_file_goes_on(places: World, task: Task) -> None:
    result = await task.run("echo new > conf/b.txt && mv conf/b.txt tools/c.txt && cat tools/c.txt && rm tools/c.txt")
    assert "failed" not in result and "new" in result
