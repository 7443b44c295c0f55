"""The look of the screen: Markdown, code in colour, long texts folded."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from markdown_it import MarkdownIt
from rich.console import Group, RenderableType
from rich.markdown import Markdown
from rich.syntax import Syntax
from rich.text import Text

from joey.events import ApprovalRequested, CompletionRequested, QuestionRequested, Request
from joey.system.visible import one_line, visible
from joey.terminal.drawing import FOLDED, Look, draw_diff, inked
from joey.terminal.first_frame import PLACEHOLDER
from joey.terminal.quoted import Quoted
from joey.terminal.screen.answering import Choice, choices
from joey.terminal.screen.diffs import draw_code_diff

_TOO_LONG = 20_000
"""More of one text (a block of code, a table: others are cut between paragraphs) is not laid out as Markdown: a million
characters would take the screen ten seconds."""
_PARSER = MarkdownIt("commonmark", {"html": False}).enable(["strikethrough", "table"])
_MANY_LINES = 1_000
"""More of a file that is being written is shown without colours."""
_SHORT = 20
"""Answers of so few characters share a line: the rest of the panel belongs to what is requested."""


class Prose(Markdown):
    """Markdown in which tags are text: rich leaves them out, and `List<String>` would be a `List`."""

    def __init__(self, text: str, code_theme: str = "ansi_dark") -> None:
        super().__init__("", code_theme=code_theme, hyperlinks=False)
        self.markup, self.parsed = text, _PARSER.parse(text)


@dataclass(frozen=True, slots=True)
class ScreenLook(Look):
    """On a dark or a light background, folded or in full."""

    dark: bool = True

    @property
    def folds(self) -> bool:
        return True

    @property
    def queued_hint(self) -> str:
        return "queued; Up takes it back"

    @property
    def code_theme(self) -> str:
        return "ansi_dark" if self.dark else "ansi_light"

    def others(self, words: RenderableType, first: str = "", style: str = "") -> RenderableType:
        return Quoted(words, first, " " * len(first), style) if first else Quoted(words)

    def under(self, head: Text, words: RenderableType) -> RenderableType:
        return Group(head, Quoted(words))

    def headline(self, line: Text) -> RenderableType:
        return Quoted(line, "", "  ")

    def prose(self, text: str, *, is_open: bool = False, keeps_lines: bool = False) -> RenderableType:
        text = text.replace("\n", "  \n") if keeps_lines else text
        if len(text) <= _TOO_LONG:
            return self._markdown(text)
        if is_open or self.in_full:
            return Text(visible(text[-_TOO_LONG:] if is_open else text))  # Markdown is read from its beginning
        start = text.find("\n", len(text) - _TOO_LONG) + 1 or len(text) - _TOO_LONG
        more = inked(f"… {text.count(chr(10), 0, start):,} lines before this (Ctrl+O shows all)", "dim")
        return Group(more, self._markdown(_open_fence(text[:start]) + text[start:]))

    def _markdown(self, text: str) -> Prose:
        return Prose(visible(text), self.code_theme)

    def code(self, text: str, name: str) -> RenderableType:
        """Only the lines that are seen are highlighted: a long file costs no more than a short one."""
        lines = visible(text).split("\n")
        hidden = 0 if self.in_full else max(0, len(lines) - FOLDED)
        shown = "\n".join(lines[hidden:])
        if len(lines) - hidden > _MANY_LINES:
            return Text(shown)  # it grows, and all of it would be highlighted with each piece
        if not name and re.match(r"(@@|\*\*\* |--- |<<<<<<<)", text):
            return draw_diff(shown)
        return Syntax(
            shown, Syntax.guess_lexer(name or "x.txt", ""), theme=self.code_theme, line_numbers=True,
            start_line=hidden + 1, word_wrap=True, background_color="default",
        )  # fmt: skip

    def diff(self, diff: str, name: str) -> Text:
        drawn = draw_code_diff(diff, name, dark=self.dark)
        if drawn is None:
            return draw_diff(diff)
        return Text("\n").join([inked(visible(name), "bold"), drawn]) if self.in_full else drawn  # a call may have many


def _open_fence(text: str) -> str:
    """The line that began the block of code in which a text ends; empty if it ends in none."""
    fences = re.findall(r"^```[^\n]*\n", text, re.MULTILINE)
    return fences[-1] if len(fences) % 2 else ""


def request_keys(
    request: Request, *, ready: bool, of_subtask: bool = False, short: bool = False, jobs: int = 0
) -> Text:
    """Which keys answer it, and what else does. Keys that do not work yet are not named; their place is kept.
    `short`: in one line, for a small window, which has no room to say what each allows."""
    if short and isinstance(request, ApprovalRequested):
        lasting = "".join(f"  {number} {scope}" for number, scope in enumerate(request.scopes, 2) if request.always)
        return inked(f"y yes{lasting}  n no  c why" if ready else "", "dim")
    if isinstance(request, ApprovalRequested) or is_plan(request):
        drawn = [(_key(each, ready=ready), len(each.words)) for each in choices(request)]
        together = Text("   ").join(text for text, length in drawn if length <= _SHORT)
        alone = [text for text, length in drawn if length > _SHORT]
        return Text("\n").join([together, *alone] if together.plain else alone)
    return Text(_keys(request, of_subtask=of_subtask, jobs=jobs) if ready else "", "dim")


def _key(choice: Choice, *, ready: bool) -> Text:
    key, *others = choice.keys
    also = f" (or {', '.join(others)})" if others else ""
    return inked(key if ready else " ", "bold").append(f" {choice.words}{also if ready else ''}", "dim")


def is_plan(request: Request | None) -> bool:
    """Whether a plan is presented, which is a question; any other result is none."""
    return isinstance(request, CompletionRequested) and request.plan


def invitation(request: Request | None, *, of_subtask: bool = False) -> str:
    """What the empty input says: what can be typed there now."""
    match request:
        case None:
            return PLACEHOLDER
        case ApprovalRequested():
            return "A key above answers; what you type here is a message for the model"
        case QuestionRequested():
            return "Your answer"
        case CompletionRequested(plan=True):
            return "What to change in the plan"
        case CompletionRequested() if of_subtask:
            return "What the subtask is to change; an empty Enter gives its result to the task"
        case CompletionRequested():
            return "What is next, or what to change?  (/help)"
        case _:
            return "Guidance for the model"


def background(jobs: int) -> str:
    """So many commands in the background."""
    return f"{jobs} background command{'s' if jobs > 1 else ''}"


def _keys(request: Request, *, of_subtask: bool, jobs: int) -> str:
    match request:
        case QuestionRequested():
            count = len(choices(request))
            return f"1-{count}, or ↑↓ and Enter, picks · or type an answer" if count else "type an answer"
        case CompletionRequested():
            what = " the subtask's result" if of_subtask else f" and ends {background(jobs)}" if jobs else ""
            return f"Enter accepts{what} · or type what to change"
        case _:
            return "y continues, or tries again · n stops · or type a hint for the model"


def draw_attached(labels: Sequence[str]) -> Text:
    """The images that are sent with what is typed."""
    chips = [inked(f" ▣ {one_line(label)} ", "reverse") for label in labels]
    return Text(" ").join([*chips, inked("(Backspace in the empty input removes the last)", "dim")])
