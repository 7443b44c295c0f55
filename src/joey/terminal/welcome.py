"""What the first screen says: where Joey works, with which model, what it may do unasked, and three hints.

Loaded before everything else (`first_frame`), so it needs next to nothing.
"""

from __future__ import annotations

from joey.system.place import NamedPlace

HINTS = "/ commands · @ files · ? keys"
UNKNOWN = "…"


def welcome(place: NamedPlace, model: str, profile: str, switch: str = "Shift+Tab") -> str:
    """The lines of the first screen. Whatever is not known yet is `UNKNOWN`. `switch` is what changes the profile."""
    return "\n".join(
        [
            "Joey. Type a task.",
            f"  folder     {place}",
            f"  model      {model or UNKNOWN}",
            f"  approvals  {profile or UNKNOWN} ({switch} changes it)",
            f"  {HINTS}",
        ]
    )
