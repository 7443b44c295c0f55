"""The records of a journal. One fact, one line; what a record says is true from the moment it is written.

The order in which a turn is written is what makes it survive a crash at any instant:

    MessageAdded(user)        before the request
    MessageAdded(assistant)   before any of its calls run
    RunBegan(call)            before a call touches anything
    RunConfined(call)         if it is a command: what held it
    CommandStarted(call)      and its process group, as soon as it runs
    RunEnded(call, result)    after it did
    MessageAdded(user)        the results, with the next request

So a call without RunBegan was never run, one with RunEnded has its result, and only one with RunBegan alone may or may
not have happened: it is never run again, and the model is informed.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, TypeAlias

from joey.effects import SubtaskStarted, Todo
from joey.events import HookOutcome, Outcome
from joey.messages import ImageBlock, Message, ResultBlock, TextBlock, ToolResult
from joey.permissions import Permission
from joey.system.filenames import quoted, unquoted
from joey.usage import Usage
from joey.wire import Codec, is_sendable

VERSION = 1


@dataclass(frozen=True, slots=True)
class LeftOut:
    """No record: what a reader finds where a line is damaged, or was written by a newer version."""

    line: int
    reason: str
    whole: bool = True
    """Whether a whole record is missing; otherwise only a field of the next one."""

    def __str__(self) -> str:
        return f"line {self.line}: {self.reason}"


def path_text(path: Path) -> str:
    """A path as it stands in a record: one that is no text is quoted, and can be read back with `unquoted`."""
    text = str(path)
    return text if is_sendable(text) else quoted(text)


@dataclass(frozen=True, slots=True)
class TaskOpened:
    """The first record: what was asked, where, and how the model is spoken to. The protocol stays for good."""

    task_id: str
    text: str
    workspace: str
    """The path of the folder, as `path_text` writes it."""
    mode: str
    model: str
    protocol: str
    parent_id: str | None = None
    parent_call_id: str | None = None
    base_url: str | None = None
    """The server that was named with a flag or a variable. A resumed task continues there."""
    attached: tuple[ResultBlock, ...] = ()
    """What goes with the text: what it mentions, and images. A task that dies before its first message has it here."""

    @property
    def folder(self) -> Path:
        """The workspace."""
        return Path(unquoted(self.workspace))

    @property
    def content(self) -> tuple[ResultBlock, ...]:
        """What the first message begins with."""
        return (TextBlock(self.text), *self.attached)


@dataclass(frozen=True, slots=True)
class MessageAdded:
    """The conversation grew by a message."""

    message: Message


@dataclass(frozen=True, slots=True)
class LastMessageReplaced:
    """The last message reads like this instead: calls that stood in its text were taken as calls."""

    message: Message


@dataclass(frozen=True, slots=True)
class ReplyInterrupted:
    """What had come of a reply when the task was cancelled. It is shown to people; the model does not see it."""

    text: str


@dataclass(frozen=True, slots=True)
class UserSaid:
    """The user wrote something, while the task was busy or to resume it. It goes out with their next message."""

    text: str
    images: tuple[ImageBlock, ...] = ()


@dataclass(frozen=True, slots=True)
class UserTookBack:
    """The last message of the user that still waits is not to be sent."""


@dataclass(frozen=True, slots=True)
class RunBegan:
    """A call is about to touch something."""

    call_id: str
    name: str


@dataclass(frozen=True, slots=True)
class RunConfined:
    """What held the command that a call ran: the level of its sandbox, and what it could reach of the network."""

    call_id: str
    level: str
    network: str


@dataclass(frozen=True, slots=True)
class CommandStarted:
    """The command of a call runs as this process group. `mark` tells the group from a later one with that number: after
    a crash it is looked for, since it may still run."""

    call_id: str
    command: str
    group: int
    mark: str


@dataclass(frozen=True, slots=True)
class FilesFound:
    """Commands left files behind that run or steer programs later: what the user was warned of."""

    message: str


@dataclass(frozen=True, slots=True)
class SeenFile:
    """A version of a file that the model knows from now on; None: that the file is gone."""

    path: str
    """As `path_text` writes it."""
    version: str | None


@dataclass(frozen=True, slots=True)
class RunEnded:
    """A call was answered. `seen` are the files that the model knows another version of than before."""

    call_id: str
    name: str
    result: ToolResult
    seen: tuple[SeenFile, ...] = ()


@dataclass(frozen=True, slots=True)
class TurnEnded:
    """What a request took."""

    usage: Usage
    cost: float | None = None


@dataclass(frozen=True, slots=True)
class ModeSet:
    """The task goes on in this mode."""

    mode: str


@dataclass(frozen=True, slots=True)
class ModelSet:
    """The task continues with this model, on the server that was named for it, if one was."""

    model: str
    base_url: str | None = None


@dataclass(frozen=True, slots=True)
class ProfileSet:
    """What may be done without asking is decided by this profile from now on; empty: by the settings."""

    profile: str


@dataclass(frozen=True, slots=True)
class PermissionGranted:
    """The user does not want to be asked about this again in this task."""

    permission: Permission


@dataclass(frozen=True, slots=True)
class PermissionRevoked:
    """The user wants to be asked about this again."""

    permission: Permission


@dataclass(frozen=True, slots=True)
class TodosSet:
    """The todo list is now this."""

    todos: tuple[Todo, ...]


@dataclass(frozen=True, slots=True)
class MessagesHidden:
    """The first `count` messages after the task itself are no longer sent; the summary stands for them.

    `tokens` is about what a request takes from now on, 0 if that is not known; usage and cost are the summary's.
    """

    count: int
    summary: str | None = None
    tokens: int = 0
    usage: Usage = field(default_factory=Usage)
    cost: float | None = None
    kept: str = ""
    """What of them stands below the summary word by word: the plan, open questions."""


@dataclass(frozen=True, slots=True)
class ResultsShortened:
    """Of results with more than `limit` characters only the beginning and the end are sent from now on.

    `tokens` is about what a request takes from now on, 0 if that is not known. With `before`, only results in the first
    so many messages are meant: those that are old.
    """

    limit: int
    tokens: int = 0
    before: int | None = None


@dataclass(frozen=True, slots=True)
class HookRan:
    """A hook had an effect, or failed: what `HookReported` reports."""

    event: str
    hook: str
    outcome: HookOutcome
    message: str = ""


Placement: TypeAlias = Literal["alone", "reading", "in_turn", "worktree"]
"""How a subtask works: alone, while its task waits; or beside others: reading only, or in the workspace when no other
one changes it, or in a git worktree of its own."""


@dataclass(frozen=True, slots=True)
class ChildOpened:
    """A subtask is opened for this call. It is written down before the subtask's own journal is there, with all that is
    needed to begin it."""

    child_id: str
    call_id: str
    subtask: SubtaskStarted | None = None
    placement: Placement = "alone"
    worktree: str = ""
    """The name of its worktree."""
    model: str = ""
    """The full name of the model that its agent has; empty: it works with that of its task."""


@dataclass(frozen=True, slots=True)
class ChildMerged:
    """What a subtask changed in its worktree is in the workspace now."""

    child_id: str


@dataclass(frozen=True, slots=True)
class CheckpointMade:
    """The files a call may change were kept, under this number, before it ran; or those that the user was about to put
    back, with no call."""

    checkpoint: int
    call_id: str
    restored: tuple[str, ...] = ()
    """What the user put back, quoted where names need it: an undo, a redo, an earlier checkpoint."""


def merge_call(call_id: str) -> str:
    """The id of the call that merges what the subtask of this call changed."""
    return f"{call_id}-merge"


@dataclass(frozen=True, slots=True)
class TaskEnded:
    """The task came to an end. It may be taken up again; then more records follow."""

    outcome: Outcome
    message: str = ""


Record: TypeAlias = (
    TaskOpened
    | MessageAdded
    | LastMessageReplaced
    | ReplyInterrupted
    | UserSaid
    | UserTookBack
    | RunBegan
    | RunConfined
    | CommandStarted
    | FilesFound
    | RunEnded
    | TurnEnded
    | ModeSet
    | ModelSet
    | ProfileSet
    | PermissionGranted
    | PermissionRevoked
    | TodosSet
    | MessagesHidden
    | ResultsShortened
    | HookRan
    | ChildOpened
    | ChildMerged
    | CheckpointMade
    | TaskEnded
)

RECORDS = Codec(Record)
