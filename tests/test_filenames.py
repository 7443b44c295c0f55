from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from joey.filenames import quoted


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
