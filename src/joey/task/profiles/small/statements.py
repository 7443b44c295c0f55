"""What a result states, against what was seen.

A small model recites what a program should print, whatever it printed. So a number in a result that stands nowhere, in
no output and in no file, is not believed; and where the output was asked for, it is shown as it was.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from joey.task.profiles.small.steps import CommandRun, Steps

_NUMBER = re.compile(r"(?<![\w.])\d+(?:\.\d+)?(?![\w.]*\w)")
_MAX_LINES = 20
_MAX_SMALL = 10
"""Numbers up to this one are counts that anybody makes."""


def is_contradicted(claim: str, steps: Steps, texts: Iterable[str]) -> bool:
    """Whether a result after a command states numbers that it did not print, and that stand nowhere else either."""
    if not steps.runs:
        return False
    seen = {float(number) for text in (steps.request, *texts, *_outputs(steps)) for number in _NUMBER.findall(text)}
    return any(number not in seen and number > _MAX_SMALL for number in map(float, _NUMBER.findall(claim)))


def with_output(claim: str, steps: Steps) -> str:
    """The result, with what the last command printed if that was wanted and is not in it."""
    run = steps.runs[-1] if steps.runs else None
    if run is None or not steps.intent.shows or not run.output.strip() or _states(claim, run.output):
        return claim
    return f"{claim.rstrip()}\n\n{printed(run)}"


def printed(run: CommandRun) -> str:
    """What a command printed, in words for the user."""
    lines = run.output.strip("\n").splitlines()
    shown = lines if len(lines) <= _MAX_LINES else [*lines[:_MAX_LINES], f"… {len(lines) - _MAX_LINES} more lines"]
    how = f" (it failed with exit code {run.code})" if run.failed else ""
    return "\n".join([f"`{run.command}` printed{how}:", *shown]) if lines else f"`{run.command}` printed nothing{how}."


def _outputs(steps: Steps) -> Iterable[str]:
    return (run.output for run in steps.runs)


def _states(claim: str, output: str) -> bool:
    return " ".join(output.split()) in " ".join(claim.split())
