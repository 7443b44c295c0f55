"""Entries and requests as Rich renderables. Pure: the same entry in the same look is always the same picture.

What a model, a file or a command says is shown as text, never as markup or as escape codes (`joey.terminal.visible`),
and links with their addresses, so that nothing on the screen pretends to be something else.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from rich.cells import cell_len
from rich.console import Group, RenderableType
from rich.markdown import Markdown
from rich.padding import Padding
from rich.syntax import Syntax
from rich.text import Text

from joey.events import ApprovalRequested, CompletionRequested, QuestionRequested, Request
from joey.messages import Shown, ShownDiff, ShownText
from joey.terminal.lines import todo_lines
from joey.terminal.transcript import Answered, Card, Entry, Note, Said, Thought, TodoList
from joey.terminal.visible import as_on_screen, one_line, visible

FOLDED = 16
"""How many lines of a long text are seen while it is folded."""
_SHORT = 120
_TOO_LONG = 20_000
_TEXTS = ("file_text", "content", "diff", "patch", "new_string", "new_str", "replace", "args")
"""The arguments that are worth seeing while they grow."""
_NAMES = ("path", "file_path", "command", "regex", "query", "mode", "mode_slug", "artifact_id", "message")
"""The arguments that tell one call from another."""
_SIGNS = {"growing": "○", "ready": "○", "asking": "?", "running": "●", "done": "✓", "failed": "✗"}
_STYLES = {"growing": "yellow", "asking": "bold yellow", "running": "yellow", "done": "green", "failed": "red"}


@dataclass(frozen=True, slots=True)
class Look:
    """How to draw: on a dark or a light ground, folded or in full."""

    dark: bool = True
    in_full: bool = False

    @property
    def code_theme(self) -> str:
        return "ansi_dark" if self.dark else "ansi_light"


def picture(entry: Entry, look: Look) -> RenderableType:
    """What an entry looks like."""
    match entry:
        case Said(text, queued):
            return _said(text, queued=queued)
        case Answered(words, is_open):
            if is_open and len(words) > _TOO_LONG:
                return Text(visible(words.text[-_TOO_LONG:]))  # until it is whole: Markdown is read from its beginning
            return _markdown(visible(words.text), look)
        case Thought(words, is_open):
            return _thought(visible(words.text), look, is_open=is_open)
        case Card():
            return _card(entry, look)
        case TodoList(todos):
            return Text.assemble(("Todo list\n", "bold"), visible(todo_lines(todos)))
        case Note(text, kind):
            return _inked(visible(text), {"note": "dim", "warning": "yellow", "error": "red"}[kind])
        case _:
            return Text()


def _inked(text: str, style: str, *, cuts: bool = False) -> Text:
    """A text of which these characters have the style, and not what is appended to it. `cuts`: it never wraps.

    A style of the Text itself would also be read as a colour of the web, and not as one of the sixteen that suit the
    ground.
    """
    return Text(no_wrap=cuts or None, overflow="ellipsis" if cuts else None).append(text, style)


def _markdown(text: str, look: Look) -> Markdown:
    return Markdown(text, code_theme=look.code_theme, hyperlinks=False)


def _said(text: str, *, queued: bool) -> Text:
    words = _inked("› ", "bold cyan").append(visible(text), "bold")
    return words.append("  (waits for the next step; Up takes it back)", "dim") if queued else words


def _thought(text: str, look: Look, *, is_open: bool) -> Text:
    if look.in_full:
        return _inked(f"▾ Thinking\n{text}", "dim italic")
    if is_open:
        last = text.rstrip().rpartition("\n")[2]
        return _inked(f"▸ Thinking… {last[-_SHORT:]}", "dim italic", cuts=True)
    return _inked(f"▸ Thought about it ({len(text.split())} words)", "dim italic")


# Tool calls


def _card(card: Card, look: Look) -> RenderableType:
    if card.name == "attempt_completion" and card.state != "failed":
        done = _inked("✓ Result", "bold green")
        return Group(done, _markdown(visible(card.argument("result")), look))
    if card.name == "ask_followup_question" and card.state != "failed":
        return _inked("? ", "bold yellow").append(visible(card.argument("question")))
    if card.name == "update_todo_list" and card.state == "done":
        return _headline(card)  # the list itself is an entry of its own
    body = [Padding(part, (0, 0, 0, 2)) for part in _body(card, look)]
    return Group(_headline(card), *body)


def _headline(card: Card) -> Text:
    style = _STYLES.get(card.state, "yellow")
    line = _inked(f"{_SIGNS[card.state]} ", style).append(one_line(card.name), "bold")
    what = visible(main_argument(card))
    if what:
        first, _, more = what.partition("\n")
        line.append(f"  {first}{' …' if more else ''}")
    return line.append(_state_words(card), "dim")


def _state_words(card: Card) -> str:
    if card.state == "asking":
        return "  needs your leave"
    lines = growing_text(card).count("\n")
    return f"  {lines} lines" if card.state == "growing" and lines else ""


def main_argument(card: Card) -> str:
    """What the call is about: its path, its command."""
    for name in _NAMES:
        if value := card.argument(name):
            return value
    paths = [words.text for path, words in card.arguments.items() if path and path[-1] == "path"]
    return ", ".join(paths)


def growing_text(card: Card) -> str:
    """The long text that a call carries: the file, the patch."""
    return next((value for name in _TEXTS if (value := card.argument(name))), "")


def _body(card: Card, look: Look) -> Iterator[RenderableType]:
    if card.state in ("growing", "ready"):
        text = growing_text(card)
        if text:
            yield code_picture(text, card.argument("path") or card.argument("file_path"), look)
    if card.state == "running" and card.output.text:
        yield output_picture(card.output.text, look)
    for shown in card.shown:
        yield shown_picture(shown, look)
    if card.state == "failed":
        yield folded(_inked(visible(card.result), "red"), look)
    elif card.state == "done" and not card.shown:
        yield _result(card.result, look)


def _result(text: str, look: Look) -> Text:
    text = visible(text).rstrip()
    if look.in_full or "\n" not in text:
        return _inked(text if look.in_full else text[:_SHORT], "dim")
    return _inked(f"{text.count(chr(10)) + 1} lines", "dim")


def shown_picture(shown: Shown, look: Look) -> RenderableType:
    match shown:
        case ShownDiff(_, diff):
            return folded(diff_picture(diff), look)
        case ShownText(text):
            return output_picture(text, look)
        case _:
            return _inked("[a picture]", "dim")


def output_picture(output: str, look: Look) -> Text:
    """A command's output: while folded, its end."""
    return folded(_inked(as_on_screen(output).rstrip("\n"), "dim"), look, from_end=True)


def diff_picture(diff: str) -> Text:
    """A unified diff in colour. The signs at the beginning of the lines are there without colour too."""
    picture = Text()
    for line in visible(diff).rstrip("\n").split("\n"):
        picture.append(f"{line}\n", _diff_style(line))
    picture.rstrip()
    return picture


def _diff_style(line: str) -> str:
    if line.startswith(("+++", "---", "diff ", "***")):
        return "bold"
    return {"+": "green", "-": "red", "@": "cyan"}.get(line[:1], "")


def code_picture(text: str, path: str, look: Look) -> RenderableType:
    """Code as it grows. Only the lines that are seen are highlighted: a long file costs no more than a short one."""
    lines = visible(text).split("\n")
    hidden = 0 if look.in_full else max(0, len(lines) - FOLDED)
    shown = "\n".join(lines[hidden:])
    if not path and re.match(r"(@@|\*\*\* |--- |<<<<<<<)", text):
        return diff_picture(shown)
    return Syntax(
        shown, Syntax.guess_lexer(path or "x.txt", ""), theme=look.code_theme, line_numbers=True,
        start_line=hidden + 1, word_wrap=True, background_color="default",
    )  # fmt: skip


def folded(text: Text, look: Look, *, from_end: bool = False) -> Text:
    """The text, or as much of it as fits a folded card, with a word about the rest."""
    lines = text.split("\n")
    if look.in_full or len(lines) <= FOLDED:
        return text
    rest = _inked(f"… {len(lines) - FOLDED} more lines (Ctrl+O shows all)", "dim")
    kept = [rest, *lines[-FOLDED:]] if from_end else [*lines[:FOLDED], rest]
    return Text("\n").join(kept)


# Requests


def request_picture(request: Request, look: Look) -> RenderableType:
    """What is asked, in full."""
    look = Look(look.dark, in_full=True)
    match request:
        case ApprovalRequested():
            return _approval(request, look)
        case QuestionRequested(_, question, suggestions):
            asked: list[RenderableType] = [_markdown(visible(question), look)]
            for number, suggestion in enumerate(suggestions, 1):
                line = _inked(f" {number} ", "bold cyan").append(visible(suggestion.text))
                asked.append(line.append(f"  → {one_line(suggestion.mode)} mode" if suggestion.mode else "", "dim"))
            return Group(*asked)
        case CompletionRequested():
            return _inked("Joey says that the task is done.", "bold green")
        case _:
            return _inked(visible(request.reason), "yellow")


def _approval(request: ApprovalRequested, look: Look) -> RenderableType:
    parts: list[RenderableType] = [
        _inked("May Joey use ", "bold").append(one_line(request.name), "bold yellow").append("?"),
        _inked(visible(request.reason), "yellow"),
    ]
    parts += [shown_picture(shown, look) for shown in request.shown]
    if not any(isinstance(shown, ShownDiff) for shown in request.shown):
        parts += [_argument(name, value) for name, value in request.arguments.items()]
    if request.always:
        parts.append(_inked("always: ", "dim").append(visible(", ".join(request.always)), "dim"))
    return Group(*parts)


def _argument(name: str, value: object) -> Text:
    text = visible(value if isinstance(value, str) else str(value))
    return _inked(f"{one_line(name)}: ", "dim").append(text, "bold" if name == "command" else "")


def request_keys(request: Request, *, comment: bool = False) -> str:
    """Which keys answer it."""
    match request:
        case ApprovalRequested():
            return "Enter sends your comment with the no · Esc goes back" if comment else _APPROVAL_KEYS
        case QuestionRequested(_, _, suggestions):
            return f"1-{min(len(suggestions), 9)} picks · or type an answer" if suggestions else "type an answer"
        case CompletionRequested():
            return "Enter or y accepts · or type what is still missing"
        case _:
            return "y goes on · n stops · or type guidance for the model"


def completions_picture(found: Sequence[str], chosen: int | None, hints: Mapping[str, str]) -> Text:
    """What could be typed next, one a line. The chosen one is reversed, so that it is seen without colour, too."""
    width = max((cell_len(each) for each in found), default=0)
    lines = []
    for number, each in enumerate(found):
        name = visible(each) + " " * (width - cell_len(each))
        line = _inked(f" {name} ", "reverse" if number == chosen else "bold", cuts=True)
        lines.append(line.append(f" {one_line(hints.get(each, ''))}".rstrip(), "dim"))
    return Text("\n").join(lines)


def attached_picture(labels: Sequence[str]) -> Text:
    """The pictures that go along with what is typed."""
    chips = [_inked(f" ▣ {one_line(label)} ", "reverse") for label in labels]
    return Text(" ").join([*chips, _inked("(Backspace in the empty input removes the last)", "dim")])


_APPROVAL_KEYS = "y yes · n no · c no, with a comment · a always, as shown"
