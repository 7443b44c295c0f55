"""Every command at a real pseudo-terminal, with hostile text wherever text of others is: nothing that the terminal
would obey reaches it. The same commands through a pipe show that the text is hostile and that pipes get it as it is."""

from __future__ import annotations

import ast
import asyncio
import contextlib
import gc
import io
import json
import os
import pty
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

import joey
from joey.system.visible import VisibleWriter, filter_terminal, unfiltered, visible
from joey.testing.script import reply
from joey.testing.server import LocalServer
from joey_process import JoeyProcess, call, done

EVIL = "\x1b]0;evil\x07\x1b[2J\x9b31m\u202eevil\u2066\u200b"
"""A title, an empty screen, a colour by one C1 character, and marks that turn and hide text."""
_OURS = re.compile("\x1b(?:\\[(?:[0-9;]*m|\\?25[lh]|2K|1A)|[78])|\r")
_OBEYED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff]")


@dataclass(frozen=True)
class Case:
    """A command, whether what it prints has the hostile text, and whether a pipe gets that text as it is."""

    line: tuple[str, ...]
    shows: bool = True
    raw: bool = False
    draws: bool = False
    """It has codes of its own: a bar that grows."""

    def __str__(self) -> str:
        return re.sub(r"\W+", " ", " ".join(self.line)).strip()


PRINT = json.dumps({"command": f"printf '%s' '{EVIL}'"})
READ = json.dumps({"path": "evil.txt"})
CASES = [
    Case(("mcp", "list"), raw=True),
    Case(("mcp", "test", f"server{EVIL}")),
    Case(("mcp", "--no-such\x1b[2Jevil"), raw=True),
    Case(("config",), raw=True),
    Case(("config", "set", f"no{EVIL}", "1")),
    Case(("commands",), raw=True),
    Case(("skills",), raw=True),
    Case(("modes",), raw=True),
    Case(("modes", "evil")),
    Case(("modes", f"no{EVIL}")),
    Case(("tools", "--no-mcp"), raw=True),
    Case(("tools", "--no-mcp", "--mode", f"no{EVIL}")),
    Case(("tools", "--no-mcp", "--try", "read_file", READ), raw=True),
    Case(("tools", "--no-mcp", "--approve", "all", "--try", "execute_command", PRINT)),
    Case(("tasks",)),
    Case(("tasks", "show", "last"), raw=True),
    Case(("tasks", "show", f"no{EVIL}")),
    Case(("tasks", "search", "evil")),
    Case(("tasks", "export", "last"), shows=False),
    Case(("checkpoints",)),
    Case(("checkpoints", "diff", "1"), raw=True),
    Case(("checkpoints", "restore", "1")),
    Case(("approvals", "explain", f"ls 'a{EVIL}'"), raw=True),
    Case(("models", f"no{EVIL}")),
    Case(("doctor",), shows=False),
    Case(("index", "search", f"x{EVIL}"), draws=True),
    Case(("local", "list"), shows=False),
    Case(("parse", "evil.txt", "--protocol", "xml"), raw=True),
    Case(("parse", "evil.txt", "--protocol", "xml", "--events", "--debug")),
    Case(("run", f"no{EVIL}", "--model", f"no{EVIL}")),
    Case(("resume", f"no{EVIL}")),
    Case((f"no{EVIL}",)),
]


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> JoeyProcess:
    """A folder in which everything that has a name or a text is hostile, and a task that met it."""
    process = JoeyProcess(tmp_path_factory.mktemp("hostile"))
    process.write("evil.txt", f"text {EVIL}\n")
    process.write(".mcp.json", json.dumps({"mcpServers": {f"server{EVIL}": {"command": f"/nonexistent{EVIL}"}}}))
    process.write("~/.config/joey/mcp.json", json.dumps({"mcpServers": {"bad": {"type": f"kind{EVIL}"}}}))
    process.write(".joey/config.toml", f"model = {json.dumps('x/' + EVIL)}\n")
    process.write("~/.config/joey/config.toml", f"check = {json.dumps('lint ' + EVIL)}\n")
    mode = {"slug": "evil", "name": f"Mode {EVIL}", "roleDefinition": EVIL, "whenToUse": EVIL, "groups": ["read"]}
    process.write("~/.config/joey/modes/evil.json", json.dumps(mode))
    process.write(f"~/.config/joey/modes/broken{EVIL.replace('/', '')}.json", "{")
    head = f"---\ndescription: {json.dumps('about ' + EVIL)}\n---\n"
    process.write(".joey/commands/evil.md", f"{head}Do {EVIL}")
    process.write(".joey/skills/evil/SKILL.md", f"{head}Do {EVIL}")
    process.write(f"~/.config/joey/tools/bad{EVIL}.py", "raise ValueError('evil')\n")
    script = [
        reply(f"Saying {EVIL}", call("c1", "write_to_file", path=f"new{EVIL}.txt", file_text=f"made {EVIL}\n")),
        reply(call("c2", "execute_command", command=f"printf '%s' '{EVIL}'")),
        done(f"All {EVIL}"),
    ]
    ran = asyncio.run(process.run(script, f"Please {EVIL}", "--approve", "all"))
    assert ran.code == 0, ran.err
    assert EVIL in ran.out
    return process


async def at_a_terminal(process: JoeyProcess, *line: str) -> str:
    """What a terminal is sent by a command; its keyboard has nothing to say."""
    ours, theirs = pty.openpty()
    environment = {
        "PATH": process.path,
        "HOME": str(process.home),
        "TERM": "xterm",
        "LANG": "C.UTF-8",
        "COLUMNS": "200",
    }
    environment |= {name: os.environ[name] for name in ("PYTHONPATH",) if name in os.environ}
    running = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "joey", *line, cwd=process.workspace, env=environment,
        stdin=asyncio.subprocess.DEVNULL, stdout=theirs, stderr=theirs,
    )  # fmt: skip
    os.close(theirs)
    try:
        shown = await asyncio.to_thread(_all, ours)
        await running.wait()
    finally:
        os.close(ours)
    return shown


def _all(descriptor: int) -> str:
    pieces = []
    with contextlib.suppress(OSError):  # how a pseudo-terminal says that nobody is left at its other end
        while data := os.read(descriptor, 65536):
            pieces.append(data)
    return b"".join(pieces).decode(errors="surrogateescape").replace("\r\n", "\n")


@pytest.mark.parametrize("case", CASES, ids=str)
async def test_no_command_sends_a_terminal_what_it_would_obey(hostile: JoeyProcess, case: Case) -> None:
    shown = await at_a_terminal(hostile, *case.line)
    assert shown.strip() and "Traceback" not in shown
    assert not _OBEYED.search(_OURS.sub("", shown) if case.draws else shown), repr(shown)
    assert "evil" in shown or not case.shows, shown


@pytest.mark.parametrize("case", [case for case in CASES if case.raw], ids=str)
async def test_a_pipe_gets_the_same_text_as_it_is(hostile: JoeyProcess, case: Case) -> None:
    ran = await hostile(*case.line)
    assert _OBEYED.search(ran.out + ran.err), "the case shows nothing"


async def test_what_a_model_says_is_safe_at_a_terminal(tmp_path: Path) -> None:
    process = JoeyProcess(tmp_path)
    script = [
        reply(f"Saying {EVIL}", call("c", "execute_command", command=f"printf '%s' '{EVIL}'")),
        done(f"All {EVIL}"),
    ]
    async with LocalServer(script) as model:
        process.write(
            "~/.config/joey/config.toml", f'base_url = "{model.anthropic_url}"\nmodel = "anthropic/scripted"\n'
        )
        shown = await at_a_terminal(process, "run", f"Please {EVIL}", "--approve", "all")
    assert "evil" in shown and not _OBEYED.search(_OURS.sub("", shown)), repr(shown)


# By construction


SOURCE = Path(joey.__file__).parent


def _nodes() -> Iterator[tuple[str, ast.AST]]:
    """Of what prints for people. Others write to pipes, as the children do that resize images and read documents."""
    for path in (path for part in ("cli", "terminal", "app") for path in (SOURCE / part).rglob("*.py")):
        gc.disable()  # collecting garbage while a tree is made trips Python 3.11 (CPython issue 106905)
        try:
            tree = ast.parse(path.read_text(encoding="utf-8"))
        finally:
            gc.enable()
        for node in ast.walk(tree):
            yield str(path.relative_to(SOURCE)), node


def test_nothing_goes_around_the_filter_but_those_that_filter_themselves() -> None:
    """The original streams, their bytes, and consoles of Rich's that are not ours."""
    around = {
        where
        for where, node in _nodes()
        if (isinstance(node, ast.Attribute) and node.attr in ("__stdout__", "__stderr__"))
        or (isinstance(node, ast.Attribute) and node.attr == "buffer" and ast.unparse(node) != "sys.stdin.buffer")
        or (isinstance(node, ast.Name) and node.id == "unfiltered" and isinstance(node.ctx, ast.Load))
        or (isinstance(node, ast.Call) and ast.unparse(node.func) in ("Console", "rich.print", "os.write"))
    }
    allowed = {"terminal/outlet.py", "terminal/console.py", "cli/parse.py", "app/tasks.py"}
    # The first frame makes its texts visible itself; /copy in plain lines writes base64; a search draws into memory.
    allowed |= {"terminal/first_frame.py", "terminal/plain/app.py", "terminal/screen/places.py"}
    assert around <= allowed


class _Terminal(io.BytesIO):
    def isatty(self) -> bool:
        return True


def test_whatever_is_written_is_made_visible(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = _Terminal()
    plain = io.TextIOWrapper(terminal, "utf-8", errors="strict", write_through=True)
    monkeypatch.setattr(sys, "stdout", plain)
    filter_terminal()
    filtered = sys.stdout
    filter_terminal()
    assert isinstance(filtered, VisibleWriter) and sys.stdout is filtered
    print(EVIL, "half \ud800")
    sys.stdout.writelines([EVIL, "\n"])
    unfiltered(sys.stdout).write("\x1b[1mbold\x1b[0m\n")
    sys.stdout.flush()
    assert terminal.getvalue().decode() == f"{visible(EVIL)} half �\n{visible(EVIL)}\n\x1b[1mbold\x1b[0m\n"


def test_a_stream_that_is_no_terminal_stays_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    pipe = io.TextIOWrapper(io.BytesIO(), "utf-8")
    monkeypatch.setattr(sys, "stdout", pipe)
    filter_terminal()
    assert sys.stdout is pipe and unfiltered(pipe) is pipe
