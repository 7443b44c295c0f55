"""Whether something that ran shows that a change works.

That a model says so is no evidence, and neither is a command that has nothing to do with the change, nor tests that
passed before it as well. What nothing shows may still be right, but the user is told that it is not verified.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from joey.system.filenames import quoted
from joey.task.profiles.small.command_runs import CommandRun, uses
from joey.task.profiles.small.demands import (
    is_repair,
    other_words,
    printed_count,
    printed_values,
    speaks_of_output,
)
from joey.task.profiles.small.examples import example_command, examples_in, wrong_example

if TYPE_CHECKING:
    from joey.task.profiles.small.beside import FileBeside

NOT_VERIFIED = "Not verified:"
"""A result that begins like this is no report of success."""
_NOTHING = "nothing was run that shows whether it works."


def fault_in(run: CommandRun, before: CommandRun | None, request: str, files: Sequence[FileBeside]) -> str | None:
    """What is wrong by the output of a command that ended well; `before` is how it went before the change."""
    if " -c " in run.command:
        examples = examples_in(request)
        return wrong_example(examples, run.output) if run.command == example_command(examples, files) else None
    is_shown = is_repair(request) and speaks_of_output(request)
    if is_shown and before is not None and before.output == run.output:
        return "prints the same as before the change"
    kept = next((old for _, old in other_words(request) if run.has_word(old)), None)
    return None if kept is None else f"still prints {kept}"


def missing_output(runs: Sequence[CommandRun], request: str) -> str | None:
    """What the request wants printed, and none of these commands printed."""
    count = printed_count(request)
    if all(len(run.output.split()) < count for run in runs):
        return f"does not print all {count}"
    values = printed_values(request)
    missing = next((text for text in values if not any(run.has_printed(text) for run in runs)), None)
    if missing is None:
        missing = next((new for new, _ in other_words(request) if not any(run.has_word(new) for run in runs)), None)
    return None if missing is None else f"does not print {missing}"


def missing_evidence(
    code: Sequence[str],
    runs: Sequence[CommandRun],
    before: Mapping[str, CommandRun],
    texts: Mapping[str, str],
    request: str,
) -> str | None:
    """What is missing, in words for the user; None if each of these files of code was run by one of these commands,
    and, where something was to be put right, with another outcome than before the change."""
    runs = [run for run in runs if "test" in run.command or run.output.strip()]
    if not code:
        return None
    if not any(uses(run.command, path, texts) for run in runs for path in code):
        return _NOTHING
    unused = next((path for path in code if not any(uses(run.command, path, texts) for run in runs)), None)
    if unused is not None:
        return f"nothing was run that uses {quoted(unused)}."
    if not is_repair(request) or any(_differs(run, before, request) for run in runs):
        return None
    if same := next((run.command for run in runs if run.command in before), None):
        return f"`{same}` had the same result before the change."
    return f"`{runs[-1].command}` succeeds, but was not run before the change."


def _differs(run: CommandRun, before: Mapping[str, CommandRun], request: str) -> bool:
    """Whether a command shows a repair: it went otherwise before, or printed what the request says it should."""
    earlier = before.get(run.command)
    if earlier is not None:
        return earlier.failed or ("test" not in run.command and earlier.output != run.output)
    values, words = printed_values(request), other_words(request)
    is_printed = all(map(run.has_printed, values)) and all(run.has_word(new) for new, _ in words)
    return bool(examples_in(request)) or (bool(values or words) and is_printed)
