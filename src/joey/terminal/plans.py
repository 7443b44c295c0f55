"""What Joey asks about while it carries out a plan, in words that stand beside the answers."""

from __future__ import annotations

from joey.events import CompletionRequested


def asks_before(plan: CompletionRequested, profile: str) -> str:
    """What needs approval under this profile, after what the user has allowed besides."""
    changes = ["changes"] if profile == "ask" and "changes" not in plan.allowed else []
    others = " that are not allowed yet" if "some commands" in plan.allowed else ""
    commands = [f"commands{others}"] if "commands" not in plan.allowed else []
    what = " and ".join([*changes, *commands])
    return f"ask before {what}" if what else "do not ask: changes and commands are allowed"
