"""What a hook answers, read within bounds: an exit code, words, or JSON.

    exit 0    fine; JSON on standard output is an answer, and other words are context where the event takes some
    exit 2    no: standard error is the reason
    other     the hook failed, which is reported and changes nothing

Each field counts if it is what it must be. One that is not is a failure of the hook, reported like any other: nothing
that a hook prints can end a task by mistake.
"""

from __future__ import annotations

import signal
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias

from joey.bounded.formats import FormatError
from joey.bounded.formats.json import read_json
from joey.hooks.hook import Hook
from joey.messages import CommandExit
from joey.wire import JsonObject

MAX_CONTEXT = 10_000
"""Characters of context and reasons; the model pays for each."""
_TAKE_WORDS = ("UserPromptSubmit", "SessionStart")
HookDecision: TypeAlias = Literal["", "allow", "ask", "deny"]
_DECISIONS: dict[Any, HookDecision] = {
    "allow": "allow",
    "approve": "allow",
    "ask": "ask",
    "deny": "deny",
    "block": "deny",
}


@dataclass(frozen=True, slots=True)
class HookAnswer:
    """What one hook wants. Empty: it has nothing to add."""

    hook: Hook
    decision: HookDecision = ""
    reason: str = ""
    context: str = ""
    updated_input: JsonObject | None = None
    stop: str | None = None
    """Why the task must end here, if it must."""
    message: str = ""
    """For the user."""
    failures: tuple[str, ...] = field(default=())


def _ending(code: int) -> str:
    """How a process ended, as a shell counts."""
    if code >= 0:
        return str(CommandExit(code))
    known = {each.value: each.name for each in signal.Signals}
    return str(CommandExit(128 - code, known.get(-code, str(-code))))


def answer_of_process(hook: Hook, code: int, output: str, errors: str) -> HookAnswer:
    """The answer of a command that has ended."""
    if code == 2:
        return HookAnswer(hook, "deny", cut((errors or output).strip()) or "the hook gave no reason")
    if code != 0:
        detail = (errors or output).strip().partition("\n")[0]
        return failed_hook(hook, f"{_ending(code)}{f': {detail[:300]}' if detail else ''}")
    words = output.strip()
    if not words.startswith("{"):
        return answer_of_reply(hook, words if hook.event in _TAKE_WORDS else None)
    try:
        return answer_of_reply(hook, read_json(words))
    except FormatError as error:
        return failed_hook(hook, f"it printed JSON that cannot be read: {error}")


def answer_of_reply(hook: Hook, reply: object) -> HookAnswer:
    """The answer in the words or the object of a hook."""
    if isinstance(reply, Mapping):
        return _Fields(hook, reply).answer()
    if reply is None or isinstance(reply, str):
        return HookAnswer(hook, context=cut(reply or ""))
    return failed_hook(hook, "its answer is neither an object nor text")


def failed_hook(hook: Hook, why: str) -> HookAnswer:
    return HookAnswer(hook, failures=(why,))


def cut(text: str) -> str:
    """Words of a hook, in a size that a conversation can take."""
    return text if len(text) <= MAX_CONTEXT else f"{text[:MAX_CONTEXT]}\n[cut: {len(text) - MAX_CONTEXT:,} characters]"


class _Fields:
    """The fields of one answer, each taken if it has the right kind."""

    def __init__(self, hook: Hook, reply: Mapping[str, Any]) -> None:
        self._hook = hook
        self._reply = reply
        self._failures: list[str] = []

    def answer(self) -> HookAnswer:
        own = self._own()
        answer = HookAnswer(
            self._hook,
            self._decision(self._reply.get("decision"), "decision"),
            self._text(self._reply, "reason"),
            self._text(own, "additionalContext") or self._text(self._reply, "additionalContext"),
            self._object(own, "updatedInput"),
            self._stop(),
            self._text(self._reply, "systemMessage"),
        )
        if decision := self._decision(own.get("permissionDecision"), "permissionDecision"):
            answer = replace(answer, decision=decision, reason=self._text(own, "permissionDecisionReason"))
        return replace(answer, failures=tuple(self._failures))

    def _own(self) -> Mapping[str, Any]:
        own = self._object(self._reply, "hookSpecificOutput") or {}
        event = own.get("hookEventName", self._hook.event)
        if event != self._hook.event:
            self._failures.append(f"it answered for the event {event!r}")
            return {}
        return own

    def _decision(self, value: Any, name: str) -> HookDecision:
        if value is None:
            return ""
        decision = _DECISIONS.get(value) if isinstance(value, str) else None
        if decision is None:
            self._failures.append(f"`{name}` is {str(value)[:80]!r}")
        return decision or ""

    def _stop(self) -> str | None:
        return None if self._goes_on() else self._text(self._reply, "stopReason") or "no reason was given"

    def _goes_on(self) -> bool:
        value = self._reply.get("continue", True)
        if not isinstance(value, bool):
            self._failures.append("`continue` is neither true nor false")
            return True
        return value

    def _text(self, where: Mapping[str, Any], name: str) -> str:
        value = where.get(name) or ""
        if isinstance(value, str):
            return cut(value)
        self._failures.append(f"`{name}` is no text")
        return ""

    def _object(self, where: Mapping[str, Any], name: str) -> JsonObject | None:
        value = where.get(name)
        if value is None or isinstance(value, dict):
            return value
        self._failures.append(f"`{name}` is no object")
        return None
