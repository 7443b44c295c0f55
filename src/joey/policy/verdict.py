"""What was decided, and why, in words both the user and the model can read."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from joey.system.filenames import quoted

Decision: TypeAlias = Literal["allow", "ask", "deny"]

_MAX_REASONS = 4
_LINE_BREAKS = re.compile(r"\s*\n\s*")
_SEVERITY: dict[Decision, int] = {"allow": 0, "ask": 1, "deny": 2}


@dataclass(frozen=True, slots=True)
class VerdictPart:
    """One thing that was judged: a simple command, a file, a server's tool."""

    subject: str
    decision: Decision
    reason: str
    rule: str | None = None
    """The rule that decided, as the user wrote it; None when no rule did."""
    kind: Literal["command", "path", "other"] = "other"
    words: tuple[str, ...] = ()
    network: bool = False
    """Whether the rule that allowed it gives it the network."""
    setting: str = ""
    """The setting that decided, if it is about nothing but files of the workspace."""
    linked: bool = False
    """Whether links lead a path somewhere else than its words say."""

    def worse(self, decision: Decision, reason: str) -> VerdictPart:
        """The same part after another look, which can only make it stricter."""
        if _SEVERITY[decision] <= _SEVERITY[self.decision]:
            return self
        return replace(self, decision=decision, reason=reason, setting="")

    def stricter(self, other: VerdictPart) -> VerdictPart:
        """The stricter of two looks at the same thing."""
        return other if _SEVERITY[other.decision] > _SEVERITY[self.decision] else self


@dataclass(frozen=True, slots=True)
class Verdict:
    """Allow, deny (the reason is for the model) or ask (the parts are what the user must see)."""

    decision: Decision
    reason: str
    parts: tuple[VerdictPart, ...] = ()

    @property
    def allowed(self) -> bool:
        return self.decision == "allow"

    @property
    def network(self) -> bool:
        """Whether every command that a rule allowed here was given the network by its rule."""
        ruled = [part for part in self.parts if part.kind == "command" and part.rule is not None]
        return self.allowed and bool(ruled) and all(part.network for part in ruled)

    def unattended(self) -> Verdict:
        """What holds when nobody is there to be asked: a question is a refusal."""
        if self.decision != "ask":
            return self
        return Verdict("deny", f"{self.reason} (no user is there to approve it, so it is denied)", self.parts)


def combine(parts: Iterable[VerdictPart], *, nothing: str = "nothing here needs approval") -> Verdict:
    """The strictest part decides for all."""
    parts = tuple(parts)
    if not parts:
        return Verdict("allow", nothing)
    decision = max((part.decision for part in parts), key=_SEVERITY.__getitem__)
    if decision == "allow" and len(parts) > 1:
        return Verdict("allow", "every part is allowed", parts)
    return Verdict(decision, _reasons([part for part in parts if part.decision == decision]), parts)


def _reasons(parts: Sequence[VerdictPart]) -> str:
    """Why these parts decide. In a command line all of them are named: a harmless command in front must not hide the
    one behind it. Elsewhere the first stands for the others, which are often the same file under another name."""
    of_a_plain_line = parts[0].kind != "other" and any(part.kind == "command" for part in parts)
    named = parts if of_a_plain_line else parts[:1]
    reasons = list(dict.fromkeys(f"`{_short(part)}`: {part.reason}" for part in named))
    more = f"; and {len(reasons) - _MAX_REASONS} more" if len(reasons) > _MAX_REASONS else ""
    return "; ".join(reasons[:_MAX_REASONS]) + more


def _short(part: VerdictPart) -> str:
    """What was judged, in one line; the name of a file as a listing shows it."""
    line = quoted(part.subject) if part.kind == "path" else _LINE_BREAKS.sub(" ⏎ ", part.subject.strip())
    return line if len(line) <= 80 else line[:77] + "..."
