from __future__ import annotations

import asyncio
import threading
from pathlib import Path
from typing import Any

import pytest

from codebase_kit import WordModel, function
from joey.actions import ReadPath
from joey.messages import ToolResult
from joey.tools.base import ToolContext
from joey.tools.builtin.codebase_search import CodebaseSearch, CodebaseSearchParams, OpenedIndex


@pytest.fixture(autouse=True)
def _state_of_the_test(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


async def search(context: ToolContext, query: str, path: str | None = None, *, model: Any = None) -> ToolResult:
    tool = CodebaseSearch(load_model=lambda: (model or WordModel(), ""))
    return await tool.run(CodebaseSearchParams(query=query, path=path), context)


async def test_pieces_are_shown_with_path_lines_score_and_code(context: ToolContext) -> None:
    (context.workspace / "users.py").write_text("import os\n\n\n" + function("delete_user"))
    result = await search(context, "delete a user")
    assert not result.is_error
    assert result.text.startswith("Query: delete a user\nSearched: 1 pieces of 1 files, by keywords and by meaning.\n")
    assert "File path: users.py\nScore: 0." in result.text
    assert "Lines: 1-6 (delete_user)\nCode Chunk:\n" in result.text
    assert "4 | def delete_user(value):" in result.text


async def test_without_the_extra_it_ranks_by_keywords_and_names_the_extra(context: ToolContext) -> None:
    (context.workspace / "a.py").write_text(function("delete_user"))
    tool = CodebaseSearch(
        load_model=lambda: (None, "the ranking by meaning is not installed: pip install 'joey[search]'")
    )
    result = await tool.run(CodebaseSearchParams(query="delete user"), context)
    assert "by keywords only" in result.text and "joey[search]" in result.text and "a.py" in result.text


async def test_ignored_files_never_appear(tmp_path: Path) -> None:
    workspace = tmp_path / "w"
    (workspace / "secret").mkdir(parents=True)
    (workspace / "secret" / "a.py").write_text(function("delete_user"))
    (workspace / "open.py").write_text(function("other"))
    context = ToolContext(workspace, tmp_path / "s", ignored=lambda path: "secret" in Path(path).parts)
    assert "secret" not in (await search(context, "delete user")).text
    assert (await search(context, "delete user", "secret")).is_error


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("../", "outside the workspace"),
        ("/etc", "outside the workspace"),
        ("nowhere", "no file or folder"),
        ("a\0b", "NUL"),
    ],
)
async def test_a_path_that_cannot_be_searched_is_reported(context: ToolContext, path: str, message: str) -> None:
    result = await search(context, "delete user", path)
    assert result.is_error and message in result.text


async def test_an_empty_query_is_reported(context: ToolContext) -> None:
    assert (await search(context, "  ")).is_error


async def test_the_home_folder_is_not_indexed(context: ToolContext, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(context.workspace))
    result = await search(context, "delete user")
    assert result.is_error and "home directory" in result.text


def test_it_asks_for_leave_to_read_what_it_searches(context: ToolContext) -> None:
    tool = CodebaseSearch()
    assert tool.actions(CodebaseSearchParams(query="x"), context) == (ReadPath("."),)
    assert tool.actions(CodebaseSearchParams(query="x", path="src"), context) == (ReadPath("src"),)


async def test_nothing_found_is_reported(context: ToolContext) -> None:
    assert "No results." in (await search(context, "delete user")).text


async def test_an_index_that_cannot_be_kept_is_an_error_that_names_the_way_out(
    context: ToolContext, tmp_path: Path
) -> None:
    (tmp_path / "state").write_text("a file where the folder should be")
    result = await search(context, "delete user")
    assert result.is_error and "search_files" in result.text


async def test_the_index_is_one_for_the_whole_task(context: ToolContext) -> None:
    model = WordModel()
    (context.workspace / "a.py").write_text(function("delete_user"))
    await search(context, "delete user", model=model)
    await search(context, "user", model=model)
    assert len(model.seen) == 1


async def test_a_cancelled_search_stops_indexing(context: ToolContext) -> None:
    for number in range(200):
        (context.workspace / f"m{number}.py").write_text(function(f"delete_{number}"))
    begun, go_on = threading.Event(), threading.Event()

    class Waiting(WordModel):
        def embed(self, texts: Any) -> Any:
            begun.set()
            go_on.wait(10)
            return super().embed(texts)

    model = Waiting()
    task = asyncio.create_task(search(context, "delete", model=model))
    await asyncio.to_thread(begun.wait, 10)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    go_on.set()
    index = context.memory[OpenedIndex].index
    assert index is not None
    with index._turn:
        assert len(model.seen) <= 64, "the batch at work, and none of the others"
