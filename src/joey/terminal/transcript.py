"""What a front end shows, as data: a fold of events into entries, without a word about how they look.

    event --> Transcript.apply --> the entry that changed (or is new)

Entries are only ever appended; the last ones grow. The entries of a reply that failed and is tried again do not count:
they are marked `dropped` and stay in the list, so that nothing else moves. Calls are found by task and call id,
because a subtask counts its calls for itself. How calls of a tool are shown is for the tool to say (`Display`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from joey import events
from joey.effects import Todo
from joey.frames import is_users_answer, own_words, users_words
from joey.messages import (
    ImageBlock,
    Message,
    ReasoningBlock,
    Shown,
    TextBlock,
    ToolResult,
    ToolResultBlock,
    ToolUseBlock,
)
from joey.task.wording import ACCEPTED, PLAN_ACCEPTED, typed_words
from joey.terminal.notes import NoteKind, note_on
from joey.tools.builtin import builtin_display
from joey.tools.display import Display, flat
from joey.wire import JsonValue

LONG_ANSWER = 4_000
"""From so many characters on, an answer is cut between paragraphs, so that drawing it as it grows stays cheap."""
KEPT_OUTPUT = 200_000
"""How many characters of a command's live output are kept for the screen."""


class Growing:
    """A text that comes in pieces. Adding is cheap; the pieces are joined when somebody looks."""

    __slots__ = ("_pieces", "_size")

    def __init__(self, text: str = "") -> None:
        self._pieces = [text]
        self._size = len(text)

    def add(self, text: str, *, keep: int | None = None) -> None:
        self._pieces.append(text)
        self._size += len(text)
        if keep is not None and self._size > 2 * keep:
            self._pieces = [self.text[-keep:]]
            self._size = keep

    def __len__(self) -> int:
        return self._size

    @property
    def text(self) -> str:
        if len(self._pieces) > 1:
            self._pieces = ["".join(self._pieces)]
        return self._pieces[0]

    def __str__(self) -> str:
        return self.text


@dataclass(slots=True, eq=False)
class Entry:
    """Something on the screen."""

    dropped: bool = field(default=False, kw_only=True)


@dataclass(slots=True, eq=False)
class UserText(Entry):
    """A message of the user."""

    text: str
    queued: bool = False


@dataclass(slots=True, eq=False)
class ModelText(Entry):
    """A text of the model, in Markdown."""

    words: Growing = field(default_factory=Growing)
    is_open: bool = True
    cut_from: int = LONG_ANSWER
    """How long it must be before it is looked at for a place to cut it."""


@dataclass(slots=True, eq=False)
class Reasoning(Entry):
    """The model's reasoning."""

    words: Growing = field(default_factory=Growing)
    is_open: bool = True


CallState: TypeAlias = Literal["growing", "ready", "waiting", "running", "background", "done", "failed"]


@dataclass(slots=True, eq=False)
class Card(Entry):
    """One tool call, from its first character to its result."""

    call_id: str
    name: str
    state: CallState = "growing"
    arguments: dict[events.ArgumentPath, Growing] = field(default_factory=dict)
    output: Growing = field(default_factory=Growing)
    shown: tuple[Shown, ...] = ()
    result: str = ""
    status: str = ""
    """How it failed, in a few words: `exit code 2`, `interrupted`."""
    display: Display = field(default_factory=Display)
    known_summary: str = ""
    of_subtask: bool = False
    is_plan: bool = False
    """Whether the result that it reports is a plan, which is carried out once it is accepted."""

    @property
    def summary(self) -> str:
        """What the call is about: its path, its command. What the tool itself reports counts more than a guess."""
        return self.known_summary or self.display.summary(self.arguments)

    @property
    def content(self) -> str:
        """The long text that the call carries: the file, the patch."""
        texts = (str(value) for value in reversed(self.arguments.values()))
        return next((text for text in texts if "\n" in text), "")


@dataclass(slots=True, eq=False)
class UserCommand(Entry):
    """A command that the user ran themselves."""

    command: str
    shared: bool
    """Whether the model gets its output with the next message."""
    state: CallState = "running"
    output: Growing = field(default_factory=Growing)
    ended: str = ""
    """How it ended, where it failed."""


@dataclass(slots=True, eq=False)
class Note(Entry):
    """A line about what happened."""

    text: str
    kind: NoteKind = "note"


@dataclass(slots=True, eq=False)
class TodoList(Entry):
    """The todo list as it was set."""

    todos: tuple[Todo, ...]


class Transcript:
    """The whole conversation so far, and the requests that wait for the user."""

    def __init__(self, display_of: Callable[[str], Display] = builtin_display) -> None:
        self._display_of = display_of
        self.entries: list[Entry] = []
        self.pending: list[tuple[str, events.Request]] = []
        """The requests nobody has answered yet, the oldest first, each with its task."""
        self.waiting: list[UserText] = []
        """The messages of the user that the model has not read yet."""
        self._cards: dict[tuple[str, str], Card] = {}
        self._answers: dict[str, ModelText] = {}
        self._thoughts: dict[str, Reasoning] = {}
        self._opening: UserText | None = None
        self._turn_began, self._turn_open = 0, False
        self._subtasks: set[str] = set()
        self._retry: Entry | None = None
        self._aborted: dict[str, str] = {}
        """Why a task was stopped, as far as a line says so."""

    def is_subtask(self, task_id: str) -> bool:
        """Whether a task works for another one: its result is not yet that of what the user wanted."""
        return task_id in self._subtasks

    def add(self, entry: Entry) -> Entry:
        self.entries.append(entry)
        return entry

    def open_with(self, text: str) -> Entry:
        """A message that a task is opened with, which may take a moment: it is shown before the task begins."""
        self._opening = UserText(text)
        return self.add(self._opening)

    def not_opened(self) -> list[Entry]:
        """The message went back to where it was typed."""
        opening, self._opening = self._opening, None
        if opening is None:
            return []
        opening.dropped = True
        return [opening]

    def apply(self, task_id: str, event: events.Event) -> list[Entry]:
        """Take in an event; returns the entries that are new or look different now."""
        match event:
            case events.TextStarted() | events.TextDelta() | events.TextFinished():
                return self._answer(task_id, event)
            case events.ReasoningStarted() | events.ReasoningDelta() | events.ReasoningFinished():
                return self._thought(task_id, event)
            case (
                events.ToolCallStarted()
                | events.ToolCallDelta()
                | events.ToolCallFinished()
                | events.ToolCallMalformed()
            ):
                return self._call(task_id, event)
            case events.ToolRunStarted() | events.ToolRunProgressed() | events.ToolRunFinished():
                return self._run(task_id, event)
            case events.TaskStarted():
                return self._start(task_id, event)
            case events.TurnStarted():
                return self._turn()
            case events.TurnFinished():
                return self._noted_if_empty()
            case events.RetryScheduled():
                return [*self._drop_turn(), *self._noted_again(event)]
            case events.TodosChanged(todos):
                return [self.add(TodoList(todos))]
            case events.UserMessageQueued(text):
                self.waiting.append(UserText(own_words(text), queued=True))
                return [self.add(self.waiting[-1])]
            case events.UserMessageTakenBack() if self.waiting:
                taken = self.waiting.pop()
                taken.dropped = True
                return [taken]
            case events.TaskCompleted():
                return self._completed(task_id)
            case events.TaskFinished() | events.TaskAborted():
                self.pending = [each for each in self.pending if each[0] != task_id]
                return [*self._end(task_id), *self._noted_end(task_id, event)]
            case _:
                return self._request(task_id, event)

    def _start(self, task_id: str, event: events.TaskStarted) -> list[Entry]:
        opening, self._opening = self._opening, None
        if event.parent_id:
            self._subtasks.add(task_id)
        if event.resumed or opening is not None:
            return []
        words = own_words(event.text)
        if event.parent_id:  # words of the model, which must not look like the user's
            return [self.add(Note(f"The model's instructions to the subtask: {words}"))]
        return [self.add(UserText(words))]

    def _turn(self) -> list[Entry]:
        """A request goes out, and takes along what waited."""
        self._turn_began, self._turn_open = len(self.entries), True
        read, self.waiting = self.waiting, []
        for message in read:
            message.queued = False
        return [*read]

    def _noted_if_empty(self) -> list[Entry]:
        """A reply with nothing in it is a line: the user waited for it."""
        was_open, self._turn_open = self._turn_open, False
        came = self.entries[self._turn_began :]
        if not was_open or any(isinstance(each, (ModelText, Reasoning, Card)) and not each.dropped for each in came):
            return []
        return [self.add(Note("The model's reply was empty."))]

    def _noted(self, event: events.Event) -> list[Entry]:
        note = note_on(event)
        return [self.add(Note(*note))] if note else []

    def _noted_end(self, task_id: str, event: events.TaskFinished | events.TaskAborted) -> list[Entry]:
        """That a task was stopped is one line: the next message continues it, so there is no end to report."""
        if isinstance(event, events.TaskAborted):
            self._aborted[task_id] = event.reason
        elif event.outcome == "cancelled" and self._aborted.pop(task_id, None) == event.message:
            return []
        return self._noted(event)

    def _noted_again(self, event: events.RetryScheduled) -> list[Entry]:
        """A line about the next attempt takes the place of the one about the last, if nothing came in between."""
        shown = next((entry for entry in reversed(self.entries) if not entry.dropped), None)
        replaced = [shown] if shown is not None and shown is self._retry else []
        for entry in replaced:
            entry.dropped = True
        noted = self._noted(event)
        self._retry = noted[-1] if noted else None
        return [*replaced, *noted]

    def _answer(self, task_id: str, event: events.TextStarted | events.TextDelta | events.TextFinished) -> list[Entry]:
        if isinstance(event, events.TextStarted) or task_id not in self._answers:
            self._answers[task_id] = ModelText()
            self.add(self._answers[task_id])
        answer = self._answers[task_id]
        if isinstance(event, events.TextDelta):
            answer.words.add(event.text)
            return [answer, *self._cut_if_long(task_id, answer)]
        if isinstance(event, events.TextFinished):
            answer.is_open = False
            del self._answers[task_id]
        return [answer]

    def _cut_if_long(self, task_id: str, answer: ModelText) -> list[Entry]:
        """Continue in another entry when this one is long and a paragraph ends. Looked for ever more seldom, so that an
        answer without paragraphs is not searched at each piece."""
        if len(answer.words) < answer.cut_from:
            return []
        text = answer.words.text
        end = text.rstrip().rfind("\n\n")
        if end <= 0 or text.count("```", 0, end) % 2:
            answer.cut_from = len(text) + LONG_ANSWER // 2
            return []
        answer.words, answer.is_open = Growing(text[:end]), False
        rest = self._answers[task_id] = ModelText(Growing(text[end:].lstrip("\n")))
        return [self.add(rest)]

    def _thought(
        self, task_id: str, event: events.ReasoningStarted | events.ReasoningDelta | events.ReasoningFinished
    ) -> list[Entry]:
        if isinstance(event, events.ReasoningStarted) or task_id not in self._thoughts:
            self._thoughts[task_id] = Reasoning()
            self.add(self._thoughts[task_id])
        thought = self._thoughts[task_id]
        if isinstance(event, events.ReasoningDelta):
            thought.words.add(event.text)
        elif isinstance(event, events.ReasoningFinished):
            thought.is_open = False
            del self._thoughts[task_id]
        return [thought]

    def _call(
        self,
        task_id: str,
        event: events.ToolCallStarted | events.ToolCallDelta | events.ToolCallFinished | events.ToolCallMalformed,
    ) -> list[Entry]:
        if isinstance(event, events.ToolCallStarted):
            return [self._new_card(task_id, event.call_id, event.name)]
        card = self._cards.get((task_id, event.call_id))
        if isinstance(event, events.ToolCallMalformed):
            card = card or self._new_card(task_id, event.call_id, event.name or "a call")
            card.state, card.result = "failed", event.message
        elif isinstance(event, events.ToolCallFinished):
            card = card or self._new_card(task_id, event.call_id, event.name)
            card.state, card.arguments = "ready", _grown(event.arguments)
        elif card is not None and event.path:
            card.arguments.setdefault(event.path, Growing()).add(event.text)
        return [card] if card else []

    def _new_card(self, task_id: str, call_id: str, name: str) -> Card:
        card = self._cards[task_id, call_id] = Card(call_id, name, display=self._display_of(name))
        card.of_subtask = self.is_subtask(task_id)
        self.add(card)
        return card

    def _run(
        self, task_id: str, event: events.ToolRunStarted | events.ToolRunProgressed | events.ToolRunFinished
    ) -> list[Entry]:
        card = self._cards.get((task_id, event.call_id))
        if card is None:
            return []
        if isinstance(event, events.ToolRunStarted):
            card.state, card.known_summary = "running", event.summary
        elif isinstance(event, events.ToolRunProgressed):
            card.output.add(event.text, keep=KEPT_OUTPUT)
        else:
            settle(card, event.result)
        return [card]

    def _completed(self, task_id: str) -> list[Entry]:
        """The result that the model proposed last is one: it passed the checks."""
        proposed = self._last_results(task_id)
        for card in proposed:
            card.state = "done"
        return [*proposed]

    def _mark_plan(self, task_id: str) -> list[Entry]:
        proposed = self._last_results(task_id)
        for card in proposed:
            card.is_plan = True
        return [*proposed]

    def _last_results(self, task_id: str) -> list[Card]:
        """The result that the model proposed last, if there is one."""
        cards = (card for (task, _), card in reversed(self._cards.items()) if task == task_id)
        return [card for card in cards if card.display.role == "result"][:1]

    def _end(self, task_id: str) -> Iterable[Entry]:
        """Nothing of the task runs, waits or grows any more."""
        for text in (self._answers.pop(task_id, None), self._thoughts.pop(task_id, None)):
            if text is not None:
                text.is_open = False
                yield text
        for (task, _), card in self._cards.items():
            if task == task_id and card.state == "background":
                card.state, card.result = "done", "It ended with the task."
                yield card
            elif task == task_id and card.state not in ("done", "failed"):
                card.state, card.status = "failed", "interrupted"
                yield card

    def _drop_turn(self) -> Iterable[Entry]:
        for entry in self.entries[self._turn_began :]:
            if isinstance(entry, (ModelText, Reasoning, Card)):
                entry.dropped = True
                yield entry
        self._answers.clear()
        self._thoughts.clear()

    def _request(self, task_id: str, event: events.Event) -> list[Entry]:
        match event:
            case (
                events.ApprovalRequested()
                | events.QuestionRequested()
                | events.CompletionRequested()
                | events.ContinueRequested()
            ):
                self.pending.append((task_id, event))
                plan = self._mark_plan(task_id) if isinstance(event, events.CompletionRequested) and event.plan else []
                return [*plan, *self._set_waiting(task_id, event)]
            case events.ApprovalAnswered(request_id, approved, comment):
                cards = self._no_longer_waiting(task_id, request_id)
                self._answered(task_id, request_id)
                comment = own_words(comment)
                text = f"{'Yes' if approved else 'No'}: {comment}" if comment else "" if approved else "No"
                return [*cards, *([self.add(UserText(text))] if text else [])]
            case events.QuestionAnswered(request_id, text):
                self._answered(task_id, request_id)
                return [self.add(UserText(own_words(text)) if text else Note("Nobody answered.", "warning"))]
            case events.CompletionAnswered(request_id, _, words) | events.ContinueAnswered(request_id, _, words):
                self._answered(task_id, request_id)
                return [self.add(UserText(own_words(words)))] if words else []
            case _:
                return self._noted(event)

    def _set_waiting(self, task_id: str, event: events.Request) -> list[Entry]:
        card = self._cards.get((task_id, event.call_id)) if isinstance(event, events.ApprovalRequested) else None
        if card is None:
            return []
        card.state = "waiting"
        return [card]

    def _no_longer_waiting(self, task_id: str, request_id: str) -> list[Card]:
        """The card of a call that was answered: it runs in its turn, or its result comes at once."""
        answered = [each for task, each in self.pending if (task, each.request_id) == (task_id, request_id)]
        cards = [
            self._cards.get((task_id, each.call_id)) for each in answered if isinstance(each, events.ApprovalRequested)
        ]
        waited = [card for card in cards if card is not None and card.state == "waiting"]
        for card in waited:
            card.state = "ready"
        return waited

    def _answered(self, task_id: str, request_id: str) -> None:
        self.pending = [each for each in self.pending if (each[0], each[1].request_id) != (task_id, request_id)]


def settle(card: Card, result: ToolResult) -> None:
    """The card of a call that has its result. A proposed result that comes back was refused, unless it was the user who
    answered or accepted it."""
    texts = [block.text for block in result.content if isinstance(block, TextBlock)]
    own = [text for text in texts if not text.startswith("<user_message>")]
    card.status = next(filter(None, map(card.display.failed, own)), "")
    if not card.status and result.exit is not None and result.exit.code:
        card.status = str(result.exit)
    card.shown, card.result = result.shown, "\n".join(own)
    if card.display.role == "result":
        seen = card.state == "done" and not result.is_error
        is_plan = card.result.startswith(PLAN_ACCEPTED)
        accepted, card.is_plan = is_plan or card.result == ACCEPTED, card.is_plan or is_plan
        card.state = "done" if seen or accepted or is_users_answer(card.result) else "failed"
    else:
        left = any(map(card.display.left_running, own))
        card.state = "failed" if result.is_error or card.status else "background" if left else "done"


def _grown(arguments: JsonValue) -> dict[events.ArgumentPath, Growing]:
    return {path: Growing(text) for path, text in flat(arguments).items()}


def _answer_to(card: Card) -> str:
    """What the user answered, where the call's result is their answer."""
    return users_words(card.result) if is_users_answer(card.result) else ""


def entries_of(
    messages: Sequence[Message],
    display_of: Callable[[str], Display] = builtin_display,
    *,
    shown: Mapping[str, tuple[Shown, ...]] | None = None,
    interrupted: Mapping[int, str] | None = None,
) -> list[Entry]:
    """An earlier conversation as entries: for a task that is resumed. `shown` is what the user saw of its calls,
    `interrupted` what came of replies that were cut off, by the number of messages before them."""
    entries: list[Entry] = []
    cards: dict[str, Card] = {}
    for number, message in enumerate((*messages, Message("user", ()))):
        if cut := (interrupted or {}).get(number):
            entries.append(ModelText(Growing(cut), is_open=False))
        for block in message.content:
            match block:
                case TextBlock(text) if message.role == "assistant":
                    entries.append(ModelText(Growing(text), is_open=False))
                case TextBlock(text):
                    entries += [UserText(text)] if (text := typed_words(text)) else []
                case ReasoningBlock(text):
                    entries += [Reasoning(Growing(text), is_open=False)] if text else []
                case ToolUseBlock(call_id, name, arguments):
                    cards[call_id] = Card(call_id, name, "ready", _grown(arguments), display=display_of(name))
                    entries.append(cards[call_id])
                case ToolResultBlock(call_id, content, is_error) if call_id in cards:
                    settle(cards[call_id], ToolResult(content, (shown or {}).get(call_id, ()), is_error))
                    entries += [UserText(text)] if (text := _answer_to(cards[call_id])) else []
                case ImageBlock():
                    entries.append(Note("[an image]"))
                case _:
                    pass
    for card in cards.values():
        if card.state == "background":
            card.state, card.result = "done", "It ran in the background, in an earlier session."
        if card.state == "ready":  # only the result that was accepted has no answer
            card.state, card.status = ("done", "") if card.display.role == "result" else ("failed", "interrupted")
    return entries
