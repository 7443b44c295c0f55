"""What a front end may ask of a task. These few things, and they may come at any moment."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from joey.messages import ImageBlock
from joey.permissions import Permission, Scope
from joey.wire import Codec


@dataclass(frozen=True, slots=True)
class Say:
    """Words for the model. While it is busy they wait; they never count as approval of anything."""

    text: str
    images: tuple[ImageBlock, ...] = ()


@dataclass(frozen=True, slots=True)
class TakeBack:
    """Take back the last message that still waits for the model."""


@dataclass(frozen=True, slots=True)
class Condense:
    """Summarize the old part of the conversation before the next request, though there may still be room."""


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer to the request with this id: yes or no, and words where they are wanted.

    For a question the words are the answer. For a completion, words are feedback unless `yes` is true; to a plan, a no
    without words declines it. With `always`, what `ApprovalRequested.always` names is not asked about again, in this
    task or in this project (`scope`).
    """

    request_id: str
    yes: bool = False
    text: str = ""
    images: tuple[ImageBlock, ...] = ()
    always: bool = False
    scope: Scope = "task"
    profile: str = ""
    """For a plan: it is accepted, and carried out with this profile of approvals. `text` is the plan as the user edited
    it, if they did."""
    unattended: bool = False
    """Nobody was there to answer: a no is not the user's."""


@dataclass(frozen=True, slots=True)
class SetProfile:
    """Another profile of approvals from now on, also when the task is resumed. Whether `auto` can hold here is for
    `Services.profiles` to say."""

    profile: str


@dataclass(frozen=True, slots=True)
class Revoke:
    """Ask again about what was allowed in this task."""

    permission: Permission


@dataclass(frozen=True, slots=True)
class Cancel:
    """Stop: end the stream, kill what runs, leave a task that can be resumed.

    With the id of a subtask, only that one is stopped: its parent gets a result that says so, and continues.
    """

    reason: str = ""
    task_id: str = ""


Command: TypeAlias = Say | TakeBack | Answer | Condense | Revoke | SetProfile | Cancel

COMMANDS = Codec(Command)
