"""Modes: what the model is, and what it may do. Built-in ones are data; `files.load_modes` adds those of files."""

from joey.modes.builtin import BUILTIN_MODES, DEFAULT_MODE
from joey.modes.mode import MODE_GROUPS, GroupRule, Mode, Origin

__all__ = ["BUILTIN_MODES", "DEFAULT_MODE", "MODE_GROUPS", "GroupRule", "Mode", "Origin"]
