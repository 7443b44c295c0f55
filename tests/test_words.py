"""The glossary of CONTRIBUTING.md holds: old words are in no name and no text."""

from __future__ import annotations

import re
from pathlib import Path

import words

ROOT = Path(__file__).parents[1]


def test_no_old_word_is_in_use() -> None:
    assert [str(word) for path in words.files([]) for word in words.old_words(path)] == []


def test_the_glossary_has_every_word() -> None:
    glossary = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").partition("## Words")[2].partition("\n## ")[0]
    listed = " ".join(row.split("|")[1] for row in glossary.splitlines() if row.startswith("|"))
    assert [
        word for each in words.WORDS.values() for word in each.split() if not re.search(rf"\b{word}\b", listed)
    ] == []


def test_names_are_compared_word_by_word(tmp_path: Path) -> None:
    file = tmp_path / "names.py"
    file.write_text("asked_for = 1\nAskedFor = masked = 2\nMOST_LINES = 3\n", encoding="utf-8")
    assert [word.text for word in words.old_words(file)] == ["asked_for", "AskedFor", "MOST_LINES"]


def test_verbs_are_fine_in_the_sentence_of_a_test_and_saved_names_anywhere(tmp_path: Path) -> None:
    file = tmp_path / "names.py"
    file.write_text("def test_the_user_is_asked_once() -> None: ...\n\n\nUserSaid()\n", encoding="utf-8")
    assert list(words.old_words(file)) == []


def test_texts_are_searched_for_phrases(tmp_path: Path) -> None:
    file = tmp_path / "page.md"
    file.write_text("It needs your leave.\nLeave it out.\nA picture.\n", encoding="utf-8")
    assert [(word.line, word.text) for word in words.old_words(file)] == [(1, "your leave"), (3, "picture")]
