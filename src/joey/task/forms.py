"""A form of somebody else's, put to the user: who wants it and what for, then each value, then whether to send it.

It is made of the requests that every front end has, one after the other. Each names the sender in our words, since the
rest is theirs: a server may write that it is Joey. With nobody there, a form is declined at once; the model gets
neither the form nor what was filled in.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

from joey.effects import Suggestion
from joey.events import ApprovalAnswered, ApprovalRequested, QuestionAnswered, QuestionRequested
from joey.frames import one_line
from joey.messages import ShownText
from joey.task.config import TaskConfig
from joey.task.log import TaskLog
from joey.task.requests import Requests
from joey.tools.forms import FieldValue, Form, FormField, FormValues

DECLINE, SKIP = "decline", "skip"
_WARNING = "It is not Joey that asks, nor the model. Never give it a password or a key"
_ATTEMPTS = 3
_MAX_SHOWN = 9


class _DeclinedError(Exception):
    """The user does not want to fill in the form."""


@dataclass(eq=False, slots=True)
class FormRequests:
    """Puts forms to the user of one task, one at a time."""

    _config: TaskConfig
    _log: TaskLog
    _requests: Requests
    _one: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def ask(self, form: Form) -> FormValues | None:
        """What the user filled in; None if they decline."""
        if self._config.hooks.headless or self._config.hooks.answer is not None:
            return None
        async with self._one:
            try:
                return await self._filled(form)
            except _DeclinedError:
                return None

    async def _filled(self, form: Form) -> FormValues:
        if form.url:
            opening = f"{form.sender} asks you to open an address in your browser. Joey does not open it. {_WARNING}"
            await self._approved(opening, f"{form.message}\n\n{form.url}")
            return {}
        names = "\n".join(f"- {_described(each)}" for each in form.fields)
        wanted = f"{form.sender} asks you to fill in a form. {_WARNING}"
        await self._approved(wanted, f"{form.message}\n\n{names}".strip())
        values: dict[str, FieldValue] = {}
        for at, each in enumerate(form.fields, 1):
            value = await self._value(form, each, f"{at} of {len(form.fields)}")
            if value is not None:
                values[each.name] = value
        if len(form.fields) > 1:
            filled = "\n".join(f"{one_line(name)}: {_typed(value)}" for name, value in values.items())
            await self._approved(f"send this to {form.sender}?", filled)
        return values

    async def _approved(self, reason: str, text: str) -> None:
        request_id = self._requests.new_id("form")
        shown = (ShownText(text),)
        answer = await self._requests.ask(ApprovalRequested(request_id, "", "form", {}, reason, shown))
        self._log.emit(ApprovalAnswered(request_id, answer.yes, answer.text))
        if not answer.yes:
            raise _DeclinedError

    async def _value(self, form: Form, wanted: FormField, place: str) -> FieldValue | None:
        """The value of one field; None if it is left out."""
        problem = ""
        for _ in range(_ATTEMPTS):
            text = await self._typed(form, wanted, place, problem)
            if text.lower() == SKIP and not wanted.required:
                return None
            if text.lower() in (DECLINE, ""):
                raise _DeclinedError
            value = wanted.value(text)
            if value is not None:
                return value
            problem = f"{one_line(text)[:60]!r} is not {_kind(wanted)}.\n"
        raise _DeclinedError

    async def _typed(self, form: Form, wanted: FormField, place: str, problem: str) -> str:
        request_id = self._requests.new_id("form")
        ways = [f"`{SKIP}` leaves it out", *_WAYS] if not wanted.required else _WAYS
        question = f"{problem}For {form.sender}, value {place}: {_described(wanted)}\n({'; '.join(ways)})"
        chosen = _suggestions(wanted)
        answer = await self._requests.ask(QuestionRequested(request_id, question, chosen))
        self._log.emit(QuestionAnswered(request_id, answer.text, answer.images))
        return answer.text.strip()


_WAYS = [f"`{DECLINE}` sends nothing"]


def _suggestions(wanted: FormField) -> tuple[Suggestion, ...]:
    """What can be picked. None where a digit may be the value: it must not pick something else. Declining is the first,
    since that is what a question is answered with where nobody answers in time."""
    choices = {"yes or no": ("yes", "no"), "one of": wanted.choices}.get(wanted.kind, ())
    if not choices or any(len(each) == 1 for each in choices):
        return ()
    ours = (DECLINE,) if wanted.required else (DECLINE, SKIP)
    return tuple(Suggestion(each) for each in (*ours, *choices)[:_MAX_SHOWN])


def _typed(value: FieldValue) -> FieldValue | str:
    """A value as the user typed it."""
    return ("yes" if value else "no") if isinstance(value, bool) else value


def _described(wanted: FormField) -> str:
    about = f": {wanted.description}" if wanted.description else ""
    need = "" if wanted.required else ", optional"
    return f"{one_line(wanted.label)}{about} ({_kind(wanted)}{need})"


def _kind(wanted: FormField) -> str:
    titles = wanted.titles or ("",) * len(wanted.choices)
    choices = ", ".join(
        one_line(f"{each} ({title})" if title else each) for each, title in zip(wanted.choices, titles, strict=True)
    )
    return {
        "text": "text",
        "whole": "a whole number",
        "number": "a number",
        "yes or no": "yes or no",
        "one of": f"one of {choices}",
        "some of": f"some of {choices}, with commas",
    }[wanted.kind]
