"""What is read where a call does not run: by the model, and by the user who is asked about one that cannot work."""

from __future__ import annotations

from joey.frames import framed


def denied(reason: str, comment: str) -> str:
    """What the model reads when the user said no."""
    if comment:
        return f"This call was denied, with this feedback:\n{framed('feedback', comment)}"
    return f"This call was denied: {reason}" if reason else "The user denied this call."


SKIPPED = "This call was skipped because an earlier call of the same turn was denied."
AFTER_SUBTASK = (
    "This call was skipped: new_task must be the last call of a turn; only more of new_task may follow it. "
    "Make it again in a later turn."
)
CANNOT_WORK = "it cannot work as it is, so yes only tells the model why, which may quote the file"
