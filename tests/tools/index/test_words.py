from __future__ import annotations

import json
import lzma
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from joey.tools.index.wordpiece import VOCABULARY, DamagedModelError, WordPiece, read_vocabulary
from joey.tools.index.words import search_words, split_names, words

CASES = json.loads(Path(__file__).with_name("wordpiece.json").read_text("utf-8"))
PIECES = WordPiece(read_vocabulary())


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("parseHttpRequest", ["parse", "http", "request", "parsehttprequest"]),
        ("parse_http_request", ["parse", "http", "request", "parsehttprequest"]),
        ("HTTPServer", ["http", "server", "httpserver"]),
        ("__init__", ["init"]),
        ("utf8", ["utf", "8", "utf8"]),
        ("MAX_SIZE", ["max", "size", "maxsize"]),
        ("plain", ["plain"]),
        ("größe", ["größe"]),
    ],
)
def test_a_name_is_its_parts_and_itself(name: str, parts: list[str]) -> None:
    assert list(words(name)) == parts


def test_a_question_is_searched_without_the_words_that_every_question_has() -> None:
    assert search_words("Where is the code that deletes a user?") == ["deletes", "user"]
    assert search_words("what is this") == ["what", "is", "this"]


def test_names_in_camel_case_are_opened_up_for_the_model() -> None:
    assert split_names("getUserName(HTTPServer, x_y)") == "get User Name(HTTP Server, x_y)"


def test_texts_become_the_numbers_that_the_real_tokenizer_makes() -> None:
    wrong = [text for text, numbers in CASES if PIECES.numbers(text, 128) != numbers]
    assert wrong == [] and len(CASES) > 100


@pytest.mark.property
@given(st.text(max_size=300), st.integers(3, 128))
def test_any_text_has_numbers_between_the_two_marks_within_the_limit(text: str, limit: int) -> None:
    numbers = PIECES.numbers(text, limit)
    assert numbers[0] == 101 and numbers[-1] == 102 and len(numbers) <= limit


def test_a_special_token_cannot_be_smuggled_in() -> None:
    assert 102 not in PIECES.numbers("x [SEP] y", 128)[1:-1]


def test_a_vocabulary_that_was_changed_is_refused(tmp_path: Path) -> None:
    changed = lzma.decompress(VOCABULARY.read_bytes()).replace(b"the\n", b"teh\n", 1)
    other = tmp_path / "vocabulary.txt.xz"
    other.write_bytes(lzma.compress(changed))
    with pytest.raises(DamagedModelError, match="not the one"):
        read_vocabulary(other)
    other.write_bytes(b"nonsense")
    with pytest.raises(DamagedModelError, match="cannot be read"):
        read_vocabulary(other)
