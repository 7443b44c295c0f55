"""What a person can put into a request besides words: slash commands, skills, and mentions of files and changes."""

from joey.prompts.expand import (
    FurtherCommands,
    InputSources,
    UserInput,
    attached_names,
    expand_input,
    missing_mentions,
)
from joey.prompts.library import Library, Skill, SlashCommand

__all__ = [
    "FurtherCommands",
    "InputSources",
    "Library",
    "Skill",
    "SlashCommand",
    "UserInput",
    "attached_names",
    "expand_input",
    "missing_mentions",
]
