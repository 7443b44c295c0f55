from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from joey.actions import ReadPath
from joey.messages import ImageBlock, ToolResult, ToolUseBlock
from joey.modes.builtin import CODE
from joey.tools.base import ToolContext
from joey.tools.builtin.read_file import ReadFile, ReadFileParams
from joey.tools.registry import Registry, RejectedCall, ResolvedCall
from joey.tools.seen_files import changed_since_seen
from joey.tools.toolset import build_toolset

PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 100


async def read(context: ToolContext, tool: ReadFile | None = None, **arguments: Any) -> ToolResult:
    tool = tool or ReadFile()
    return await tool.run(params_of(tool, arguments), context)


def params_of(tool: ReadFile, arguments: dict[str, Any]) -> ReadFileParams:
    """The checked arguments, by the way that every call takes."""
    call = Registry(build_toolset(CODE, [tool])).resolve(ToolUseBlock("1", "read_file", arguments))
    assert isinstance(call, ResolvedCall), call
    assert isinstance(call.params, ReadFileParams)
    return call.params


def write(context: ToolContext, name: str, content: str | bytes) -> Path:
    path = context.workspace / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


async def test_lines_are_numbered(context: ToolContext) -> None:
    write(context, "a.py", "one\n\nthree\n")
    result = await read(context, path="a.py")
    assert result.text == "File: a.py\n1 | one\n2 | \n3 | three"


async def test_numbers_are_as_wide_as_the_last(context: ToolContext) -> None:
    write(context, "a.txt", "x\n" * 10)
    assert (await read(context, path="a.txt")).text.splitlines()[1:3] == [" 1 | x", " 2 | x"]


async def test_a_long_file_says_exactly_what_is_missing(context: ToolContext) -> None:
    write(context, "long.txt", "".join(f"line {number}\n" for number in range(1, 5001)))
    lines = (await read(context, path="long.txt")).text.splitlines()
    assert lines[1] == (
        "Showing lines 1-2000 of 5000 total. To read more, call read_file with offset=2001 and limit=2000."
    )
    assert lines[-1] == "2000 | line 2000"
    last = (await read(context, path="long.txt", offset=4_001)).text
    assert last.startswith("File: long.txt\n4001 | line 4001") and last.endswith("5000 | line 5000")


async def test_the_next_page_begins_where_the_last_one_ended(context: ToolContext) -> None:
    write(context, "long.txt", "".join(f"{number}\n" for number in range(1, 101)))
    result = await read(context, path="long.txt", offset=11, limit=20)
    assert "Showing lines 11-30 of 100 total. To read more, call read_file with offset=31 and limit=20." in result.text


async def test_a_limit_beyond_the_maximum_is_the_maximum(context: ToolContext) -> None:
    write(context, "long.txt", "x\n" * 3000)
    assert "Showing lines 1-2000 of 3000" in (await read(context, path="long.txt", limit=9999)).text


async def test_long_lines_are_cut_and_named(context: ToolContext) -> None:
    write(context, "min.js", "short\n" + "x" * 5000 + "\n")
    text = (await read(context, path="min.js")).text
    assert "Lines longer than 2,000 characters are cut and end in `...`: 2." in text
    assert text.endswith("2 | " + "x" * 1997 + "...")


async def test_many_long_lines_do_not_fill_the_context(context: ToolContext) -> None:
    write(context, "data.csv", ("y" * 1999 + "\n") * 1500)
    text = (await read(context, path="data.csv")).text
    assert len(text) < 210_000
    assert "Showing lines 1-100 of 1500 total. To read more, call read_file with offset=101" in text


async def test_past_the_end_is_not_called_empty(context: ToolContext) -> None:
    write(context, "a.txt", "1\n2\n3\n")
    result = await read(context, path="a.txt", offset=4)
    assert result.is_error
    assert result.text == "File: a.txt\nError: offset 4 is beyond the end of the file, which has 3 lines."


async def test_an_empty_file_is_called_empty(context: ToolContext) -> None:
    write(context, "empty.txt", b"")
    result = await read(context, path="empty.txt")
    assert not result.is_error
    assert result.text == "File: empty.txt\n(The file is empty: 0 bytes.)"


async def test_a_single_newline_is_one_empty_line(context: ToolContext) -> None:
    write(context, "a.txt", "\n")
    assert (await read(context, path="a.txt")).text == "File: a.txt\n1 | "


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        (".", "it is a directory, not a file. Use list_files"),
        ("missing.py", "there is no such file. Its folder has: README.md, config.yaml."),
        ("src/missing.py", "there is no such file. Nor is there such a folder."),
        ("Readme.md", "there is no such file. Beside it there is: README.md."),
        ("config.yml", "there is no such file. Beside it there is: config.yaml."),
        ("", "the path is empty"),
        ("a\0b", "NUL character"),
        ("x" * 5000, "File name too long"),
    ],
)
async def test_what_cannot_be_read_says_why_and_what_to_do(context: ToolContext, name: str, hint: str) -> None:
    write(context, "README.md", "hello")
    write(context, "config.yaml", "a: 1")
    result = await read(context, path=name)
    assert result.is_error and hint in result.text


async def test_a_hidden_file_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "secret.env").write_text("KEY=1")
    context = ToolContext(tmp_path, tmp_path / "s", ignored=lambda path: Path(path).suffix == ".env")
    result = await read(context, path="secret.env")
    assert result.is_error and "ignore file" in result.text and "KEY" not in result.text


async def test_hidden_files_are_not_named_and_many_are_counted(tmp_path: Path) -> None:
    context = ToolContext(tmp_path, tmp_path / "s", ignored=lambda path: Path(path).suffix == ".env")
    (tmp_path / "secret.env").write_text("KEY=1")
    assert "Its folder is empty." in (await read(context, path="a.py")).text
    for number in range(20):
        write(context, f"{number:02}.txt", "")
    text = (await read(context, path="a.py")).text
    assert "00.txt, 01.txt" in text and text.endswith("07.txt and 12 more.") and "secret" not in text


async def test_a_link_to_a_hidden_file_is_hidden_too(tmp_path: Path) -> None:
    (tmp_path / "secret.env").write_text("KEY=1")
    (tmp_path / "link.txt").symlink_to("secret.env")
    context = ToolContext(tmp_path, tmp_path / "s", ignored=lambda path: Path(path).suffix == ".env")
    assert "KEY" not in (await read(context, path="link.txt")).text


async def test_a_device_is_not_read(context: ToolContext) -> None:
    assert "no ordinary file" in (await read(context, path="/dev/zero")).text


@pytest.mark.parametrize(
    ("data", "note", "line"),
    [
        ("héllo\n".encode("utf-16"), "Encoding: UTF-16 LE with BOM", "1 | héllo"),
        (b"\xef\xbb\xbfhello\n", "Encoding: UTF-8 with BOM", "1 | hello"),
        ("caf\xe9 \x93x\x94\n".encode("latin-1"), "Encoding: Windows-1252", "1 | café “x”"),
        (b"a\r\nb\r\n", "Line endings: CRLF", "2 | b"),
        (b"a\rb\r", "Line endings: CR", "2 | b"),
        (b"a\r\nb\nc\n", "Line endings: mixed (1 CRLF, 2 LF)", "3 | c"),
    ],
)
async def test_peculiar_encodings_and_line_ends_are_read_and_named(
    context: ToolContext, data: bytes, note: str, line: str
) -> None:
    write(context, "a.txt", data)
    lines = (await read(context, path="a.txt")).text.splitlines()
    assert note in lines and line in lines


async def test_form_feeds_and_separators_do_not_count_as_line_ends(context: ToolContext) -> None:
    write(context, "a.txt", "a\x0cb\u2028c\x85d\ne\n")
    assert (await read(context, path="a.txt")).text.endswith("\n2 | e")


async def test_binary_files_are_named_not_shown(context: ToolContext) -> None:
    write(context, "prog", b"\x7fELF" + bytes(range(256)) * 8)
    result = await read(context, path="prog")
    assert result.is_error and "an ELF program or library, 2.0 KB" in result.text


async def test_an_image_is_shown_to_a_model_that_sees(context: ToolContext) -> None:
    write(context, "logo.png", PNG)
    result = await read(context, ReadFile(sees_images=True), path="logo.png")
    assert result.text == "File: logo.png\nImage file (image/png, 108 bytes)"
    assert result.content[1] == ImageBlock("image/png", base64.b64encode(PNG).decode())


async def test_an_image_is_only_named_to_a_model_that_does_not_see(context: ToolContext) -> None:
    write(context, "logo.png", PNG)
    result = await read(context, path="logo.png")
    assert len(result.content) == 1 and "cannot look at images" in result.text


async def test_an_image_that_is_too_large_is_refused(context: ToolContext) -> None:
    write(context, "big.png", PNG + b"\0" * 20 * 1024 * 1024)
    result = await read(context, ReadFile(sees_images=True), path="big.png")
    assert result.is_error and "larger than 20.0 MB" in result.text


async def test_images_of_one_call_are_limited_together(context: ToolContext) -> None:
    for number in range(5):
        write(context, f"{number}.png", PNG + b"\0" * (4_500 * 1024))
    files = [{"path": f"{number}.png"} for number in range(5)]
    result = await read(context, ReadFile(sees_images=True), files=files)
    assert len([block for block in result.content if isinstance(block, ImageBlock)]) == 4
    assert "may have 20.0 MB together" in result.text


async def test_indentation_mode_shows_the_block(context: ToolContext) -> None:
    write(context, "a.py", "import os\n\n\nclass A:\n    def f(self):\n        x = 1\n        return x\n\n\nz = 1\n")
    result = await read(context, path="a.py", mode="indentation", indentation={"anchor_line": 6, "max_levels": 1})
    assert result.text == (
        "File: a.py\n5 |     def f(self):\n6 |         x = 1\n7 |         return x\n\n"
        "Included ranges: 5-7 (total: 10 lines)"
    )


async def test_an_anchor_outside_the_file_is_an_error(context: ToolContext) -> None:
    write(context, "a.py", "x = 1\n")
    result = await read(context, path="a.py", mode="indentation", indentation={"anchor_line": 9})
    assert result.is_error and "anchor_line 9 is out of range: the file has 1 line." in result.text


@pytest.mark.parametrize(
    "files",
    [
        [{"path": "a.txt", "line_ranges": [[2, 3]]}, {"path": "b.txt"}],
        [{"path": "a.txt", "line_ranges": [{"start": 2, "end": 3}]}, {"path": "b.txt"}],
        [{"path": "a.txt", "line_ranges": ["2-3"]}, "b.txt"],
        '[{"path": "a.txt", "line_ranges": [[2, 3]]}, {"path": "b.txt"}]',
        json.dumps('[{"path": "a.txt", "line_ranges": [[2, 3]]}, {"path": "b.txt"}]'),
    ],
)
async def test_the_older_shape_reads_several_files(context: ToolContext, files: Any) -> None:
    write(context, "a.txt", "1\n2\n3\n4\n")
    write(context, "b.txt", "x\n")
    result = await read(context, files=files)
    assert result.text == "File: a.txt\nLines 2-3 of 4:\n2 | 2\n3 | 3\n\n---\n\nFile: b.txt\n1 | x"


async def test_one_missing_file_does_not_spoil_the_others(context: ToolContext) -> None:
    write(context, "a.txt", "1\n")
    result = await read(context, files=[{"path": "missing"}, {"path": "a.txt"}])
    assert not result.is_error
    assert "Error: there is no such file" in result.text and "1 | 1" in result.text


async def test_too_many_files_at_once_are_refused(context: ToolContext) -> None:
    result = await read(context, files=[{"path": f"{number}"} for number in range(6)])
    assert result.is_error and "at most 5" in result.text


@pytest.mark.parametrize("files", [[], "", "[", 5, [5], [{}], [{"path": 5}], [{"path": "a", "line_ranges": "x"}], None])
def test_a_shapeless_call_is_invalid_not_a_crash(files: Any) -> None:
    call = Registry(build_toolset(CODE, [ReadFile()])).resolve(ToolUseBlock("1", "read_file", {"files": files}))
    assert isinstance(call, RejectedCall) and ("path" in call.message or "files" in call.message)


def test_the_model_sees_only_the_newer_shape() -> None:
    schema = ReadFile().spec.schema
    assert schema["required"] == ["path"] and "files" not in schema["properties"]


def test_every_file_of_a_call_is_an_action(context: ToolContext) -> None:
    tool = ReadFile()
    params = params_of(tool, {"files": [{"path": "a"}, {"path": "b"}]})
    assert tool.actions(params, context) == (ReadPath("a"), ReadPath("b"))


async def test_reading_remembers_the_version(context: ToolContext) -> None:
    path = write(context, "a.txt", "old")
    await read(context, path="a.txt")
    assert not changed_since_seen(context, path.resolve(), b"old")
    assert changed_since_seen(context, path.resolve(), b"new")


@pytest.mark.property
@given(
    st.binary(max_size=300) | st.text(max_size=100).map(lambda text: text.encode("utf-16", "ignore")),
    st.sampled_from(["txt", "png", ""]),
    st.integers(1, 10),
)
async def test_no_bytes_make_it_raise(tmp_path_factory: Any, data: bytes, suffix: str, offset: int) -> None:
    folder = tmp_path_factory.mktemp("any")
    (folder / f"file.{suffix}").write_bytes(data)
    context = ToolContext(folder, folder)
    for mode in ("slice", "indentation"):
        result = await read(context, ReadFile(sees_images=True), path=f"file.{suffix}", offset=offset, mode=mode)
        assert result.text.startswith("File: ")


@pytest.mark.property
@given(st.lists(st.text(st.characters(exclude_characters="\r\n\x00", exclude_categories=["Cs"])), min_size=1))
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
async def test_every_line_is_shown_once(tmp_path_factory: Any, newline: str, lines: list[str]) -> None:
    folder = tmp_path_factory.mktemp("lines")
    (folder / "a").write_bytes(("1" + newline.join(lines) + newline).encode())
    text = (await read(ToolContext(folder, folder), path="a")).text
    shown = [line.partition(" | ")[2] for line in text.split("\n")[-len(lines) :]]
    assert shown == ["1" + lines[0], *lines[1:]]


@pytest.mark.parametrize("text", ['{"cells": [\n', '{"nbformat": 3}\n', "<<<<<<< ours\n{}\n"])
async def test_a_damaged_notebook_is_shown_as_the_text_it_is(context: ToolContext, text: str) -> None:
    write(context, "a.ipynb", text)
    result = await read(context, path="a.ipynb")
    assert not result.is_error and "Shown as plain text: the notebook " in result.text
    assert f"1 | {text.splitlines()[0]}" in result.text


async def test_a_name_with_a_line_break_cannot_pass_for_more_of_the_answer(context: ToolContext) -> None:
    write(context, "a\nError: b", "text\n")
    assert (await read(context, path="a\nError: b")).text == 'File: "a\\nError: b"\n1 | text'
