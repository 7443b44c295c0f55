"""From the events of a task to the updates of a session: a fold, without a word about the wire.

    event ──► Projection.apply ──► updates, in the order in which they are sent

The same fold shows a task as it runs and one that is loaded, so a loaded session looks as it looked. Its laws:

* every tool call is announced once (`tool_call`), ends once (completed or failed), and has an id that is unique in the
  session: models repeat theirs;
* each block of text and of reasoning is a message with an id of its own, so that editors do not glue them together;
* what grows is sent as it grows and never again: a command's output in pieces where the editor draws them, otherwise
  its last lines now and then and the whole at the end.

A result is a message, not a call: its words stream like any other text. So is a question; the todo list is the plan. A
subtask is the call that started it; its own calls name that call. A call that an interruption ended, and that is
continued when the task is resumed, is announced again.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from joey import events
from joey.acp import updates
from joey.acp.client import Client
from joey.acp.updates import Content, Update
from joey.messages import ImageBlock, ShownText, TextBlock, ToolResult
from joey.tools.builtin import builtin_display
from joey.tools.display import Display, flat
from joey.tools.shell.colours import without_colours
from joey.wire import ArgumentPath

_SECONDS_BETWEEN = 0.3
"""How often the last lines of an output are sent again to an editor that does not draw pieces."""
_TAIL = 2_000
_VERBS = {"read": "Read", "edit": "Edit", "search": "Search", "fetch": "Open"}


@dataclass(slots=True, eq=False)
class _Call:
    """A tool call that the editor knows of."""

    id: str
    name: str
    display: Display
    arguments: dict[ArgumentPath, list[str]] = field(default_factory=dict)
    title: str = ""
    titled: bool = False
    ended: bool = False
    interrupted: bool = False
    """Whether its task ended before it did."""
    output: list[str] = field(default_factory=list)
    drawn_at: float = 0.0
    drawn: bool = False
    """Whether the editor draws its output from pieces."""
    pieces: bool = False
    """Whether it was sent some."""
    words: str = ""
    """The last words of the subtask that it started."""

    @property
    def is_card(self) -> bool:
        return self.display.role == "call"

    def texts(self) -> dict[ArgumentPath, str]:
        return {path: "".join(pieces) for path, pieces in self.arguments.items()}


class Projection:
    """One session. `folder` is where the task works; `mark` tells its ids from those of an earlier process."""

    def __init__(
        self,
        folder: str,
        client: Client,
        *,
        mark: str = "",
        window: int | None = None,
        display_of: Callable[[str], Display] = builtin_display,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._folder = folder
        self._mark = mark and f"{mark}-"
        self._client = client
        self._display_of = display_of
        self._clock = clock
        self._calls: dict[tuple[str, str], _Call] = {}
        self._running: dict[str, _Call] = {}
        """The call that each task runs now."""
        self._parents: dict[str, _Call] = {}
        """The call that started each subtask."""
        self._messages = 0
        self._announced = 0
        self.window = window
        self.cost: float | None = None
        self._used = 0

    def apply(self, task_id: str, event: events.Event) -> list[Update]:
        return [*self._updates(task_id, event)]

    def call_id(self, task_id: str, call_id: str) -> str | None:
        """The id by which the editor knows a call."""
        call = self._calls.get((task_id, call_id))
        return call.id if call else None

    def user_message(self, words: str, images: Sequence[ImageBlock] = ()) -> list[Update]:
        """A message of the user's, where the editor has not shown it itself."""
        self._messages += 1
        content = [*([updates.text(words)] if words else []), *map(updates.image, images)]
        return [updates.message("user_message_chunk", each, self._message_id) for each in content]

    def say(self, words: str) -> list[Update]:
        """A message that is not the model's."""
        self._messages += 1
        return [updates.message("agent_message_chunk", updates.text(words), self._message_id)]

    def _updates(self, task_id: str, event: events.Event) -> Iterator[Update]:
        if not isinstance(event, events.TaskFinished | events.TaskAborted):
            yield from self._continued(task_id)
        match event:
            case (
                events.TextStarted()
                | events.TextDelta()
                | events.TextFinished()
                | events.ReasoningStarted()
                | events.ReasoningDelta()
            ):
                yield from self._words(task_id, event)
            case (
                events.ToolCallStarted()
                | events.ToolCallDelta()
                | events.ToolCallFinished()
                | events.ToolCallMalformed()
            ):
                yield from self._call(task_id, event)
            case events.ToolRunStarted() | events.ToolRunProgressed() | events.ToolRunFinished():
                yield from self._run(task_id, event)
            case events.TodosChanged(todos):
                yield updates.plan(todos)
            case events.TurnFinished():
                yield from self._usage(task_id, event)
            case events.QuestionRequested(_, question, suggestions):
                choices = "".join(f"\n- {each.text}" for each in suggestions)
                yield from self.say(f"{question}{choices}")
            case events.ModeChanged(mode) if task_id not in self._parents:
                yield {"sessionUpdate": "current_mode_update", "currentModeId": mode}
            case events.SubtaskOpened(child_id, _, call_id):
                if call := self._calls.get((task_id, call_id)) or self._running.get(task_id):
                    self._parents[child_id] = call
                    yield from self._continued(child_id) if call.interrupted else self._opened(call, event.model)
            case events.TaskFinished() | events.TaskAborted():
                yield from self._end(task_id, "The task ended before this call did.")
            case _:
                yield from self._notices(task_id, event)

    def _notices(self, task_id: str, event: events.Event) -> Iterator[Update]:
        match event:
            case events.RetryScheduled(_, seconds, reason):
                yield from self._end(task_id, "This reply broke off and is requested again.")
                yield from self.notice("warning", f"Trying again in {seconds:.0f} s", reason)
            case events.ModelChanged(model, reason):
                yield from self.notice("warning", f"Continuing with {model}", reason)
            case events.ContextShortened():
                yield from self._compaction(event)
            case events.CommandLeftRunning(command, group):
                where = f" as process group {group}; stop it with `kill -- -{group}`" if group else ""
                yield from self.notice("warning", "A command may still be running", f"`{command}`{where}")
            case events.CheckFinished(command, code, words) if code != 0:
                how = "it could not run to its end" if code is None else "it found problems"
                yield from self.notice("warning", f"Check `{command}`: {how}", words)
            case events.HookReported(point, hook, "failed" | "blocked" | "stopped" | "message" as outcome, words):
                level = "info" if outcome == "message" else "warning"
                yield from self.notice(level, f"Hook {point}: {outcome}", f"`{hook}`: {words}")
            case events.FilesLeftBehind(words):
                yield from self.notice("warning", "Files that run programs later were left behind", words)

    # Words

    @property
    def _message_id(self) -> str:
        return f"{self._mark}message-{self._messages}"

    def _words(self, task_id: str, event: events.Event) -> Iterator[Update]:
        parent = self._parents.get(task_id)
        match event:
            case events.TextStarted() | events.ReasoningStarted():
                self._messages += 1
            case events.TextDelta(words) if parent is not None:
                parent.words += words
            case events.TextFinished() if parent is not None:
                yield self._changed(parent, content=[updates.block(updates.text(parent.words))])
                parent.words = ""
            case events.TextDelta(words) if words:
                yield updates.message("agent_message_chunk", updates.text(words), self._message_id)
            case events.ReasoningDelta(words) if words and parent is None:
                yield updates.message("agent_thought_chunk", updates.text(words), self._message_id)

    # Calls

    def _call(self, task_id: str, event: Any) -> Iterator[Update]:
        call = self._calls.get((task_id, event.call_id))
        if call is None or isinstance(event, events.ToolCallStarted):
            call, announced = self._announce(task_id, event.call_id, event.name or "a call")
            yield from announced
        match event:
            case events.ToolCallDelta(_, path, words, _) if path:
                yield from self._grow(call, path, words)
            case events.ToolCallFinished(_, _, arguments):
                streamed, call.arguments = bool(call.arguments), _flat(arguments)
                known = arguments if isinstance(arguments, Mapping) else {}
                if call.is_card:
                    yield self._changed(call, **self._about(call), rawInput=updates.raw_input(known))
                elif call.display.role == "result" and not streamed and known.get("result"):
                    yield updates.message("agent_message_chunk", updates.text(str(known["result"])), self._message_id)
            case events.ToolCallMalformed(_, _, _, message):
                yield from self._close(call, "failed", [updates.block(updates.text(message))])

    def _opened(self, call: _Call, model: str) -> Iterator[Update]:
        """A call has started its subtask, which works with a model of its own where one is named."""
        title = _title(call, call.display.summary(call.texts()))
        call.title = f"{title} ({model})" if model else title
        yield self._changed(call, title=call.title)

    def _continued(self, task_id: str) -> Iterator[Update]:
        """A subtask continues that an interruption had ended, and so does the call that started it."""
        parent = self._parents.get(task_id)
        if parent is None or not parent.interrupted:
            return
        above, call_id = next(key for key, call in self._calls.items() if call is parent)
        yield from self._continued(above)
        self._parents[task_id], announced = self._announce(above, call_id, parent.name, title=parent.title)
        self._running[above] = self._parents[task_id]
        yield from (*announced, self._started(self._parents[task_id]))

    def _announce(
        self, task_id: str, call_id: str, name: str, summary: str = "", title: str = ""
    ) -> tuple[_Call, list[Update]]:
        self._announced += 1
        self._messages += 1
        call = _Call(f"{self._mark}call-{self._announced}", name, self._display_of(name))
        call.title = title or _title(call, summary)
        self._calls[task_id, call_id] = call
        if not call.is_card:
            return call, []
        update: Update = {
            "sessionUpdate": "tool_call",
            "toolCallId": call.id,
            "title": call.title,
            "name": call.name,
            "kind": call.display.kind,
            "status": "pending",
        }
        if parent := self._parents.get(task_id):
            update["_meta"] = {"parentToolCallId": parent.id}
        return call, [update]

    def _grow(self, call: _Call, path: ArgumentPath, words: str) -> Iterator[Update]:
        """An argument grew. What a call is about is told once, as soon as another argument begins after it."""
        known = path in call.arguments
        call.arguments.setdefault(path, []).append(words)
        if call.display.role == "result" and path[-1] == "result":
            if not words:
                return
            yield updates.message("agent_message_chunk", updates.text(words), self._message_id)
        elif call.is_card and not known and not call.titled and len(call.arguments) > 1:
            before = {each: text for each, text in call.texts().items() if each != path}
            if call.display.subject and any(each[-1] in call.display.subject for each in before if each):
                call.titled = True
                yield self._changed(call, **self._about(call, before))

    def _about(self, call: _Call, known: Mapping[ArgumentPath, str] | None = None) -> dict[str, Any]:
        known = call.texts() if known is None else known
        paths = [text for path, text in known.items() if path and str(path[-1]).endswith("path") and text]
        locations = [{"path": updates.absolute(each, self._folder)} for each in dict.fromkeys(paths)]
        call.title = _title(call, call.display.summary(known))
        return {"title": call.title, **({"locations": locations} if locations else {})}

    def waiting(self, task_id: str, event: events.ApprovalRequested) -> tuple[list[Update], Update]:
        """A call as a request for permission shows it: all of what would happen, and why it is asked. Before it, its
        announcement, if it is of a reply that came before the task was resumed."""
        call = self._calls.get((task_id, event.call_id))
        announced: list[Update] = []
        if call is None or call.ended:
            call, announced = self._announce(task_id, event.call_id, event.name)
        call.arguments = _flat(event.arguments)
        reason = f"{event.reason}." if event.reason and event.reason[-1] not in ".!?" else event.reason
        content = [*updates.shown_content(event.shown, self._folder), *_command(call)] or _arguments(event.arguments)
        return announced, {
            "toolCallId": call.id,
            "kind": call.display.kind,
            "status": "pending",
            **self._about(call),
            "rawInput": updates.raw_input(event.arguments),
            "content": [*content, *([updates.block(updates.text(reason))] if reason else [])],
        }

    def plan_offer(self, event: events.CompletionRequested) -> tuple[Update, Update]:
        """A plan as a call that the user may let go ahead: what a request shows of it, and its announcement."""
        return self._offer("Carry out the plan", "switch_mode", updates.block(updates.text(event.result)))

    def edit_offer(self, title: str, path: str, before: str | None, after: str) -> tuple[Update, Update]:
        """The same for a change of a file that no call makes."""
        return self._offer(title, "edit", {"type": "diff", "path": path, "oldText": before, "newText": after})

    def _offer(self, title: str, kind: str, shown: Content) -> tuple[Update, Update]:
        self._announced += 1
        call = {"toolCallId": f"{self._mark}call-{self._announced}", "title": title, "kind": kind}
        announced = {"sessionUpdate": "tool_call", **call, "status": "pending"}
        return {**call, "status": "pending", "content": [shown]}, announced

    # What became of them

    def _run(
        self, task_id: str, event: events.ToolRunStarted | events.ToolRunProgressed | events.ToolRunFinished
    ) -> Iterator[Update]:
        call = self._calls.get((task_id, event.call_id))
        if isinstance(event, events.ToolRunStarted) and (call is None or call.ended):
            # It is of a reply that came before the task was resumed.
            call, announced = self._announce(task_id, event.call_id, event.name, event.summary)
            yield from announced
        if isinstance(event, events.ToolRunFinished) and (call is None or call.interrupted):
            # It is of a subtask that had ended by then.
            call, announced = self._announce(task_id, event.call_id, event.name, title=call.title if call else "")
            yield from announced
        if call is None or not call.is_card or call.ended:
            return
        match event:
            case events.ToolRunStarted():
                self._running[task_id] = call
                yield self._started(call)
            case events.ToolRunProgressed(_, words):
                yield from self._progress(call, words)
            case events.ToolRunFinished(_, _, result):
                self._running.pop(task_id, None)
                yield from self._finish(call, result)

    def _finish(self, call: _Call, result: ToolResult) -> Iterator[Update]:
        texts = (block.text for block in result.content if isinstance(block, TextBlock))
        parts = (part for text in texts for part in text.split("\n\n"))
        failed = result.is_error or any(map(call.display.failed, parts))
        if call.drawn and not call.pieces:  # it is loaded, or all of its output came at the end
            shown = "".join(each.text for each in result.shown if isinstance(each, ShownText)) or result.text
            yield from self._progress(call, updates.shortened(shown))
        content = updates.result_content(result, self._folder)
        yield from self._close(call, "failed" if failed else "completed", content, result)

    def _started(self, call: _Call) -> Update:
        call.drawn = call.display.kind == "execute" and self._client.draws_output
        if not call.drawn:
            return self._changed(call, status="in_progress")
        terminal: Content = {"type": "terminal", "terminalId": call.id}
        info = {"terminal_info": {"terminal_id": call.id, "cwd": self._folder}}
        return self._changed(call, status="in_progress", content=[terminal], _meta=info)

    def _progress(self, call: _Call, words: str) -> Iterator[Update]:
        if call.drawn:
            call.pieces = True
            yield self._changed(call, _meta={"terminal_output": {"terminal_id": call.id, "data": words}})
            return
        call.output.append(without_colours(words))
        now = self._clock()
        if now - call.drawn_at >= _SECONDS_BETWEEN:
            call.drawn_at = now
            tail = "".join(call.output)[-_TAIL:]
            call.output = [tail]
            yield self._changed(call, content=[updates.block(updates.text(updates.fenced(tail)))])

    def _close(
        self, call: _Call, status: str, content: list[Content], result: ToolResult | None = None
    ) -> Iterator[Update]:
        if call.ended or not call.is_card:
            call.ended = True
            return
        call.ended = True
        call.output, call.arguments = [], {}
        raw = {"rawOutput": updates.raw_output(result)} if result else {}
        if not call.drawn:
            yield self._changed(call, status=status, content=content, **raw)
            return
        ended = result.exit if result else None
        code = (None if status == "failed" else 0) if ended is None else ended.code
        signal = (ended.signal or None) if ended else None
        how = {"terminal_id": call.id, "exit_code": None if signal else code, "signal": signal}
        yield self._changed(call, status=status, **raw, _meta={"terminal_exit": how})

    def _end(self, task_id: str, words: str) -> Iterator[Update]:
        """Nothing of a task runs or waits any more."""
        self._running.pop(task_id, None)
        for (task, _), call in self._calls.items():
            if task == task_id and not call.ended:
                call.interrupted = True
                yield from self._close(call, "failed", [updates.block(updates.text(words))])

    def _changed(self, call: _Call, **changed: Any) -> Update:
        return {"sessionUpdate": "tool_call_update", "toolCallId": call.id, **changed}

    # The rest

    def _usage(self, task_id: str, event: events.TurnFinished) -> Iterator[Update]:
        """What fills the window of the task that a person started; what its subtasks cost counts with it."""
        if task_id not in self._parents:
            self._used = event.usage.total
        if event.cost is not None:
            self.cost = (self.cost or 0.0) + event.cost
        if self.window:
            cost = {} if self.cost is None else {"cost": {"amount": round(self.cost, 6), "currency": "USD"}}
            yield {"sessionUpdate": "usage_update", "used": self._used, "size": self.window, **cost}

    def notice(self, severity: str, title: str, words: str) -> Iterator[Update]:
        """A word to the user that is not the model's."""
        if self._client.notices:
            yield {"sessionUpdate": "notice", "severity": severity, "title": title, "description": words}
            return
        self._messages += 1
        yield updates.message("agent_thought_chunk", updates.text(f"{title}: {words}\n"), self._message_id)

    def _compaction(self, event: events.ContextShortened) -> Iterator[Update]:
        if not self._client.compaction:
            hidden = f"{event.hidden_messages} old messages are no longer sent"
            yield from self.notice("info", "The conversation was summarized", hidden)
            return
        self._messages += 1
        summary = {"summary": [updates.text(event.summary)]} if event.summary else {}
        compaction = f"compaction-{self._messages}"
        yield {"sessionUpdate": "compaction_update", "compactionId": compaction, "status": "completed", **summary}


def _flat(arguments: object) -> dict[ArgumentPath, list[str]]:
    return {path: [words] for path, words in flat(arguments).items()}


def _title(call: _Call, summary: str) -> str:
    """The command itself, or what is done to what."""
    summary = updates.line(summary)
    if call.display.kind == "execute" and summary:
        return summary
    verb = _VERBS.get(call.display.kind, call.name)
    return f"{verb} {summary}" if summary else call.name


def _arguments(arguments: Mapping[str, Any]) -> list[Content]:
    """What a call would do that shows nothing else, such as one of a server's tools: all that it is given."""
    if not arguments:
        return []
    words = json.dumps(updates.raw_input(arguments), ensure_ascii=False, indent=2)
    return [updates.block(updates.text(updates.fenced(words)))]


def _command(call: _Call) -> list[Content]:
    if call.display.kind != "execute":
        return []
    known = call.texts()
    where = f"\nin {updates.line(known[('cwd',)])}" if known.get(("cwd",)) else ""
    return [updates.block(updates.text(f"{updates.fenced(call.display.summary(known))}{where}"))]
