"""The points of a task at which hooks run, and what their answers do there.

| point            | what an answer can do                                                                     |
|------------------|-------------------------------------------------------------------------------------------|
| SessionStart     | add context to the first message                                                          |
| UserPromptSubmit | add context to the message, or keep it from the model                                     |
| PreToolUse       | deny the call, have the user asked about it, allow what would be asked, change its input  |
| PostToolUse      | add to the result                                                                         |
| PreCompact       | keep the conversation as it is, where there is room                                       |
| Notification     | nothing: it runs beside the task                                                          |
| Stop             | have the model continue; SubagentStop for a subtask                                       |
| SessionEnd       | nothing                                                                                   |

Any answer but the last can end the task (`continue: false`). Hooks of one point run side by side; the strictest one
counts. A hook that fails, hangs or prints nonsense is reported and changes nothing. What the policy denies stays
denied, whatever a hook allows, and a hook of a project allows nothing: its script is a file that the model may edit.
"""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import json
import os
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from joey.actions import WritePath
from joey.commands import Answer
from joey.events import ApprovalAnswered, ApprovalRequested, HookOutcome, HookReported, Outcome, Request
from joey.frames import neutral
from joey.hooks.answers import (
    HookAnswer,
    HookDecision,
    ToolView,
    answer_of_process,
    answer_of_reply,
    arguments_from,
    failed_hook,
    views_of,
)
from joey.hooks.hook import Hook, HookEvent
from joey.journal.records import HookRan
from joey.messages import ShownText, TextBlock, ToolResult
from joey.sandbox import Sandbox
from joey.task import wording
from joey.task.config import TaskConfig
from joey.task.log import TaskLog
from joey.task.own_commands import run_own_command
from joey.task.toolbox import Toolbox
from joey.tools.registry import ResolvedCall
from joey.tools.shell.confinement import unapproved_sandbox
from joey.tools.shell.environment import command_environment
from joey.wire import JsonObject

MAX_BLOCKED_ENDS = 8
"""How often in a row hooks may have the model continue."""
_LAST_SECONDS = 5.0
"""How long the end of a task waits for hooks."""
_MODES = {"edits": "acceptEdits", "plan": "plan", "all": "bypassPermissions", "auto": "auto"}
_STRICTNESS: dict[HookDecision, int] = {"allow": 0, "": 1, "ask": 2, "deny": 3}


@dataclass(frozen=True, slots=True)
class ToolGate:
    """What hooks decided about a call. `arguments` are those to use, if hooks changed them."""

    decision: HookDecision = ""
    reason: str = ""
    arguments: JsonObject | None = None


@dataclass(frozen=True, slots=True)
class PromptCheck:
    """What hooks decided about a message of the user's."""

    blocked: str | None = None
    context: tuple[TextBlock, ...] = ()


OPEN_GATE = ToolGate()
_ACCEPTED_PROMPT = PromptCheck()


class HookPoints:
    """The hooks of one task. `is_subtask`: its prompts are the model's, and its end is that of a subtask."""

    def __init__(self, config: TaskConfig, log: TaskLog, toolbox: Toolbox, *, is_subtask: bool) -> None:
        self._config = config
        self._settings = config.hooks.user_hooks
        self._log = log
        self._toolbox = toolbox
        self._is_subtask = is_subtask
        self._blocked_ends = 0
        self._background: set[asyncio.Task[list[HookAnswer]]] = set()
        self.stopped: str | None = None
        """Why a hook wants the task to end, if one does."""

    # The beginning and the end

    async def begin(self, ask: Callable[[Request], Awaitable[Answer]], *, resumed: bool) -> list[TextBlock]:
        """Show the project's hooks that the user has not seen, and start the session: context for the first message."""
        if self._is_subtask:
            return []
        if self._settings.unseen:
            await self._show_unseen(ask)
        source = "resume" if resumed else "startup"
        return self._context(await self._run("SessionStart", (source,), source=source))

    async def _show_unseen(self, ask: Callable[[Request], Awaitable[Answer]]) -> None:
        hooks, consent = self._settings.unseen, self._settings.consent
        lines = [f"{hook}    ({hook.where})" for hook in hooks]
        shown, always = (ShownText("\n".join(lines)),), ("these hooks, until one of them changes",)
        request = ApprovalRequested("hooks_1", "", "project_hooks", {}, wording.UNSEEN_HOOKS, shown, always)
        answer = None if self._config.hooks.headless else await ask(request)
        if answer is not None:
            self._log.emit(ApprovalAnswered(request.request_id, answer.yes, answer.text))
        if consent is not None and answer is not None and answer.yes:
            consent.accept(hooks, keep=answer.always and answer.scope == "project")
        else:
            self._report(hooks[0], "failed", wording.hooks_not_run(len(hooks)))

    async def end(self, outcome: Outcome) -> None:
        """The task is over, whatever the outcome: hooks get a moment."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_LAST_SECONDS):
                if not self._is_subtask:
                    await self._run("SessionEnd", ("other",), reason="other", outcome=outcome)
                await asyncio.gather(*self._background)
        for each in self._background:
            each.cancel()
        await asyncio.gather(*self._background, return_exceptions=True)

    # Messages

    @property
    def checks_prompts(self) -> bool:
        return not self._is_subtask and self._settings.has("UserPromptSubmit")

    async def prompt(self, text: str) -> PromptCheck:
        """A message of the user's, before the model reads it."""
        self._blocked_ends = 0
        if not text or not self.checks_prompts:
            return _ACCEPTED_PROMPT
        answers = await self._run("UserPromptSubmit", (), prompt=text)
        reasons = [each.reason for each in answers if each.decision == "deny"]
        if self.stopped is not None:
            reasons.append(self.stopped)
        return PromptCheck("; ".join(reasons) if reasons else None, tuple(self._context(answers)))

    # Calls

    async def before_tool(self, call: ResolvedCall) -> ToolGate:
        """What hooks decide about a call, before the policy looks at it."""
        if not self._settings.has("PreToolUse") or call.tool.display.role == "result":
            return OPEN_GATE  # a proposed result is the end of a turn, and no tool that scripts know
        arguments, gate = _arguments(call), ToolGate("allow")
        changed: JsonObject | None = None
        for view in self._views(call, arguments):
            answers = await self._run("PreToolUse", view.names, tool_name=view.names[0], tool_input=view.input,
                                      tool_use_id=call.id, joey_tool_name=call.tool.name)  # fmt: skip
            gate = _stricter(gate, _decided(answers))
            for answer in answers:
                if answer.updated_input is not None:
                    changed = arguments_from(call.tool.name, view, answer.updated_input, changed or arguments)
        return ToolGate(gate.decision, gate.reason, None if changed == arguments else changed)

    async def after_tool(self, call: ResolvedCall, result: ToolResult) -> list[TextBlock]:
        """What hooks add to the result of a call that went well."""
        if result.is_error or not self._settings.has("PostToolUse"):
            return []
        added: list[TextBlock] = []
        for view in self._views(call, _arguments(call)):
            answers = await self._run(
                "PostToolUse", view.names, tool_name=view.names[0], tool_input=view.input, tool_use_id=call.id,
                tool_response=_response(view, result), joey_tool_name=call.tool.name,
            )  # fmt: skip
            added += [
                TextBlock(wording.hook_words(neutral(each.reason))) for each in answers if each.decision == "deny"
            ]
            added += self._context(answers)
        return [*dict.fromkeys(added)]

    def _views(self, call: ResolvedCall, arguments: JsonObject) -> list[ToolView]:
        try:
            actions = call.tool.actions(call.params, self._toolbox.context(call.id))
        except Exception:  # noqa: BLE001 - the call is judged next, and says so itself
            actions = ()
        written = [action.path for action in actions if isinstance(action, WritePath)]
        return views_of(call.tool.name, arguments, written, str(self._config.workspace.folder))

    # The window, the user, the end of a turn

    async def before_compaction(self, trigger: Literal["manual", "auto"]) -> str | None:
        """Why the conversation must stay as it is, if hooks want that."""
        answers = await self._run("PreCompact", (trigger,), trigger=trigger, custom_instructions="")
        return next((each.reason for each in answers if each.decision == "deny"), None)

    def notify(self, kind: str, message: str) -> None:
        """The user is needed. Hooks run beside the task, which does not wait for them."""
        if not self._settings.has("Notification"):
            return
        run = self._run("Notification", (kind,), message=message, title="Joey", notification_type=kind)
        task = asyncio.create_task(run)
        self._background.add(task)
        task.add_done_callback(self._background.discard)

    async def turn_ends(self, text: str) -> str | None:
        """What the model must still do, if hooks do not let it end its turn."""
        event: HookEvent = "SubagentStop" if self._is_subtask else "Stop"
        if not self._settings.has(event):
            return None
        kind = self._toolbox.mode.slug
        answers = await self._run(
            event, (kind,) if self._is_subtask else (), stop_hook_active=self._blocked_ends > 0,
            last_assistant_message=text, **({"agent_type": kind} if self._is_subtask else {}),
        )  # fmt: skip
        blocked = next((each for each in answers if each.decision == "deny"), None)
        if blocked is None or self.stopped is not None:
            return None
        self._blocked_ends += 1
        if self._blocked_ends <= MAX_BLOCKED_ENDS:
            return wording.end_blocked(neutral(blocked.reason))
        self._report(blocked.hook, "failed", f"it blocked the end {MAX_BLOCKED_ENDS} times; the turn ends now")
        return None

    # Running

    async def _run(self, event: HookEvent, names: tuple[str, ...], **data: Any) -> list[HookAnswer]:
        hooks = self._settings.matching(event, names)
        if not hooks:
            return []
        given = {**self._given(event), **data}
        answers = await asyncio.gather(*(self._answer(hook, given) for hook in hooks))
        for answer in answers:
            for outcome, words in _outcomes(answer):
                self._report(answer.hook, outcome, words)
        if event != "SessionEnd":
            self.stopped = next((each.stop for each in answers if each.stop is not None), self.stopped)
        return [*answers]

    def _given(self, event: HookEvent) -> dict[str, Any]:
        return {
            "session_id": self._log.task_id,
            "transcript_path": str(self._config.workspace.store.journal_path(self._log.task_id)),
            "cwd": str(self._config.workspace.folder),
            "permission_mode": _MODES.get(self._toolbox.approvals.profile, "default"),
            "hook_event_name": event,
        }

    async def _answer(self, hook: Hook, data: dict[str, Any]) -> HookAnswer:
        try:
            return await (self._of_function(hook, data) if hook.function else self._of_command(hook, data))
        except TimeoutError:
            return failed_hook(hook, f"it took longer than {hook.timeout:g} s and was ended")
        except Exception as error:  # noqa: BLE001 - a hook's failure is harmless, whatever it is
            return failed_hook(hook, f"{type(error).__name__}: {error}"[:300])

    async def _of_function(self, hook: Hook, data: dict[str, Any]) -> HookAnswer:
        assert hook.function is not None
        async with asyncio.timeout(hook.timeout):
            reply = await asyncio.to_thread(hook.function, json.loads(json.dumps(data)))
            return answer_of_reply(hook, await reply if inspect.isawaitable(reply) else reply)

    async def _of_command(self, hook: Hook, data: dict[str, Any]) -> HookAnswer:
        folder = self._config.workspace.folder
        given = json.dumps(data, ensure_ascii=False).encode("utf-8", "replace")
        rules = self._settings.environment
        variables = command_environment(os.environ, rules.keep, rules.withhold).variables
        own = {"CLAUDE_PROJECT_DIR": str(folder), "JOEY_PROJECT_DIR": str(folder)}
        sandbox = await self._sandbox(hook)
        ended = await run_own_command(hook.command, folder, {**variables, **own}, hook.timeout, given, sandbox)
        if ended.code is None:
            raise TimeoutError
        answer = answer_of_process(hook, ended.code, ended.output, ended.errors)
        too_much = ended.overflow and answer.decision != "deny"
        return failed_hook(hook, "it printed more than a hook may; its answer is not used") if too_much else answer

    async def _sandbox(self, hook: Hook) -> Sandbox | None:
        """What holds the hook of a project; the user's own are held by nothing."""
        if hook.origin != "project":
            return None
        return await unapproved_sandbox(self._settings.sandbox, self._toolbox.context())

    def _context(self, answers: Sequence[HookAnswer]) -> list[TextBlock]:
        return [TextBlock(wording.hook_words(neutral(each.context))) for each in answers if each.context]

    def _report(self, hook: Hook, outcome: HookOutcome, words: str) -> None:
        self._log.record(HookRan(hook.event, hook.command, outcome, words))
        self._log.emit(HookReported(hook.event, hook.command, outcome, words))


def _arguments(call: ResolvedCall) -> JsonObject:
    return call.params.model_dump(mode="json", exclude_unset=True)


def _decided(answers: Sequence[HookAnswer]) -> ToolGate:
    """The decision of hooks that saw the same call."""
    allowed = any(each.decision == "allow" and each.hook.origin != "project" for each in answers)
    strict = [each for each in answers if each.decision in ("ask", "deny")]
    if not strict:
        return ToolGate("allow" if allowed else "")
    worst = max(strict, key=lambda each: _STRICTNESS[each.decision])
    return ToolGate(worst.decision, worst.reason or "a hook decided so")


def _stricter(one: ToolGate, other: ToolGate) -> ToolGate:
    return other if _STRICTNESS[other.decision] > _STRICTNESS[one.decision] else one


def _outcomes(answer: HookAnswer) -> Iterator[tuple[HookOutcome, str]]:
    """What is reported of an answer."""
    yield from (("failed", each) for each in answer.failures)
    if answer.message:
        yield "message", answer.message
    if answer.stop is not None:
        yield "stopped", answer.stop
    if answer.decision == "deny":
        yield "blocked", answer.reason
    elif answer.decision == "ask":
        yield "asks", answer.reason
    elif answer.decision == "allow" and answer.hook.origin == "project":
        yield "failed", "it allowed a call, which a hook of a project cannot do; approvals stay as they are"
    elif answer.decision == "allow":
        yield "allowed", answer.reason
    if answer.updated_input is not None:
        yield "changed", json.dumps(answer.updated_input, ensure_ascii=False)[:1000]
    if answer.context:
        yield "context", answer.context


def _response(view: ToolView, result: ToolResult) -> JsonObject:
    """The result in the fields that scripts look for."""
    if view.names[0] == "Bash":
        return {"stdout": result.text, "stderr": "", "interrupted": False, "isImage": False}
    path = {"filePath": view.input["file_path"]} if "file_path" in view.input else {}
    return {**path, "success": True, "content": result.text}
