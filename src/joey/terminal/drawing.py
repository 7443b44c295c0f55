"""Entries and requests as Rich renderables: the one way to draw. Pure: the same entry in the same look is always the
same.

    Transcript --> draw(entry, look) --> lines of a log, a plain terminal or the screen

What differs between them is the `Look`. What a model, a file or a command wrote is shown as text, never as markup or as
escape codes (`joey.system.visible`), and links with their addresses, so that nothing pretends to be something else. On
the screen it stands behind a bar (`quoted`), or indented in the card of its call: only Joey writes in the first column.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from joey.effects import Todo
from joey.events import ApprovalRequested, CompletionRequested, QuestionRequested, Request
from joey.frames import unframed
from joey.messages import Shown, ShownDiff, ShownText
from joey.system.visible import as_on_screen, one_line, visible
from joey.terminal.quoted import Quoted
from joey.terminal.transcript import (
    DECLINED,
    DENIED,
    NOT_DECIDED,
    Card,
    Entry,
    ModelText,
    Note,
    Reasoning,
    TodoList,
    UserCommand,
    UserText,
)
from joey.tools.shell.output import GAP

FOLDED = 16
"""How many lines of a long text are seen while it is folded."""
MAX_WIDTH = 1_000
"""How much of each of them."""
_SHORT = 120
_WIDE_GAP = re.compile(r"[^\S\n]{9,}|\t{3,}")
_SIGNS = {
    "growing": "○",
    "ready": "○",
    "waiting": "?",
    "running": "●",
    "background": "●",
    "stopped": "■",
    "done": "✓",
    "failed": "✗",
}
_STYLES = {"growing": "yellow", "waiting": "bold yellow", "running": "yellow", "done": "green", "failed": "red"}
_TODO_SIGNS = {"completed": "[x]", "in_progress": "[-]", "pending": "[ ]"}


@dataclass(frozen=True, slots=True)
class Look:
    """How to draw: as plain lines. The screen has a look of its own, with Markdown, colours of code, and folds."""

    in_full: bool = False

    @property
    def folds(self) -> bool:
        """Whether long texts are cut, because there is a key that shows them in full."""
        return False

    @property
    def queued_hint(self) -> str:
        return "queued"

    def others(self, words: RenderableType, first: str = "", style: str = "") -> RenderableType:
        """Words of others, so that nothing of them looks like Joey's own; before them, a sign of ours. Plain lines have
        their bar from whoever prints them."""
        return inked(first, style).append_text(words) if first and isinstance(words, Text) else words

    def under(self, head: Text, words: RenderableType) -> RenderableType:
        """A line of ours, and words of others under it."""
        return head.append("\n").append_text(words) if isinstance(words, Text) else Group(head, words)

    def headline(self, line: Text) -> RenderableType:
        """A line of ours that names something of others: where it wraps, no row of it begins in the first column."""
        return line

    def prose(self, text: str, *, is_open: bool = False, keeps_lines: bool = False) -> RenderableType:
        """Markdown of the model. `is_open`: it still grows; `keeps_lines`: as lines, where Markdown would join them."""
        return Text(visible(text))

    def code(self, text: str, name: str) -> RenderableType:
        """A file or a patch while it grows."""
        return Text(visible(text))

    def diff(self, diff: str, name: str) -> Text:
        """What changed in the file of this name."""
        return draw_diff(diff)


def draw(entry: Entry, look: Look) -> RenderableType:
    """What an entry looks like."""
    match entry:
        case UserText(text, queued):
            words = fold(inked(visible(text), "bold"), look)
            words.append(f"  ({look.queued_hint})" if queued else "", "dim")
            return Quoted(words, "› ", "  ", "bold cyan")
        case ModelText(words, is_open):
            return look.others(look.prose(words.text, is_open=is_open))
        case Reasoning(words, is_open):
            return _reasoning(visible(words.text), look, is_open=is_open)
        case Card():
            return _card(entry, look)
        case UserCommand():
            return _users_command(entry, look)
        case TodoList(todos):
            return look.under(inked("Todo list", "bold"), Text(_todo_lines(todos)))
        case Note(text, kind, quoted):
            mark = "! " if kind == "warning" else ""  # seen without colours as well
            style = {"note": "dim", "warning": "yellow", "error": "red"}[kind]
            line = inked(mark + _indented(visible(text)), style)
            return look.under(line, inked(visible(quoted), style)) if quoted else line
        case _:
            return Text()


def inked(text: str, style: str, *, cuts: bool = False) -> Text:
    """A text of which these characters have the style, and not what is appended to it. `cuts`: it never wraps.

    A style of the Text itself would also be read as a colour of the web, and not as one of the sixteen that suit the
    background.
    """
    return Text(no_wrap=cuts or None, overflow="ellipsis" if cuts else None).append(text, style)


def _indented(text: str) -> str:
    """The text, with no line of it but the first in the first column."""
    return re.sub(r"\n(?=\S)", "\n  ", text)


def _reasoning(text: str, look: Look, *, is_open: bool) -> RenderableType:
    if look.in_full:
        return look.under(inked("▾ Reasoning", "dim italic"), inked(text, "dim italic"))
    if is_open:
        last = text.rstrip().rpartition("\n")[2]
        return inked(f"▸ Thinking… {last[-_SHORT:]}", "dim italic", cuts=True)
    return inked(f"▸ Reasoning ({len(text.split())} words)", "dim italic")


def _todo_lines(todos: tuple[Todo, ...]) -> str:
    return "\n".join(f"{_TODO_SIGNS[todo.status]} {one_line(todo.content)}" for todo in todos) or "(empty)"


# Tool calls


def _card(card: Card, look: Look) -> RenderableType:
    if card.display.role == "result" and (card.state != "failed" or card.status == DECLINED):
        head = result_heading(proposed=card.state != "done", of_subtask=bool(card.subtask), is_plan=card.is_plan)
        head = inked("✗ Plan", "bold red").append(f"  {DECLINED}", "red") if card.status == DECLINED else head
        if card.status == NOT_DECIDED:
            head = result_heading(proposed=True, is_plan=True).append(f"  {NOT_DECIDED}", "yellow")
        return look.under(head, look.prose(card.summary))
    if card.state != "failed" and card.display.role == "question":
        return look.others(Text(visible(card.summary)), "? ", "bold yellow")
    if card.state == "done" and card.display.role == "todos":
        return look.headline(headline(card))  # the list itself is an entry of its own
    return Group(look.headline(headline(card)), *(Padding(part, (0, 0, 0, 2)) for part in body(card, look)))


def result_heading(*, proposed: bool = False, of_subtask: bool = False, is_plan: bool = False) -> Text:
    """What stands above a result, as the model reports it. One that is `proposed` has not passed the checks yet."""
    what = "Plan" if is_plan else "Result"
    what = f"{what} of the subtask" if of_subtask else what
    return inked(f"○ {what}", "bold yellow") if proposed else inked(f"✓ {what}", "bold green")


def headline(card: Card) -> Text:
    """The state, the tool, and what the call is about."""
    line = inked(f"{_SIGNS[card.state]} ", _STYLES.get(card.state, "yellow")).append(one_line(card.name), "bold")
    if summary := visible(card.summary):
        first, _, more = summary.partition("\n")
        line.append(f"  {first}{' …' if more else ''}")
    if card.state == "failed" and card.status:
        return line.append(f"  {one_line(card.status)}", "red")
    return line.append(_state_words(card), "dim")


def _state_words(card: Card) -> str:
    if card.state == "waiting":
        return "  approval required"
    if card.state == "background":
        return "  in the background (/jobs)"
    if card.state in ("running", "stopped") and card.status:
        return f"  {card.status}"
    lines = line_count(card.content)
    return f"  {lines} lines" if card.state == "growing" and lines > 1 else ""


def line_count(text: str) -> int:
    """How many lines a text has; one that has only begun counts."""
    return text.count("\n") + (not text.endswith("\n")) if text else 0


def body(card: Card, look: Look) -> Iterator[RenderableType]:
    """What stands below the headline: what grows, the live output, and in the end what came out."""
    if card.state in ("growing", "ready") and (text := card.content):
        yield look.code(text, card.summary)
    if card.state in ("running", "failed") and card.output.text and not card.shown:
        yield _output(card.output.text, look)
    for shown in card.shown:
        yield from _named(shown, card, draw_shown(shown, look))
    is_shown = bool(card.shown) and (card.state == "done" or bool(card.status and not look.in_full))
    is_shown = is_shown or (_is_in_headline(card) and not look.in_full) or card.status == DENIED
    if card.state in ("done", "failed") and card.result and not is_shown:
        yield outcome(card, look)


def _named(shown: Shown, card: Card, drawn: Text) -> Iterator[Text]:
    """A diff below the name of its file, unless the headline or the diff itself names it: a call may change several."""
    if isinstance(shown, ShownDiff) and not any(shown.path in each for each in (card.summary, drawn.plain)):
        yield inked(visible(shown.path), "bold")
    if drawn.plain:
        yield drawn


def _is_in_headline(card: Card) -> bool:
    """Whether a command that failed has nothing to tell but how it ended, which stands beside it already. What stands
    between that and its output is for the model."""
    first, _, rest = card.result.partition("\n")
    return bool(card.status) and card.status in first and rest.split()[-2:] in ([], ["Output:", "(none)"])


def outcome(card: Card, look: Look) -> Text:
    """How a call ended: what was read is counted, not poured out; why it failed is told in full, unless the user has
    seen its output."""
    text = visible(unframed(card.result) if card.status == DENIED else card.result).rstrip()
    if card.display.kind == "execute":
        text = _without_notices(text)
    first, _, rest = text.partition("\n")
    if card.state == "failed":
        return fold(inked(first if card.shown and not look.in_full else text, "red"), look)
    if look.in_full:
        return inked(text, "dim")
    counts = rest and not card.shown and not card.display.headed and card.display.kind != "edit"
    return inked(_counted(text) if counts else first[:_SHORT], "dim")


def _without_notices(text: str) -> str:
    """The result of a command as the user reads it. What it says about the environment is for the model."""
    text = re.sub(r"\nNot in the environment of commands, .*", "", text)
    return re.sub(r"\n+Output:\n\(none\)", " (no output)", text)


def _counted(text: str) -> str:
    """How many lines were read; the name of the file is none of them."""
    count = sum(not line.startswith("File: ") for line in text.split("\n"))
    return "1 line" if count == 1 else f"{count} lines"


def draw_shown(shown: Shown, look: Look) -> Text:
    match shown:
        case ShownDiff(path, diff):
            return fold(look.diff(diff, path), look)
        case ShownText(text):
            return _output(text, look)
        case _:
            return inked("[an image]", "dim")


def _output(output: str, look: Look) -> Text:
    """A command's output: while folded, its end."""
    return folded_output(output, look, "dim")


def draw_diff(diff: str) -> Text:
    """A unified diff in colour. The signs at the beginning of the lines are there without colour too."""
    drawn = Text()
    for line in visible(diff).rstrip("\n").split("\n"):
        drawn.append(f"{line}\n", _diff_style(line))
    drawn.rstrip()
    return drawn


def _diff_style(line: str) -> str:
    if line.startswith(("+++", "---", "diff ", "***")):
        return "bold"
    return {"+": "green", "-": "red", "@": "cyan"}.get(line[:1], "")


def fold(text: Text, look: Look) -> Text:
    """The text, or the beginning of it that a folded card shows, with a word about the rest."""
    if look.in_full or not look.folds:
        return text
    hidden = text.plain.count("\n") + 1 - FOLDED
    if hidden <= 0 and len(text) <= MAX_WIDTH:
        return text
    kept = [_narrow(line) for line in text[: _first_lines(text.plain, FOLDED)].split("\n")]
    more = [inked(f"… {_lines_more(hidden)} (Ctrl+O shows all)", "dim")] if hidden > 0 else []
    return Text("\n").join([*kept, *more])


def folded_output(output: str, look: Look, style: str = "") -> Text:
    """A command's output, or the end of it that a folded card shows. Nothing but that end is read: while a command
    floods the screen, drawing it costs no more than for one that says little."""
    if look.in_full or not look.folds:
        return inked(as_on_screen(output).rstrip("\n"), style)
    output = output.rstrip("\n")
    start = _last_lines(output, FOLDED)
    kept = [_narrow(inked(line, style)) for line in as_on_screen(output[start:]).split("\n")]
    hidden = output.count("\n", 0, start)
    more = (
        [inked(f"… {hidden} more line{'s' if hidden > 1 else ''}{_left_out(output[:start])}", "dim")] if hidden else []
    )
    return Text("\n").join([*more, *kept])


def _lines_more(count: int) -> str:
    return f"{count} more line{'s' if count > 1 else ''}"


def _first_lines(text: str, count: int) -> int:
    """Where the first lines end."""
    at = -1
    for _ in range(count):
        at = text.find("\n", at + 1)
        if at < 0:
            return len(text)
    return at


def _last_lines(text: str, count: int) -> int:
    """Where the last lines begin."""
    at = len(text)
    for _ in range(count):
        at = text.rfind("\n", 0, at)
        if at < 0:
            return 0
    return at + 1


def _narrow(line: Text) -> Text:
    """A line, or as much of a very long one as some rows hold: a file without line ends would fill the screen."""
    more = len(line) - MAX_WIDTH
    return line[:MAX_WIDTH].append(f"… {more:,} more characters (Ctrl+O shows all)", "dim") if more > 0 else line


def _left_out(hidden: str) -> str:
    """What Ctrl+O shows of these lines: all, or all that was kept of a very long output."""
    gap = GAP.search(hidden)
    return (
        f" (Ctrl+O shows them), and {int(gap[1]):,} {gap[2]} that are not kept here" if gap else " (Ctrl+O shows all)"
    )


def is_searched_in_part(entry: Entry) -> bool:
    """Whether the middle of an output is missing in it, so that nothing can be found there."""
    texts = [entry.output.text] if isinstance(entry, (Card, UserCommand)) else []
    shown = entry.shown if isinstance(entry, Card) else ()
    return any(map(GAP.search, (*texts, *(each.text for each in shown if isinstance(each, ShownText)))))


def _users_command(entry: UserCommand, look: Look) -> RenderableType:
    """A command of the user's own. The output is theirs, so it is not dimmed."""
    line = inked("! ", "bold magenta").append(visible(entry.command), "bold")
    line.append("" if entry.shared else "  (not shown to the model)", "dim")
    output = entry.output.text
    parts = [folded_output(output, look)] if output.strip("\n") else []
    if not parts and entry.state in ("done", "failed"):
        parts = [inked("(no output)", "dim")]
    ended = [inked(visible(entry.ended), "red")] if entry.ended else []
    return Group(look.headline(line), *(Padding(part, (0, 0, 0, 2)) for part in (*parts, *ended)))


# Requests


def draw_request(request: Request, look: Look, *, chosen: int | None = None) -> Iterator[RenderableType]:
    """What is requested, and below it, in full, everything that the user must see to answer. `chosen` is the suggestion
    that the user is about to pick."""
    look = replace(look, in_full=True)
    match request:
        case ApprovalRequested():
            yield from _approval(request, look)
        case QuestionRequested(_, question, suggestions):
            yield inked("The model has a question:", "bold")
            yield look.others(look.prose(question, keeps_lines=True))
            for number, suggestion in enumerate(suggestions, 1):
                line = inked(visible(suggestion.text), "reverse" if number - 1 == chosen else "")
                line.append(f"  → {one_line(suggestion.mode)} mode" if suggestion.mode else "", "dim")
                yield look.others(line, f" {number} ", "bold cyan")
        case CompletionRequested(plan=True):
            yield inked("Shall this plan be carried out?", "bold green").append("  Or type what to change.", "dim")
        case CompletionRequested():
            yield inked("Task completed. Do you accept the result?", "bold green")
        case _:
            yield inked("The task has stopped:", "bold")
            yield inked(visible(request.reason), "yellow")


def _approval(request: ApprovalRequested, look: Look) -> Iterator[Text]:
    yield inked("Approval required: ", "bold").append(one_line(request.name), "bold yellow")
    if not any(isinstance(shown, ShownDiff) for shown in request.shown):  # the call itself first: it has to be seen
        yield from (_argument(name, value) for name, value in request.arguments.items())
    yield inked(visible(request.reason), "yellow")
    yield from (draw_shown(shown, look) for shown in request.shown)
    if request.always:
        yield inked("always: ", "dim").append(visible(", ".join(request.always)), "dim")


def _argument(name: str, value: object) -> Text:
    return inked(f"{one_line(name)}: ", "dim").append(_with_signs(str(value)))


def _with_signs(text: str) -> str:
    """The text with each of its line ends, and each gap that could push something out of view, as a sign."""
    return _WIDE_GAP.sub(lambda gap: f"␠×{len(gap[0])}", visible(text)).replace("\n", " ⏎\n")
