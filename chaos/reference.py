"""A model that plays the reference solutions of the evals, whoever asks, from whatever the conversation shows.

It keeps no state, so any worker can use it, at any turn, again after a crash. What was requested is counted.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from evals.task import Entry, Eval, all_tasks

from chaos.scenario import flat
from joey.messages import TextBlock, ToolUseBlock
from joey.protocols import Protocol
from joey.task.wording import INTERRUPTED, NOT_RUN
from joey.testing.script import Faults, Scripted, reply
from joey.testing.server import ReceivedRequest

LOG = "steps.log"
_NAME = re.compile(r"\(reference ([\w-]+) ([\w-]+)\)")
_STEP = re.compile(r"\bStep (\d+)\.")


def prompt_for(task: Eval, setting: str) -> str:
    return f"{task.prompt}\n(reference {task.name} {setting})"


def steps_for(task: Eval) -> list[tuple[str, dict[str, Any]]]:
    """The calls that solve a task: a trace in a log, the files of the solution, another trace, the result."""
    solution = task.solution
    steps: list[tuple[str, dict[str, Any]]] = [_trace("begin")]
    for path, text in solution.files.items():
        if text is None:
            steps.append(("execute_command", {"command": f"rm -f {path}"}))
        else:
            steps.append(("write_to_file", {"path": path, "file_text": text}))
    return [*steps, _trace("end"), ("attempt_completion", {"result": solution.says})]


def _trace(word: str) -> tuple[str, dict[str, Any]]:
    return "execute_command", {"command": f"echo {word} >> {LOG}"}


@dataclass(slots=True)
class ReferencePlayer:
    """Answers requests: `LocalServer(ReferencePlayer(protocols))`."""

    protocols: Mapping[str, Protocol]
    """By the name of the setting, which stands in the prompt."""
    pause: float = 0.0
    """Seconds that each reply takes in all."""
    requested: Counter[tuple[str, str, int]] = field(default_factory=Counter)
    """How often each step of each task was requested, by task, setting and step."""
    tasks: Mapping[str, Entry] = field(default_factory=lambda: {each.task.name: each for each in all_tasks()})

    def __call__(self, request: ReceivedRequest) -> Scripted:
        messages = [(message["role"], flat(message)) for message in request.body["messages"]]
        whole = "\n".join(text for role, text in messages if role == "user")
        found = _NAME.search(whole)
        assert found, "not a task of the evals"
        name, setting = found.groups()
        steps = steps_for(self.tasks[name].task)
        number = min(_next_step(messages), len(steps))
        self.requested[name, setting, number] += 1
        call = ToolUseBlock(f"call_{number}", *steps[number - 1])
        written = self.protocols[setting].encode_call(call)
        shown = f"{written.text}\n" if isinstance(written, TextBlock) else call
        return reply(f"Step {number}.\n\n", shown, faults=Faults(pause=self.pause / 4) if self.pause else Faults())


def _next_step(messages: list[tuple[str, str]]) -> int:
    """One after the last step that was answered; a step that was interrupted or not made is done again, except that a
    trace is not: it may be there."""
    step, is_trace = 0, False
    for role, text in messages:
        if role == "assistant":
            step = max([step, *map(int, _STEP.findall(text))])
            is_trace = LOG in text
        elif step and (NOT_RUN in text or (INTERRUPTED in text and not is_trace)):
            step -= 1
    return step + 1
