"""How a task deals with its model: everything that differs between a model with room and a small one.

`base.Profile` is the interface, `full` and `small` implement it. The rest of a task does not know which it has.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

from joey.task.profiles.base import Profile
from joey.task.profiles.full import Full
from joey.task.profiles.small import Small

ProfileName: TypeAlias = Literal["auto", "small", "full"]
FULL: Profile = Full()
SMALL_WINDOW = 16_384
"""Up to so many tokens a window is small, and so is the profile unless the user says otherwise."""


def choose_profile(name: ProfileName, context_window: int | None) -> Profile:
    """The profile of this name for a model with such a window; `auto` goes by the size of the window."""
    is_small = context_window is not None and context_window <= SMALL_WINDOW
    if name == "small" or (name == "auto" and is_small):
        return Small(context_window or SMALL_WINDOW)
    return FULL
