"""Start-up, as a ratio to Python doing nothing, measured in turns in the same run.

The first frame of the interactive terminal is the CPU time that `joey` has used when the model's name is on the
screen of a pseudo-terminal for the first time: folder, branch, model and the input are drawn before anything large is
loaded, and what is typed from then on is kept. The full screen is there when Textual has drawn the name once more and
handles keys. The program is ended there.
"""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage

from bench.table import Table

ROUNDS = 15
JOEY = str(Path(sys.executable).parent / "joey")
MODEL = "anthropic/claude-sonnet-5-5"
INPUT = "What would you like"
AGENT = "a bare agent, to its answer to an editor"
BARE_AGENT = """import json, sys
message = json.loads(sys.stdin.buffer.readline())
sys.stdout.write(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": {"protocolVersion": 1}}) + "\\n")
sys.stdout.flush()
sys.stdin.buffer.read()
"""
INITIALIZE = b'{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":1}}\n'


def run() -> list[Table]:
    bare_agent = [sys.executable, "-c", BARE_AGENT]
    with tempfile.TemporaryDirectory() as home:
        ways: dict[str, Callable[[], float]] = {
            "python -c pass": lambda: cpu_seconds([sys.executable, "-c", "pass"]),
            "python -c 'import textual.app'": lambda: cpu_seconds([sys.executable, "-c", "import textual.app"]),
            "joey --version": lambda: cpu_seconds([JOEY, "--version"]),
            "joey --help": lambda: cpu_seconds([JOEY, "--help"]),
            "import joey": lambda: cpu_seconds([sys.executable, "-c", "import joey"]),
            "import joey.protocols": lambda: cpu_seconds([sys.executable, "-c", "import joey.protocols"]),
            AGENT: lambda: seconds_to_answer(bare_agent, home),
            "joey acp, to its answer to an editor": lambda: seconds_to_answer([JOEY, "acp"], home, key=True),
            "the same without a key": lambda: seconds_to_answer([JOEY, "acp"], home),
            "joey, to its first frame": lambda: seconds_to_frame(home),
            "joey, to its full screen": lambda: seconds_to_frame(home, INPUT, times=2),
        }
        seconds = {name: [way()] for name, way in ways.items()}
        for _ in range(ROUNDS - 1):
            for name, way in ways.items():
                seconds[name].append(way())
    best = {name: min(times) for name, times in seconds.items()}
    nothing, textual = best["python -c pass"], best["python -c 'import textual.app'"]
    columns = ["", "times `python -c pass`", "times `import textual.app`"]
    table = Table(f"Start-up (CPU time, best of {ROUNDS})", columns)
    for name, taken in best.items():
        table.add(name, f"{taken / nothing:.2f}", f"{taken / textual:.2f}")
    return [table, answers(best)]


def answers(best: dict[str, float]) -> Table:
    """The agents among these, beside the bare one."""
    table = Table("An editor's initialize, to the answer (CPU time)", ["", "ratio"])
    for name, taken in best.items():
        if name.startswith(("joey acp", "the same")):
            table.add(name, f"{taken / best[AGENT]:.2f}")
    return table


def cpu_seconds(command: list[str]) -> float:
    before = getrusage(RUSAGE_CHILDREN)
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    after = getrusage(RUSAGE_CHILDREN)
    return (after.ru_utime + after.ru_stime) - (before.ru_utime + before.ru_stime)


def seconds_to_answer(command: list[str], home: str, *, key: bool = False) -> float:
    """The CPU time until an agent has answered `initialize`: it may load the rest afterwards."""
    environment = {"HOME": home, "PATH": os.environ["PATH"], **({"ANTHROPIC_API_KEY": "none"} if key else {})}
    process = subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(INITIALIZE)
    process.stdin.flush()
    process.stdout.readline()
    process.kill()
    process.stdin.close()
    process.stdout.close()
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = status
    return used.ru_utime + used.ru_stime


def seconds_to_frame(home: str, sign: str = MODEL, times: int = 1) -> float:
    """The CPU time until the screen has shown this so many times."""
    process, screen = pty.fork()
    if process == 0:
        environment = {**os.environ, "HOME": home, "TERM": "xterm-256color", "ANTHROPIC_API_KEY": "none"}
        os.chdir(home)
        os.execve(JOEY, [JOEY, "--model", MODEL], environment)
    seen = b""
    while seen.count(sign.encode()) < times:
        try:
            seen += os.read(screen, 65536)
        except OSError:  # how a pseudo-terminal says that its program is gone
            raise SystemExit(f"joey ended before its first frame:\n{seen.decode(errors='replace')}") from None
    os.kill(process, signal.SIGKILL)
    os.close(screen)
    _, _, used = os.wait4(process, 0)
    return used.ru_utime + used.ru_stime
