"""What the policy allows is run by a real bash, in a folder full of tripwires. None may be touched.

Lines are made at random from a grammar of bash: programs with options known and unknown, paths inside and outside,
hidden and protected, joined, quoted and wrapped in every construct. Whatever is allowed runs in a bubblewrap of its own.
A tripwire is: a program of the workspace that ran, a file outside or a protected one that changed, a secret in the
output. JOEY_FUZZ=N tries 20 N lines: `make fuzz`, with its 5,000, 100,000 of them.
"""

# ruff: noqa: E501 - tables

from __future__ import annotations

import os
import random
import shutil
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from hostile_workspace import CANARY, OUTSIDE, make_workspace
from joey.policy import Settings, Workspace
from joey.policy.shell.lines import judge_line
from joey.policy.shell.programs import PROGRAMS
from joey.policy.verdict import combine

LINES = 20 * int(os.environ.get("JOEY_FUZZ") or 20)
_RESET_AFTER = 40

_WORDS = [
    "src/a.py", "src", ".", "./src/a.py", "src/*", "./*", "s*", ".env", ".e?v", "secrets/k.txt", "secrets", "link-env", "link/keep",
    "../outside/keep", "../outside/new", "AGENTS.md", ".git/config", ".git/hooks/pre-commit", ".joey/x", ".envrc", "new.txt", "link-git/config",
    "evil.sh", "./evil.sh", "bin/git", "HEAD", "HEAD:.env", "HEAD:src/a.py", "HEAD~0", "1", "5", "x=1", "a:b", "print", "s/a/b/", "1p",
    "1e ./evil.sh", "w ../outside/new", "BEGIN{system(\"./evil.sh\")}", "{print $1}", "--", "-", "{}", "+", ";", "!", "/etc/hostname", "/dev/null",
    "/proc/self/environ", "fixtures/e", "x.patch", "payload/.joey", "payload", "*.py", "build", "test", "origin", "main", "--help",
    "https://127.0.0.1:9/", "file:///etc/hostname", "@.env", "PATH=./bin", "GIT_DIR=fixtures/e", "u+x", "755", "4755", "2>&1", "env", "sh", "git", "cat", "ls",
]  # fmt: skip
_EVIL_OPTIONS = [
    "--output=../outside/new", "--output", "-o", "-o../outside/new", "--exec=./evil.sh", "--ext-diff", "--textconv", "-c", "-e", "-f", "-i", "-t", "-T", "-C",
    "--pre=./evil.sh", "--compress-program=./evil.sh", "--files0-from=.env", "-exec", "-delete", "-fprint", "-execdir", "-ok", "--to-command=./evil.sh",
    "--upload-pack=./evil.sh", "-O./evil.sh", "--open-files-in-pager=./evil.sh", "--git-dir=fixtures/e", "--no-index", "-u", "-S", "-0", "-I", "-r", "-R",
    "--target-directory=../outside", "--in-place", "-s", "-x", "-p", "--pager=./evil.sh", "-L1,1:.env", "--from-file=.env", "-fsrc/a.py", "-K", "-d@.env",
]  # fmt: skip
_AROUND = [
    "{}; {}", "{} && {}", "{} || {}", "{} | {}", "{}\n{}", "({})", "{{ {}; }}", "echo $({})", "echo `{}`", "if {}; then {}; fi", "{} > {w}", "{} >> {w}", "{} < {w}",
    "{} 2> {w}", "{} &> {w}", "for f in {w}; do {}; done", "x={w}; {}", "A={w} {}", "cat <({})", "{} &", "! {}", "time {}", "timeout 5 {}", "nice {}", "env {}",
    "env A=1 {}", "xargs {} < {w}", "bash -c {q}", "sh -c {q}", "eval {q}", "find . -maxdepth 0 -exec {} \\;", "cd {w} && {}", "cd {w}; {}", "f() {{ {}; }}; f",
    "command {}", "exec {}", "nohup {}", "{} # {}", "{} \\\n {w}", "echo \"${{x:-{}}}\"", "[ -f {w} ] && {}", "test -n {w} || {}", "cat <<E\n$({})\nE", "trap {q} EXIT",
    "stdbuf -oL {}", "find . -print0 | xargs -0 {}", "setsid {}", "builtin {}", "coproc {}", "echo {w} | {}", "printf %s {w} | xargs {}", "{} {w}", "{} {w} {w}",
]  # fmt: skip


class Maker:
    """Makes lines. The same seed makes the same lines."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._programs = sorted(name for name, table in PROGRAMS.items() if not table.project_code)
        """What runs the project's code may do anything with it: that is what a rule for it allows."""

    def line(self) -> str:
        pick = self._random.random()
        return self._spoiled(self._nested(2)) if pick < 0.15 else self._nested(2 if pick < 0.5 else 0)

    def _nested(self, depth: int) -> str:
        if depth == 0 or self._random.random() < 0.35:
            return self._command()
        shape = self._random.choice(_AROUND)
        while "{w}" in shape or "{q}" in shape:
            quoted = "'" + self._nested(depth - 1).replace("'", "'\\''") + "'"
            shape = shape.replace("{w}", self._word(), 1).replace(
                "{q}", quoted.replace("{", "{{").replace("}", "}}"), 1
            )
        try:
            return shape.format(*(self._nested(depth - 1) for _ in range(3)))
        except (ValueError, IndexError, KeyError):  # braces that came with a word
            return self._command()

    def _command(self) -> str:
        name = self._random.choice(self._programs)
        table = PROGRAMS[name]
        words = [name]
        if table.subcommands and self._random.random() < 0.95:
            subcommands = {name: each for name, each in table.subcommands.items() if not each.project_code}
            sub = self._random.choice(sorted(subcommands) or [""])
            words.append(sub)
            table = subcommands.get(sub, table)
        for _ in range(self._random.choice([0, 0, 1, 1, 2])):
            words += self._option(sorted(table.options))
        words += [self._word() for _ in range(self._random.choice([0, 1, 1, 2, 2, 3]))]
        return " ".join(words)

    def _option(self, known: list[str]) -> list[str]:
        if not known or self._random.random() < 0.2:
            return [self._random.choice(_EVIL_OPTIONS)]
        option = self._random.choice(known)
        shape = self._random.random()
        if shape < 0.5:
            return [option]
        return (
            [option, self._word()]
            if shape < 0.75
            else [f"{option}{'=' if option.startswith('--') else ''}{self._word()}"]
        )

    def _word(self) -> str:
        word = self._random.choice(_WORDS)
        pick = self._random.random()
        if any(char in word for char in ' ;{}$"()!') or pick < 0.1:
            return "'" + word.replace("'", "") + "'"
        return f'"{word}"' if pick < 0.2 else word

    def _spoiled(self, line: str) -> str:
        for _ in range(self._random.randint(1, 3)):
            at = self._random.randint(0, len(line))
            spice = self._random.choice(
                [
                    "'",
                    '"',
                    "\\",
                    "$",
                    "`",
                    "\n",
                    ";",
                    "|",
                    "&",
                    "#",
                    " ",
                    "<",
                    ">",
                    "(",
                    "*",
                    "~",
                    "=",
                    "\\\n",
                    "-",
                    "{",
                    "!",
                ]
            )
            line = line[:at] + spice + line[at + self._random.choice([0, 0, 1]) :]
        return line


@dataclass
class Trap:
    """A workspace with tripwires."""

    folder: Path
    workspace: Workspace
    before: dict[str, tuple[int, int] | None]

    @classmethod
    def set(cls, folder: Path) -> Trap:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        trap = cls(folder, make_workspace(folder), {})
        trap.before = trap._state()
        return trap

    def _watched(self) -> Iterator[Path]:
        yield from sorted((self.folder / "outside").rglob("*"))
        for name in (
            ".ssh/id_rsa",
            ".ssh/authorized_keys",
            ".aws/credentials",
            ".netrc",
            ".bashrc",
            ".profile",
            ".gitconfig",
        ):
            yield self.folder / "home" / name
        for name in (
            "AGENTS.md",
            ".git/config",
            ".git/hooks",
            ".joey",
            ".envrc",
            ".env",
            "secrets/k.txt",
            ".rooignore",
        ):
            yield self.folder / "ws" / name
        yield self.folder / "trace"

    def _state(self) -> dict[str, tuple[int, int] | None]:
        return {str(path): _stamp(path) for path in self._watched()}

    def run(self, line: str) -> list[str]:
        """Run it; which tripwires were touched."""
        ran = subprocess.run(
            [
                "bwrap", "--unshare-all", "--die-with-parent", "--new-session", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--tmpfs", "/tmp",
                "--bind", str(self.folder), str(self.folder), "--chdir", self.workspace.root, "--clearenv", "--setenv", "PATH", "/usr/local/bin:/usr/bin:/bin",
                "--setenv", "HOME", str(self.folder / "home"), "timeout", "-s", "KILL", "2", "bash", "-c", line,
            ],
            stdin=subprocess.DEVNULL, capture_output=True, check=False,
        )  # fmt: skip
        touched = [path for path, stamp in self._state().items() if self.before.get(path) != stamp]
        if any(each.encode() in ran.stdout + ran.stderr for each in (CANARY, OUTSIDE)):
            touched.append("a secret in the output")
        return touched


def _stamp(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size


def test_the_tripwires_are_live(tmp_path: Path) -> None:
    _need_bubblewrap()
    for line in ("./evil.sh", "cat .env", "echo x > ../outside/new", "echo x >> AGENTS.md", "cat $HOME/.netrc"):
        assert Trap.set(tmp_path / "trap").run(line), line
    assert not Trap.set(tmp_path / "trap").run("ls; cat src/a.py; echo x > new.txt")


@pytest.mark.property
@pytest.mark.parametrize("part", range(4))
def test_nothing_that_is_allowed_touches_a_tripwire(
    part: int, tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    _need_bubblewrap()
    maker = Maker(seed=part + 1)
    rules = Settings(profile="edits", reads="allow", writes="allow", allow=tuple(sorted(PROGRAMS)))
    trap = Trap.set(tmp_path / "trap")
    allowed = 0
    for number in range(LINES // 4):
        if number % _RESET_AFTER == 0:
            trap = Trap.set(tmp_path / "trap")
        line = maker.line()
        if not combine(judge_line(line, rules, trap.workspace, trap.workspace.root)).allowed:
            continue
        allowed += 1
        assert trap.run(line) == [], line
    record_property("random lines of bash judged", LINES // 4)
    record_property("of them allowed and run among tripwires", allowed)
    assert allowed


def _need_bubblewrap() -> None:
    if shutil.which("bwrap") is None:
        pytest.skip("bubblewrap is not installed, and nothing else holds what goes wrong here")
