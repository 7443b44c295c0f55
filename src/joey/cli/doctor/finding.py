"""What a check found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

State: TypeAlias = Literal["ok", "note", "missing"]


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of one check. `missing` is required, `note` is good to know."""

    subject: str
    state: State
    found: str
    advice: str = ""
