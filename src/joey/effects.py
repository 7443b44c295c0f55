"""What a tool wants from the task it runs in, as data.

Most tools only answer. A few ask for something that a tool cannot do by itself: put a question to the user, end the
task, go on in another mode, start a subtask, remember a todo list. Such a tool puts an effect into its result
(`ToolResult.effect`), and the task loop acts on it. The result's content is what the model reads when the loop has
nothing better to say; for a question or a proposed completion the loop replaces it with the user's answer.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

TodoStatus: TypeAlias = Literal["pending", "in_progress", "completed"]


@dataclass(frozen=True, slots=True)
class Todo:
    """One item of the todo list. The id stays the same when the status changes."""

    id: str
    content: str
    status: TodoStatus = "pending"


@dataclass(frozen=True, slots=True)
class Suggestion:
    """An answer the user can pick. With a mode, picking it also switches to that mode."""

    text: str
    mode: str | None = None


@dataclass(frozen=True, slots=True)
class QuestionAsked:
    """The model needs an answer before it can go on."""

    question: str
    suggestions: tuple[Suggestion, ...] = ()


@dataclass(frozen=True, slots=True)
class CompletionProposed:
    """The model says that the task is done; the user has the last word."""

    result: str


@dataclass(frozen=True, slots=True)
class ModeSwitched:
    """The model goes on in another mode."""

    mode: str
    reason: str


@dataclass(frozen=True, slots=True)
class SubtaskStarted:
    """The model hands a piece of work to a task of its own. Only others of these may follow in the same turn."""

    mode: str
    message: str
    todos: tuple[Todo, ...] = ()


@dataclass(frozen=True, slots=True)
class TodosUpdated:
    """The todo list of the task is now this."""

    todos: tuple[Todo, ...]


Effect: TypeAlias = QuestionAsked | CompletionProposed | ModeSwitched | SubtaskStarted | TodosUpdated
