"""What a solved task looks like, as small checks over the folder it was done in and the answer that was given.

A check looks and says what is missing, in words for a person, or None. Nothing here asks whether the model used this
tool or that: only what came of it counts.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

_SECONDS = 20


@dataclass(frozen=True, slots=True)
class Result:
    """What a run left behind: the folder, and the words of the completion."""

    folder: Path
    answer: str = ""

    def text(self, path: str) -> str | None:
        """A file's text, None if there is none to read."""
        try:
            return (self.folder / path).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError):
            return None


Check: TypeAlias = Callable[[Result], "str | None"]


def file_is(path: str, expected: str) -> Check:
    """The file holds exactly these lines; spaces at the ends of lines and of the file do not count."""

    def check(result: Result) -> str | None:
        text = result.text(path)
        if text is None:
            return f"{path} is missing"
        return None if _lines(text) == _lines(expected) else f"{path} holds {text!r}"

    return check


def file_has(path: str, *patterns: str) -> Check:
    """The file matches all of these patterns."""

    def check(result: Result) -> str | None:
        text = result.text(path)
        if text is None:
            return f"{path} is missing"
        absent = next((each for each in patterns if not re.search(each, text, re.MULTILINE)), None)
        return None if absent is None else f"{path} has nothing like {absent!r}"

    return check


def file_lacks(path: str, pattern: str) -> Check:
    """The file is there and does not match the pattern."""

    def check(result: Result) -> str | None:
        text = result.text(path)
        if text is None:
            return f"{path} is missing"
        return f"{path} still has {pattern!r}" if re.search(pattern, text, re.MULTILINE) else None

    return check


def gone(path: str) -> Check:
    return lambda result: f"{path} is still there" if (result.folder / path).exists() else None


def json_is(path: str, expected: Any) -> Check:
    def check(result: Result) -> str | None:
        try:
            found = json.loads(result.text(path) or "")
        except ValueError as error:
            return f"{path} is no JSON: {error}"
        return None if found == expected else f"{path} holds {found!r}"

    return check


def prints(*arguments: str, output: str) -> Check:
    """`python3 ARGUMENTS` in the folder ends well and prints exactly this, spaces at the ends apart."""

    def check(result: Result) -> str | None:
        ended = run_python(result.folder, *arguments)
        if ended is None:
            return f"python3 {' '.join(arguments)} did not end"
        if ended.returncode:
            return f"python3 {' '.join(arguments)} failed: {ended.stderr.strip()[-200:]}"
        return None if _lines(ended.stdout) == _lines(output) else f"it printed {ended.stdout!r}"

    return check


def calls(module: str, *expected: tuple[str, Any]) -> Check:
    """After `from module import *`, each expression has its value."""

    def check(result: Result) -> str | None:
        for expression, value in expected:
            code = f"from {module} import *\nprint(repr({expression}))"
            ended = run_python(result.folder, "-c", code)
            if ended is None or ended.returncode:
                return f"{expression} fails: {ended.stderr.strip()[-200:] if ended else 'it does not end'}"
            if ended.stdout.strip() != repr(value):
                return f"{expression} is {ended.stdout.strip()}, not {value!r}"
        return None

    return check


def passes(path: str, least: int = 1) -> Check:
    """The file is a test that unittest or a plain run passes, with at least so many assertions in it."""

    def check(result: Result) -> str | None:
        text = result.text(path)
        if text is None:
            return f"{path} is missing"
        if len(re.findall(r"\bassert", text)) < least:
            return f"{path} asserts fewer than {least} things"
        ended = run_python(result.folder, "-m", "unittest", path) if "unittest" in text else _plain(result, path)
        return None if ended is not None and ended.returncode == 0 else f"{path} does not pass"

    return check


def answers(*patterns: str, rivals: Sequence[str] = ()) -> Check:
    """The completion matches all of these, letter case apart, and none of its rivals: answers that are wrong, which
    stand beside the right one in a file that is only repeated."""

    def check(result: Result) -> str | None:
        absent = next((each for each in patterns if not _found(each, result)), None)
        if absent is not None:
            return f"the answer has no {absent!r}: {result.answer[:200]!r}"
        rival = next((each for each in rivals if _found(each, result)), None)
        return None if rival is None else f"the answer has {rival!r} as well: {result.answer[:200]!r}"

    return check


def _found(pattern: str, result: Result) -> bool:
    return re.search(pattern, result.answer, re.IGNORECASE) is not None


def run_python(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str] | None:
    """Python in a folder, without leaving bytecode behind; None if it takes too long."""
    try:
        return subprocess.run(
            [sys.executable, "-B", *arguments],
            cwd=folder, capture_output=True, text=True, timeout=_SECONDS, stdin=subprocess.DEVNULL, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return None


def _plain(result: Result, path: str) -> subprocess.CompletedProcess[str] | None:
    """Tests for pytest without pytest: the file's functions that begin with test_, called."""
    module = path.removesuffix(".py").replace("/", ".")
    code = (
        f"import {module} as m\n"
        "tests = [getattr(m, name) for name in dir(m) if name.startswith('test_') and callable(getattr(m, name))]\n"
        "[test() for test in tests]"
    )
    return run_python(result.folder, "-c", code)


def _lines(text: str) -> list[str]:
    return [line.rstrip() for line in text.strip().splitlines()]
