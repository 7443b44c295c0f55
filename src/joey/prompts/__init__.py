"""What a person can put into a request besides words: slash commands, skills, and mentions of files and changes."""

from joey.prompts.expand import Asked, Sources, expand
from joey.prompts.library import Library, Skill, SlashCommand

__all__ = ["Asked", "Library", "Skill", "SlashCommand", "Sources", "expand"]
