"""What was decided, and why, in words both the user and the model can read."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from joey.system.filenames import quoted

Decision: TypeAlias = Literal["allow", "ask", "deny"]

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
    worst = max(parts, key=lambda part: _SEVERITY[part.decision])
    if worst.decision == "allow" and len(parts) > 1:
        return Verdict("allow", "every part is allowed", parts)
    return Verdict(worst.decision, f"`{_short(worst)}`: {worst.reason}", parts)


def _short(part: VerdictPart) -> str:
    """What was judged, in one line; the name of a file as a listing shows it."""
    line = quoted(part.subject) if part.kind == "path" else " ".join(part.subject.split())
    return line if len(line) <= 80 else line[:77] + "..."
