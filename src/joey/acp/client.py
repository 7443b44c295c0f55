"""What the editor can do, as it says in `initialize`. What it does not say, it cannot."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self


@dataclass(frozen=True, slots=True)
class Client:
    """The capabilities that decide how things are shown and asked."""

    name: str = ""
    draws_output: bool = False
    """Whether it draws a terminal from the pieces of output that we send (`_meta.terminal_output`)."""
    notices: bool = False
    compaction: bool = False
    forms: bool = False
    """Whether it shows questions as forms (`elicitation/create`)."""
    booleans: bool = False
    """Whether a config option may be a switch."""
    files: bool = False
    """Whether it both reads and writes files, unsaved buffers included."""

    @classmethod
    def read(cls, params: Mapping[str, Any]) -> Self:
        """From the parameters of `initialize`, whatever else is in them."""
        offered = _mapping(params.get("clientCapabilities"))
        session, files = _mapping(offered.get("session")), _mapping(offered.get("fs"))
        return cls(
            name=str(_mapping(params.get("clientInfo")).get("name", "")),
            draws_output=_mapping(offered.get("_meta")).get("terminal_output") is True,
            notices=_has(session, "notices"),
            compaction=_has(session, "compaction"),
            forms=_has(_mapping(offered.get("elicitation")), "form"),
            booleans=_has(_mapping(session.get("configOptions")), "boolean"),
            files=files.get("readTextFile") is True and files.get("writeTextFile") is True,
        )


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _has(capabilities: Mapping[str, Any], name: str) -> bool:
    """An object says yes, as `true` does."""
    return capabilities.get(name) not in (None, False)
