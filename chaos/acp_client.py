"""A small editor: it speaks the Agent Client Protocol with one `joey acp`, and keeps what its user would see.

A `View` is made of updates alone. It knows of each call what it was shown to be and how it ended. What stands before a
call that began, or that permission was asked for, is certain: the model's reply was whole then, and it was kept.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeAlias

_LABEL = re.compile(r"\bstep-(p\d+(?:c\d+)?)\b|\b(p\d+(?:c\d+)?)\.txt\b")
Permit: TypeAlias = Callable[[str], Awaitable[str | None]]
"""Which option to choose when permission is asked for a step; None: no answer."""


def label_of(call: Mapping[str, Any]) -> str:
    """The step that a call is, by what is shown of it; empty if that is not known yet."""
    found = _LABEL.search(f"{call.get('title', '')} {json.dumps(call.get('rawInput', ''))}")
    return (found[1] or found[2]) if found else ""


@dataclass(slots=True)
class Call:
    """A call on the screen."""

    shown: dict[str, Any] = field(default_factory=dict)
    certain: bool = False

    @property
    def label(self) -> str:
        return label_of(self.shown)

    @property
    def end(self) -> tuple[str, str] | None:
        """How it ended, and what was shown of that."""
        status = self.shown["status"]
        return (status, json.dumps(self.shown.get("content"))) if status in ("completed", "failed") else None


@dataclass(slots=True)
class View:
    """What the user of an editor sees of a session. Messages are the user's (`> words`) and the model's."""

    items: list[str | Call] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    _calls: dict[str, Call] = field(default_factory=dict)
    _message: str = ""

    def apply(self, update: Mapping[str, Any]) -> None:
        kind = update["sessionUpdate"]
        if kind == "tool_call":
            if update["toolCallId"] in self._calls:
                self.problems.append(f"{update['toolCallId']} was announced twice")
            self._calls[update["toolCallId"]] = call = Call()
            self.items.append(call)
        if kind in ("tool_call", "tool_call_update"):
            self._change(update)
        elif kind == "user_message_chunk":
            self.items.append(f"> {update['content']['text']}")
        elif kind == "agent_message_chunk":
            if self._message != update["messageId"] or not isinstance(self.items[-1], str):
                self.items.append("")
            assert isinstance(self.items[-1], str)
            self.items[-1] += update["content"]["text"]
        self._message = update.get("messageId", "")

    def _change(self, update: Mapping[str, Any]) -> None:
        call = self._calls.get(update["toolCallId"])
        if call is None:
            self.problems.append(f"{update['toolCallId']} was never announced")
            return
        if call.end is not None if call.shown else False:
            self.problems.append(f"{call.label or update['toolCallId']} changed after its end")
        call.shown |= {key: value for key, value in update.items() if key != "sessionUpdate"}
        call.certain = call.certain or call.shown["status"] != "pending"

    def ask(self, call: Mapping[str, Any]) -> None:
        """Permission is asked for a call."""
        self._change(call)
        if (found := self._calls.get(call["toolCallId"])) is not None:
            found.certain = True

    def has_begun(self, call: Mapping[str, Any]) -> bool:
        found = self._calls.get(call["toolCallId"])
        return found is not None and found.shown["status"] != "pending"

    @property
    def certain(self) -> list[str | Call]:
        """What must be there again when the session is loaded."""
        last = max((at for at, each in enumerate(self.items) if isinstance(each, Call) and each.certain), default=-1)
        return self.items[: last + 1]


def calls_in(items: list[str | Call]) -> dict[str, Call]:
    """The calls by their steps. Where one was shown twice, by two processes, the later one."""
    found = [each for each in items if isinstance(each, Call) and each.label]
    return {each.label: each for each in found}


def lost(before: View, loaded: View) -> list[str]:
    """What was shown before and is not there, or is something else, in a session that was loaded."""
    found = [*loaded.problems]
    old, new = calls_in(before.certain), calls_in(loaded.items)
    found += [f"{label} is gone" for label in old if label not in new]
    for label in old.keys() & new.keys():
        if (was := old[label].end) is not None and was != new[label].end:
            found.append(f"{label} ended with {was}, and now with {new[label].end}")
    order = [each for each in new if each in old and "c" not in each]
    if order != [each for each in old if "c" not in each]:
        found.append(f"another order: {[*old]}, and now {[*new]}")
    labels = [each.label for each in loaded.items if isinstance(each, Call) and each.label]
    found += [f"{each} is shown {labels.count(each)} times" for each in new if labels.count(each) > 1]
    for whose in ("> ", ""):
        earlier, now = _messages(before.certain, whose), _messages(loaded.items, whose)
        if not _within(earlier, now):
            found.append(f"messages are gone: {earlier}, and now {now}")
    return found


def _messages(items: list[str | Call], whose: str) -> list[str]:
    """The user's messages, or the model's."""
    texts = [each.strip() for each in items if isinstance(each, str) and each.strip()]
    return [each for each in texts if each.startswith("> ") == bool(whose)]


def _within(some: list[str], all_of_them: list[str]) -> bool:
    """Whether these are among those, in this order."""
    left = iter(all_of_them)
    return all(each in left for each in some)


class _Input(Protocol):
    def write(self, data: bytes) -> None: ...
    def close(self) -> None: ...


class AgentProcess(Protocol):
    """What is needed of a process."""

    @property
    def stdin(self) -> _Input | None: ...
    @property
    def stdout(self) -> asyncio.StreamReader | None: ...
    @property
    def stderr(self) -> asyncio.StreamReader | None: ...
    @property
    def returncode(self) -> int | None: ...
    def kill(self) -> None: ...
    async def wait(self) -> int: ...


class AgentEndedError(Exception):
    """The process is not there any more."""


class AgentError(Exception):
    """An answer that is an error."""


class EditorClient:
    """One process. `permit` is asked what to answer when permission is asked for."""

    def __init__(self, process: AgentProcess, permit: Permit, view: View) -> None:
        self.process, self.view = process, view
        self.errors = ""
        self.open_requests: list[int | str] = []
        """The ids of the requests for permission that have no answer."""
        self._late: set[int | str] = set()
        self._permit = permit
        self._ids = 0
        self._waiting: dict[int, asyncio.Future[Any]] = {}
        self._answering: set[asyncio.Task[None]] = set()
        self._reading = asyncio.gather(self._read(), self._read_errors())

    async def request(self, method: str, **params: Any) -> Any:
        """The result. Raises AgentError for an error, AgentEndedError if the process ends first."""
        self._ids += 1
        answer = self._waiting[self._ids] = asyncio.get_running_loop().create_future()
        self.send({"jsonrpc": "2.0", "id": self._ids, "method": method, "params": params})
        if self._reading.done():
            raise AgentEndedError
        return await answer

    def send(self, message: Mapping[str, Any]) -> None:
        assert self.process.stdin is not None
        with suppress(OSError):
            self.process.stdin.write(json.dumps(message).encode() + b"\n")

    async def _read(self) -> None:
        assert self.process.stdout is not None
        while (line := await self.process.stdout.readline()).endswith(b"\n"):  # a kill may cut the last one
            message = json.loads(line)
            if message.get("method") == "session/update":
                self.view.apply(message["params"]["update"])
            elif message.get("method") == "session/request_permission":
                answering = asyncio.ensure_future(self._answer(message["id"], message["params"]["toolCall"]))
                self._answering.add(answering)
                answering.add_done_callback(self._answering.discard)
            elif (waiting := self._waiting.pop(message.get("id"), None)) is not None and not waiting.done():
                if "error" in message:
                    waiting.set_exception(AgentError(str(message["error"])))
                else:
                    waiting.set_result(message["result"])
        for waiting in self._waiting.values():
            if not waiting.done():
                waiting.set_exception(AgentEndedError)

    async def _answer(self, number: int | str, call: Mapping[str, Any]) -> None:
        self.view.ask(call)
        self.open_requests.append(number)
        if number in self._late:
            await asyncio.sleep(0.2)  # time to take what came before for an answer
        option = await self._permit(label_of(call))
        if self.view.has_begun(call):
            self.view.problems.append(f"{label_of(call)} began before it was allowed")
        if option is not None:
            self.open_requests.remove(number)
            self.answer(number, option)

    def answer_late(self, number: int | str) -> None:
        """Allow what another process requested under this id."""
        self._late.add(number)
        self.answer(number, "allow_once")

    def answer(self, number: int | str, option: str) -> None:
        outcome = {"outcome": "selected", "optionId": option}
        self.send({"jsonrpc": "2.0", "id": number, "result": {"outcome": outcome}})

    async def _read_errors(self) -> None:
        assert self.process.stderr is not None
        self.errors = (await self.process.stderr.read()).decode(errors="replace")

    async def kill(self) -> None:
        self.process.kill()
        await self._ended()

    async def close(self) -> int:
        """The editor leaves; how the process ended."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        try:
            return await asyncio.wait_for(self._ended(), 20)
        except TimeoutError:
            self.process.kill()
            await self._ended()
            return -1

    async def _ended(self) -> int:
        await asyncio.shield(self._reading)
        code = await self.process.wait()
        for each in (*self._answering, *self._waiting.values()):
            each.cancel()
        assert self.process.stdin is not None
        self.process.stdin.close()
        return code
