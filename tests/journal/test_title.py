from __future__ import annotations

from pathlib import Path

import pytest

from joey.app.users_commands import with_outputs
from joey.journal.markdown import MAX_TITLE, task_title
from joey.journal.records import TaskOpened
from joey.journal.replay import replay
from joey.journal.store import TaskEntry


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("Add a test", "Add a test"),
        ("\n\n# Add a *test*\nand more", "Add a test"),
        ("Could you please fix @/src/a.py?", "Fix src/a.py?"),
        ("hello, please", "Hello, please"),
        ("please", "Please"),
        ("- `make check` fails", "Make check fails"),
        ("was \x1b[31mred\x1b[0m", "Was ␛[31mred␛[0m"),
        ("find *.py", "Find *.py"),
        ("mail ada@example.com", "Mail ada@example.com"),
        (" \n ", ""),
    ],
)
def test_a_title_is_the_first_words_cleaned(text: str, title: str) -> None:
    assert task_title(text) == title


def test_a_long_request_is_cut_between_words() -> None:
    title = task_title("Add one more word " * 20)
    assert len(title) <= MAX_TITLE and title.endswith("…")
    assert title.removesuffix("…").split()[-1] in ("Add", "one", "more", "word")


def test_what_was_added_to_a_request_is_no_part_of_its_text_in_lists() -> None:
    text = with_outputs("hello", [("echo fresh", "fresh")])
    opened = TaskOpened("t1", text, "/folder", "code", "native", "anthropic/m")
    assert TaskEntry("t1", Path("j"), state=replay([opened])).text == "hello"
    only_piped = TaskOpened("t1", "<input>\nwords\n</input>", "/folder", "code", "native", "anthropic/m")
    assert "words" in TaskEntry("t1", Path("j"), state=replay([only_piped])).text
