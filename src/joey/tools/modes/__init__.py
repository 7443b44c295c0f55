"""Modes: what the model is, and what it may do. Built-in ones as data, others from files (see `files`)."""

from joey.tools.modes.builtin import BUILTIN_MODES, DEFAULT_MODE
from joey.tools.modes.mode import MODE_GROUPS, GroupRule, Mode, Origin

__all__ = ["BUILTIN_MODES", "DEFAULT_MODE", "MODE_GROUPS", "GroupRule", "Mode", "Origin"]
