"""What happened, as frozen facts. Front ends watch these and nothing else.

`ToolCall…` is what the model wrote, `ToolRun…` is what we did about it. `…Requested` is a question that waits for an
Answer with its request_id (see `joey.commands`), `…Answered` is its end.

The laws of the stream events, which every parser keeps:

* TextStarted, TextDelta…, TextFinished: text blocks do not nest, and a call starts only after open text was closed.
* Every ToolCallStarted is followed by exactly one ToolCallFinished or ToolCallMalformed with its call_id.
* A call that never showed a name has no ToolCallStarted, only a ToolCallMalformed with name None.
* Lossless: the TextDelta texts, the ToolCallDelta raws and the sources of malformed calls that were never started,
  put together in order, are the text the model sent. (In the native protocol, where calls may interleave: per call.)
  In a dialect the MarkupDelta texts belong to them, and the ReasoningDelta texts, which come from the same text.
* A call's ToolCallDelta raws, put together, are the `source` of its ToolCallFinished or ToolCallMalformed.
* Chunk-blind: how the stream was cut changes only how text and calls are spread over deltas.
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from joey.messages import StopReason
from joey.usage import Usage
from joey.wire import ArgumentPath, Codec, JsonValue

if TYPE_CHECKING:
    from joey.task_events import EVENTS as EVENTS
    from joey.task_events import TASK_EVENTS as TASK_EVENTS
    from joey.task_events import ApprovalAnswered as ApprovalAnswered
    from joey.task_events import ApprovalRequested as ApprovalRequested
    from joey.task_events import CheckFinished as CheckFinished
    from joey.task_events import CheckpointStarted as CheckpointStarted
    from joey.task_events import CheckStarted as CheckStarted
    from joey.task_events import CommandLeftRunning as CommandLeftRunning
    from joey.task_events import CompletionAnswered as CompletionAnswered
    from joey.task_events import CompletionRequested as CompletionRequested
    from joey.task_events import ContextKept as ContextKept
    from joey.task_events import ContextShortened as ContextShortened
    from joey.task_events import ContinueAnswered as ContinueAnswered
    from joey.task_events import ContinueRequested as ContinueRequested
    from joey.task_events import Event as Event
    from joey.task_events import FilesLeftBehind as FilesLeftBehind
    from joey.task_events import HookOutcome as HookOutcome
    from joey.task_events import HookReported as HookReported
    from joey.task_events import InputAttached as InputAttached
    from joey.task_events import ModeChanged as ModeChanged
    from joey.task_events import ModelChanged as ModelChanged
    from joey.task_events import Outcome as Outcome
    from joey.task_events import ProfileChanged as ProfileChanged
    from joey.task_events import QuestionAnswered as QuestionAnswered
    from joey.task_events import QuestionRequested as QuestionRequested
    from joey.task_events import Request as Request
    from joey.task_events import RequestAnswered as RequestAnswered
    from joey.task_events import RequestDelayed as RequestDelayed
    from joey.task_events import RetryScheduled as RetryScheduled
    from joey.task_events import SandboxReported as SandboxReported
    from joey.task_events import SubtaskClosed as SubtaskClosed
    from joey.task_events import SubtaskOpened as SubtaskOpened
    from joey.task_events import TaskAborted as TaskAborted
    from joey.task_events import TaskCompleted as TaskCompleted
    from joey.task_events import TaskEvent as TaskEvent
    from joey.task_events import TaskFinished as TaskFinished
    from joey.task_events import TaskStarted as TaskStarted
    from joey.task_events import TodosChanged as TodosChanged
    from joey.task_events import ToolCount as ToolCount
    from joey.task_events import ToolRunFinished as ToolRunFinished
    from joey.task_events import ToolRunProgressed as ToolRunProgressed
    from joey.task_events import ToolRunStarted as ToolRunStarted
    from joey.task_events import TurnFinished as TurnFinished
    from joey.task_events import TurnStarted as TurnStarted
    from joey.task_events import UserMessageQueued as UserMessageQueued
    from joey.task_events import UserMessageTakenBack as UserMessageTakenBack


@dataclass(frozen=True, slots=True)
class TextStarted:
    """A block of plain answer text begins."""


@dataclass(frozen=True, slots=True)
class TextDelta:
    """The next characters of the open text block."""

    text: str


@dataclass(frozen=True, slots=True)
class TextFinished:
    """The open text block is complete."""


@dataclass(frozen=True, slots=True)
class ReasoningStarted:
    """The model begins to think."""


@dataclass(frozen=True, slots=True)
class ReasoningDelta:
    """The next characters of the open reasoning block."""

    text: str


@dataclass(frozen=True, slots=True)
class ReasoningFinished:
    """The open reasoning block is complete. The signature, if any, goes back to the provider unchanged."""

    signature: str | None = None


@dataclass(frozen=True, slots=True)
class ToolCallStarted:
    """The model is calling a tool; its arguments follow."""

    call_id: str
    name: str


@dataclass(frozen=True, slots=True)
class ToolCallDelta:
    """A piece of a call, decoded.

    `path` is the argument that grew (`("file_text",)`, `("args", 0, "path")`) and `text` the new characters of it.
    When `literal` is true, text is instead a whole JSON value that is no string: a number, true, false or null.
    `raw` is the piece as the model wrote it. A piece of mere markup has an empty text and an empty path.
    """

    call_id: str
    path: ArgumentPath
    text: str
    raw: str
    literal: bool = False


@dataclass(frozen=True, slots=True)
class ToolCallFinished:
    """A complete call. `repairs` says what had to be repaired before its arguments could be read."""

    call_id: str
    name: str
    arguments: JsonValue
    source: str = ""
    repairs: tuple[str, ...] = ()
    given_id: str = ""
    """The id that the model itself wrote, in dialects that have one."""


@dataclass(frozen=True, slots=True)
class ToolCallMalformed:
    """A call that must not run. `message` says what is wrong with it, `source` is what the model wrote."""

    call_id: str
    name: str | None
    source: str
    message: str


@dataclass(frozen=True, slots=True)
class MarkupDelta:
    """The next characters of a dialect's own markup around text, reasoning and calls: section markers, message headers,
    end-of-turn tokens. Nobody shows them; they are reported so that nothing the model sent is lost."""

    text: str


@dataclass(frozen=True, slots=True)
class UsageReported(Usage):
    """Tokens counted so far in this reply."""


@dataclass(frozen=True, slots=True)
class PromptProgressed:
    """The server has read so many tokens of the prompt, of how many; the reply has not begun. Only local servers report
    it."""

    read: int
    total: int


@dataclass(frozen=True, slots=True)
class StreamFinished:
    """The reply has ended, and why. `detail` is the provider's own word for it."""

    reason: StopReason
    detail: str = ""


StreamEvent: TypeAlias = (
    TextStarted
    | TextDelta
    | TextFinished
    | ReasoningStarted
    | ReasoningDelta
    | ReasoningFinished
    | ToolCallStarted
    | ToolCallDelta
    | ToolCallFinished
    | ToolCallMalformed
    | MarkupDelta
    | UsageReported
    | PromptProgressed
    | StreamFinished
)

STREAM_EVENTS = Codec(StreamEvent)

_ALIASES = frozenset(
    {"EVENTS", "Event", "HookOutcome", "Outcome", "Request", "RequestAnswered", "TASK_EVENTS", "TaskEvent"}
)
"""Of `joey.task_events`. An alias does not say where it is defined."""


def __getattr__(name: str) -> object:
    """The events of tasks, which are defined in `joey.task_events`: all of them with the first."""
    if not name.startswith("_"):  # Python asks for `__path__` with each import from here
        module = importlib.import_module("joey.task_events")
        own = {each: value for each, value in vars(module).items() if _is_own(each, value, module.__name__)}
        globals().update(own)
        if name in own:
            return globals()[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def _is_own(name: str, value: object, module: str) -> bool:
    """Whether a module defines this, and has not imported it."""
    return name in _ALIASES or (isinstance(value, type) and value.__module__ == module)
