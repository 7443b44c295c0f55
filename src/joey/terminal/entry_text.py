"""The words of entries: to search in them, to copy a reply, and to leave the conversation behind on the terminal."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from joey.terminal.transcript import Card, Entry, ModelText, Note, Reasoning, TodoList, UserCommand, UserText


def entry_text(entry: Entry) -> str:
    """Everything that an entry says, folded or not."""
    match entry:
        case UserText(text) | Note(text):
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


def matches(entries: Sequence[Entry], words: str) -> list[int]:
    """Where in the conversation these words are."""
    wanted = words.casefold()
    return [at for at, entry in enumerate(entries) if not entry.dropped and wanted in entry_text(entry).casefold()]
