"""What the scripted model does, and what it can tell of it from the conversation alone.

Each step has a label that is unique in the run: `p3` is the third step of the task, `p3c1` the first of the subtask
that `p3` started. A label is asked for once: a model that was told of an interruption goes on with the next step. So
whatever happened twice was done by Joey.

A command writes `start LABEL` and `end LABEL` to the log and prints `ran-42-LABEL`, which it has to compute: a text
that repeats the command line does not contain it.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from joey.messages import TextBlock, ToolUseBlock
from joey.protocols import Protocol
from joey.testing.script import Faults, ScriptedReply, reply
from joey.testing.server import ReceivedRequest

LOG = "oracle.log"
TASK = "Do every step of the list, one after the other."
STEPS = ("command", "write", "subtask", "command", "background", "pair", "write", "command")
CHILD_STEPS = ("command", "write", "command")

_LABEL = re.compile(r"\bstep-(p\d+(?:c\d+)?)\b")
_CHILD = re.compile(r"Subtask of step-(p\d+)\b")
_ANSWER_BEGINS = re.compile(r"tool\n|tool_result\n|text\n(?:\[execute_command |<tool_response>|<tool_result\b)")
"""How the answer to a call begins, natively on either wire and in the text protocols."""
FINISHED = "Every step was tried."


def command(label: str, seconds: float = 0.05) -> str:
    """A command line that takes so long. Ended before, it leaves its start in the log and no end."""
    log = f"echo start {label} >> {LOG}; sleep {seconds}; echo end {label} >> {LOG}"
    return f"{log}; echo ran-$((6*7))-{label} # step-{label}"


def output(label: str) -> str:
    return f"ran-42-{label}"


def file_name(label: str) -> str:
    return f"{label}.txt"


def file_text(label: str) -> str:
    return f"written by step-{label}\n" * 3


@dataclass(frozen=True, slots=True)
class Conversation:
    """A request, read as the model would: what it asked for, and what it was told."""

    prefix: str
    """`p` in the task, `p3c` in the subtask of step p3."""
    steps: tuple[str, ...]
    answers: Mapping[str, str]

    @classmethod
    def read(cls, body: Mapping[str, Any]) -> Conversation:
        messages: list[Mapping[str, Any]] = body["messages"]
        child = next((found for each in messages[:2] if (found := _CHILD.search(flat(each)))), None)
        prefix = f"{child.group(1)}c" if child else "p"
        answers: dict[str, str] = {}
        latest: list[str] = []
        owed, label = iter(latest), ""
        for message in messages:
            if message["role"] == "assistant":
                latest = [each for each in _LABEL.findall(flat(message)) if re.fullmatch(rf"{prefix}\d+", each)]
                answers.update(dict.fromkeys(latest, ""))
                owed, label = iter(latest), ""
            for part in _parts(message) if latest and message["role"] != "assistant" else ():
                label = next(owed, label) if _ANSWER_BEGINS.match(part) or not label else label
                answers[label] += part
        return cls(prefix, tuple(answers), answers)


def _parts(message: Mapping[str, Any]) -> list[str]:
    """The text of each block of a message of either wire."""
    content = message["content"]
    role = f"{message['role']}\n"
    return [role + content] if isinstance(content, str) else [flat(block) for block in content]


def flat(message: Mapping[str, Any]) -> str:
    """All the text of a message of either wire, arguments of calls included."""
    return "\n".join(_strings(message))


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for each in value.values():
            yield from _strings(each)
    elif isinstance(value, Sequence):
        for each in value:
            yield from _strings(each)


@dataclass(slots=True)
class Model:
    """Answers requests: `LocalServer(Model(protocol))`. What it was last told in each conversation is kept."""

    protocol: Protocol
    steps: tuple[str, ...] = STEPS
    same_ids: bool = False
    """Whether every call has the same id, as some servers send them."""
    faults: Faults = field(default_factory=lambda: Faults(pause=0.002))
    reported: dict[str, Conversation] = field(default_factory=dict)
    kinds: dict[str, str] = field(default_factory=dict)
    """What each step that was asked for is."""
    latest: str = ""
    """The prefix of the conversation that was last continued."""
    _requested: asyncio.Event = field(default_factory=asyncio.Event)

    def __call__(self, request: ReceivedRequest) -> ScriptedReply:
        conversation = Conversation.read(request.body)
        self.latest = conversation.prefix
        self._requested.set()
        self.reported[conversation.prefix] = conversation
        calls = [self._written(call) for call in self._next(conversation)]
        return reply("Next.\n\n", *calls, faults=self.faults)

    async def requests(self, times: int) -> None:
        """Wait until it was asked so many times from now on."""
        for _ in range(times):
            self._requested.clear()
            await self._requested.wait()

    def _next(self, conversation: Conversation) -> Iterator[ToolUseBlock]:
        prefix, number = conversation.prefix, len(conversation.steps) + 1
        steps = self.steps if prefix == "p" else CHILD_STEPS
        flattened = [kind for kind in steps for _ in range(2 if kind == "pair" else 1)]
        if number > len(flattened):
            yield self._call("done", "attempt_completion", {"result": FINISHED})
        elif flattened[number - 1] == "pair" and flattened[:number].count("pair") % 2:
            yield self._step("command", f"{prefix}{number}")
            yield self._step("command", f"{prefix}{number + 1}")
        else:
            kind = flattened[number - 1]
            yield self._step("command" if kind == "pair" else kind, f"{prefix}{number}")

    def _step(self, kind: str, label: str) -> ToolUseBlock:
        self.kinds[label] = kind
        if kind == "write":
            return self._call(label, "write_to_file", {"path": file_name(label), "file_text": file_text(label)})
        if kind == "subtask":
            message = f"Subtask of step-{label}: do its steps."
            return self._call(label, "new_task", {"mode": "code", "message": message})
        line = command(label, 9 if kind == "wait" else 0.05)
        background = {"background": True} if kind == "background" else {}
        return self._call(label, "execute_command", {"command": line, **background})

    def _call(self, label: str, tool: str, arguments: dict[str, Any]) -> ToolUseBlock:
        return ToolUseBlock("call_1" if self.same_ids else f"id_{label}", tool, arguments)

    def _written(self, call: ToolUseBlock) -> str | ToolUseBlock:
        written = self.protocol.encode_call(call)
        return f"{written.text}\n" if isinstance(written, TextBlock) else call
