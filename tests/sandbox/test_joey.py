"""Joey as people run it: what holds, what is refused where it does not, and that nothing outlives it."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import platform
import pty
import signal
import struct
import sys
from pathlib import Path
from typing import Any

import pytest

from joey.sandbox import inside, landlock
from joey.sandbox.seccomp import ARCHITECTURES, filter_for
from joey.testing.script import Scripted, reply
from joey.testing.server import LocalServer
from joey_process import JoeyProcess, Ran, call, done
from process_kit import all_ended_in, running_in
from sandbox_kit import MARK, SECRET, World

NOT_UNDERSTOOD = "for f in one two; do echo $f > $f.txt; done; echo evil >> ~/.bashrc; cat ~/.ssh/id; echo $((1+1))"


@pytest.fixture
def joey(tmp_path: Path, world: World) -> JoeyProcess:
    world.open("full")  # skips where there is none
    made = JoeyProcess(tmp_path)
    made.write("~/.bashrc", "# mine\n")
    made.write("~/.ssh/id", SECRET)
    return made


def command(text: str, **more: Any) -> Scripted:
    return reply(call("1", "execute_command", command=text, **more))


async def test_in_auto_commands_run_unasked_and_are_held(joey: JoeyProcess) -> None:
    ran = await joey.run([command(NOT_UNDERSTOOD), done()], "go", "--approve", "auto")
    assert ran.code == 0, ran.err
    assert "Sandbox: full (bubblewrap), no network" in ran.err
    assert (joey.workspace / "two.txt").exists()
    assert (joey.home / ".bashrc").read_text() == "# mine\n" and SECRET not in ran.sent(1)
    journals = list((joey.home / ".local/state/joey/tasks").glob("*/journal.jsonl"))
    records = [json.loads(line) for line in journals[0].read_text().splitlines()]
    held = [each for each in records if each.get("type") == "run_confined"]
    assert [(each["call_id"], each["level"], each["network"]) for each in held] == [("1", "full", "none")]


@pytest.mark.parametrize(
    "denied",
    [{"text": "echo x > new.txt"}, {"text": "true", "needs": ["network"]}, {"text": "true", "needs": ["outside"]}],
)
async def test_in_auto_deny_rules_stay_and_nothing_more_is_given(joey: JoeyProcess, denied: dict[str, Any]) -> None:
    ran = await joey.run([command(**denied), done()], "go", "--approve", "auto", "--deny", "echo")
    assert not (joey.workspace / "new.txt").exists()
    assert "denied" in ran.sent(1).rpartition("tool_result")[2]


async def test_auto_is_refused_before_anything_is_sent_where_the_sandbox_is_off(joey: JoeyProcess) -> None:
    ran = await joey.run([done()], "go", "--approve", "auto", "--sandbox", "off")
    assert ran.code == 2 and ran.requests == () and "sandbox = off" in ran.err


async def test_a_project_can_only_tighten_it(joey: JoeyProcess) -> None:
    joey.write(".joey/config.toml", 'sandbox = "off"\nsandbox_network = "on"\nsandbox_show = ["~/.ssh"]\n')
    assert (await joey("tools", "--trust")).code == 0
    ran = await joey.run([command("cat ~/.ssh/id"), done()], "go", "--approve", "edits", "--allow", "cat *")
    assert "only your own file may" in ran.err and SECRET not in ran.sent(1)
    joey.write(".joey/config.toml", 'sandbox = "require"\n')
    shown = await joey("config", "--json")
    assert '"require"' in shown.out


async def test_nothing_outlives_joey_even_if_it_is_killed(joey: JoeyProcess) -> None:
    background = command("setsid -f sleep 1000 >/dev/null 2>&1; sleep 1000", background=True)
    async with LocalServer(
        [background, reply("Waiting.", call("w", "execute_command", command="sleep 1000"))]
    ) as model:
        options = ("--model", "anthropic/scripted", "--base-url", model.anthropic_url, "--approve", "all")
        process = await joey.start("run", "go", *options)
        for _ in range(600):
            if len(running_in(joey.workspace)) >= 4:  # Joey itself, and the three that sleep
                break
            await asyncio.sleep(0.05)
        else:
            raise AssertionError("the commands did not start")
        process.send_signal(signal.SIGKILL)
        await process.communicate()
        assert await asyncio.to_thread(all_ended_in, joey.workspace)


async def test_what_is_planted_at_the_very_end_is_moved_aside_and_the_user_is_warned(joey: JoeyProcess) -> None:
    loop = "(while :; do echo evil > CLAUDE.md; done) >/dev/null 2>&1 &"
    ran = await joey.run([command(loop), command("true"), done()], "go", "--approve", "auto", "--json")
    events = [json.loads(line) for line in ran.out.splitlines()]
    kinds = [each["event"]["type"] if "event" in each else each["type"] for each in events]
    assert kinds[-2:] == ["files_left_behind", "task_finished"], kinds
    assert not (joey.workspace / "CLAUDE.md").exists() and "CLAUDE.md" in ran.out.splitlines()[-2]
    (journal,) = (joey.home / ".local/state/joey/tasks").glob("*/journal.jsonl")
    assert "files_found" in journal.read_text()
    ran = await joey.run([command(loop), done()], "go", "--approve", "auto")
    assert "! commands left files behind that run or steer programs later: CLAUDE.md" in ran.err, ran.err


# Where there is less


def refusing(*numbers: int) -> bytes:
    """A filter that answers to these system calls as if the kernel did not have them."""
    program = [(0x20, 0, 0, 0)]
    for number in numbers:
        program += [(0x15, 0, 1, number), (0x06, 0, 0, 0x00050000 | 38)]
    return b"".join(struct.pack("HBBI", *each) for each in (*program, (0x06, 0, 0, 0x7FFF0000)))


def without(filters: list[bytes], *args: str) -> list[str]:
    code = (
        "import os, sys\nfrom joey.sandbox import inside\ninside._prctl(38, 1)\n"
        f"for each in {filters!r}: inside._seccomp(each)\n"
        "os.execv(sys.executable, [sys.executable, '-m', 'joey', *sys.argv[1:]])"
    )
    return [sys.executable, "-c", code, *args]


NO_NAMESPACES = filter_for(platform.machine(), namespaces=True, sockets="network") or b""
NO_LANDLOCK = refusing(444, 445, 446)


async def run_without(joey: JoeyProcess, filters: list[bytes], *args: str) -> Ran:
    environment = {"PATH": joey.path, "HOME": str(joey.home), "ANTHROPIC_API_KEY": "k"}
    process = await asyncio.create_subprocess_exec(
        *without(filters, *args), cwd=joey.workspace, env=environment, stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip
    out, err = await process.communicate()
    return Ran(process.returncode or 0, out.decode(), err.decode())


@pytest.mark.parametrize(
    ("filters", "level"),
    [([NO_NAMESPACES], "partial"), ([NO_NAMESPACES, NO_LANDLOCK], "none")],
    ids=["partial", "none"],
)
async def test_where_namespaces_are_refused_it_says_what_holds_and_why(
    joey: JoeyProcess, filters: list[bytes], level: str
) -> None:
    found = json.loads((await run_without(joey, filters, "sandbox", "--json")).out)
    assert found["level"] == level
    assert "namespace" in found["why"].lower() and "user namespaces" in found["advice"]
    doctor = await run_without(joey, filters, "doctor", "--json")
    assert next(each for each in json.loads(doctor.out) if each["subject"] == "sandbox")["state"] == "note"


@pytest.mark.parametrize("filters", [[NO_NAMESPACES], [NO_NAMESPACES, NO_LANDLOCK]], ids=["partial", "none"])
async def test_auto_and_require_are_refused_there(joey: JoeyProcess, filters: list[bytes]) -> None:
    async with LocalServer([command("touch ran"), done()]) as model:
        options = ("--model", "anthropic/scripted", "--base-url", model.anthropic_url)
        auto = await run_without(joey, filters, "run", "go", *options, "--approve", "auto")
        assert auto.code == 2 and "needs a full sandbox" in auto.err and not model.requests
        await run_without(joey, filters, "run", "go", *options, "--approve", "all", "--sandbox", "require")
        assert "want a full sandbox" in json.dumps(model.requests[1].body)
    assert not (joey.workspace / "ran").exists()


async def test_a_partial_sandbox_holds_all_the_same(joey: JoeyProcess) -> None:
    async with LocalServer([command(NOT_UNDERSTOOD), done()]) as model:
        options = ("--model", "anthropic/scripted", "--base-url", model.anthropic_url, "--approve", "all")
        ran = await run_without(joey, [NO_NAMESPACES], "run", "go", *options)
        assert "! Sandbox: partial (Landlock" in ran.err and "user namespaces" in ran.err
        assert SECRET not in json.dumps(model.requests[1].body)
    assert (joey.workspace / "two.txt").exists() and (joey.home / ".bashrc").read_text() == "# mine\n"


REACH_THE_TERMINAL = f"""
import ctypes, fcntl, os
libc = ctypes.CDLL(None, use_errno=True)
for place in ("/dev/tty", os.readlink("/proc/self/fd/0")):
    try: os.open(place, os.O_RDWR | os.O_NOCTTY); print("{MARK} open", place)
    except OSError as error: print("refused", place, error)
for request in (0x5412, 0x541C, 0x540E):
    print("{MARK}" if libc.ioctl(0, ctypes.c_ulong(request), b"x") == 0 else "refused", hex(request))
print("written to its own output")
"""


@pytest.mark.usefixtures("joey")
@pytest.mark.parametrize("filters", [[], [NO_NAMESPACES]], ids=["full", "partial"])
def test_a_command_has_the_descriptors_of_a_terminal_and_no_way_into_it(
    world: World, filters: list[bytes], tmp_path: Path
) -> None:
    """`joey sandbox -- COMMAND` in a terminal: it writes to it, and can neither open it, type into it nor take it."""
    script = world.workspace / "reach.py"
    script.write_text(REACH_THE_TERMINAL)
    argv = without(filters, "sandbox", "--", sys.executable, "-I", str(script))
    process, terminal = pty.fork()
    if process == 0:
        os.chdir(world.workspace)
        os.execve(argv[0], argv, {"PATH": os.environ["PATH"], "HOME": str(tmp_path)})
    shown = bytearray()
    with contextlib.suppress(OSError):  # when nobody has it open any more
        while piece := os.read(terminal, 4096):
            shown += piece
    os.waitpid(process, 0)
    os.close(terminal)
    assert b"written to its own output" in shown and shown.count(b"refused") == 5, shown.decode()
    assert MARK.encode() not in shown


async def test_a_command_in_a_terminal_of_its_own_works_in_a_partial_sandbox(joey: JoeyProcess) -> None:
    async with LocalServer([command("test -t 1 && echo it is one", terminal=True), done()]) as model:
        options = ("--model", "anthropic/scripted", "--base-url", model.anthropic_url, "--approve", "all")
        await run_without(joey, [NO_NAMESPACES], "run", "go", *options)
        assert "it is one" in json.dumps(model.requests[1].body).rpartition("tool_result")[2]


@pytest.mark.parametrize("network", ["none", "on"])
async def test_what_a_partial_sandbox_does_not_stop_is_shown(joey: JoeyProcess, network: str) -> None:
    ran = await run_without(joey, [NO_NAMESPACES], "sandbox", "--network", network, "--json", "test")
    found = json.loads(ran.out)
    gaps = landlock.gaps(landlock.version(), network)  # type: ignore[arg-type]
    assert found["does_not_stop"] == list(gaps) and ("unix sockets" in gaps[-1]) == (network == "on")
    failed = {each["name"] for each in found["trials"] if not each["held"]}
    expected = {"see processes outside", "chmod a file outside"}
    assert failed == (expected | {"reach the socket of a service"} if network == "on" else expected), found["trials"]
    shown = (await run_without(joey, [NO_NAMESPACES], "sandbox", "--network", network)).out
    assert all(f"- {each}" in shown for each in gaps)


async def test_the_demo_works_inside_a_sandbox(joey: JoeyProcess, world: World) -> None:
    ran = world.inside(f"cd /tmp && {sys.executable} -m joey demo --yes", more={"HOME": "/tmp"})
    assert ran.code == 0, ran.out
    assert "200 application/json" in ran.out


OLD = {"iopl", "ioperm", "uselib", "open", "creat", "mkdir", "mknod", "chmod"}
"""What newer architectures never had."""


def test_both_tables_of_numbers_name_the_same_calls() -> None:
    first, second = (set(each.numbers) for each in ARCHITECTURES.values())
    assert first - second == OLD and not second - first
    assert filter_for("riscv64", namespaces=True, sockets="network") is None
    assert os.path.basename(inside.__file__) == "inside.py"  # noqa: PTH119


@pytest.mark.parametrize(("rule", "network"), [("ls", "no network"), ("ls +network", "network")])
async def test_a_rule_gives_the_network_only_if_it_says_so(joey: JoeyProcess, rule: str, network: str) -> None:
    ran = await joey.run([command("ls"), done()], "go", "--allow", rule)
    assert ran.code == 0, ran.err
    assert f"Sandbox: full (bubblewrap), {network}\n" in ran.err
