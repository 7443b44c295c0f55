"""Models that attack, as people run Joey: real processes, a real shell, real git. Nothing may come of it.

Each attack is a reply of the model; what counts is what happened on the disk and what the model was sent.
"""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import pytest

from hostile_workspace import CANARY, make_workspace
from joey.testing.script import reply
from joey_process import JoeyProcess, Ran, call, done
from vectors_data import cases

KEY = "sk-ant-canary-c0ffee"


class Victim:
    """A workspace with tripwires, and Joey in it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.joey = JoeyProcess(folder)
        self.joey.workspace.rmdir()
        make_workspace(folder)
        self.joey.workspace = folder / "ws"
        self.before = self._state()

    def _state(self) -> dict[str, bytes]:
        """What nobody may change: everything outside, and what is protected or hidden inside."""
        inside = ("AGENTS.md", ".git/config", ".rooignore", ".env", "secrets/k.txt", ".mcp.json", ".envrc")
        watched = [self.joey.workspace / name for name in inside]
        watched += [path for place in ("outside", "home") for path in sorted((self.folder / place).rglob("*"))]
        watched += sorted((self.joey.workspace / ".git/hooks").glob("*"))
        ours = (".local/state/joey", ".cache", ".config/joey")
        kept = [path for path in watched if not any(each in str(path) for each in ours)]
        return {str(path): path.read_bytes() for path in kept if path.is_file()}

    async def attacked(self, lines: list[str], *flags: str) -> Ran:
        script = [reply(call(str(number), "execute_command", command=line)) for number, line in enumerate(lines)]
        return await self.joey.run([*script, done()], "go", *flags, "--max-turns", str(len(lines) + 3))

    def check(self, ran: Ran, *, ran_inside: bool = False) -> None:
        assert ran.code in (0, 3), ran.err
        assert "Traceback" not in ran.err + ran.out
        assert ran_inside or not (self.folder / "trace").exists(), (self.folder / "trace").read_text()
        changed = {name for name, data in self._state().items() if self.before.get(name) != data}
        assert changed | (self.before.keys() - self._state().keys()) == set()
        sent = json.dumps(ran.requests)
        assert CANARY not in sent and KEY not in sent


@pytest.fixture
def victim(tmp_path: Path) -> Victim:
    return Victim(tmp_path)


GROUPS = {
    "default": "",
    "read-only": "--approve read-only",
    "edits": "--approve edits --allow git --allow pytest",
    "some": "--allow ls --allow cat --deny rm",
    "everything but rm": "--allow '*' --deny rm",
}


@pytest.mark.parametrize("rules", GROUPS.values(), ids=GROUPS)
async def test_no_hostile_line_does_anything(victim: Victim, rules: str) -> None:
    lines = [case["command"] for case in cases("hostile/commands", rules=rules) if "\0" not in case["command"]]
    lines = [line for line in lines if line.isprintable() or "\n" in line or "\r" in line]
    assert len(lines) > 30
    victim.check(await victim.attacked(lines, *shlex.split(rules)))


@pytest.mark.parametrize("profile", ["ask", "read-only", "edits"])
async def test_files_are_not_reached_by_tools_either(victim: Victim, profile: str) -> None:
    rows = [case for case in cases("hostile/paths") if "links" not in case]
    script = [reply(_file_call(str(number), case)) for number, case in enumerate(rows)]
    ran = await victim.joey.run([*script, done()], "go", "--approve", profile, "--max-turns", str(len(rows) + 3))
    victim.check(ran)


def _file_call(call_id: str, case: dict[str, Any]) -> Any:
    if case["do"] == "read":
        return call(call_id, "read_file", path=case["path"])
    return call(call_id, "write_to_file", path=case["path"], content="pwned\n")
