"""The exceptions Joey raises. All of them are JoeyError, so one `except` catches what Joey means to say.

A model's mistake is never an exception: it is an event or a result (see events.ToolCallMalformed).
What is raised here is the caller's or the world's.
"""

from __future__ import annotations


class JoeyError(Exception):
    """Something Joey can explain. Its text is for a person and is shown without a traceback."""


class UsageError(JoeyError):
    """The caller wants something that does not exist or is not allowed; the text says what is."""


class WireError(JoeyError):
    """A JSON document does not describe the object it should describe."""
