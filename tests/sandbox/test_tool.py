"""execute_command in its sandbox: which network, what is needed, what is said of a wall, and what was planted."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from joey.actions import RunCommand, WidenSandbox
from joey.messages import ShownText, ToolResult
from joey.policy.judge import judge
from joey.policy.paths import Workspace
from joey.policy.protected import is_guarded
from joey.policy.settings import Settings
from joey.sandbox import SandboxSettings
from joey.sandbox.planted import gitlinks, is_harmless_config
from joey.tools.base import ApprovedBy, Confined, Permissions, ToolContext
from joey.tools.builtin.execute_command import ExecuteCommand, ExecuteCommandParams
from sandbox_kit import World, need_bubblewrap


class Task:
    """A task in the workspace of the world, and what it reported."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.reports: list[Confined] = []
        self.approved_by: ApprovedBy = "rule"
        self.context = ToolContext(
            world.workspace,
            world.home / ".local/state/joey/tasks/2",
            permissions=Permissions(guarded=is_guarded, approved_by=lambda: self.approved_by),
            confined=self.reports.append,
        )

    async def run(self, command: str, tool: ExecuteCommand | None = None, **more: Any) -> ToolResult:
        return await (tool or ExecuteCommand()).run(ExecuteCommandParams(command=command, **more), self.context)


@pytest.fixture
async def task(world: World, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Task]:
    need_bubblewrap()
    monkeypatch.setenv("HOME", str(world.home))
    made = Task(world)
    yield made
    await made.context.memory.close()


ROUTE = "cat /proc/net/dev | grep -vcE 'lo:|Inter|face'"
"""How many devices there are besides the loopback."""


@pytest.mark.parametrize(
    ("rule", "approved_by", "needs", "network"),
    [
        ("approved", "user", (), "on"),
        ("approved", "rule", (), "none"),
        ("approved", "sandbox", (), "none"),
        ("approved", "rule", ("network",), "on"),
        ("none", "user", (), "none"),
        ("none", "user", ("network",), "on"),
        ("on", "rule", (), "on"),
    ],
)
async def test_who_may_use_the_network(
    task: Task, rule: Any, approved_by: ApprovedBy, needs: tuple[str, ...], network: str
) -> None:
    task.approved_by = approved_by
    await task.run("true", ExecuteCommand(sandbox=SandboxSettings(network=rule)), needs=needs)
    assert task.reports[-1].level == "full" and task.reports[-1].network == network


async def test_two_networks_are_two_sandboxes_and_a_job_is_ended_in_its_own(task: Task) -> None:
    first = await task.run("sleep 1000", ExecuteCommand(watched=0.1), background=True)
    pid = first.text.partition("kill -- -")[2].partition("`")[0]
    task.approved_by = "user"
    assert (await task.run("true")).text.startswith("Command executed.")
    assert [each.network for each in task.reports] == ["none", "on"]
    assert (await task.run(f"kill -- -{pid}")).text.startswith("Command executed.")
    assert task.reports[-1].network == "none"


async def test_without_a_full_sandbox_require_refuses(task: Task) -> None:
    tool = ExecuteCommand(sandbox=SandboxSettings(mode="require"))
    assert not (await task.run("true", tool)).is_error
    outside = await task.run("touch outside-was-here", tool, needs=("outside",))
    assert outside.is_error and "no command runs outside the sandbox" in outside.text
    assert not (task.world.workspace / "outside-was-here").exists()


async def test_a_command_that_only_the_sandbox_lets_run_never_runs_outside_it(task: Task) -> None:
    task.approved_by = "sandbox"
    assert (await task.run("true", needs=("outside",))).is_error
    assert (await task.run("true", ExecuteCommand(sandbox=SandboxSettings(mode="off")))).is_error


async def test_off_is_off_and_outside_is_outside(task: Task) -> None:
    touch = f"touch {task.world.outside}/by-command && rm {task.world.outside}/by-command"
    assert not (await task.run(touch, ExecuteCommand(sandbox=SandboxSettings(mode="off")))).is_error
    task.approved_by = "user"
    assert (await task.run(touch, needs=("outside",))).text.startswith("Command executed.")
    assert (await task.run(touch)).text.startswith("Command failed")
    assert (await task.run(touch, needs=(str(task.world.outside),))).text.startswith("Command executed.")
    assert [each.level for each in task.reports] == ["off", "none", "full", "full"]


@pytest.mark.parametrize(
    ("needs", "problem"),
    [
        (("net",), "is not"),
        (("/no/such/folder",), "does not exist"),
        (("/",), "holds far more"),
        (("relative/path",), "is not"),
    ],
)
async def test_needs_that_mean_nothing_are_an_error(task: Task, needs: tuple[str, ...], problem: str) -> None:
    result = await task.run("true", needs=needs)
    assert result.is_error and problem in result.text and "Nothing was run" in result.text


WALLS = [
    ("touch ~/file", "commands can write only in the workspace"),
    ("echo x > $OUT/file", "commands can write only in the workspace"),
    ("cat ~/.ssh/id_ed25519", "places with secrets"),
    ("git config core.pager evil", "hooks and configuration of git"),
    ("echo x > .vscode/settings.json", "hooks and configuration of git"),
    ("python3 -c 'import socket; socket.create_connection((\"192.0.2.1\", 80))'", "has no network"),
    ("python3 -c 'import urllib.request as u; u.urlopen(\"http://pypi.org\")'", "has no network"),
    ("git ls-remote https://example.invalid/x", "has no network"),
    (
        "echo 'Cannot connect to the Docker daemon at unix:///var/run/docker.sock.'; exit 1",
        "sockets of services such as",
    ),
]


@pytest.mark.parametrize(("command", "wall"), WALLS)
async def test_a_wall_is_named_with_how_to_ask(task: Task, command: str, wall: str) -> None:
    result = await task.run(command.replace("$OUT", str(task.world.outside)))
    assert result.text.startswith("Command failed") and wall in result.text, result.text
    assert "needs" in result.text


@pytest.mark.parametrize(
    "command",
    [
        "exit 3",
        "echo 'Read-only file system'",
        "cat no-such-file",
        "ls /root/x/y",
        "python3 -c \"open('nofile')\"",
        "echo 'Read-only file system'; exit 1",
        "echo FileNotFoundError; exit 1",
    ],
)
async def test_other_failures_are_not_blamed_on_a_wall(task: Task, command: str) -> None:
    assert "sandbox" not in (await task.run(command)).text


def test_what_is_needed_is_an_action_of_its_own(world: World) -> None:
    context = ToolContext(world.workspace, world.home / "storage")
    params = ExecuteCommandParams(command="make", needs=("network", str(world.outside), str(world.workspace / "sub")))
    actions = ExecuteCommand().actions(params, context)
    assert actions == (RunCommand("make"), WidenSandbox("network"), WidenSandbox(str(world.outside)))
    configured = SandboxSettings(network="on", writable=(str(world.outside),))
    assert ExecuteCommand(sandbox=configured).actions(params, context) == (RunCommand("make"),)
    assert ExecuteCommand(sandbox=SandboxSettings(mode="off")).actions(params, context) == (RunCommand("make"),)


async def test_what_is_needed_is_shown_apart_from_the_command(world: World) -> None:
    context = ToolContext(world.workspace, world.home / "storage")
    plan = await ExecuteCommand().plan(ExecuteCommandParams(command="make", needs=("network", "/srv")), context)
    assert plan.shown == (ShownText("Beyond the sandbox it needs: the network; to write in /srv.\n"),)
    assert "Beyond" not in str((await ExecuteCommand().plan(ExecuteCommandParams(command="make"), context)).shown)


@pytest.mark.parametrize("need", ["network", "outside", "/srv"])
def test_no_rule_for_a_command_grants_what_it_needs(need: str, tmp_path: Path) -> None:
    workspace = Workspace.of(tmp_path)
    actions = (RunCommand("make"), WidenSandbox(need))
    for profile in ("ask", "edits", "auto"):
        settings = replace(Settings.for_profile(profile), allow=("make", "*"))
        assert judge(actions, settings, workspace).decision == "ask"
        assert judge(actions, settings, workspace, headless=True).decision == "deny"
    assert judge(actions, Settings.for_profile("read-only"), workspace).decision == "deny"
    assert judge(actions, Settings.for_profile("all"), workspace).decision == "allow"


# What is planted

PLANTS = {
    ".envrc": "mkdir -p new && echo evil > new/.envrc",
    ".vscode": "mkdir -p a/b/.vscode && echo '{}' > a/b/.vscode/tasks.json",
    "AGENTS.md": "echo obey > AGENTS.md",
    ".mcp.json": "echo '{}' > .mcp.json",
    ".git of another repository": "git init -q other && echo evil > other/.git/hooks/pre-commit",
    "its configuration": "git init -q other && git -C other config core.fsmonitor evil",
    "a commondir": "echo ../evil > .git/commondir",
    "a git file": "mkdir sub && echo 'gitdir: ../evil' > sub/.git",
    "a git link": "mkdir sub && ln -s ../evil sub/.git",
    "a submodule by the index": (
        "git init -q deep/node_modules/x && git -C deep/node_modules/x config core.fsmonitor evil && "
        "git update-index --add --cacheinfo 160000,$(git rev-parse HEAD),deep/node_modules/x"
    ),
    "by moving a folder": "mkdir made && echo evil > made/x && mv made .husky",
    "with another date": "echo evil > .gdbinit && touch -d 2001-01-01 .gdbinit",
}


def files_in(folder: str) -> list[Path]:
    return [each for each in Path(folder).rglob("*") if not each.is_dir() or each.is_symlink()]


@pytest.fixture
def tidy(world: World) -> Any:
    """The repository as it was, after each."""
    yield
    (world.workspace / ".git/commondir").unlink(missing_ok=True)
    world.git("reset", "-q", "--hard")
    world.git("clean", "-qffdx", "-e", ".env")


@pytest.mark.usefixtures("tidy")
@pytest.mark.parametrize("command", PLANTS.values(), ids=PLANTS)
@pytest.mark.parametrize("approved_by", ["user", "rule", "sandbox"])
async def test_what_is_planted_is_reported_and_moved_aside(task: Task, command: str, approved_by: ApprovedBy) -> None:
    task.approved_by = approved_by
    result = await task.run(command)
    assert "Careful: the command made or changed files" in result.text, result.text
    assert ("moved aside" in result.text) is (approved_by != "user")
    again = await task.run("true")
    assert "Careful" not in again.text
    if approved_by != "user":
        assert files_in(result.text.partition("moved aside to ")[2].partition(", because")[0])


@pytest.mark.usefixtures("tidy")
@pytest.mark.parametrize(
    "command",
    [
        "git init -q other && cd other && git commit -q --allow-empty -m x",
        "git clone -q . other && git -C other checkout -qb topic",
        "python3 -m venv --without-pip .venv",
        "mkdir -p node_modules/.bin .github/workflows && touch .github/workflows/x.yml node_modules/.bin/x",
        "echo x > conftest.py; echo '{}' > package.json; echo 3.12 > .python-version",
        "git worktree add -q tree",
    ],
)
async def test_what_builds_and_git_write_is_not(task: Task, command: str) -> None:
    result = await task.run(command)
    assert result.text.startswith("Command executed.") and "Careful" not in result.text, result.text


@pytest.mark.usefixtures("tidy")
async def test_a_file_that_the_user_had_is_never_moved(task: Task) -> None:
    (task.world.workspace / "AGENTS.md").write_text("mine")
    await asyncio.sleep(0.1)
    assert "Careful" not in (await task.run("touch other")).text
    assert (task.world.workspace / "AGENTS.md").read_text() == "mine"


@pytest.mark.parametrize(
    ("text", "harmless"),
    [
        ('[core]\n\tbare = false\n[remote "origin"]\n\turl = https://x/y\n\tfetch = +refs/heads/*:refs/*\n', True),
        ("[core]\n\tfsmonitor = evil\n", False),
        ("[core]\n\thooksPath = evil\n", False),
        ('[remote "origin"]\n\turl = ext::sh -c evil\n', False),
        ('[alias]\n\tx = "!evil"\n', False),
        ("[include]\n\tpath = ../evil\n", False),
        ("[core] fsmonitor = evil\n", False),
        ('[filter "x"]\n\tclean = evil\n', False),
        ("[user]\n\tname = a \\\n\tb\n", False),
        ('[remote "a"]\n\tuploadpack = evil\n', False),
        ('[submodule "x"]\n\tupdate = !evil\n', False),
        ("[core]\n\tworktree = /elsewhere\n", False),
    ],
)
def test_a_configuration_of_git_is_harmless_only_if_every_line_is_known(
    tmp_path: Path, text: str, harmless: bool
) -> None:
    config = tmp_path / ".git/config"
    config.parent.mkdir()
    config.write_text(text)
    assert is_harmless_config(config) is harmless


@pytest.mark.parametrize("version", ["2", "3", "4"])
def test_submodules_are_found_in_every_version_of_the_index(world: World, version: str, tmp_path: Path) -> None:
    world.git("init", "-q", str(tmp_path / "r"), cwd=tmp_path)
    git = tmp_path / "r"
    for name in ("a/one", "a/two", "b"):
        (git / name).parent.mkdir(exist_ok=True)
        (git / name).write_text("x")
    world.git("add", "-A", cwd=git)
    world.git("commit", "-qm", "x", cwd=git)
    head = world.git("rev-parse", "HEAD", cwd=git).strip()
    for name in ("a/link", "zz/deeper/link"):
        world.git("update-index", "--add", "--cacheinfo", f"160000,{head},{name}", cwd=git)
    if version == "3":
        (git / "later").write_text("x")
        world.git("add", "-N", "later", cwd=git)
    world.git("update-index", "--index-version", version, cwd=git)
    assert list(gitlinks((git / ".git/index").read_bytes())) == [b"a/link", b"zz/deeper/link"]


async def test_a_place_in_the_workspace_is_never_given_again(task: Task) -> None:
    """It is writable already; given again it would lie over what is protected or hidden."""
    for name in (".git/hooks", ".vscode", ".env", "."):
        result = await task.run("true", needs=(str(task.world.workspace / name),))
        assert result.is_error and "needs:" in result.text, name


async def test_what_is_given_is_what_was_judged(task: Task) -> None:
    """A folder that becomes a link to somewhere else between the two is not followed."""
    place, other = task.world.root / "given", task.world.root / "elsewhere"
    place.mkdir()
    other.mkdir()
    context = task.context
    plan = await ExecuteCommand().plan(ExecuteCommandParams(command=f"touch {other}/x", needs=(str(place),)), context)
    place.rmdir()
    place.symlink_to(other)
    result = await plan.execute()
    assert not (other / "x").exists(), result.text


@pytest.mark.parametrize(
    ("settings", "needs", "words"),
    [
        (SandboxSettings(), (), ("If you approve it, it may also use the network.\n",)),
        (SandboxSettings(network="on"), (), ("If you approve it, it may also use the network.\n",)),
        (SandboxSettings(network="none"), (), ()),
        (SandboxSettings(), ("network",), ("Beyond the sandbox it needs: the network.\n",)),
    ],
)
async def test_a_request_for_approval_says_whether_the_command_gets_the_network(
    tmp_path: Path, settings: SandboxSettings, needs: tuple[str, ...], words: tuple[str, ...]
) -> None:
    params = ExecuteCommandParams(command="ls", needs=needs)
    plan = await ExecuteCommand(sandbox=settings).plan(params, ToolContext(tmp_path, tmp_path))
    assert plan.shown == tuple(map(ShownText, words))


async def test_a_request_for_approval_says_that_there_is_no_sandbox(tmp_path: Path) -> None:
    tool = ExecuteCommand(sandbox=SandboxSettings(mode="off"))
    (shown,) = (await tool.plan(ExecuteCommandParams(command="ls"), ToolContext(tmp_path, tmp_path))).shown
    assert isinstance(shown, ShownText) and shown.text.startswith("It runs without a sandbox: it may use the network")
