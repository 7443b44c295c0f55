"""What Joey did in a task, and what it asks: the part of `joey.events` that only tasks need.

Import these from `joey.events`, which loads them when the first one is used: a parser or the gateway needs none.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from joey.effects import Suggestion, Todo
from joey.events import StreamEvent
from joey.messages import ImageBlock, Shown, ToolResult
from joey.permissions import Scope
from joey.usage import Usage
from joey.wire import Codec, JsonObject


@dataclass(frozen=True, slots=True)
class ToolCount:
    """How often a tool was called in a task, and how often that failed."""

    name: str
    calls: int
    failures: int = 0


@dataclass(frozen=True, slots=True)
class TaskStarted:
    """A task begins, or goes on after a break (`resumed`)."""

    text: str
    mode: str
    model: str
    protocol: str
    parent_id: str | None = None
    resumed: bool = False
    window: int | None = None
    """How many tokens its model takes; None if that is not known."""


@dataclass(frozen=True, slots=True)
class TurnStarted:
    """A request goes to the model."""

    number: int


@dataclass(frozen=True, slots=True)
class TurnFinished:
    """The reply is complete and written down. The cost is None for a model whose price is not known."""

    number: int
    usage: Usage
    cost: float | None = None


@dataclass(frozen=True, slots=True)
class RetryScheduled:
    """A request failed in a way that may pass. What the failed reply had streamed does not count."""

    attempt: int
    seconds: float
    reason: str
    rate_limited: bool = False
    """Whether the provider refused because of its limits, which hold for others with the same key, too."""


@dataclass(frozen=True, slots=True)
class RequestDelayed:
    """A request waits for its turn: the provider's limits allow no more for now."""

    seconds: float


@dataclass(frozen=True, slots=True)
class ModelChanged:
    """The task continues with another model: the one before could not be had. `reason` says why."""

    model: str
    reason: str


@dataclass(frozen=True, slots=True)
class UserMessageQueued:
    """The user wrote something while Joey was busy; the model reads it with the next request."""

    text: str


@dataclass(frozen=True, slots=True)
class InputAttached:
    """What the user's words name was attached for the model. `attached` are the names, each with its size; `missing`
    are mentions that look like files and name nothing there is."""

    attached: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class UserMessageTakenBack:
    """The last message that waited was taken back before the model read it."""

    text: str


@dataclass(frozen=True, slots=True)
class ToolRunStarted:
    """A call is approved and runs. `summary` is what it is about, as the tool reports it: its command, its path."""

    call_id: str
    name: str
    summary: str = ""


@dataclass(frozen=True, slots=True)
class ToolRunProgressed:
    """Live output of a running call, as it comes: a command's may have colours (`ESC [ … m`), and returns to the start
    of a line."""

    call_id: str
    text: str


@dataclass(frozen=True, slots=True)
class SandboxReported:
    """What holds the commands of the task from now on: `full`, `partial`, `none` or `off`, and why. Reported with the
    first command, and when it changes."""

    level: str
    network: str
    message: str


@dataclass(frozen=True, slots=True)
class CommandLeftRunning:
    """A command that the task started before it was interrupted may still run, as this process group; 0 if that is not
    known. Reported when the task is resumed."""

    command: str
    group: int


@dataclass(frozen=True, slots=True)
class FilesLeftBehind:
    """When the commands of the task had ended, files lay in the workspace that run or steer programs later: which, and
    where they are now. The last event before the end."""

    message: str


@dataclass(frozen=True, slots=True)
class ToolRunFinished:
    """A call was carried out, refused or could not work; the result says which."""

    call_id: str
    name: str
    result: ToolResult


@dataclass(frozen=True, slots=True)
class ApprovalRequested:
    """A call needs the user's approval. `reason` is why, `shown` what it would do, `always` what the answer "always"
    would allow from then on, in words, and `scopes` for how far: a subtask in a worktree of its own allows nothing in
    the project's folder."""

    request_id: str
    call_id: str
    name: str
    arguments: JsonObject
    reason: str
    shown: tuple[Shown, ...] = ()
    always: tuple[str, ...] = ()
    scopes: tuple[Scope, ...] = ("task", "project")


@dataclass(frozen=True, slots=True)
class ApprovalAnswered:
    """Approval was given or refused, perhaps with a comment. `unattended`: nobody was there to give it."""

    request_id: str
    approved: bool
    comment: str = ""
    unattended: bool = False


@dataclass(frozen=True, slots=True)
class QuestionRequested:
    """The model asks the user something."""

    request_id: str
    question: str
    suggestions: tuple[Suggestion, ...] = ()


@dataclass(frozen=True, slots=True)
class QuestionAnswered:
    """The user answered; without words and images, nobody did."""

    request_id: str
    text: str
    images: tuple[ImageBlock, ...] = ()


@dataclass(frozen=True, slots=True)
class CompletionRequested:
    """The model has nothing more to do, and the next message is the user's: words are what to do next or differently,
    and the same task continues; yes ends it. It is no question, so a front end shows its usual input, ready.

    `result` is what attempt_completion reports. With `plain` it is a reply without a call, whose text was streamed
    already and need not be shown again."""

    request_id: str
    result: str
    plain: bool = False
    plan: bool = False
    """The task is in plan mode, and `result` is its plan: an Answer with a `profile` accepts it (with a `text`, as the
    user edited it), and the task carries it out with that profile. Words alone go back to the planning model."""
    allowed: tuple[Literal["changes", "commands", "some commands"], ...] = ()
    """What needs no approval under any profile with which the plan can be carried out: the user, or a rule, has allowed
    it."""


@dataclass(frozen=True, slots=True)
class CompletionAnswered:
    """The user accepted the result, or has something to add."""

    request_id: str
    accepted: bool
    feedback: str = ""


@dataclass(frozen=True, slots=True)
class ContinueRequested:
    """Something is not going well, or a limit is reached. Yes goes on, words are guidance for the model, no ends it."""

    request_id: str
    reason: str


@dataclass(frozen=True, slots=True)
class ContinueAnswered:
    """Whether to go on."""

    request_id: str
    goes_on: bool
    guidance: str = ""


@dataclass(frozen=True, slots=True)
class ModeChanged:
    """The task goes on in another mode."""

    mode: str
    reason: str = ""


@dataclass(frozen=True, slots=True)
class ProfileChanged:
    """Another profile of approvals holds from now on."""

    profile: str


@dataclass(frozen=True, slots=True)
class TodosChanged:
    """The todo list is now this."""

    todos: tuple[Todo, ...]


@dataclass(frozen=True, slots=True)
class ContextShortened:
    """Old turns are no longer sent, or large results only in part: the window was nearly full, or the user wanted it.
    Nothing is deleted. `hidden_messages` are all that are hidden by now.

    The tokens are what a request took before and will take now, the latter judged by how much text is left; 0 where
    the provider counts none. Usage and cost are those of the summary.
    """

    hidden_messages: int
    summary: str | None = None
    tokens_before: int = 0
    tokens_after: int = 0
    usage: Usage = field(default_factory=Usage)
    cost: float | None = None
    shortened_results: int = 0
    """How many results are sent in part, if that is what was done."""
    dropped: str = ""
    """What the hidden messages held, in words."""
    kept: tuple[str, ...] = ()
    """What is sent word by word all the same: plan, todos, open questions, the user's newest message."""


@dataclass(frozen=True, slots=True)
class ContextKept:
    """The user wanted the conversation summarized, and it stays as it is; `reason` says why."""

    reason: str


HookOutcome: TypeAlias = Literal["blocked", "asks", "allowed", "changed", "context", "stopped", "message", "failed"]


@dataclass(frozen=True, slots=True)
class HookReported:
    """A hook of the user's or of the project's had an effect, a message, or failed; a failure changes nothing. `event`
    is the point at which it ran, and `message` its reason, its words or what went wrong."""

    event: str
    hook: str
    outcome: HookOutcome
    message: str = ""


@dataclass(frozen=True, slots=True)
class CheckpointStarted:
    """A checkpoint is being taken before this call runs, and takes longer than a moment."""

    call_id: str


@dataclass(frozen=True, slots=True)
class CheckStarted:
    """A check of the project runs, because files were edited."""

    command: str


@dataclass(frozen=True, slots=True)
class CheckFinished:
    """A check ended with this exit code, and the end of its output. None: it took too long, or could not run."""

    command: str
    exit_code: int | None
    output: str = ""


@dataclass(frozen=True, slots=True)
class SubtaskOpened:
    """A piece of the work was handed to a task of its own, whose events carry its id."""

    child_id: str
    mode: str
    call_id: str = ""
    """The call that started it."""
    beside: bool = False
    """Whether it runs at the same time as others: their events come mixed."""
    worktree: str = ""
    """The folder of its git worktree, if it works in one."""
    model: str = ""
    """The full name of the model that it works with."""


@dataclass(frozen=True, slots=True)
class SubtaskClosed:
    """A subtask ended, and its result went back to this task."""

    child_id: str
    result: str
    outcome: str = ""
    """How it ended, as in `TaskFinished`."""
    turns: int = 0
    cost: float | None = None
    beside: bool = False
    """Whether it ran at the same time as others."""


@dataclass(frozen=True, slots=True)
class TaskCompleted:
    """The model called attempt_completion and it passed the checks, or it answered without a call; the user is next."""

    result: str
    usage: Usage
    tools: tuple[ToolCount, ...] = ()
    cost: float | None = None


Outcome: TypeAlias = Literal["completed", "refused", "limit", "error", "cancelled"]


@dataclass(frozen=True, slots=True)
class TaskFinished:
    """The task is over. `message` is the result, or why there is none."""

    outcome: Outcome
    message: str = ""


@dataclass(frozen=True, slots=True)
class TaskAborted:
    """The task was cancelled; it can be resumed."""

    reason: str = ""


TaskEvent: TypeAlias = (
    TaskStarted
    | TurnStarted
    | TurnFinished
    | RetryScheduled
    | RequestDelayed
    | ModelChanged
    | UserMessageQueued
    | InputAttached
    | UserMessageTakenBack
    | ToolRunStarted
    | ToolRunProgressed
    | SandboxReported
    | CommandLeftRunning
    | FilesLeftBehind
    | ToolRunFinished
    | ApprovalRequested
    | ApprovalAnswered
    | QuestionRequested
    | QuestionAnswered
    | CompletionRequested
    | CompletionAnswered
    | ContinueRequested
    | ContinueAnswered
    | ModeChanged
    | ProfileChanged
    | TodosChanged
    | ContextShortened
    | ContextKept
    | HookReported
    | CheckpointStarted
    | CheckStarted
    | CheckFinished
    | SubtaskOpened
    | SubtaskClosed
    | TaskCompleted
    | TaskFinished
    | TaskAborted
)

Request: TypeAlias = ApprovalRequested | QuestionRequested | CompletionRequested | ContinueRequested
RequestAnswered: TypeAlias = ApprovalAnswered | QuestionAnswered | CompletionAnswered | ContinueAnswered
Event: TypeAlias = StreamEvent | TaskEvent

TASK_EVENTS = Codec(TaskEvent)
EVENTS = Codec(Event)
