"""What a front end shows, as data: a fold of events into entries, without a word about how they look.

    event --> Transcript.apply --> the entry that changed (or is new)

Entries are only ever appended; the last ones grow. The entries of a reply that failed and is tried again do not count:
they are marked `dropped` and stay in the list, so that nothing else moves. Calls are found by task and call id,
because a subtask counts its calls for itself. How calls of a tool are shown is for the tool to say (`Display`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from joey import events
from joey.effects import Todo
from joey.frames import is_users_answer, own_words
from joey.messages import Shown, ShownText, TextBlock, ToolResult
from joey.task.wording import ACCEPTED, HEAR_FIRST, PLAN_ACCEPTED, PLAN_DECLINED, SHOWN, UNDECIDED, is_users_no
from joey.terminal.notes import NoteKind, note_on, note_on_job
from joey.tools.builtin import builtin_display
from joey.tools.display import Display, flat
from joey.tools.shell.job import Job
from joey.wire import ArgumentPath, JsonValue

LONG_ANSWER = 4_000
"""From so many characters on, an answer is cut between paragraphs, so that drawing it as it grows stays cheap."""
INTERRUPTED = "interrupted"
ELSEWHERE = "in progress in another terminal"
DECLINED, DENIED = "declined", "denied"
"""The status of a plan that the user did not want, and of a call that they did not approve."""
NOT_DECIDED = "not decided"
"""The status of a plan that was left before the user said anything about it."""
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


CallState: TypeAlias = Literal["growing", "ready", "waiting", "running", "background", "stopped", "done", "failed"]


@dataclass(slots=True, eq=False)
class Card(Entry):
    """One tool call, from its first character to its result."""

    call_id: str
    name: str
    state: CallState = "growing"
    arguments: dict[ArgumentPath, Growing] = field(default_factory=dict)
    output: Growing = field(default_factory=Growing)
    shown: tuple[Shown, ...] = ()
    result: str = ""
    status: str = ""
    """How it failed, in a few words: `exit code 2`, `interrupted`."""
    display: Display = field(default_factory=Display)
    known_summary: str = ""
    subtask: str = ""
    """The id of the subtask that made the call."""
    is_plan: bool = False
    """Whether the result that it reports is a plan, which is carried out once it is accepted."""
    overtaken: bool = False
    """Whether a message of the user's waited when it reported its result: the model reads that first, and nobody is
    asked about the result."""

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
    quoted: str = ""
    """Words of others that belong to it."""


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
        self.unheard: Sequence[str] = ()
        """Which of them came too late for the request that goes out, as the task has them."""
        self.left_waiting: list[UserText] = []
        """Those of before the task was opened, until it is."""
        self._cards: dict[tuple[str, str], Card] = {}
        self._answers: dict[str, ModelText] = {}
        self._thoughts: dict[str, Reasoning] = {}
        self._opening: UserText | None = None
        self._turn_began, self._turn_open = 0, False
        self._subtasks: set[str] = set()
        self._retry: Entry | None = None
        self._accepted_plan = ""
        """The task whose plan was accepted just now: how it is carried out is reported next."""
        self._aborted: dict[str, str] = {}
        """Why a task was stopped, as far as a line says so."""

    def is_subtask(self, task_id: str) -> bool:
        """Whether a task works for another one: its result is not yet that of what the user wanted."""
        return task_id in self._subtasks

    def add(self, entry: Entry) -> Entry:
        self.entries.append(entry)
        return entry

    def show_earlier(self, task_id: str, entries: Sequence[Entry], *, elsewhere: bool = False) -> None:
        """What a task that is resumed has behind it. A call that was interrupted may still get its result: a subtask
        comes back, and a plan is put again. Where the task is open `elsewhere`, nothing was interrupted."""
        self.entries += entries
        for card in entries:
            if isinstance(card, Card) and card.status in (INTERRUPTED, NOT_DECIDED):
                self._cards[card.subtask or task_id, card.call_id] = card
                if elsewhere and card.status == INTERRUPTED and not card.result:
                    card.state, card.status = "running", ELSEWHERE

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
                return [self._queued(own_words(text))]
            case events.UserMessageTakenBack(text) if self.waiting:
                return [_taken_back(own_words(text), self.waiting)]
            case events.TaskCompleted():
                return self._completed(task_id)
            case events.TaskFinished() | events.TaskAborted():
                stopped = self._noted_stop(task_id) if isinstance(event, events.TaskAborted) else []
                left = self._left_plan(task_id)
                self.pending = [each for each in self.pending if each[0] != task_id]
                return [*stopped, *left, *self._end(task_id), *self._noted_end(task_id, event)]
            case _:
                return self._request(task_id, event)

    def show_waiting(self, texts: Iterable[str]) -> None:
        """Messages that still waited for the model when the task was left: they go out first, before what is next."""
        self.left_waiting = [UserText(text, queued=True) for text in texts]
        self.entries += self.left_waiting

    def wait_with(self, text: str) -> Entry:
        """A message that was sent before the task was there for it."""
        self.left_waiting.append(UserText(text, queued=True))
        return self.add(self.left_waiting[-1])

    def take_back(self, text: str) -> list[Entry]:
        """The last of these with this text is not to be sent."""
        return [_taken_back(text, self.left_waiting)] if text and self.left_waiting else []

    def keep_waiting(self) -> list[Entry]:
        """The task has ended: what still waits goes out when it is resumed."""
        read = self._read()
        self.left_waiting, self.waiting = [*self.waiting, *self.left_waiting], []
        return read

    def _queued(self, text: str) -> Entry:
        known = next((each for each in self.left_waiting if each.text == text), None)
        if known is not None:  # it is on the screen already
            self.left_waiting.remove(known)
        queued = known or UserText(text, queued=True)
        self.waiting.append(queued)
        return queued if known is not None else self.add(queued)

    def _read(self) -> list[Entry]:
        """The model has read what is not `unheard`."""
        left = [*self.unheard]
        for message in reversed(self.waiting):  # they are read in turn: of two with the same words the last one waits
            message.queued = message.text in left
            if message.queued:
                left.remove(message.text)
        read = [message for message in self.waiting if not message.queued]
        self.waiting = [message for message in self.waiting if message.queued]
        return [*read]

    def _start(self, task_id: str, event: events.TaskStarted) -> list[Entry]:
        opening, self._opening = self._opening, None
        if event.parent_id:
            self._subtasks.add(task_id)
        if event.resumed:
            return self._no_longer_elsewhere(task_id)
        if opening is not None:
            return []
        words = own_words(event.text)
        if event.parent_id:  # words of the model, which must not look like the user's
            return [self.add(Note("The model's instructions to the subtask:", quoted=words))]
        return [self.add(UserText(words))]

    def _no_longer_elsewhere(self, task_id: str) -> list[Entry]:
        """The task is open here now: what had no result by then was interrupted."""
        left = [card for (task, _), card in self._cards.items() if task == task_id and card.status == ELSEWHERE]
        for card in left:
            card.state, card.status = "failed", INTERRUPTED
        return [*left]

    def _turn(self) -> list[Entry]:
        """A request goes out, and takes along what waited."""
        self._turn_began, self._turn_open = len(self.entries), True
        return self._read()

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
            if self.is_subtask(task_id):
                return []  # how it ended is told with its end; its task may go on
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
            card.state, card.arguments = "ready", grown(event.arguments)
        elif card is not None and event.path:
            card.arguments.setdefault(event.path, Growing()).add(event.text)
        return [card] if card else []

    def _new_card(self, task_id: str, call_id: str, name: str) -> Card:
        card = self._cards[task_id, call_id] = Card(call_id, name, display=self._display_of(name))
        card.subtask = task_id if self.is_subtask(task_id) else ""
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
        """The result that the model proposed last is one, unless it was refused: then an answer completed the task."""
        proposed = [card for card in self._last_results(task_id) if card.state != "failed"]
        for card in proposed:
            card.state = "done"
        return [*proposed]

    def _mark_plan(self, task_id: str) -> list[Entry]:
        proposed = self._last_results(task_id)
        for card in proposed:
            card.is_plan, card.status = True, ""
        return [*proposed]

    def _left_plan(self, task_id: str) -> list[Entry]:
        """The plan that the task ends with before the user has decided about it."""
        if not any(task == task_id and _is_plan(request) for task, request in self.pending):
            return []
        proposed = self._last_results(task_id)
        for card in proposed:
            card.status = NOT_DECIDED
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
                card.state, card.status = "stopped", "ended with the task"
                yield card
            elif task == task_id and card.state not in ("done", "failed"):
                card.state, card.status = "failed", INTERRUPTED
                yield card

    def job_ended(self, job: Job) -> list[Entry]:
        """A command has ended in the background: its card says how, and so does a line, wherever the card is by now."""
        running = (card for card in self._cards.values() if card.state == "background" and card.summary == job.command)
        card = next(running, None)
        if card is not None and job.exit is not None:
            card.status = str(job.exit) if job.exit.code else ""
            card.state, card.shown = "failed" if card.status else "done", (ShownText(job.output.for_user()),)
        note = self.add(Note(*note_on_job(job)))
        return [note] if card is None else [card, note]

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
                plan = self._mark_plan(task_id) if _is_plan(event) else []
                return [*plan, *self._set_waiting(task_id, event)]
            case events.ApprovalAnswered(request_id, False, _, True):
                cards = self._no_longer_waiting(task_id, request_id)
                self._answered(task_id, request_id)
                return [*cards, self.add(Note("Nobody was there to approve it.", "warning"))]
            case events.ApprovalAnswered(request_id, approved, comment):
                cards = self._no_longer_waiting(task_id, request_id)
                self._answered(task_id, request_id)
                comment = own_words(comment)
                text = f"{'Yes' if approved else 'No'}: {comment}" if comment else "" if approved else "No"
                return [*cards, *([self.add(UserText(text))] if text else [])]
            case events.QuestionAnswered(request_id, text):
                self._answered(task_id, request_id)
                return [self.add(UserText(own_words(text)) if text else Note("Nobody answered.", "warning"))]
            case events.ProfileChanged(profile) if self._accepted_plan == task_id:
                self._accepted_plan = ""
                return [self.add(Note(f"The plan is accepted and carried out with approvals: {profile}."))]
            case events.CompletionAnswered(request_id, _, words) | events.ContinueAnswered(request_id, _, words):
                continues = isinstance(event, events.ContinueAnswered) and event.goes_on
                answered = [each for task, each in self.pending if (task, each.request_id) == (task_id, request_id)]
                accepts = isinstance(event, events.CompletionAnswered) and event.accepted
                self._accepted_plan = task_id if accepts and any(map(_is_plan, answered)) else ""
                stopped = self._noted_stop(task_id) if continues else []
                self._answered(task_id, request_id)
                return [*stopped, *([self.add(UserText(own_words(words)))] if words else [])]
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

    def _noted_stop(self, task_id: str) -> list[Entry]:
        """Why the task had stopped, where nothing else says so once the request is gone."""
        reasons = [
            each.reason for task, each in self.pending if task == task_id and isinstance(each, events.ContinueRequested)
        ]
        return [self.add(Note(reason, "warning")) for reason in reasons]

    def _answered(self, task_id: str, request_id: str) -> None:
        self.pending = [each for each in self.pending if (each[0], each[1].request_id) != (task_id, request_id)]


def _is_plan(request: events.Request) -> bool:
    return isinstance(request, events.CompletionRequested) and request.plan


def _taken_back(text: str, waiting: list[UserText]) -> Entry:
    """Take the last one with this text out of those that wait. It need not be the last of all: some wait for a subtask,
    others for its task."""
    taken = next((each for each in reversed(waiting) if each.text == text), waiting[-1])
    waiting.remove(taken)
    taken.dropped = True
    return taken


def settle(card: Card, result: ToolResult) -> None:
    """The card of a call that has its result. A proposed result that comes back was refused, unless it was the user who
    answered or accepted it."""
    texts = [block.text for block in result.content if isinstance(block, TextBlock)]
    own = [text for text in texts if not text.startswith("<user_message>")]
    card.status = next(filter(None, map(card.display.failed, own)), "")
    if not card.status and result.exit is not None and result.exit.code:
        card.status = str(result.exit)
    own.sort(key=lambda text: card.display.failed(text) is None)  # what failed first: a long result is folded
    card.shown, card.result = result.shown, "\n".join(own)
    if result.is_error and card.state != "running" and is_users_no(card.result):  # a tool that ran may say so itself
        card.status = DENIED
    if card.display.role == "result":
        # What a profile adds for the model, such as files, stands in blocks of its own behind the user's words.
        card.result = next(filter(is_users_answer, own), card.result)
        seen = card.state == "done" and not result.is_error and not card.result.startswith(PLAN_DECLINED)
        is_plan = card.result.startswith(PLAN_ACCEPTED)
        declined = card.result.startswith(PLAN_DECLINED)
        accepted, card.is_plan = is_plan or card.result in (ACCEPTED, SHOWN), card.is_plan or is_plan or declined
        card.overtaken = card.result == HEAR_FIRST
        card.status = DECLINED if declined else INTERRUPTED if card.result == UNDECIDED else card.status
        card.state = "done" if seen or accepted or card.overtaken or is_users_answer(card.result) else "failed"
    else:
        left = any(map(card.display.left_running, own))
        card.state = "failed" if result.is_error or card.status else "background" if left else "done"


def grown(arguments: JsonValue) -> dict[ArgumentPath, Growing]:
    return {path: Growing(text) for path, text in flat(arguments).items()}
