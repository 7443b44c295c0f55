"""Forms that a server wants the user to fill in while it works on a call (`elicitation/create`).

A form belongs to the call that runs: without one, it is declined, and so is what comes after MAX_FORMS in one call.
While the user thinks, the time of the call stands still. A server is not believed to be polite: a form is read within
bounds, and one that wants a secret is declined before anybody sees it, since the protocol forbids to ask for one so.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from joey.config.secrets import secret_in
from joey.frames import one_line
from joey.mcp.errors import ErrorOutput
from joey.system.hosts import is_this_machine
from joey.tools.forms import AskForm, FieldKind, Form, FormField, FormValues
from joey.wire import JsonObject

MAX_FORMS = 5
MAX_FIELDS = 20
_MAX_CHOICES = 50
_MAX_WORDS = 300
_MAX_MESSAGE = 1_500
_KINDS: dict[str, FieldKind] = {"string": "text", "integer": "whole", "number": "number", "boolean": "yes or no"}


class UnusableFormError(Exception):
    """A form that is not put to the user; the text says why."""


@dataclass(eq=False, slots=True)
class _Call:
    """A call that runs: who to ask, and when its time is over."""

    ask: AskForm
    timer: asyncio.Timeout
    forms: int = 0
    dialogue: asyncio.Task[FormValues | None] | None = None


class Elicitation:
    """The forms of one session."""

    def __init__(self, server: str, words: ErrorOutput) -> None:
        self._server, self._words = server, words
        self._calls: list[_Call] = []

    @asynccontextmanager
    async def during(self, ask: AskForm, seconds: float) -> AsyncIterator[None]:
        """A call runs, which may take so long besides the time that the user takes. Raises TimeoutError."""
        async with asyncio.timeout(seconds) as timer:
            call = _Call(ask, timer)
            self._calls.append(call)
            try:
                yield
            finally:
                self._calls.remove(call)
                if call.dialogue is not None:
                    call.dialogue.cancel()

    async def answer(self, params: JsonObject) -> FormValues | None:
        """What the user filled in; None if it is declined, by them or at once."""
        call = self._calls[-1] if self._calls else None
        try:
            form = read_form(self._server, params)
        except UnusableFormError as error:
            return self._decline(str(error))
        if call is None:
            return self._decline("it came while no call ran")
        call.forms += 1
        if call.forms > MAX_FORMS:
            return self._decline(f"it is the {call.forms}th in one call")
        values = await self._filled_in(call, form)
        if values is not None and any(secret_in("", value) for value in values.values()):
            return self._decline("what was typed looks like a key")
        return values

    async def _filled_in(self, call: _Call, form: Form) -> FormValues | None:
        loop = asyncio.get_running_loop()
        left = (call.timer.when() or loop.time()) - loop.time()
        call.timer.reschedule(None)
        call.dialogue = asyncio.ensure_future(call.ask(form))
        try:
            await asyncio.wait([call.dialogue])
            return None if call.dialogue.cancelled() else call.dialogue.result()
        finally:
            call.dialogue.cancel()
            call.dialogue = None
            with contextlib.suppress(RuntimeError):  # the call has ended meanwhile
                call.timer.reschedule(loop.time() + left)

    def _decline(self, why: str) -> FormValues | None:
        """Nobody is asked; the log of the server has the reason."""
        self._words.note(f"a form was declined: {why}")
        return None


def read_form(server: str, params: JsonObject) -> Form:
    """The form in a request. Raises UnusableFormError."""
    sender, message = f"the MCP server {server!r}", str(params.get("message", ""))[:_MAX_MESSAGE]
    if "url" in params:
        return Form(sender, message, url=_address(params["url"]))
    schema = params.get("requestedSchema")
    properties = schema.get("properties") if isinstance(schema, dict) else None
    if not isinstance(schema, dict) or not isinstance(properties, dict) or len(properties) > MAX_FIELDS:
        raise UnusableFormError(f"it is no form of up to {MAX_FIELDS} values")
    listed = schema.get("required")
    required = {each for each in listed if isinstance(each, str)} if isinstance(listed, list) else set()
    fields = tuple(_field(str(name), each, required=name in required) for name, each in properties.items())
    if secret := next((each.name for each in fields if each.looks_secret), None):
        raise UnusableFormError(f"it asks for {one_line(secret)[:60]!r}, which looks like a secret")
    return Form(sender, message, fields)


def _address(url: object) -> str:
    """An address that a person may be asked to open: of the web, and no longer than can be read."""
    try:
        parts = urlsplit(str(url))
        host = parts.hostname or ""
    except ValueError:
        host, parts = "", urlsplit("")
    safe = parts.scheme == "https" or (parts.scheme == "http" and is_this_machine(host))
    if not host or not safe or len(str(url)) > _MAX_MESSAGE or not str(url).isprintable() or parts.username:
        raise UnusableFormError("it wants an address opened that is no plain https address")
    return str(url)


def _field(name: str, schema: Any, *, required: bool) -> FormField:
    schema = schema if isinstance(schema, dict) else {}
    title, description = (one_line(str(schema.get(key, "")))[:_MAX_WORDS] for key in ("title", "description"))
    items = schema.get("items")
    source = items if schema.get("type") == "array" and isinstance(items, dict) else schema
    choices = dict(_choices(source))
    kind: FieldKind | None = _KINDS.get(str(schema.get("type")))
    if choices:
        kind = "some of" if source is items else "one of"
    if kind is None or len(name) > _MAX_WORDS or len(choices) > _MAX_CHOICES:
        raise UnusableFormError(f"its value {one_line(name)[:60]!r} is of no kind that a form can have")
    titles = tuple(choices.values()) if any(choices.values()) else ()
    return FormField(name, kind, title, description, required, tuple(choices), titles)


def _choices(schema: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """What can be chosen, each with what it is called, if that is something else."""
    listed = schema.get("enum")
    if isinstance(listed, list):
        yield from ((each, "") for each in listed if isinstance(each, str) and len(each) <= _MAX_WORDS)
    for key in ("oneOf", "anyOf"):
        titled = schema.get(key)
        for each in titled if isinstance(titled, list) else ():
            if isinstance(each, dict) and isinstance(each.get("const"), str) and len(each["const"]) <= _MAX_WORDS:
                yield each["const"], one_line(str(each.get("title", "")))[:_MAX_WORDS]
