"""Settings by the names of their flags: what a person gives on the command line, or a program as keyword arguments."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from typing import Any

from joey.config.files import check_value
from joey.config.keys import KEYS
from joey.errors import UsageError

BY_OPTION = {key.flag.option: key for key in KEYS if key.flag}


def settings_from(options: Mapping[str, Any]) -> dict[str, Any]:
    """Options such as `{"approve": "edits", "max_turns": 5}` as settings by full name; what is None is left out."""
    return {_name(option): _checked(option, value) for option, value in options.items() if value is not None}


def _name(option: str) -> str:
    if option not in BY_OPTION:
        near = difflib.get_close_matches(option, BY_OPTION, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"available options: {', '.join(BY_OPTION)}"
        raise UsageError(f"unknown option {option!r}; {hint}")
    return BY_OPTION[option].name


def _checked(option: str, value: Any) -> Any:
    return check_value(BY_OPTION[option], value)
