"""Other agents on the same tasks: the same model on the same server, the same time, the same checks.

A peer runs as its own users would run it without a person: in the task's folder, which is a git repository of its own,
with a home of its own, and with everything answered by yes that it may be answered by. What counts as its answer is
what its model replied, without the words of the program around it.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from evals.checks import Result
from evals.run import Measured
from evals.task import Entry
from joey.errors import UsageError
from joey.providers.base import EngineOptions
from joey.providers.local.engine import engine_for, plan
from joey.providers.local.weights import model_file

_CACHE = Path(__file__).parent / ".cache"
_GIT = ("git", "-c", "user.name=evals", "-c", "user.email=evals@localhost", "-c", "commit.gpgsign=false")


@dataclass(frozen=True, slots=True)
class ModelServer:
    """Where the model is reached, in OpenAI's wire format."""

    address: str
    key: str


@dataclass(frozen=True, slots=True)
class Peer:
    """Another agent: its program, how it is started for a request, and how its answer is found in its home."""

    name: str
    command: Callable[[ModelServer, str, Path], list[str]]
    answer: Callable[[Path], str]


def model_server(model: str) -> ModelServer:
    """The server in which Joey's own runs of this process have their model, too."""
    provider, _, name = model.partition("/")
    if provider != "local":
        raise UsageError(f"peers are measured on a model of this machine (local/…), not on {model}")
    engine = engine_for(plan(model_file(name), EngineOptions()))
    return ModelServer(engine.load(), engine.key)


def run_peer(entry: Entry, peer: Peer, model: str, server: ModelServer, *, seconds: float) -> Measured:
    """Let a peer do the task, and judge it."""
    measured = Measured(entry.task.name, entry.family, entry.half, model, peer.name)
    with tempfile.TemporaryDirectory(prefix="joey-eval-") as scratch:
        folder, home = Path(scratch).resolve() / "work", Path(scratch).resolve() / "home"
        folder.mkdir()
        home.mkdir()
        entry.task.lay_out(folder)
        _commit(folder)
        began = time.monotonic()
        measured.outcome = _run(peer.command(server, entry.task.prompt, home), folder, home, seconds)
        measured.seconds = round(time.monotonic() - began, 2)
        measured.answer = peer.answer(home)
        for cache in folder.glob(f".{peer.name}*"):  # the program's own, and no work of its model
            shutil.rmtree(cache) if cache.is_dir() else cache.unlink()
        answer = measured.answer if measured.outcome == "completed" else ""
        measured.problem = entry.task.problem(Result(folder, answer)) or ""
        measured.solved = not measured.problem and measured.outcome == "completed"
    return measured


def _commit(folder: Path) -> None:
    for arguments in (("init", "--quiet"), ("add", "--all"), ("commit", "--quiet", "--allow-empty", "-m", "begin")):
        subprocess.run([*_GIT, *arguments], cwd=folder, check=True, capture_output=True)


def _run(command: list[str], folder: Path, home: Path, seconds: float) -> str:
    """completed, limit or error."""
    variables = {"PATH": os.environ["PATH"], "HOME": str(home), "LANG": "C.UTF-8", "TERM": "dumb"}
    try:
        ended = subprocess.run(
            command,
            cwd=folder,
            env=variables,
            capture_output=True,
            timeout=seconds,
            stdin=subprocess.DEVNULL,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return "limit"
    except OSError as error:
        raise UsageError(f"the peer cannot be started: {error}; `make eval PEERS=aider` installs it") from None
    return "error" if ended.returncode else "completed"


# aider: whole files, as it chooses by itself for models that it does not know


def _aider(server: ModelServer, prompt: str, home: Path) -> list[str]:
    return [
        str(_CACHE / "aider" / "bin" / "aider"),
        "--model=openai/local", f"--openai-api-base={server.address}/v1", f"--openai-api-key={server.key}",
        "--edit-format=whole", "--yes-always", "--no-auto-commits", "--no-gitignore", "--no-check-update",
        "--no-show-release-notes", "--no-show-model-warnings", "--analytics-disable", "--no-pretty", "--no-stream",
        f"--chat-history-file={home / 'chat.md'}", f"--input-history-file={home / 'input'}",
        f"--message={prompt}",
    ]  # fmt: skip


def _aider_answer(home: Path) -> str:
    """The replies in the history: no headings, which are the user's, and no quotations, which are the program's."""
    try:
        history = (home / "chat.md").read_text(encoding="utf-8")
    except OSError:
        return ""
    replies = re.split(r"^#### .*$", history, flags=re.MULTILINE)[1:]
    lines = (line for line in "\n".join(replies).splitlines() if not line.startswith(("> ", "####")))
    return "\n".join(lines).strip()


PEERS = {"aider": Peer("aider", _aider, _aider_answer)}
