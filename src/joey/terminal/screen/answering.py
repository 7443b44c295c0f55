"""When a key answers a request, and when it is a letter of a word.

    shown  --QUIET without a key-->  ready  --a key that answers-->  held  --HOLD without a key-->  answered
                                       |                              |
                                       | any other character          | another character
                                       v                              v
                              words: until the input is empty again, every key belongs to them

A key answers only what is in view: while a request is covered, or the window too small for it (`out of view`), every
key belongs to the input, and when it comes into view, it counts as shown from then on.

A key that allows more than this once is held three times as long; Enter behind it answers at once.

A request can appear while the user types, and a user who has read one may begin a sentence: neither the middle of a
word nor its first letter is an answer. Nothing here knows of a screen; the clock is given.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeAlias

from joey.commands import Answer
from joey.events import ApprovalRequested, CompletionRequested, QuestionRequested, Request
from joey.system.visible import one_line
from joey.terminal.plans import asks_before

QUIET = 0.5
"""For how many seconds nothing must have been typed, and the request must have been in view, before a key answers."""
HOLD = 0.35
"""How many seconds a key waits: a character after it makes both of them words."""
_LASTING = 3
"""How many times as long a key waits that allows more than this once."""


@dataclass(frozen=True, slots=True)
class Comment:
    """The user wants to say no with a comment."""


@dataclass(frozen=True, slots=True)
class EditPlan:
    """The user wants to change the plan, and have it carried out as it is then."""

    plan: str
    answer: Answer
    """What accepts it, but for the text."""


Given: TypeAlias = Answer | Comment | EditPlan


@dataclass(frozen=True, slots=True)
class Choice:
    """An answer that a key gives: what it is, and which keys give it."""

    keys: tuple[str, ...]
    words: str
    gives: Given


_MAX_WORDS = 60
"""What an answer allows is written out beside it up to this many characters."""


def choices(request: Request) -> tuple[Choice, ...]:
    """Every answer to a request that a key can give."""
    yes, no = Answer(request.request_id, yes=True), Answer(request.request_id)
    match request:
        case ApprovalRequested():
            return (
                Choice(("y", "1"), "yes, once", yes),
                *_lasting(request),
                Choice(("n",), "no", no),
                Choice(("c",), "no, with a comment", Comment()),
            )
        case QuestionRequested(request_id, _, suggestions):
            texts = (each.text for each in suggestions[:9])
            return tuple(Choice((str(at),), text, Answer(request_id, True, text)) for at, text in enumerate(texts, 1))
        case CompletionRequested(plan=True):
            return _for_a_plan(request)
        case CompletionRequested():
            return (Choice(("enter",), "accepts", yes),)
        case _:
            return (Choice(("y",), "continues", yes), Choice(("n",), "stops", no))


def _for_a_plan(request: CompletionRequested) -> tuple[Choice, ...]:
    """Every way to have a plan carried out, and to decline it. Words alone go back to the model, which plans again."""
    careful, editing = (Answer(request.request_id, yes=True, profile=profile) for profile in ("ask", "edits"))
    both = asks_before(request, "ask"), asks_before(request, "edits")
    return (
        Choice(("y", "1"), f"carry it out, and {both[0]}", careful),
        *((Choice(("2",), f"carry it out, and {both[1]}", editing),) if both[0] != both[1] else ()),
        Choice(("e", "3"), "edit it in your editor, then carry it out as with y", EditPlan(request.result, careful)),
        Choice(("n",), "no: nothing is carried out, and the approval profile stays", Answer(request.request_id)),
    )


def _lasting(request: ApprovalRequested) -> tuple[Choice, ...]:
    """The answers that hold from now on, each with what exactly it allows."""
    if not request.always:
        return ()
    what, yes = (
        one_line(", ".join(request.always).replace("\n", " ⏎ ")),
        Answer(request.request_id, yes=True, always=True),
    )
    if len(what) > _MAX_WORDS:
        what = "exactly this"  # it stands above, and every answer is to be seen
    if "project" not in request.scopes:
        return (Choice(("2",), f"yes, always in this subtask: {what}", yes),)
    return (
        Choice(("2",), f"yes, always in this task: {what}", yes),
        Choice(("3",), f"yes, always in this project: {what}", replace(yes, scope="project")),
    )


def choice_of(request: Request, key: str) -> Choice | None:
    """The answer that a key gives; None: the key is no answer."""
    return next((each for each in choices(request) if key in each.keys), None)


def answer_by_words(request: Request, text: str, *, comment: bool, seen: bool = True) -> Answer | None:
    """The answer that typed words give; None: they are a message for the model. A key that came too early stands in the
    input: sent by itself, with the request in view (`seen`), it is the answer. Else approval is given by key only."""
    if seen and not comment and isinstance(given := answer_typed(request, text), Answer):
        return given
    if isinstance(request, ApprovalRequested):
        return Answer(request.request_id, yes=False, text=text) if comment else None
    if isinstance(request, CompletionRequested):
        is_result = not request.plan and not request.plain  # to an answer, a yes is a message like any other
        accepts = not text or (seen and is_result and text.strip().lower() in ("y", "yes"))
        return Answer(request.request_id, yes=accepts, text="" if accepts else text)
    return Answer(request.request_id, yes=bool(text), text=text) if text else None


def answer_typed(request: Request, text: str) -> Answer | EditPlan | None:
    """The answer that Enter gives with this text: that of the one key it consists of."""
    choice = choice_of(request, text) if len(text) == 1 else None
    return choice.gives if choice and isinstance(choice.gives, (Answer, EditPlan)) else None


@dataclass(frozen=True, slots=True)
class Held:
    """A key that answers unless a word follows."""

    key: str
    choice: Choice


class KeyGate:
    """Which keys answer the request that is shown."""

    def __init__(
        self, clock: Callable[[], float] = time.monotonic, *, quiet: float = QUIET, hold: float = HOLD
    ) -> None:
        self._clock = clock
        self.quiet, self.hold = quiet, hold
        self._quiet_since = self._shown_since = clock()
        self.request: Request | None = None
        self.held: Held | None = None
        self._in_view = True

    def show(self, request: Request | None) -> bool:
        """Another request is shown, or none; returns whether it is another one."""
        if request is self.request:
            return False
        self.request, self.held = request, None
        self._quiet_since = self._shown_since = self._clock()
        return True

    def uncovered(self, *, in_view: bool = True) -> None:
        """The request came into view just now, or, unless `in_view`, it is out of view."""
        self._in_view, self.held = in_view, None
        self._quiet_since = self._shown_since = self._clock()

    @property
    def is_in_view(self) -> bool:
        return self._in_view

    def typed(self) -> None:
        """The user typed something."""
        self._quiet_since = self._clock()

    @property
    def is_seen(self) -> bool:
        """Whether the request has been in view for so long that what is sent now is sent with it in mind."""
        return self.request is not None and self._in_view and self._clock() - self._shown_since >= self.quiet

    def is_ready(self, text: str) -> bool:
        """Whether a key answers now, with this text in the input."""
        shown = self.request is not None and self._in_view
        return shown and not text and self._clock() - self._quiet_since >= self.quiet

    def hold_of(self, held: Held) -> float:
        """How many seconds it waits."""
        gives = held.choice.gives
        lasts = isinstance(gives, Answer) and (gives.always or gives.profile == "edits")
        return self.hold * _LASTING if lasts else self.hold

    def press(self, key: str, text: str) -> Given | Held | None:
        """What a key gives that is pressed with this text in the input. None: it is for the input.

        A key that is held answers as soon as Enter follows, or at its time (`release`).
        """
        held, self.held = self.held, None
        if held is not None:
            self.typed()
            return held.choice.gives if key == "enter" else None
        ready = self.is_ready(text)
        self.typed()
        choice = choice_of(self.request, key) if ready and self.request else None
        if choice is None or key == "enter":
            return choice.gives if choice else None
        self.held = Held(key, choice)
        return self.held

    def release(self, held: Held) -> Given | None:
        """What a key gives after which nothing came; None if something did."""
        if self.held is not held:
            return None
        self.held = None
        return held.choice.gives
