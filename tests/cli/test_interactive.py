"""`joey` as people start it: in a real terminal (tmux), against a local server that speaks the provider's format."""

from __future__ import annotations

import asyncio
import io
import os
import re
import shlex
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from joey import protocols
from joey.app.services import Choices, Services
from joey.app.tasks import TaskOptions, task_store
from joey.errors import UsageError
from joey.journal.records import ProfileSet, TaskOpened
from joey.messages import ToolUseBlock
from joey.providers import MissingKeyError
from joey.terminal.plain.app import Plain
from joey.terminal.slash import resume_task, run_command
from joey.testing.hello_model import HelloModel, notes
from joey.testing.script import Faults, reply
from joey.testing.server import LocalServer

needs_tmux = pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not installed")


def call(call_id: str, name: str, **arguments: Any) -> ToolUseBlock:
    return ToolUseBlock(call_id, name, arguments)


class Tmux:
    """A terminal of its own, with its own server."""

    def __init__(self, folder: Path) -> None:
        self._scratch, self._started = folder, 0
        self._folder = folder / "project"
        self._folder.mkdir()
        (folder / "home").mkdir()
        kept = {key: value for key, value in os.environ.items() if not key.endswith("_API_KEY") and key != "TMUX"}
        self._environment = {
            **kept,
            "HOME": str(folder / "home"),
            "ANTHROPIC_API_KEY": "test",
            "TERM": "xterm-256color",
            "COLUMNS": "80",  # as some shells export them; the window's own size counts all the same
            "LINES": "24",
        }

    def __call__(self, *args: str) -> str:
        command = ["tmux", "-S", str(self._scratch / f"tmux{self._started}"), "-f", os.devnull, *args]
        done = subprocess.run(command, env=self._environment, cwd=self._folder, capture_output=True, text=True)
        return done.stdout

    def start(self, *args: str, size: tuple[int, int] = (80, 24), environment: dict[str, str] | None = None) -> None:
        self._started += 1  # a server of its own: the one before may still be on its way out
        width, height = map(str, size)
        settings = [f"{name}={value}" for name, value in (environment or {}).items()]
        command = shlex.join(["env", *settings, sys.executable, "-m", "joey", *args])
        self("new-session", "-d", "-x", width, "-y", height, f"{command}; echo ENDED $?; exec cat")

    def type(self, *keys: str) -> None:
        self("send-keys", *keys)

    def record(self, file: Path) -> None:
        """Write down what the program sends to the terminal, byte by byte."""
        self("pipe-pane", "-o", f"cat > {shlex.quote(str(file))}")

    async def until(self, *texts: str, gone: bool = False) -> str:
        """Wait until one of these is on the screen, or none of them any more."""
        text = texts[0]
        for _ in range(600):
            screen = self("capture-pane", "-p")
            if any(text in screen for text in texts) is not gone:
                return screen
            await asyncio.sleep(0.1)
        raise AssertionError(f"{text!r} is not on the screen:\n{self('capture-pane', '-p')}")


@pytest.fixture
def tmux(tmp_path: Path) -> Iterator[Tmux]:
    made = Tmux(tmp_path)
    yield made
    made("kill-server")


@needs_tmux
async def test_a_task_is_typed_approved_and_accepted_in_a_real_terminal(tmux: Tmux, tmp_path: Path) -> None:
    script = [
        reply("Writing.", call("w", "write_to_file", path="a.txt", file_text="hello\n")),
        reply(call("d1", "attempt_completion", result="Wrote a.txt.")),
        reply("Slowly. " * 40, faults=Faults(pause=0.5)),
    ]
    async with LocalServer(script) as server:
        tmux.start("--model", "anthropic/scripted", "--base-url", server.anthropic_url)
        await tmux.until("What would you like to do?")
        tmux.type("Write a.txt", "Enter")
        assert "+hello" in await tmux.until("y yes")
        tmux("resize-window", "-x", "120", "-y", "40")
        assert "+hello" in await tmux.until("y yes")
        tmux.type("y")
        await tmux.until("Enter accepts")
        assert (tmp_path / "project/a.txt").read_text() == "hello\n"
        tmux.type("and", "Space", "b", "Enter")
        await tmux.until("Slowly.")
        tmux.type("Escape")
        await tmux.until("Stopped: interrupted by the user")
        tmux.type("C-q")
        await tmux.until("ENDED 0")


@needs_tmux
async def test_an_interrupted_task_is_resumed_where_it_was(tmux: Tmux) -> None:
    script = [
        reply("Slowly. " * 40, faults=Faults(pause=0.5)),
        reply(call("d1", "attempt_completion", result="Went on.")),
    ]
    async with LocalServer(script) as server:
        options = ("--model", "anthropic/scripted", "--base-url", server.anthropic_url)
        tmux.start(*options)
        await tmux.until("What would you like to do?")
        tmux.type("Begin", "Enter")
        await tmux.until("Slowly.")
        tmux.type("C-q")
        await tmux.until("ENDED 0")
        tmux("kill-server")
        tmux.start(*options, "--resume", "last")
        assert "› Begin" in await tmux.until("press Enter")
        tmux.type("Enter")
        await tmux.until("Enter accepts")
        tmux.type("Enter")
        tmux.type("/quit", "Enter")
        await tmux.until("ENDED 0")


COLOUR = re.compile(rb"\x1b\[(?:[0-9;:]*[;:])?(?:3[0-9]|4[0-9]|9[0-7]|10[0-7])(?:[;:][0-9;:]*)?m")


@needs_tmux
async def test_a_long_sitting_in_a_real_terminal_without_colour(tmux: Tmux, tmp_path: Path) -> None:
    """The demo's model, from the first word to the last: leave, feedback, other sizes, an interruption, resuming."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    (tmp_path / "project/notes.md").write_text(notes(port))
    model = HelloModel(protocols.get("native"), port, faults=Faults(pause=0.02))
    async with LocalServer(model) as server:
        options = ("--model", "anthropic/scripted", "--base-url", server.anthropic_url)
        tmux.start(*options, environment={"NO_COLOR": "1"})
        tmux.record(tmp_path / "sent")
        await tmux.until("What would you like to do?")
        tmux.type("Write the server", "Enter")
        await approve_all(tmux)
        assert "def do_GET" in (tmp_path / "project/server.py").read_text()
        tmux("resize-window", "-x", "200", "-y", "60")
        assert "server.py answers GET /hello" in await tmux.until("─" * 190)
        tmux.type("in", "Space", "JSON", "Enter")
        assert "application/json" in await tmux.until("y yes")  # the diff
        tmux("resize-window", "-x", "80", "-y", "24")
        await tmux.until("━" * 100, gone=True)
        await tmux.until("y yes")
        tmux.type("y")
        await tmux.until("The old server")
        tmux.type("Escape")
        await tmux.until("Stopped: interrupted by the user")
        tmux.type("C-q")
        await tmux.until("ENDED 0")
        tmux("kill-server")
        tmux.start(*options, "--resume", "last", environment={"NO_COLOR": "1"}, size=(120, 40))
        # At a request it waits for the user; where the reply still came, Enter would continue it.
        assert "apply_diff" in await tmux.until("ype a message")
        tmux.type("continue", "Enter")
        await approve_all(tmux)
        await tmux.until("now answers in JSON")
        tmux.type("Enter")
        await tmux.until("Enter accepts", gone=True)
        tmux.type("Up", "Up")  # what was said before is still there
        await tmux.until("in JSON ")
        tmux.type("C-q")
        await tmux.until("ENDED 0")
    sent = (tmp_path / "sent").read_bytes()
    assert b"Approval required" in sent
    assert not COLOUR.search(sent), "NO_COLOR was set"


async def approve_all(tmux: Tmux) -> None:
    """Say yes until there is a result."""
    while "Enter accepts" not in await tmux.until("y yes", "Enter accepts"):
        tmux.type("y")
        await tmux.until("y yes", gone=True)


def run(*args: str, **environment: str) -> subprocess.CompletedProcess[str]:
    kept = {key: value for key, value in os.environ.items() if not key.endswith("_API_KEY")}
    return subprocess.run(
        [sys.executable, *args], env={**kept, **environment}, stdin=subprocess.DEVNULL, capture_output=True, text=True
    )


@pytest.fixture
def at_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user with nothing set up."""
    for name in list(os.environ):
        if name.startswith("JOEY_") or name.endswith("_API_KEY"):
            monkeypatch.delenv(name)
    for name in ("HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME"):
        monkeypatch.setenv(name, str(tmp_path))
    return tmp_path


def test_the_settings_hold_in_the_terminal_too(at_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (at_home / "joey").mkdir()
    (at_home / "joey/config.toml").write_text('model = "ollama/qwen3"\nmode = "ask"\n')
    assert Services(TaskOptions(workspace=at_home)).first_choices() == Choices("ask", "ollama/qwen3")
    assert Services(TaskOptions(at_home, {"mode": "code"})).first_choices(None) == Choices("code", "ollama/qwen3")
    monkeypatch.setenv("JOEY_MODEL", "ollama/other")
    assert Services(TaskOptions(workspace=at_home)).first_choices().model == "ollama/other"


LOCAL = "http://127.0.0.1:9/v1"


def saved(at_home: Path, folder: Path, model: str = "openai/fake", address: str | None = LOCAL) -> str:
    """The id of a task that began with this model at this address."""
    store = task_store()
    task_id = f"20260101-{len(store.entries())}"
    with store.open(task_id) as journal:
        journal.append(TaskOpened(task_id, "Do it", str(folder), "debug", model, "native", base_url=address))
    return task_id


@pytest.mark.parametrize(
    ("flags", "model", "address"),
    [
        ({}, "openai/fake", LOCAL),
        ({"mode": "ask"}, "openai/fake", LOCAL),
        ({"model": "openai/other"}, "openai/other", LOCAL),
        ({"model": "ollama/other"}, "ollama/other", None),
        ({"base_url": "http://127.0.0.1:10"}, "openai/fake", "http://127.0.0.1:10"),
    ],
)
@pytest.mark.parametrize("way", ["-c", "-r"])
def test_a_resumed_task_keeps_its_model_and_server_unless_others_are_named(
    at_home: Path, flags: dict[str, str], model: str, address: str | None, way: str
) -> None:
    (at_home / "joey").mkdir()
    (at_home / "joey/config.toml").write_text('model = "ollama/qwen3"\n')
    task_id, services = saved(at_home, at_home), Services(TaskOptions(at_home, flags))
    front = Plain(services, services.first_choices("last" if way == "-c" else None), io.StringIO())
    shown = resume_task(front, "last")
    choices = front.session.choices
    assert (choices.resume, choices.model, choices.base_url) == (task_id, model, address)
    assert front.session.status.model == model
    assert ("as the command line says" in shown) == ((model, address) != ("openai/fake", LOCAL))


def test_what_was_named_for_one_task_is_not_used_for_another_that_is_resumed(at_home: Path) -> None:
    first, second = saved(at_home, at_home), saved(at_home, at_home, "openai/gpt", None)
    services = Services(TaskOptions(at_home, {"model": "openai/fake", "base_url": LOCAL}))
    front = Plain(services, services.first_choices(first), io.StringIO())
    for task_id, address in ((first, LOCAL), (second, None), (first, LOCAL)):
        resume_task(front, task_id)
        assert front.session.choices.base_url == address


def test_a_task_that_is_open_elsewhere_is_named_with_its_process_at_once(at_home: Path) -> None:
    task_id, services = saved(at_home, at_home), Services(TaskOptions(at_home))
    front = Plain(services, services.first_choices("last"), io.StringIO())
    with task_store().open(task_id):
        shown = resume_task(front, "last")
    assert "This task is open elsewhere (" in shown and "); close it there first, then type a message" in shown
    if Path("/proc/locks").exists():
        assert f"(process {os.getpid()}" in shown
    assert "open elsewhere" not in resume_task(front, "last")


def test_a_new_task_keeps_the_model_and_server_of_the_resumed_one(at_home: Path) -> None:
    saved(at_home, at_home)
    services = Services(TaskOptions(at_home))
    front = Plain(services, services.first_choices("last"), io.StringIO())
    resume_task(front, "last")
    run_command(front, "/new")
    choices = front.session.choices
    assert (choices.resume, choices.model, choices.base_url) == (None, "openai/fake", LOCAL)
    run_command(front, "/model ollama/qwen3")
    assert front.session.choices.base_url is None, "a server of another provider's gets neither text nor key"
    front.session.choose(model="openai/another")
    assert front.session.choices.base_url == LOCAL


@pytest.mark.parametrize(
    ("flags", "kept", "before", "after", "expected"),
    [
        ({}, "plan", "", "", "plan"),
        ({}, "plan", "edits", "", "plan"),
        ({}, "plan", "", "edits", "edits"),
        ({}, "edits", "plan", "ask", "ask"),
        ({}, "", "plan", "", "ask"),
        ({}, "all", "", "", "ask"),
        ({"approvals.profile": "plan"}, "edits", "", "", "plan"),
    ],
)
async def test_a_new_task_has_the_profile_that_was_shown_when_it_was_begun(
    at_home: Path, flags: dict[str, str], kept: str, before: str, after: str, expected: str
) -> None:
    task_id, services = saved(at_home, at_home), Services(TaskOptions(at_home, {"model": "openai/fake", **flags}))
    with task_store().open(task_id) as journal:
        journal.append(ProfileSet(kept))
    front = Plain(services, services.first_choices(), io.StringIO())
    session = front.session
    if before:
        session.set_profile(before)
    resume_task(front, "last")
    if after:
        session.set_profile(after)
    shown = session.status.profile
    run_command(front, "/new")
    assert shown == session.status.profile == session.profile == expected
    async with session.services.open("More", session.choices, lambda *_: None) as task:
        assert task.profile == expected


async def test_a_new_task_after_one_with_the_profile_of_the_settings_has_all_of_the_settings(at_home: Path) -> None:
    saved(at_home, at_home)
    services = Services(TaskOptions(at_home, {"model": "openai/fake", "approvals.writes": "allow"}))
    front = Plain(services, services.first_choices(), io.StringIO())
    resume_task(front, "last")
    run_command(front, "/new")
    assert front.session.choices.profile is None and front.session.status.profile == "ask"


async def test_the_server_of_a_task_is_saved_with_it_and_used_again(
    at_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "key-of-the-test")
    monkeypatch.setenv("JOEY_BASE_URL", LOCAL)
    services = Services(TaskOptions(at_home, {"model": "openai/fake"}))
    async with services.open("Do it", services.first_choices(), lambda *_: None) as task:
        assert task.state.opened and task.state.opened.base_url == LOCAL
    monkeypatch.delenv("JOEY_BASE_URL")
    front = Plain(Services(TaskOptions(at_home)), Choices("code", "openai/gpt"), io.StringIO())
    for line in ("/resume last", "/new"):
        run_command(front, line)
        async with front.session.services.open("More", front.session.choices, lambda *_: None) as task:
            front.session.began(task)
            assert (task.config.model.full_name, task.config.model.base_url) == ("openai/fake", LOCAL)
        front.session.ended()


async def test_a_task_that_is_resumed_from_another_folder_is_worked_on_in_its_own(at_home: Path) -> None:
    there, here = at_home / "there", at_home / "here"
    for folder in (there, here):
        (folder / ".joey").mkdir(parents=True)
    (there / "mine.txt").touch()
    task_id, services = saved(at_home, there), Services(TaskOptions(here, {"model": "openai/fake"}))
    front = Plain(services, services.first_choices(), io.StringIO())
    assert f"It works in {there}, and so does this terminal now." in resume_task(front, task_id)
    assert front.session.services.folder == there
    assert "mine.txt" in front.session.services.files()
    entry = front.session.command_line.entry("!pwd")
    await front.session.command_line.run(entry, lambda _text: None)
    await front.session.close()
    assert entry.output.text.strip() == str(there)


def test_a_task_whose_folder_is_gone_or_that_is_not_there_is_refused_before_the_screen_opens(at_home: Path) -> None:
    services = Services(TaskOptions(at_home))
    with pytest.raises(UsageError, match="there are no tasks yet"):
        services.first_choices("last")
    task_id = saved(at_home, at_home / "gone")
    with pytest.raises(UsageError, match=r"gone, which is no folder any more; put it back there"):
        services.first_choices(task_id)
    with pytest.raises(UsageError, match=r"no task works in .*; `joey tasks` lists those of other folders"):
        services.first_choices("last")


def test_a_wrong_mode_and_no_model_are_reported_before_the_screen_opens(at_home: Path) -> None:
    saved(at_home, at_home)
    with pytest.raises(UsageError, match="did you mean 'code'"):
        Services(TaskOptions(at_home, {"mode": "coed"})).first_choices("last")
    with pytest.raises(MissingKeyError, match="no model is configured"):
        Services(TaskOptions(workspace=at_home)).first_choices()


def test_the_services_tell_what_there_is_here(at_home: Path) -> None:
    (at_home / "src").mkdir()
    (at_home / "src/a.py").touch()
    services = Services(TaskOptions(workspace=at_home))
    assert {"src/", "src/a.py"} <= set(services.files())
    assert "code" in dict(services.modes())
    assert "read_file" in dict(services.tools("code"))
    assert (services.tasks(), [*services.servers()], services.notices()) == ([], [], [])


def test_without_a_model_the_ways_forward_are_shown(tmp_path: Path) -> None:
    done = run("-m", "joey", HOME=str(tmp_path), JOEY_MODEL="")
    assert done.returncode == 1
    assert "no model is configured" in done.stderr


HELLO = [
    reply("Writing.", call("w", "write_to_file", path="a.txt", file_text="hello\n")),
    reply(call("d1", "attempt_completion", result="Wrote a.txt.")),
]


async def test_without_a_terminal_it_is_lines_in_and_lines_out(tmp_path: Path) -> None:
    async with LocalServer(HELLO) as server:
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "joey", "--model", "anthropic/scripted", "--base-url", server.anthropic_url,
            cwd=tmp_path, env={**os.environ, "HOME": str(tmp_path), "ANTHROPIC_API_KEY": "test"},
            stdin=-1, stdout=-1, stderr=-1,
        )  # fmt: skip
        out, err = await process.communicate(b"write it\ny\n\n/quit\n")
    assert (process.returncode, err) == (0, b"")
    assert (tmp_path / "a.txt").read_text() == "hello\n"
    assert "✓ Result\n| Wrote a.txt.".encode() in out


@needs_tmux
async def test_a_terminal_that_can_do_no_more_gets_plain_lines(tmux: Tmux, tmp_path: Path) -> None:
    async with LocalServer(HELLO) as server:
        tmux.start(
            "--model", "anthropic/scripted", "--base-url", server.anthropic_url, size=(80, 40),
            environment={"TERM": "dumb"},
        )  # fmt: skip
        await tmux.until("Joey. Type a task")
        tmux.type("write it", "Enter")
        await tmux.until("Approve?")
        tmux.type("y", "Enter")
        await tmux.until("✓ Result")
        tmux.type("Enter", "/quit", "Enter")
        await tmux.until("ENDED 0")
    assert (tmp_path / "project/a.txt").read_text() == "hello\n"


@pytest.mark.parametrize("option", ["--version", "--help"])
def test_the_first_answers_load_no_screen(option: str) -> None:
    code = f"import sys; from joey.cli import main; main([{option!r}]); assert 'textual' not in sys.modules"
    assert run("-c", code).returncode == 0
