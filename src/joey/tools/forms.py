"""A form that somebody else wants the user to fill in, such as an MCP server in the middle of a call.

It is data, so that the tool that relays it knows nothing of the user, and the task that puts it to them knows nothing
of who sent it. Nothing in it is ours: names, words and choices are the sender's.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

FieldKind: TypeAlias = Literal["text", "whole", "number", "yes or no", "one of", "some of"]
FieldValue: TypeAlias = str | int | float | bool | list[str]
FormValues: TypeAlias = Mapping[str, FieldValue]

_SECRET = re.compile(
    r"pass[\s_-]?(?:word|phrase|code|wd)|\bpwd\b|\bpin\b|secret|credential|api[\s_-]?key|access[\s_-]?key|private[\s_-]?key"
    r"|seed[\s_-]?phrase|\botp\b|\bcvv\b|\bcvc\b|card[\s_-]?number|\bssn\b|\biban\b"
    r"|(?:^|[\s_-])(?:auth|access|bearer|refresh|session|github|api|personal)[\s_-]?tokens?\b|^token$",
    re.IGNORECASE,
)
_PARTS = re.compile(r"(?<=[a-z])(?=[A-Z])")


@dataclass(frozen=True, slots=True)
class FormField:
    """One value of a form."""

    name: str
    kind: FieldKind = "text"
    title: str = ""
    description: str = ""
    required: bool = False
    choices: tuple[str, ...] = ()
    """What can be chosen, for the kinds that choose."""
    titles: tuple[str, ...] = ()
    """What each choice is called; empty where it is its own name."""

    @property
    def label(self) -> str:
        return self.title or self.name

    @property
    def looks_secret(self) -> bool:
        """Whether it wants something that no form may ask for: what it is called says so, or for a text its
        description."""
        words = (self.name, self.title, self.description if self.kind == "text" else "")
        return any(_SECRET.search(_PARTS.sub("_", each)) for each in words)

    def value(self, text: str) -> FieldValue | None:
        """The value that was typed; None if it is none of this kind."""
        match self.kind:
            case "whole":
                return int(text) if re.fullmatch(r"[+-]?\d{1,18}", text) else None
            case "number":
                return float(text) if re.fullmatch(r"[+-]?\d{1,18}(?:\.\d{1,18})?", text) else None
            case "yes or no":
                return {"yes": True, "y": True, "true": True, "no": False, "n": False, "false": False}.get(text.lower())
            case "one of":
                return text if text in self.choices else None
            case "some of":
                chosen = [each.strip() for each in text.split(",") if each.strip()]
                return chosen if chosen and set(chosen) <= set(self.choices) else None
            case _:
                return text


@dataclass(frozen=True, slots=True)
class Form:
    """What is wanted, and by whom. With `url`, the user is asked to open that address instead."""

    sender: str
    """Who wants it, in our words: the MCP server 'x'."""
    message: str
    fields: tuple[FormField, ...] = ()
    url: str = ""


AskForm: TypeAlias = Callable[[Form], Awaitable[FormValues | None]]
"""Puts a form to the user. None: it was declined."""


async def decline(_form: Form) -> FormValues | None:
    """The answer where nobody is there."""
    return None
