"""What a setting can take: a test, the words for it in an error message, and the choices where there are few."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Kind:
    """What a value must be, in words and as a test."""

    expected: str
    matches: Callable[[Any], bool]
    choices: tuple[str, ...] = ()


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value < float("inf")


def _is_list(value: Any) -> bool:
    return isinstance(value, (list, tuple)) and all(isinstance(item, str) and item.strip() for item in value)


def _is_hook_group(value: Any) -> bool:
    hooks = value.get("hooks") if isinstance(value, dict) else None
    if not isinstance(hooks, list) or not hooks or not isinstance(value.get("matcher", ""), str):
        return False
    return all(isinstance(each, dict) and isinstance(each.get("command"), str) for each in hooks)


def one_of(*values: str) -> Kind:
    expected = "one of " + ", ".join(map(repr, values))
    return Kind(expected, lambda value: isinstance(value, str) and value in values, values)


TEXT = Kind("a string", lambda value: isinstance(value, str) and bool(value.strip()))
WHOLE = Kind("a whole number of 0 or more", lambda value: _is_number(value) and isinstance(value, int))
COUNT = Kind("a whole number of 1 or more", lambda value: _is_number(value) and isinstance(value, int) and value > 0)
NUMBER = Kind("a number of 0 or more", _is_number)
SHARE = Kind("a number from 0 to 1", lambda value: _is_number(value) and value <= 1)
SWITCH = Kind("true or false", lambda value: isinstance(value, bool))
HOOKS = Kind(
    "a list of tables, each with an optional `matcher` and `hooks`, a list of tables with a `command`",
    lambda value: isinstance(value, (list, tuple)) and all(map(_is_hook_group, value)),
)
LIST = Kind("a list of non-empty strings", _is_list)
DECISION = one_of("allow", "ask", "deny")
