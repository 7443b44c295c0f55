"""From records back to the task: a pure fold. Resuming a task is this and nothing else.

What belongs together is a part of the state, which folds the records that are its own.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

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
    ModelSet,
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
class CallsMade:
    """The calls, above all those of the last reply: what belongs to a call is its message's alone."""

    begun: dict[str, str] = field(default_factory=dict)
    """Calls of the last assistant message that were begun: id to tool name."""
    results: dict[str, ToolResult] = field(default_factory=dict)
    """The results of those that ended and are not in a message yet."""
    children: dict[str, ChildOpened] = field(default_factory=dict)
    """The subtasks of calls of the last assistant message that have no result yet, by call id."""
    uncertain: bool = False
    """Whether a record after the last reply is missing: any call of that reply may have begun."""
    starting: set[str] = field(default_factory=set)
    """Calls that were about to start a command that would outlive Joey, when it was not written down as started."""
    commands: list[CommandStarted] = field(default_factory=list)
    """The commands that were started. Which of them still run is for whoever resumes the task to find out."""
    merged: set[str] = field(default_factory=set)
    """The subtasks whose changes were merged."""
    ids: set[str] = field(default_factory=set)
    """The ids of all calls. Journals of earlier versions repeat them."""
    seen: dict[str, str | None] = field(default_factory=dict)
    """The version of each file that the model knows, by path; None if it knows that the file is gone."""
    counts: dict[str, list[int]] = field(default_factory=dict)
    """How often each tool was called and failed."""

    def apply(self, record: RunBegan | RunConfined | CommandStarted | ChildOpened | ChildMerged | RunEnded) -> None:
        match record:
            case RunBegan(call_id, name):
                self.begun[call_id] = name
                self.counts.setdefault(name, [0, 0])[0] += 1
            case RunConfined(call_id, level):
                self.starting |= {call_id} if level != "full" else set()
            case CommandStarted(call_id):
                self.commands.append(record)
                self.starting.discard(call_id)
            case ChildOpened(call_id=call_id):
                self.children[call_id] = record
            case ChildMerged(child_id):
                self.merged.add(child_id)
            case RunEnded(call_id, name, result, seen):
                self.seen.update((file.path, file.version) for file in seen)
                self.starting.discard(call_id)
                self.results[call_id] = result
                self.children.pop(call_id, None)
                self.counts.setdefault(name, [0, 0])[1] += result.is_error

    def follow(self, reply: Message) -> None:
        """From now on, the calls are those of this reply."""
        self.uncertain = False
        self.begun, self.results, self.children = {}, {}, {}
        self.ids.update(block.id for block in reply.content if isinstance(block, ToolUseBlock))


@dataclass(slots=True)
class Spending:
    """What the model was asked, and what that cost."""

    turns: int = 0
    usage: Usage = field(default_factory=Usage)
    last_usage: Usage = field(default_factory=Usage)
    """Of the last turn; after the conversation was shortened, an estimate of what it would be."""
    cost: float | None = None

    def count_turn(self, usage: Usage, cost: float | None) -> None:
        self.turns += 1
        self.last_usage = usage
        self.add(usage, cost)

    def apply(self, record: MessagesHidden | ResultsShortened) -> None:
        if isinstance(record, MessagesHidden):
            self.add(record.usage, record.cost)
        if record.tokens:
            self.last_usage = Usage(record.tokens)

    def add(self, usage: Usage, cost: float | None) -> None:
        self.usage += usage
        if cost is not None:
            self.cost = (self.cost or 0.0) + cost


@dataclass(slots=True)
class Shortening:
    """How the conversation is sent: what of it is left out."""

    hidden: int = 0
    """How many messages after the first are no longer sent."""
    summary: str | None = None
    kept: str = ""
    """What of the hidden messages is sent word by word."""
    of: int = 0
    """How many messages there were when they were hidden."""
    result_limit: int | None = None
    """How many characters of a result are sent."""
    old_results: tuple[int, int] | None = None
    """How many characters of a result are sent that is old, and how many messages are."""
    head: Message | None = field(default=None, init=False, compare=False, repr=False)
    """What is sent in place of the hidden messages, once it was made."""

    def apply(self, record: MessagesHidden | ResultsShortened, messages: int) -> None:
        """`messages`: how many there are."""
        if isinstance(record, MessagesHidden):
            self.hidden, self.summary, self.kept = max(0, record.count), record.summary, record.kept
            self.of, self.head = messages, None
        elif record.before is not None:
            self.old_results = (record.limit, record.before)
        else:
            self.result_limit = record.limit


@dataclass(slots=True)
class Allowed:
    """What the user decided about approvals, for this task."""

    profile: str = ""
    """The profile of approvals that was chosen for this task; empty: that of the settings."""
    permissions: tuple[Permission, ...] = ()
    """What the user does not want to be asked about again in this task."""

    def apply(self, record: ProfileSet | PermissionGranted | PermissionRevoked) -> None:
        if isinstance(record, ProfileSet):
            self.profile = record.profile
            return
        others = tuple(each for each in self.permissions if each != record.permission)
        self.permissions = (*others, record.permission) if isinstance(record, PermissionGranted) else others


@dataclass(slots=True)
class TaskState:
    """A task as its journal tells it."""

    opened: TaskOpened | None = None
    messages: list[Message] = field(default_factory=list)
    shortening: Shortening = field(default_factory=Shortening)
    queued: list[UserSaid] = field(default_factory=list)
    """What the user wrote since the last message that was sent."""
    restored: tuple[str, ...] = ()
    """The files that the user put back since the last message that was sent, which the model has to be told of."""
    mode: str = ""
    allowed: Allowed = field(default_factory=Allowed)
    todos: tuple[Todo, ...] = ()
    spending: Spending = field(default_factory=Spending)
    calls: CallsMade = field(default_factory=CallsMade)
    ended: TaskEnded | None = None
    interrupted: dict[int, str] = field(default_factory=dict)
    """Replies that were cut off, for people to see: the text, by how many messages came before it."""
    left_out: list[LeftOut] = field(default_factory=list)
    """What could not be read."""

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
                self.calls.apply(record)
            case TurnEnded(usage, cost):
                self.spending.count_turn(usage, cost)
            case ModeSet() | ModelSet():
                self._set(record)
            case ProfileSet() | PermissionGranted() | PermissionRevoked():
                self.allowed.apply(record)
            case TodosSet(todos):
                self.todos = todos
            case MessagesHidden() | ResultsShortened():
                self.shortening.apply(record, len(self.messages))
                self.spending.apply(record)
            case CheckpointMade(restored=restored):
                self.restored = tuple(dict.fromkeys((*self.restored, *restored)))
            case TaskEnded():
                self.ended = record

    def _set(self, record: ModeSet | ModelSet) -> None:
        if isinstance(record, ModeSet):
            self.mode = record.mode
        elif self.opened is not None:
            self.opened = replace(self.opened, model=record.model, base_url=record.base_url)

    def _miss(self, record: LeftOut) -> None:
        """A record that cannot be read. It may have taken back what was allowed before it, so that holds no more."""
        self.left_out.append(record)
        if record.whole:
            self.calls.uncertain, self.allowed = True, Allowed()

    def _add(self, message: Message) -> None:
        if message.role == "assistant" and not self.messages and self.opened is not None:
            self.messages.append(Message("user", self.opened.content))  # the first message was damaged
        self.messages.append(message)
        self.ended = None
        if message.role == "assistant":
            self.calls.follow(message)
        else:
            self.queued, self.restored = [], ()

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
