from __future__ import annotations

import pytest

from joey.journal.markdown import MAX_TITLE, task_title


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
