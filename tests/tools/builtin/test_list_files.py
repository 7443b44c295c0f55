from __future__ import annotations

import os
from pathlib import Path

import pytest

from joey.messages import ToolResult
from joey.tools.base import ToolContext
from joey.tools.builtin.list_files import ListFiles, ListFilesParams


def tree(root: Path, *names: str) -> None:
    for name in names:
        path = root / name
        if name.endswith("/"):
            path.mkdir(parents=True, exist_ok=True)
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("x")


async def listed(context: ToolContext, path: str = ".", *, recursive: bool = True, limit: int = 200) -> ToolResult:
    return await ListFiles(limit=limit).run(ListFilesParams(path=path, recursive=recursive), context)


async def entries(context: ToolContext, path: str = ".", *, recursive: bool = True) -> list[str]:
    result = await listed(context, path, recursive=recursive)
    assert not result.is_error
    return result.text.partition("\n\n")[0].splitlines()


async def test_folders_come_first_and_numbers_count(context: ToolContext) -> None:
    tree(context.workspace, "b/x10.py", "b/x9.py", "A.txt", "a1/", "c.txt")
    assert await entries(context) == ["a1/", "b/", "b/x9.py", "b/x10.py", "A.txt", "c.txt"]


async def test_only_the_first_level_unless_requested(context: ToolContext) -> None:
    tree(context.workspace, "a/b/c.txt", "d.txt")
    assert await entries(context, recursive=False) == ["a/", "d.txt"]


async def test_names_are_relative_to_the_folder(context: ToolContext) -> None:
    tree(context.workspace, "src/pkg/a.py")
    assert await entries(context, "src") == ["pkg/", "pkg/a.py"]


async def test_the_first_level_is_always_complete(context: ToolContext) -> None:
    tree(context.workspace, *(f"folder{number}/file.txt" for number in range(30)), "z.txt")
    result = await listed(context, limit=10)
    lines = result.text.splitlines()
    assert [line for line in lines if line.endswith("/")] == [f"folder{number}/" for number in range(30)]
    assert "z.txt" in lines and "folder0/file.txt" not in lines
    assert "The list was cut at 10 entries" in result.text


async def test_a_cut_list_shows_the_upper_levels(context: ToolContext) -> None:
    tree(context.workspace, *(f"a/deep/er/{number}" for number in range(50)), "b/1", "b/2", "c/1")
    lines = (await listed(context, limit=8)).text.splitlines()
    assert {"a/", "b/", "c/", "a/deep/", "b/1", "b/2", "c/1", "a/deep/er/"} == set(lines[:8])


async def test_a_list_that_just_reaches_the_limit_is_not_called_cut(context: ToolContext) -> None:
    tree(context.workspace, *(f"{number}.txt" for number in range(10)))
    assert "cut" not in (await listed(context, limit=10)).text


async def test_gitignore_hides_and_brings_back(context: ToolContext) -> None:
    tree(context.workspace, ".git/", "build/x", "a.log", "keep.log", "sub/b.log", "sub/c.tmp", "sub/deep/d.tmp")
    (context.workspace / ".gitignore").write_text("build/\n*.log\n!keep.log\n")
    (context.workspace / "sub/.gitignore").write_text("*.tmp\n")
    assert await entries(context) == ["sub/", "sub/deep/", "sub/.gitignore", ".gitignore", "keep.log"]


async def test_the_gitignore_of_a_folder_above_holds(context: ToolContext) -> None:
    tree(context.workspace, ".git/", "src/a.log", "src/a.py")
    (context.workspace / ".gitignore").write_text("*.log\n")
    assert await entries(context, "src") == ["a.py"]


async def test_an_ignored_folder_that_is_named_is_listed(context: ToolContext) -> None:
    tree(context.workspace, ".git/", "build/out.txt")
    (context.workspace / ".gitignore").write_text("build/\n")
    assert await entries(context, "build") == ["out.txt"]


async def test_a_bad_line_in_gitignore_spoils_nothing(context: ToolContext) -> None:
    tree(context.workspace, "a.log", "b.txt")
    (context.workspace / ".gitignore").write_bytes(b"!\n\\\n*.log\n\xff\xfe\n")
    assert await entries(context) == [".gitignore", "b.txt"]


async def test_hidden_and_package_folders_are_named_but_not_entered(context: ToolContext) -> None:
    tree(context.workspace, ".github/workflows/ci.yml", "node_modules/left/index.js", "pkg/main.go", ".env", ".git/x")
    result = await listed(context)
    assert result.text.startswith(".github/\nnode_modules/\npkg/\npkg/main.go\n.env\n")
    assert "(Not entered, list them by name: .github/, node_modules/)" in result.text
    assert await entries(context, ".github") == ["workflows/", "workflows/ci.yml"]
    assert await entries(context, "node_modules") == ["left/", "left/index.js"]


async def test_the_ignore_file_of_the_workspace_hides(tmp_path: Path) -> None:
    tree(tmp_path, "secret/key", "open.txt")
    context = ToolContext(tmp_path, tmp_path, ignored=lambda path: "secret" in Path(path).parts)
    assert await entries(context) == ["open.txt"]
    assert (await listed(context, "secret")).is_error


async def test_links_that_go_round_are_not_followed(context: ToolContext) -> None:
    tree(context.workspace, "a/b.txt")
    (context.workspace / "a/loop").symlink_to("..")
    (context.workspace / "broken").symlink_to("nowhere")
    (context.workspace / "itself").symlink_to("itself")
    assert await entries(context) == ["a/", "a/loop/", "a/b.txt", "broken", "itself"]


@pytest.mark.parametrize(
    ("path", "words"),
    [("/", "the root of the file system"), ("missing", "there is no folder"), ("f.txt", "is a file"), ("", "empty")],
)
async def test_what_is_not_listed_says_why(context: ToolContext, path: str, words: str) -> None:
    tree(context.workspace, "f.txt")
    result = await listed(context, path)
    assert result.is_error and words in result.text


async def test_the_home_directory_is_not_listed(context: ToolContext) -> None:
    result = await listed(context, str(Path.home()), recursive=False)
    assert result.is_error and "the home directory" in result.text


async def test_an_empty_folder_has_no_files(context: ToolContext) -> None:
    assert (await listed(context)).text == "No files found."


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is unreadable for root")
async def test_an_unreadable_folder_is_named(context: ToolContext) -> None:
    tree(context.workspace, "locked/x")
    (context.workspace / "locked").chmod(0)
    try:
        assert "Not readable: locked/" in (await listed(context)).text
    finally:
        (context.workspace / "locked").chmod(0o700)


async def test_a_name_with_a_line_break_is_one_quoted_name(context: ToolContext) -> None:
    (context.workspace / "two\nlines.txt").touch()
    (context.workspace / "\x1b[2J").mkdir()
    result = await ListFiles().run(ListFilesParams(path="."), context)
    assert result.text == '"\\033[2J/"\n"two\\nlines.txt"'
