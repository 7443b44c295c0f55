"""From records back to the task: a pure fold. Resuming a task is this and nothing else."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from joey.effects import Todo
from joey.journal.records import (
    CheckpointMade,
    ChildMerged,
    ChildOpened,
    CommandStarted,
    LastMessageReplaced,
    LeftOut,
    MessageAdded,
    MessagesHidden,
    ModeSet,
    PermissionGranted,
    PermissionRevoked,
    ProfileSet,
    Record,
    ReplyInterrupted,
    ResultsShortened,
    RunBegan,
    RunConfined,
    RunEnded,
    TaskEnded,
    TaskOpened,
    TodosSet,
    TurnEnded,
    UserSaid,
    UserTookBack,
)
from joey.messages import Message, Shown, ToolResult, ToolUseBlock
from joey.permissions import Permission
from joey.usage import Usage


@dataclass(slots=True)
class TaskState:
    """A task as its journal tells it."""

    opened: TaskOpened | None = None
    messages: list[Message] = field(default_factory=list)
    hidden: int = 0
    """How many messages after the first are no longer sent."""
    result_limit: int | None = None
    """How many characters of a result are sent."""
    old_results: tuple[int, int] | None = None
    """How many characters of a result are sent that is old, and how many messages are."""
    queued: list[UserSaid] = field(default_factory=list)
    """What the user wrote since the last message that was sent."""
    summary: str | None = None
    kept: str = ""
    """What of the hidden messages is sent word by word."""
    mode: str = ""
    profile: str = ""
    """The profile of approvals that was chosen for this task; empty: that of the settings."""
    permissions: tuple[Permission, ...] = ()
    """What the user does not want to be asked about again in this task."""
    todos: tuple[Todo, ...] = ()
    turns: int = 0
    usage: Usage = field(default_factory=Usage)
    last_usage: Usage = field(default_factory=Usage)
    cost: float | None = None
    begun: dict[str, str] = field(default_factory=dict)
    """Calls of the last assistant message that were begun: id to tool name."""
    results: dict[str, ToolResult] = field(default_factory=dict)
    """The results of those that ended and are not in a message yet."""
    children: dict[str, ChildOpened] = field(default_factory=dict)
    """The subtasks of calls of the last assistant message that have no result yet, by call id."""
    merged: set[str] = field(default_factory=set)
    """The subtasks whose changes were merged."""
    call_ids: set[str] = field(default_factory=set)
    """The ids of all calls. Journals of earlier versions repeat them: what belongs to a call is its message's alone."""
    counts: dict[str, list[int]] = field(default_factory=dict)
    """How often each tool was called and failed."""
    commands: list[CommandStarted] = field(default_factory=list)
    """The commands that were started. Which of them still run is for whoever resumes the task to find out."""
    starting: set[str] = field(default_factory=set)
    """Calls that were about to start a command that would outlive Joey, when it was not written down as started."""
    seen: dict[str, str | None] = field(default_factory=dict)
    """The version of each file that the model knows, by path; None if it knows that the file is gone."""
    checkpoint: int | None = None
    """The last checkpoint of the files."""
    ended: TaskEnded | None = None
    interrupted: dict[int, str] = field(default_factory=dict)
    """Replies that were cut off, for people to see: the text, by how many messages came before it."""
    left_out: list[LeftOut] = field(default_factory=list)
    """What could not be read."""
    uncertain: bool = False
    """Whether a record after the last reply is missing: any call of that reply may have begun."""

    def apply(self, record: Record | LeftOut) -> None:
        match record:
            case LeftOut():
                self._miss(record)
            case TaskOpened(mode=mode):
                self.opened, self.mode = record, mode
            case MessageAdded(message) | LastMessageReplaced(message):
                del self.messages[len(self.messages) - isinstance(record, LastMessageReplaced) :]
                self._add(message)
            case ReplyInterrupted(text):
                self.interrupted[len(self.messages)] = text
            case UserSaid() | UserTookBack():
                self.queued = [*self.queued, record] if isinstance(record, UserSaid) else self.queued[:-1]
            case RunBegan() | RunConfined() | CommandStarted() | ChildOpened() | ChildMerged() | RunEnded():
                self._run(record)
            case TurnEnded(usage, cost):
                self._count(usage, cost)
            case ModeSet(mode):
                self.mode = mode
            case ProfileSet() | PermissionGranted() | PermissionRevoked():
                self._allow(record)
            case TodosSet(todos):
                self.todos = todos
            case MessagesHidden() | ResultsShortened():
                self._shorten(record)
            case CheckpointMade(checkpoint):
                self.checkpoint = checkpoint
            case TaskEnded():
                self.ended = record

    def _miss(self, record: LeftOut) -> None:
        """A record that cannot be read. It may have taken back what was allowed before it, so that holds no more."""
        self.left_out.append(record)
        if record.whole:
            self.uncertain, self.permissions, self.profile = True, (), ""

    def _run(self, record: RunBegan | RunConfined | CommandStarted | ChildOpened | ChildMerged | RunEnded) -> None:
        match record:
            case RunBegan(call_id, name):
                self.begun[call_id] = name
                self.counts.setdefault(name, [0, 0])[0] += 1
            case RunConfined(call_id, level):
                self.starting |= {call_id} if level != "full" else set()
            case CommandStarted(call_id):
                self.commands.append(record)
                self.starting.discard(call_id)
            case ChildOpened():
                self.children[record.call_id] = record
            case ChildMerged(child_id):
                self.merged.add(child_id)
            case RunEnded(call_id, name, result, seen):
                self.seen.update((file.path, file.version) for file in seen)
                self.starting.discard(call_id)
                self.results[call_id] = result
                self.children.pop(call_id, None)
                self.counts.setdefault(name, [0, 0])[1] += result.is_error

    def _allow(self, record: ProfileSet | PermissionGranted | PermissionRevoked) -> None:
        if isinstance(record, ProfileSet):
            self.profile = record.profile
            return
        others = tuple(each for each in self.permissions if each != record.permission)
        self.permissions = (*others, record.permission) if isinstance(record, PermissionGranted) else others

    def _add(self, message: Message) -> None:
        if message.role == "assistant" and not self.messages and self.opened is not None:
            self.messages.append(Message("user", self.opened.content))  # the first message was damaged
        self.messages.append(message)
        self.ended = None
        if message.role == "assistant":
            self.uncertain = False
            self.begun, self.results, self.children = {}, {}, {}
            self.call_ids.update(block.id for block in message.content if isinstance(block, ToolUseBlock))
        else:
            self.queued = []

    def _count(self, usage: Usage, cost: float | None) -> None:
        self.turns += 1
        self.last_usage = usage
        self._spend(usage, cost)

    def _shorten(self, record: MessagesHidden | ResultsShortened) -> None:
        if isinstance(record, ResultsShortened) and record.before is not None:
            self.old_results = (record.limit, record.before)
        elif isinstance(record, ResultsShortened):
            self.result_limit = record.limit
        else:
            self.hidden, self.summary, self.kept = max(0, record.count), record.summary, record.kept
            self._spend(record.usage, record.cost)
        if record.tokens:
            self.last_usage = Usage(record.tokens)

    def _spend(self, usage: Usage, cost: float | None) -> None:
        self.usage += usage
        if cost is not None:
            self.cost = (self.cost or 0.0) + cost

    @property
    def is_finished(self) -> bool:
        """Whether the task is complete, and the user has added nothing since."""
        return self.ended is not None and self.ended.outcome == "completed" and not self.queued

    @property
    def is_damaged(self) -> bool:
        """Whether records are missing."""
        return any(each.whole for each in self.left_out)

    @property
    def unanswered(self) -> tuple[ToolUseBlock, ...]:
        """The calls of the last message that have no answer in the conversation."""
        if not self.messages or self.messages[-1].role != "assistant":
            return ()
        return tuple(block for block in self.messages[-1].content if isinstance(block, ToolUseBlock))


def shown_results(records: Iterable[Record]) -> dict[str, tuple[Shown, ...]]:
    """What the user was shown of the calls, by id: diffs, output. A state does not hold it, since it can be large."""
    return {each.call_id: each.result.shown for each in records if isinstance(each, RunEnded) and each.result.shown}


def replay(records: Iterable[Record | LeftOut]) -> TaskState:
    state = TaskState()
    for record in records:
        state.apply(record)
    return state
