from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from joey.system.filenames import quoted, unquoted


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("src/a.py", "src/a.py"),
        ("größe und mehr.txt", "größe und mehr.txt"),
        ("two\nlines", '"two\\nlines"'),
        ("\x1b[31mred", '"\\033[31mred"'),
        ('a"b\\c', '"a\\"b\\\\c"'),
        ("not-utf8-\udcff", '"not-utf8-\\377"'),
        ("turned\u202etxt.exe", '"turned\\342\\200\\256txt.exe"'),
        ("line\u2028separator", '"line\\342\\200\\250separator"'),
    ],
)
def test_a_name_that_could_pass_for_something_else_is_quoted(name: str, shown: str) -> None:
    assert quoted(name) == shown


@pytest.mark.property
@given(st.text())
def test_a_quoted_name_is_one_printable_line(name: str) -> None:
    shown = quoted(name)
    assert len(shown.splitlines()) <= 1 and "\x1b" not in shown
    shown.encode("utf-8")


def test_git_quotes_the_same_way(tmp_path: Path) -> None:
    names = ["plain", "two\nlines", "tab\there", 'quo"te', "back\\slash", "bell\a", "esc\x1b", "del\x7f", "é"]
    for name in names:
        (tmp_path / name).touch()
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    listed = subprocess.run(
        ["git", "-c", "core.quotePath=false", "ls-files", "--others"],
        cwd=tmp_path, capture_output=True, check=True, text=True,
    )  # fmt: skip
    assert sorted(listed.stdout.splitlines()) == sorted(map(quoted, names))


@pytest.mark.parametrize(
    "name",
    [
        "a\u200bb",
        "a\u00adb",
        "a\ufe0f",
        "tag\U000e0041",
        "joined\u200dname",
        "\u3164",
        "\ufeffbom",
        " ahead",
        "behind ",
    ],
)
def test_characters_that_show_nothing_are_shown(name: str) -> None:
    shown = quoted(name)
    assert shown.startswith('"') and shown.endswith('"')
    assert unquoted(shown) == name


names = st.text(st.characters(codec="utf-8") | st.sampled_from('"\\\n\r\t\x1b \u202e\u200b\udcff\udc80'))


@pytest.mark.property
@given(names)
def test_what_was_quoted_is_read_back(name: str) -> None:
    # Bytes that are no text, side by side, may be text together: such a string is the name of no file.
    assume(os.fsdecode(os.fsencode(name)) == name)
    assert unquoted(quoted(name)) == name


@pytest.mark.property
@given(names)
def test_only_the_quoted_form_of_a_name_is_read_as_one(text: str) -> None:
    assert unquoted(text) == text or quoted(unquoted(text)) == text


@pytest.mark.parametrize("text", ['"', '""', '"src/a.py"', '"../secret"', '"a\\q"', '"\\777"', '"a\\', "a\\nb"])
def test_text_that_no_name_is_shown_as_stays_what_it_is(text: str) -> None:
    assert unquoted(text) == text
