"""What a result states, against what was seen.

A small model recites what a program should print, whatever it printed, and calculates in its head. So a number in a
result that stands nowhere, in no output and in no file, is not believed; and where the output was asked for, it is
shown as it was.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from joey.task.profiles.small.command_runs import CommandRun
from joey.task.profiles.small.evidence import NOT_VERIFIED
from joey.task.profiles.small.steps import Steps

_NUMBER = re.compile(r"(?<![\w.])\d+(?:\.\d+)?(?![\w.]*\w)")
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_WORD = re.compile(r"\w+(?:\.\w+)*")
_HOW_MANY = re.compile(r"(?:please )?(?:how (?:many|much|long|often)|tell me how many|count)\b", re.IGNORECASE)
_COUNTED = re.compile(
    r"\d|\b(no|none|nothing|zero|one|once|two|twice|three|four|five|six|seven|eight|nine|ten|eleven|twelve|never)\b",
    re.IGNORECASE,
)
_MAX_LINES = 20
_MAX_SMALL = 10
"""Numbers up to this one are counts that anybody makes."""


def is_contradicted(claim: str, steps: Steps, texts: Iterable[str]) -> bool:
    """Whether a result after a command states numbers that it did not print, and that stand nowhere else either."""
    return bool(steps.runs) and _unseen(claim, steps, texts) is not None


def unfounded(claim: str, steps: Steps, texts: Iterable[str]) -> str | None:
    """A number that answers a question about numbers or files, and stands nowhere, although nothing was run."""
    texts = list(texts)
    if steps.runs or not steps.intent.asks or not (texts or _NUMBER.search(steps.request)):
        return None
    return _unseen(claim, steps, texts)


def _unseen(claim: str, steps: Steps, texts: Iterable[str]) -> str | None:
    """The first number of a claim that stands nowhere. A comma in it may be one between thousands, or between two."""
    known = (steps.request, *texts, *(run.output for run in steps.runs))
    seen = {float(number) for text in known for each in _readings(text) for number in _NUMBER.findall(each)}
    unseen = [[each for each in _NUMBER.findall(text) if _is_new(each, seen)] for text in _readings(claim)]
    return unseen[0][0] if all(unseen) else None


def _readings(text: str) -> tuple[str, str]:
    return _THOUSANDS.sub("", text), text


def _is_new(number: str, seen: set[float]) -> bool:
    return float(number) > _MAX_SMALL and float(number) not in seen


def lacks_number(claim: str, request: str) -> bool:
    """Whether it is asked how many there are, and the answer has no number."""
    return bool(_HOW_MANY.match(request.strip())) and not _COUNTED.search(claim)


def with_output(claim: str, steps: Steps, reservation: str | None = None) -> str:
    """The result: first that it is not verified, if nothing was run that shows whether it works; with what the last
    command printed, if that was wanted and is not in it."""
    reason = reservation or steps.unverified
    return _with_output(claim, steps) if reason is None else f"{NOT_VERIFIED} {reason}\n\n{_with_output(claim, steps)}"


def _with_output(claim: str, steps: Steps) -> str:
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


def _states(claim: str, output: str) -> bool:
    """Whether the output is in the claim: word for word, or all its words in their order, whatever is between them."""
    words = _WORD.findall(output)
    return " ".join(output.split()) in " ".join(claim.split()) or (
        bool(words) and f" {' '.join(words)} " in f" {' '.join(_WORD.findall(claim))} "
    )
