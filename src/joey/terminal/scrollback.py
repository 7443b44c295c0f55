"""The words of entries, to search in them and to copy a reply; and what stays on the terminal when the full screen is
closed: the end of the conversation, drawn as it was."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TextIO

from rich.console import Group
from rich.segment import Segment, Segments
from rich.text import Text

from joey.terminal.console import SafeConsole
from joey.terminal.drawing import Look, draw, inked
from joey.terminal.transcript import Card, Entry, ModelText, Note, Reasoning, TodoList, UserCommand, UserText


def entry_text(entry: Entry) -> str:
    """Everything that an entry says, folded or not."""
    match entry:
        case Note(text, _, quoted):
            return f"{text}\n{quoted}"
        case UserText(text):
            return text
        case ModelText(words) | Reasoning(words):
            return words.text
        case Card():
            shown = (getattr(each, "diff", "") or getattr(each, "text", "") for each in entry.shown)
            return "\n".join([entry.name, entry.summary, entry.content, entry.output.text, entry.result, *shown])
        case UserCommand():
            return f"!{entry.command}\n{entry.output.text}\n{entry.ended}"
        case TodoList(todos):
            return "\n".join(todo.content for todo in todos)
        case _:
            return ""


def replies(entries: Iterable[Entry]) -> list[str]:
    """The model's replies, the oldest first: its texts, those of a long one joined, and the results it reported."""
    found: list[str] = []
    goes_on = False
    for entry in entries:
        if entry.dropped:
            continue
        if isinstance(entry, ModelText) and entry.words.text.strip():
            found[-1:] = [f"{found[-1]}\n\n{entry.words.text}"] if goes_on else [*found[-1:], entry.words.text]
        elif isinstance(entry, Card) and entry.display.role == "result" and entry.summary:
            found.append(entry.summary)
        goes_on = isinstance(entry, ModelText)
    return found


MAX_LINES = 200


def print_conversation(entries: Iterable[Entry], look: Look, out: TextIO | None = None, **options: object) -> None:
    """Print the last lines of a conversation. Nothing is printed if nobody said anything."""
    spoken = [entry for entry in entries if not entry.dropped]
    if all(isinstance(entry, Note) for entry in spoken):
        return
    console = SafeConsole(out, highlight=False, **options)
    lines: list[list[Segment]] = []
    left = len(spoken)
    while left and len(lines) < MAX_LINES:  # from the end: what is not printed is not drawn
        left -= 1
        lines = [*console.render_lines(Group(draw(spoken[left], look), Text()), pad=False), *lines]
    if earlier := left + (len(lines) > MAX_LINES):
        console.print(inked(f"… {earlier} earlier {'entry' if earlier == 1 else 'entries'}", "dim"))
    console.print(Segments(part for line in lines[-MAX_LINES:] for part in (*line, Segment.line())), end="")
