"""The exceptions Joey raises. All of them are JoeyError, so one `except` catches what Joey means to say.

A model's mistake is never an exception: it is an event or a result (see events.ToolCallMalformed).
What is raised here is the caller's or the world's.
"""

from __future__ import annotations


class JoeyError(Exception):
    """Something Joey can explain. Its text is meant for a person and is shown without a traceback."""


class UsageError(JoeyError):
    """The caller asked for something that does not exist or does not fit; the text says what would."""


class WireError(JoeyError):
    """A JSON document does not describe the object it was said to describe."""
