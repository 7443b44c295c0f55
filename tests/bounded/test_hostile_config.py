"""Files that a repository brings along for Joey, made to hang it or to fill its memory: each is refused in words."""

from __future__ import annotations

import os
from pathlib import Path
from textwrap import indent

import pytest

from bounds_kit import refused
from joey.bounded.files import FileTooLargeError, NotRegularError, read_regular, read_regular_text, read_start
from joey.bounded.formats import FormatError
from joey.bounded.formats.json import read_json
from joey.bounded.formats.toml import read_toml
from joey.bounded.formats.yaml import read_yaml

LAUGHS = "a0: &a0 [x, x]\n" + "".join(f"a{n}: &a{n} [*a{n - 1}, *a{n - 1}]\n" for n in range(1, 60))
MERGES = "a0: &a0 {k: v}\n" + "".join(f"a{n}: &a{n} {{<<: [*a{n - 1}, *a{n - 1}]}}\n" for n in range(1, 60))
FRONT = f"---\n- 1\n-\n{indent(LAUGHS, '  ')}---\nx"
MODE = "slug: a\nname: A\nroleDefinition: B\ngroups: []\n"

DEEP, VALUES, LARGE = "nested more than 100 levels", "more than 20,000 values", "larger than 512 KB"
HOSTILE = [
    pytest.param("settings", "config.toml", "a." * 30_000 + "a = 1", "more than 20 parts", id="a key with 30,000 dots"),
    pytest.param("settings", "config.toml", "x = " + "[" * 100_000, DEEP, id="deep TOML arrays"),
    pytest.param("settings", "config.toml", "x = " + "{a = " * 50_000, DEEP, id="deep TOML tables"),
    pytest.param("settings", "config.toml", "x = 1" + "0" * 9_999, "digits", id="a TOML number of 10,000 digits"),
    pytest.param("settings", "config.toml", "#\n" * 400_000, LARGE, id="large settings"),
    pytest.param("settings", "config.toml", "a=1\na=2", "invalid TOML", id="a TOML key twice"),
    pytest.param("modes", ".roomodes", LAUGHS, VALUES, id="YAML aliases of aliases"),
    pytest.param("modes", ".roomodes", MERGES, VALUES, id="YAML merges of merges"),
    pytest.param("modes", ".roomodes", "customModes: &a [*a]", "has no end", id="a YAML alias in itself"),
    pytest.param("modes", ".roomodes", "- " * 50_000, DEEP, id="deep YAML"),
    pytest.param("modes", ".roomodes", "x: 1" + ":59" * 50_000, "more than 200 characters", id="YAML base 60"),
    pytest.param("modes", ".roomodes", '{"a":' * 50_000, DEEP, id="deep JSON modes"),
    pytest.param("modes", ".roomodes", "x" * 600_000, LARGE, id="large modes"),
    pytest.param("modes", ".joey/modes/a.toml", "a." * 30_000 + "a = 1", "more than 20 parts", id="a TOML mode"),
    pytest.param("modes", ".joey/modes/a.yaml", MODE + "x: 9999-99-99", "month must be", id="a date that is none"),
    pytest.param("servers", ".roo/mcp.json", "[" * 100_000, DEEP, id="deep MCP settings"),
    pytest.param("servers", ".roo/mcp.json", "9" * 10_000, "thousands of digits", id="MCP settings, a long number"),
    pytest.param("servers", ".roo/mcp.json", " " * 600_000, LARGE, id="large MCP settings"),
    pytest.param(
        "servers",
        ".roo/mcp.json",
        '{"mcpServers": {' + ",".join(f'"s{n}": 1' for n in range(30_000)) + "}}",
        "at most 200",
        id="30,000 MCP servers",
    ),
    pytest.param("library", ".roo/commands/a.md", FRONT, VALUES, id="aliases in front matter"),
    pytest.param("library", ".roo/commands/a.md", f"---\n{'[' * 50_000}\n---\nx", DEEP, id="deep front matter"),
    pytest.param("library", ".roo/commands/a.md", "---\n[9999-99-99]\n---\nx", "month must be", id="a bad date"),
    pytest.param("library", ".roo/skills/a/SKILL.md", "x" * 600_000, "larger than", id="a large skill"),
    pytest.param("ignore files", ".joeyignore", "a\r" * 9_000, "more than 2500 lines", id="a long ignore file"),
    pytest.param("ignore files", ".rooignore", "ß" * 600, "more than 1000 characters", id="a long ignore line"),
    pytest.param("ignore files", ".joeyignore", "*a" * 400 + "b", "a path is judged", id="stars of an ignore file"),
    pytest.param("ignore files", ".joeyignore", "**/a/" * 99 + "b", "a path is judged", id="folders of an ignore file"),
    pytest.param("foreign task", "api_conversation_history.json", "[" * 100_000, DEEP, id="deep saved task"),
    pytest.param("foreign task", "api_conversation_history.json", "9" * 9_999, "digits", id="saved task, long number"),
]


@pytest.mark.parametrize(("reader", "name", "text", "words"), HOSTILE)
def test_a_hostile_file_is_refused_in_words(reader: str, name: str, text: str, words: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    refused(reader, tmp_path, words)


PLACES = [
    ("ignore files", ".joeyignore"),
    ("ignore files", ".rooignore"),
    ("settings", "config.toml"),
    ("modes", ".roomodes"),
    ("modes", ".joey/modes/a.yaml"),
    ("servers", ".roo/mcp.json"),
    ("library", ".roo/commands/a.md"),
    ("library", ".roo/skills/a/SKILL.md"),
    ("rules", "AGENTS.md"),
    ("rules", ".roo/rules/a.md"),
    ("custom tools", ".joey/tools/a.py"),
    ("foreign task", "api_conversation_history.json"),
]


@pytest.mark.parametrize(("reader", "name"), PLACES)
def test_a_pipe_in_the_place_of_a_file_is_refused_and_not_waited_for(reader: str, name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.parent.mkdir(parents=True, exist_ok=True)
    os.mkfifo(path)
    refused(reader, tmp_path, "it is a pipe, not a regular file")


@pytest.mark.parametrize(("reader", "name"), [*PLACES[:6], ("custom tools", ".joey/tools/a.py")])
def test_a_link_to_a_device_that_never_ends_is_refused(reader: str, name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.symlink_to("/dev/zero")
    refused(reader, tmp_path, "it is a device, not a regular file")


def test_a_mode_with_thousands_of_mistakes_is_reported_with_the_first_of_them(tmp_path: Path) -> None:
    lines = "".join(f"  k{n}: 1\n" for n in range(9_000))
    (tmp_path / ".roomodes").write_text(f"customModes:\n- slug: a\n{lines}")
    refused("modes", tmp_path, "a mode needs 'name'")


def test_only_regular_files_are_read_and_only_up_to_the_limit(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"\xef\xbb\xbfone\r\ntwo")
    assert read_regular_text(tmp_path / "a") == "one\ntwo"
    assert read_regular(tmp_path / "a", 11) == b"\xef\xbb\xbfone\r\ntwo"
    assert read_start(tmp_path / "a", 4) == b"\xef\xbb\xbfo"
    with pytest.raises(FileTooLargeError, match="the most that is read"):
        read_regular(tmp_path / "a", 10)
    with pytest.raises(IsADirectoryError):
        read_regular(tmp_path)
    with pytest.raises(FileNotFoundError):
        read_regular(tmp_path / "b")
    with pytest.raises(NotRegularError):
        read_regular("/dev/null")


def test_an_entry_of_proc_is_held_to_the_limit_whatever_size_it_claims() -> None:
    assert Path("/proc/self/smaps").stat().st_size == 0
    with pytest.raises(FileTooLargeError):
        read_regular("/proc/self/smaps", 100)


EVERYDAY = [
    (read_json, '{"a": [1, "[[["], "b": {"c": null}}', {"a": [1, "[[["], "b": {"c": None}}),
    (read_json, "[" * 100 + "]" * 100, None),
    (read_toml, 'a.b."c.d" = 1\n[e]\nf = "a.b.c.d.e.f"', {"a": {"b": {"c.d": 1}}, "e": {"f": "a.b.c.d.e.f"}}),
    (read_yaml, "a: &x [1, 2]\nb: *x\nc: {<<: {d: 2026-01-02}}", None),
    (read_yaml, "", None),
]


@pytest.mark.parametrize(("read", "text", "value"), EVERYDAY)
def test_everyday_texts_are_read(read: object, text: str, value: object) -> None:
    assert callable(read)
    got = read(text)
    assert value is None or got == value


@pytest.mark.parametrize(
    ("read", "text", "line"),
    [
        (read_json, "[1,\n2,\nx]", 3),
        (read_json, "[\n" * 101 + "]" * 101, 101),
        (read_toml, "a = 1\nb =", 2),
        (read_toml, "a = 1\n" + "b." * 20 + "c = 1", 2),
        (read_yaml, "a: 1\nb: [", 2),
        (read_yaml, "a: 1\nb: !!nothing x", 1),
    ],
)
def test_an_error_names_the_line(read: object, text: str, line: int) -> None:
    assert callable(read)
    with pytest.raises(FormatError) as caught:
        read(text)
    assert caught.value.line == line
