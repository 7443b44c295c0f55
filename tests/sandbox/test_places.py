"""Workspaces in odd places, what is put over them, and races on the way."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from joey.policy.credentials import is_credential
from joey.sandbox import Sandbox, inside, landlock
from joey.sandbox.git import git_folders
from joey.sandbox.hidden import SECRETS
from joey.sandbox.mounts import layout, open_beneath, too_broad
from joey.system.secret_places import EMPTIED, ONLY_POLICY, ONLY_SANDBOX
from joey.system.secret_places import SECRET as SECRET_PLACES
from process_kit import all_ended_in, running_in
from sandbox_kit import MARK, PYTHON, SECRET, World, a_world, run_in


@pytest.fixture
def world() -> Iterator[World]:
    with a_world() as made:
        yield made


def test_a_workspace_behind_a_link(world: World) -> None:
    link = world.root / "link"
    link.symlink_to(world.workspace)
    sandbox = world.open("full", world.walls(link))
    assert world.inside(f"echo 1 > one && cat {link}/one && pwd -P", sandbox=sandbox).out == f"1\n{world.workspace}\n"
    assert world.inside("echo evil > .git/hooks/pre-commit", sandbox=sandbox).code != 0


def test_a_link_in_tmp_to_a_workspace(world: World, tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(world.workspace)
    sandbox = world.open("full", world.walls(link))
    assert world.inside(f"cat {link}/README.md", sandbox=sandbox).out == "# Project\n"


def test_a_workspace_in_tmp(world: World, tmp_path: Path) -> None:
    (tmp_path / "beside").write_text(SECRET)
    (tmp_path / "here").mkdir()
    sandbox = world.open("full", world.walls(tmp_path / "here"))
    ran = world.inside(f"echo 1 > one; cat {tmp_path}/beside", sandbox=sandbox)
    assert (tmp_path / "here/one").exists() and SECRET not in ran.out


@pytest.mark.parametrize("which", ["home", ".", "/", "/etc"])
def test_a_workspace_that_holds_far_more_than_a_project_is_read_only(world: World, which: str) -> None:
    """It is held, not refused: everything can be looked at, and nothing written."""
    folder = world.root / which
    sandbox = world.open("full", world.walls(folder))
    assert sandbox.held.level == "full" and "commands cannot write in it" in str(sandbox.held)
    ran = world.inside(f"echo x > new && echo {MARK}; echo evil >> ~/.bashrc && echo {MARK}", sandbox=sandbox)
    assert not ran.happened and not (folder / "new").exists()
    assert SECRET not in world.inside("cat ~/.ssh/id_ed25519 ~/.netrc", sandbox=sandbox).out


def test_nothing_is_left_behind_on_the_disk(world: World) -> None:
    def names() -> set[str]:
        return {str(each.relative_to(world.root)) for each in world.root.rglob("*") if ".cache/joey" not in str(each)}

    before = names()
    sandbox = world.open("full", world.walls())
    world.inside("true", sandbox=sandbox)
    world.close_sandbox(sandbox)
    assert names() == before


def test_it_dies_with_everything_in_it(world: World) -> None:
    sandbox = world.open("full", world.walls())
    daemons = "for _ in 1 2; do setsid -f nohup sleep 1000 >/dev/null 2>&1 </dev/null; done; sleep 0.3"
    assert world.inside(daemons, sandbox=sandbox).code == 0
    world.close_sandbox(sandbox)
    assert all_ended_in(world.workspace)


def test_what_is_left_of_a_partial_one_is_killed_too(world: World) -> None:
    sandbox = world.open("partial", world.walls())
    world.inside("setsid -f sleep 1000 >/dev/null 2>&1 </dev/null", sandbox=sandbox)
    world.loop.call(sandbox.holder.socket.close)  # type: ignore[union-attr]
    assert all_ended_in(world.workspace)


def test_a_partial_one_that_is_closed_takes_along_what_is_left(world: World) -> None:
    sandbox = world.open("partial", world.walls())
    assert (
        world.inside("for _ in 1 2; do setsid -f sleep 1000 >/dev/null 2>&1 </dev/null; done", sandbox=sandbox).code
        == 0
    )
    world.close_sandbox(sandbox)
    assert running_in(world.workspace) == [], "none of it is left when this returns"


@pytest.mark.parametrize("level", ["full", "partial"])
def test_the_process_inside_survives_what_commands_do_to_it(world: World, level: str) -> None:
    if level == "partial" and landlock.version() < 6:
        pytest.skip("the kernel cannot keep signals in; the guide says so")
    sandbox = world.open(level, world.walls())
    world.inside("kill -9 $PPID; kill -9 -1; true", sandbox=sandbox)
    assert world.inside("echo still here", sandbox=sandbox).out == "still here\n"


@pytest.mark.skipif(landlock.version() < 6, reason="the kernel cannot keep signals in; the guide says so")
def test_a_partial_one_survives_a_signal_to_each_of_its_threads(world: World) -> None:
    """Landlock looks at the thread that gets a signal, and SIGKILL to one ends the whole process."""
    sandbox = world.open("partial", world.walls())
    assert sandbox.holder is not None
    process = sandbox.holder.process
    world.inside("setsid -f sleep 1000 >/dev/null 2>&1 </dev/null", sandbox=sandbox)
    for thread in Path(f"/proc/{process.pid}/task").iterdir():
        assert world.inside(f"kill -9 {thread.name} 2>/dev/null", sandbox=sandbox).code != 0
    assert process.poll() is None
    world.close_sandbox(sandbox)
    assert running_in(world.workspace) == []


@pytest.mark.skipif(landlock.version() < 6, reason="the kernel cannot keep signals in; the guide says so")
def test_a_partial_one_that_was_stopped_from_inside_still_ends_with_everything_in_it(world: World) -> None:
    sandbox = world.open("partial", world.walls())
    assert sandbox.holder is not None
    (starter,) = sandbox.holder.children
    world.inside("setsid -f sleep 1000 >/dev/null 2>&1 </dev/null", sandbox=sandbox)
    world.inside(f"kill -STOP {starter}", sandbox=sandbox)
    with pytest.raises(TimeoutError):
        world.loop.run(run_in(sandbox, "true", world.environment), timeout=0.5)
    world.close_sandbox(sandbox)
    assert running_in(world.workspace) == []


def test_a_proc_that_cannot_be_read_is_no_error_at_the_end() -> None:
    assert inside._children("/proc/none/children") == []


def test_commands_of_a_partial_one_share_what_they_may_signal(world: World) -> None:
    sandbox = world.open("partial", world.walls())
    world.inside("sleep 1000 >/dev/null 2>&1 </dev/null & echo $! > pid", sandbox=sandbox)
    assert world.inside("kill $(cat pid)", sandbox=sandbox).code == 0


def test_root_inside_is_nobody_outside(world: World) -> None:
    ran = world.inside("cat /proc/self/uid_map; grep -E 'Cap(Prm|Eff|Bnd)' /proc/self/status | sort -u -k2")
    assert len(ran.out.splitlines()) == 2, "one user is mapped, and there are no capabilities"
    assert ran.out.split()[2] == "1" and ran.out.split()[-1] == "0" * 16


def test_a_git_file_cannot_make_a_folder_writable_that_does_not_point_back(world: World) -> None:
    other = world.root / "other"
    world.git("init", "-q", str(other), cwd=world.root)
    for named in (other / ".git", world.home / ".ssh", "../outside"):
        lying = world.root / "lying"
        lying.mkdir(exist_ok=True)
        (lying / ".git").write_text(f"gitdir: {named}\n")
        assert git_folders(lying) == ()
        sandbox = world.open("full", world.walls(lying, hide=(str(named),)))
        assert world.inside(f"touch {other}/.git/x {world.outside}/x {world.home}/.ssh/x", sandbox=sandbox).code != 0


def test_a_git_link_is_not_followed(world: World) -> None:
    lying = world.root / "lying"
    lying.mkdir()
    (lying / ".git").symlink_to(world.outside)
    assert git_folders(lying) == ()


def test_a_place_is_opened_without_following_a_link(world: World) -> None:
    (world.workspace / "deep").mkdir()
    (world.workspace / "deep/file").write_text("x")
    os.close(open_beneath(world.workspace, Path("deep/file")))
    (world.workspace / "swapped").symlink_to(world.home)
    for path in ("swapped", "swapped/.ssh", "swapped/.bashrc"):
        with pytest.raises(OSError, match=r"link|Not a directory|Too many"):
            open_beneath(world.workspace, Path(path))


def test_what_is_swapped_for_a_link_after_it_was_opened_is_not_mounted(world: World) -> None:
    places = layout(world.walls())
    try:
        source = next(each.source for each in places.mounts if each.place.endswith("/.envrc"))
        (world.workspace / ".envrc").rename(world.workspace / "old")
        (world.workspace / ".envrc").symlink_to(world.home / ".ssh/id_ed25519")
        assert isinstance(source, int)
        assert Path(f"/proc/self/fd/{source}").read_text() == "# mine\n"
    finally:
        places.close()


def test_too_broad_is_explained(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(world.home))
    assert too_broad(world.workspace) is None
    assert too_broad(world.home) == "the workspace is your home folder"
    assert too_broad(world.root) == f"the workspace ({world.root}) holds your home folder"


def test_hidden_and_shown_by_setting(world: World) -> None:
    walls = world.walls(hide=("~/.bashrc", str(world.outside)), show=("~/.netrc", "~/.config/joey"))
    sandbox = world.open("full", walls)
    assert "Permission denied" in world.inside("cat ~/.bashrc", sandbox=sandbox).out
    assert "Permission denied" in world.inside(f"ls {world.outside}", sandbox=sandbox).out
    assert world.inside("cat ~/.netrc", sandbox=sandbox).out == SECRET
    assert "Permission denied" in world.inside("ls ~/.config/joey", sandbox=sandbox).out, "Joey's own stay hidden"


KEPT_AT_HOME = (
    ".zsh_sessions/1.history", ".local/share/nu/history.txt", ".xonsh_history", ".histfile", ".bundle/config",
    ".Xauthority", ".vercel/auth.json", ".local/share/com.vercel.cli/auth.json", ".config/Bitwarden CLI/data.json",
    ".config/solana/id.json", ".vault_pass", ".vault_pass.txt", ".dbt/profiles.yml", ".snowsql/config", ".msmtprc",
    ".fetchmailrc", ".mc/config.json", ".influxdbv2/configs", ".tsh/keys/x", ".railway/config.json",
    ".config/filezilla/sitemanager.xml", ".config/remmina/x.remmina", ".vnc/passwd", ".roo/mcp.json", ".gdb_history",
    ".tig_history", ".ipython/profile_default/history.sqlite", ".local/state/node_repl_history", "passwords.kdbx",
    ".config/fish/fish_variables", ".local/share/jupyter/runtime/x.json", ".erlang.cookie", ".mbsyncrc", ".curlrc",
)  # fmt: skip


@pytest.mark.parametrize("level", ["full", "partial"])
def test_secrets_and_histories_of_many_programs_are_hidden(world: World, level: str) -> None:
    for name in KEPT_AT_HOME:
        (world.home / name).parent.mkdir(parents=True, exist_ok=True)
        (world.home / name).write_text(f"{SECRET} in {name}\n")
    sandbox = world.open(level, world.walls())
    assert SECRET not in world.inside("cd; find . -type f -exec cat {} + 2>/dev/null", sandbox=sandbox).out
    for name in KEPT_AT_HOME:
        assert is_credential(name.casefold()), f"the policy asks before file tools read {name}"


def test_what_the_sandbox_hides_and_what_the_policy_asks_about_are_the_same_places() -> None:
    hidden = [name for name in (*SECRETS, *EMPTIED) if name != "snap"]
    assert [name for name in hidden if not is_credential(name.casefold().replace("*", "x"))] == []
    kinds = (SECRET_PLACES, EMPTIED, ONLY_POLICY, ONLY_SANDBOX)
    assert len({name for kind in kinds for name in kind}) == sum(map(len, kinds)), "each is of one kind"


def test_a_folder_that_may_be_written(world: World) -> None:
    sandbox = world.open("full", world.walls(writable=(world.outside,)))
    assert world.inside(f"echo 1 > {world.outside}/new", sandbox=sandbox).code == 0
    assert (world.outside / "new").read_text() == "1\n"
    assert world.inside("echo 1 >> ~/.bashrc", sandbox=sandbox).code != 0


def test_caches_are_joeys_and_kept(world: World) -> None:
    sandbox = world.open("full", world.walls())
    assert world.inside("echo 1 > ~/.cache/tool; cat ~/.cache/made.txt", sandbox=sandbox).code != 0
    world.close_sandbox(sandbox)
    assert world.inside("cat ~/.cache/tool", sandbox=world.open("full", world.walls())).out == "1\n"
    assert not (world.home / ".cache/tool").exists()


def test_what_it_does_not_stop_is_in_the_guide(world: World) -> None:
    """A test for each, so that the guide changes when one of them does."""
    os.link(world.outside / "file", world.workspace / "linked-before")
    sandbox = world.open("full", world.walls())
    planted = "echo changed > linked-before; echo x > conftest.py; echo '{}' > package.json"
    assert world.inside(planted, sandbox=sandbox).code == 0
    assert (world.outside / "file").read_text() == "changed\n" and (world.workspace / "conftest.py").exists()
    many = "mkdir many && cd many && touch $(seq 3000) && ls | wc -l"
    assert world.inside(many, sandbox=sandbox).out == "3000\n"
    guide = (Path(__file__).parents[2] / "docs/guides/sandbox.md").read_text()
    for words in ("a hard link to one elsewhere", "tests, `package.json`", "the disk with many files"):
        assert words in guide


@pytest.mark.parametrize("command", ["chmod 700 ~/.ssh", "chmod 700 ~/.ssh; echo mine > ~/.ssh/config"])
def test_a_hidden_folder_takes_nothing_that_would_be_lost(world: World, command: str) -> None:
    ran = world.inside(command)
    assert ran.code != 0 and "Read-only file system" in ran.out, ran.out


# The command line


def joey(world: World, *words: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [PYTHON, "-m", "joey", "sandbox", *words], cwd=cwd or world.workspace, env={**world.environment},
        capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip


@pytest.fixture
def full(world: World) -> Sandbox:
    """Skips where there is none."""
    return world.open("full")


@pytest.mark.usefixtures("full")
def test_the_command_line_tries_the_walls(world: World) -> None:
    found = json.loads(joey(world, "--json", "test").stdout)
    assert found["level"] == "full" and all(each["held"] for each in found["trials"])
    assert {"write in the home folder", "reach another machine", "write to .git/config"} <= {
        each["name"] for each in found["trials"]
    }
    assert "ok  write in /etc" in joey(world, "test").stdout


@pytest.mark.usefixtures("full")
def test_the_command_line_runs_a_command_inside(world: World) -> None:
    ran = joey(world, "--", "sh", "-c", "echo out; echo err >&2; touch ~/new; exit 7")
    assert ran.returncode == 7 and ran.stdout == "out\n" and "Read-only file system" in ran.stderr
    assert joey(world, "--", "no-such-program").returncode == 127
    assert joey(world, "--", "sh", "-c", "kill -9 $$").returncode == 137
    wrong = joey(world, "make", "test")
    assert wrong.returncode == 2 and "joey sandbox -- make test" in wrong.stderr


@pytest.mark.usefixtures("full")
def test_the_command_line_names_the_walls_that_programs_do_not(world: World) -> None:
    config = joey(world, "--", "git", "config", "core.pager", "evil")
    assert config.returncode != 0 and "git's hooks and configuration are read-only" in config.stderr
    docker = world.workspace / "docker"
    docker.write_text("#!/bin/sh\nexit $1\n")
    docker.chmod(0o755)
    assert "no sockets of services such as Docker" in joey(world, "--", "./docker", "1").stderr
    for fine in (["./docker", "0"], ["git", "status"], ["false"]):
        assert joey(world, "--", *fine).stderr == ""


def test_what_a_guarded_link_leads_to_is_covered_too(world: World) -> None:
    for link, target in (
        ("CLAUDE.md", "ag/a.md"),
        (".idea", "conf"),
        (".zed", "."),
        (".nvim.lua", "gone"),
        (".exrc", ".exrc"),
    ):
        if target.endswith(".md"):
            (world.workspace / "ag").mkdir()
            (world.workspace / target).write_text("mine\n")
        if target == "conf":
            (world.workspace / "conf").mkdir()
        (world.workspace / link).symlink_to(target)
    sandbox = world.open("full", world.walls())
    assert world.inside(f"echo evil > ag/a.md && echo {MARK}", sandbox=sandbox).code != 0
    assert world.inside(f"echo evil > conf/tasks.json && echo {MARK}", sandbox=sandbox).code != 0
    assert (world.workspace / "ag/a.md").read_text() == "mine\n"
    assert world.inside("echo fine > ag/b.md", sandbox=sandbox).code == 0


def test_the_git_file_of_a_linked_worktree_is_covered(world: World) -> None:
    world.git("worktree", "add", "-q", str(world.root / "linked"))
    sandbox = world.open("full", world.walls(world.root / "linked"))
    before = (world.root / "linked/.git").read_text()
    for command in ("echo 'gitdir: ./evil' > .git", "mv .git other", "rm -f .git"):
        assert world.inside(command, sandbox=sandbox).code != 0, command
    assert (world.root / "linked/.git").read_text() == before
    assert world.inside("git commit -q --allow-empty -m x", sandbox=sandbox).code == 0


def test_what_git_s_configuration_names_is_covered_too(world: World) -> None:
    for name in ("githooks", "inc"):
        (world.workspace / name).mkdir()
    (world.workspace / "inc/settings").write_text("[user]\n\tname = Ann\n")
    with (world.workspace / ".git/config").open("a") as config:
        config.write("[core]\n\thooksPath = githooks\n[include]\n\tpath = ../inc/settings\n")
    sandbox = world.open("full", world.walls())
    assert world.inside("echo evil > githooks/pre-commit", sandbox=sandbox).code != 0
    assert world.inside("echo evil > inc/settings", sandbox=sandbox).code != 0
    assert world.inside("git status && echo fine > inc/other", sandbox=sandbox).code == 0


@pytest.mark.parametrize("level", ["full", "partial"])
def test_what_is_hidden_stays_hidden_in_a_folder_that_may_be_written(world: World, level: str) -> None:
    data = world.root / f"data-{level}"
    for name in ("closed", "open", "deep/closed"):
        (data / name).mkdir(parents=True)
        (data / name / "file").write_text(SECRET)
    config = world.home / ".config"
    hide = (str(data / "closed"), str(data / "deep/closed"))
    sandbox = world.open(level, world.walls(writable=(data, config), hide=hide, own=(config / "joey",)))
    settings = (config / "joey/config.toml").read_text()
    for place in (data / "closed/file", data / "deep/closed/file", config / "joey/config.toml"):
        assert SECRET not in world.inside(f"cat {place}", sandbox=sandbox).out
        assert world.inside(f"echo x >> {place}", sandbox=sandbox).code != 0
        assert world.inside(f"mv {place.parent} {data}/open/moved", sandbox=sandbox).code != 0
    assert world.inside(f"cat {data}/open/file && echo x > {data}/open/new", sandbox=sandbox).code == 0
    assert (config / "joey/config.toml").read_text() == settings


@pytest.mark.parametrize("level", ["full", "partial"])
def test_a_place_of_the_workspace_is_hidden_by_a_setting(world: World, level: str) -> None:
    place = world.workspace / "deep" / "private"
    place.mkdir(parents=True, exist_ok=True)
    (place / "file").write_text(SECRET)
    (world.workspace / "src").mkdir(exist_ok=True)
    sandbox = world.open(level, world.walls(hide=(str(place),)))
    assert SECRET not in world.inside("cat deep/private/file", sandbox=sandbox).out
    assert world.inside("echo 1 > deep/private/file", sandbox=sandbox).code != 0
    assert world.inside("mv deep other && cat other/private/file", sandbox=sandbox).code != 0
    assert world.inside("echo 1 > src/new", sandbox=sandbox).code == 0
