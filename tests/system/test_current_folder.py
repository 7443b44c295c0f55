"""Nothing is imported from the current folder, whatever lies there. Each trap is a module that leaves a file."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

from joey.providers.local.weights.pip import pip_command
from joey.testing.script import reply
from joey_process import JoeyProcess, call, done

TRAP = "import os\nopen(os.path.join(os.path.dirname(__file__), 'ran-' + __name__), 'w').close()\n"
NAMES = {*sys.stdlib_module_names, *packages_distributions()}


@pytest.fixture
def hostile(tmp_path: Path) -> Path:
    """A folder with a trap in place of every module that this Python has."""
    for name in filter(str.isidentifier, NAMES):
        (tmp_path / f"{name}.py").write_text(TRAP)
    return tmp_path


def spare_what_python_itself_imports(hostile: Path) -> None:
    """`python -m` imports a few modules before it has found the one that it is to run: no module can prevent that."""
    code = "import runpy, sys; print(*sys.modules)"
    own = subprocess.run([sys.executable, "-P", "-c", code], check=True, capture_output=True, text=True).stdout.split()
    for name in {"joey", *(each.partition(".")[0] for each in own)}:
        (hostile / f"{name}.py").unlink(missing_ok=True)


def ran(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.glob("ran-*"))


def python(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONSAFEPATH"}
    return subprocess.run(
        [sys.executable, *arguments], cwd=folder, env=environment, check=False, capture_output=True, text=True
    )


LINES = ["--version", "--help", "modes", "tools --no-mcp", "approvals explain ls", "models"]


@pytest.mark.parametrize("line", LINES)
@pytest.mark.parametrize(
    "how", [(str(Path(sys.executable).parent / "joey"),), ("-P", "-m", "joey")], ids=["joey", "-P"]
)
def test_the_program_imports_nothing_from_the_current_folder(hostile: Path, how: tuple[str, ...], line: str) -> None:
    done = python(hostile, *how, *line.split())
    assert done.returncode == 0, done.stderr
    assert ran(hostile) == []


@pytest.mark.parametrize("line", LINES)
@pytest.mark.parametrize("how", [("-m", "joey"), ("-mjoey",), ("-Bm", "joey")], ids=" ".join)
def test_run_as_a_module_joey_imports_nothing_from_there_either(hostile: Path, how: tuple[str, ...], line: str) -> None:
    spare_what_python_itself_imports(hostile)
    done = python(hostile, *how, *line.split())
    assert done.returncode == 0, done.stderr
    assert ran(hostile) == []


def test_a_module_of_joey_does_not_either(hostile: Path) -> None:
    spare_what_python_itself_imports(hostile)
    python(hostile, "-m", "joey.images.shrinking", "10", "10")
    assert ran(hostile) == []


def test_pip_is_not_taken_from_the_current_folder(hostile: Path) -> None:
    done = python(hostile, *pip_command()[1:], "--version")
    assert done.returncode == 0 and "site-packages" in done.stdout
    assert ran(hostile) == []


def test_the_traps_work(hostile: Path) -> None:
    spare_what_python_itself_imports(hostile)
    python(hostile, "-m", "rich")  # setuptools looks closer at `-m pip`, and at a traceback for that
    python(hostile, "-c", "import json, rich, __future__")
    assert {"ran-__main__", "ran-json", "ran-rich", "ran-__future__"} <= set(ran(hostile))


PROGRAMS = ("bash", "sh", "git", "rg", "secret-tool", "security", "bwrap", "python3", "chromium", "cat", "prlimit")


async def test_no_program_is_taken_from_the_current_folder(tmp_path: Path) -> None:
    joey = JoeyProcess(tmp_path)
    joey.path = f".::bin:{os.environ['PATH']}"
    for name in PROGRAMS:
        for place in ("", "bin/"):
            trap = joey.write(f"{place}{name}", f"#!/bin/sh\n: > {tmp_path}/ran-{name}\n")
            trap.chmod(0o755)
    script = [
        reply(call("a", "execute_command", command="git --version; cat /dev/null; python3 -c 1; bash -c true")),
        reply(call("b", "search_files", path=".", regex="x")),
        done(),
    ]
    ran_task = await joey.run(script, "Go @git-changes", "--approve", "all")
    await joey("doctor")
    assert ran_task.code == 0, ran_task.err
    assert ran(tmp_path) == []


def test_a_program_that_uses_the_library_keeps_its_own_folder(tmp_path: Path) -> None:
    (tmp_path / "program").mkdir()
    (tmp_path / "program/__init__.py").write_text("import joey\n")
    (tmp_path / "program/__main__.py").write_text("import beside\n")
    (tmp_path / "beside.py").write_text("print('found')\n")
    assert python(tmp_path, "-m", "program", "-m", "joey").stdout == "found\n"


def test_the_runtime_of_the_index_sends_nothing_home() -> None:
    pytest.importorskip("onnxruntime")
    code = (
        "import builtins, importlib, os, sys\n"
        "class Watch:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name == 'onnxruntime': print(os.environ.get('ORT_DISABLE_TELEMETRY'))\n"
        "sys.meta_path.insert(0, Watch())\n"
        "from joey.tools.index.embedding import LocalEmbedder\n"
        "LocalEmbedder()\n"
    )
    environment = {name: value for name, value in os.environ.items() if name != "ORT_DISABLE_TELEMETRY"}
    done = subprocess.run([sys.executable, "-c", code], env=environment, check=False, capture_output=True, text=True)
    assert done.stdout == "1\n", done.stderr
