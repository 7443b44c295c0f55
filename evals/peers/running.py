"""One task by another agent, and what came of it."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from evals.checks import Result
from evals.peers.meter import Meter
from evals.run import Measured
from evals.task import Entry
from joey.errors import UsageError
from joey.providers.base import EngineOptions
from joey.providers.local.engine import engine_for, plan
from joey.providers.local.weights import model_file

_GIT = ("git", "-c", "user.name=evals", "-c", "user.email=evals@localhost", "-c", "commit.gpgsign=false")
_KEPT_OUTPUT = 3000
_NO_INTERNET = {
    **dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"), "http://127.0.0.1:9"),
    **dict.fromkeys(("NO_PROXY", "no_proxy"), "127.0.0.1,localhost"),
}
"""Some look for news, prices or tables of tokens when they start: nobody answers there, and they go on without."""


@dataclass(frozen=True, slots=True)
class ModelServer:
    """Where the model is reached, in OpenAI's wire format."""

    address: str
    key: str


@dataclass(frozen=True, slots=True)
class Launch:
    """A command, the variables it needs besides the home's, and the files in its home."""

    command: list[str]
    variables: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict)


def output_of(home: Path) -> str:
    """What the program printed, without its errors."""
    path = home / "output"
    return path.read_text("utf-8", errors="replace") if path.exists() else ""


def _none_known(_home: Path) -> int:
    return 0


@dataclass(frozen=True, slots=True)
class Peer:
    """Another agent: how it is started for a request, and how its answer and the calls that it could not read are found
    in its home."""

    name: str
    launch: Callable[[ModelServer, str, Path], Launch]
    answer: Callable[[Path], str] = output_of
    malformed: Callable[[Path], int] = _none_known


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
    with tempfile.TemporaryDirectory(prefix="joey-eval-") as scratch, Meter(server.address) as meter:
        folder, home = Path(scratch).resolve() / "work", Path(scratch).resolve() / "home"
        folder.mkdir()
        home.mkdir()
        entry.task.lay_out(folder)
        _commit(folder)
        launch = peer.launch(replace(server, address=meter.address), entry.task.prompt, home)
        began = time.monotonic()
        measured.outcome = _run(launch, folder, home, seconds)
        measured.seconds = round(time.monotonic() - began, 2)
        _describe(measured, peer, home, meter)
        for cache in folder.glob(f".{peer.name}*"):  # the program's own, and no work of its model
            shutil.rmtree(cache) if cache.is_dir() else cache.unlink()
        answer = measured.answer if measured.outcome == "completed" else ""
        measured.problem = entry.task.problem(Result(folder, answer)) or ""
        measured.solved = not measured.problem and measured.outcome == "completed"
    return measured


def _describe(measured: Measured, peer: Peer, home: Path, meter: Meter) -> None:
    counted = meter.counted
    measured.turns, measured.tokens_in = counted.turns, counted.tokens_in
    measured.tokens_cached, measured.tokens_out = counted.tokens_cached, counted.tokens_out
    measured.answer, measured.malformed = peer.answer(home), peer.malformed(home)
    errors = (home / "errors").read_text("utf-8", errors="replace")
    measured.output = f"{output_of(home)[-_KEPT_OUTPUT:]}\n{errors[-_KEPT_OUTPUT:]}"


def _commit(folder: Path) -> None:
    for arguments in (("init", "--quiet"), ("add", "--all"), ("commit", "--quiet", "--allow-empty", "-m", "begin")):
        subprocess.run([*_GIT, *arguments], cwd=folder, check=True, capture_output=True)


def _run(launch: Launch, folder: Path, home: Path, seconds: float) -> str:
    """completed, limit or error. What it started ends with it."""
    for name, text in launch.files.items():
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text(text, "utf-8")
    variables = {"PATH": os.environ["PATH"], "HOME": str(home), "LANG": "C.UTF-8", "TERM": "dumb", **_NO_INTERNET}
    with (home / "output").open("wb") as output, (home / "errors").open("wb") as errors:
        try:
            process = subprocess.Popen(
                launch.command,
                cwd=folder,
                env={**variables, **launch.variables},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=errors,
                start_new_session=True,
            )
        except OSError as error:
            raise UsageError(f"the peer cannot be started: {error}; `make eval PEERS=…` installs it") from None
        try:
            return "error" if process.wait(seconds) else "completed"
        except subprocess.TimeoutExpired:
            return "limit"
        finally:
            _end(process)


def _end(process: subprocess.Popen[bytes]) -> None:
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        return
    finally:
        process.wait()
