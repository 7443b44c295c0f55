from __future__ import annotations

from pathlib import Path

import pytest

from joey.messages import ToolResult
from joey.tools.base import ToolContext
from joey.tools.builtin.search_files import SearchFiles, SearchFilesParams


async def found(
    context: ToolContext, regex: str, path: str = ".", file_pattern: str | None = None, limit: int = 300
) -> ToolResult:
    params = SearchFilesParams(path=path, regex=regex, file_pattern=file_pattern)
    return await SearchFiles(limit=limit).run(params, context)


def write(context: ToolContext, name: str, text: str | bytes) -> None:
    path = context.workspace / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode() if isinstance(text, str) else text)


async def test_matches_are_marked_and_stand_in_context(context: ToolContext) -> None:
    write(context, "src/a.py", "one\ntwo\nthree\nfour\nfive\nsix\nseven\ntwo\n")
    write(context, "src/b.py", "nothing\n")
    result = await found(context, r"tw\w")
    assert result.text == (
        "Found 2 results.\n\n# src/a.py\n    1 | one\n>   2 | two\n    3 | three\n----\n"
        "    7 | seven\n>   8 | two\n----"
    )


async def test_neighbouring_matches_are_one_result(context: ToolContext) -> None:
    write(context, "a.txt", "x\nx\n\nx\nend\n")
    assert (await found(context, "x")).text.startswith("Found 1 result.\n")


async def test_files_are_in_order(context: ToolContext) -> None:
    for name in ("c.txt", "a/z.txt", "b.txt"):
        write(context, name, "needle\n")
    text = (await found(context, "needle")).text
    assert [line for line in text.splitlines() if line.startswith("#")] == ["# a/z.txt", "# b.txt", "# c.txt"]


async def test_a_glob_restricts_the_files(context: ToolContext) -> None:
    write(context, "a.py", "needle\n")
    write(context, "a.ts", "needle\n")
    assert "a.ts" not in (await found(context, "needle", file_pattern="*.py")).text


async def test_one_file_can_be_searched(context: ToolContext) -> None:
    write(context, "src/a.py", "needle\n")
    write(context, "src/b.py", "needle\n")
    text = (await found(context, "needle", "src/a.py")).text
    assert "# src/a.py" in text and "b.py" not in text


async def test_no_match_is_no_error(context: ToolContext) -> None:
    write(context, "a.py", "x\n")
    result = await found(context, "needle")
    assert not result.is_error and result.text == "No results found."


@pytest.mark.parametrize(
    ("regex", "pattern", "words"),
    [
        ("foo(", None, "unclosed group"),
        ("(?<=a)b", None, "look-around"),
        ("x", "a[", "unclosed character class"),
        ("a\0b", None, "NUL"),
    ],
)
async def test_a_bad_pattern_is_an_error_in_ripgreps_words(
    context: ToolContext, regex: str, pattern: str | None, words: str
) -> None:
    write(context, "a.py", "x\n")
    result = await found(context, regex, file_pattern=pattern)
    assert result.is_error and words in result.text


async def test_a_missing_folder_is_an_error(context: ToolContext) -> None:
    result = await found(context, "x", "missing")
    assert result.is_error and "there is no file or folder missing" in result.text


async def test_a_pattern_that_looks_like_an_option_is_a_pattern(context: ToolContext) -> None:
    write(context, "a.sh", "ls --all\n")
    assert ">   1 | ls --all" in (await found(context, "--all")).text


async def test_the_limit_ends_the_search_but_drops_no_file(context: ToolContext) -> None:
    write(context, "a.txt", "needle\n\n\n\n" * 50)
    result = await found(context, "needle", limit=20)
    assert result.text.startswith("Showing the first 20 results; there are more.")
    assert result.text.count("----") == 20 and "# a.txt" in result.text


async def test_just_the_limit_is_not_more_than_the_limit(context: ToolContext) -> None:
    write(context, "a.txt", "needle\n\n\n\n" * 20)
    assert (await found(context, "needle", limit=20)).text.startswith("Found 20 results.")


async def test_a_file_of_matches_does_not_fill_the_context(context: ToolContext) -> None:
    write(context, "a.txt", "needle\n" * 100_000)
    text = (await found(context, "needle")).text
    assert text.count("\n") < 1_600 and text.startswith("Showing the first 1 result; there are more.")


async def test_a_long_line_is_cut_around_the_match(context: ToolContext) -> None:
    write(context, "min.js", "a" * 5_000 + "needle" + "b" * 5_000 + "\nneedle" + "c" * 1_000)
    lines = (await found(context, "needle")).text.splitlines()
    assert lines[3].startswith(">   1 | [truncated...] aaa") and lines[3].endswith("bbb [truncated...]")
    assert "needle" in lines[3] and len(lines[3]) < 550
    assert lines[4] == ">   2 | needle" + "c" * 494 + " [truncated...]"


async def test_a_line_of_many_megabytes_is_found_and_not_kept(context: ToolContext) -> None:
    write(context, "big.json", "first\n" + "needle" + "x" * 8_000_000 + "\nlast\n")
    text = (await found(context, "needle")).text
    assert "# big.json" in text and ">   2 | needlexxx" in text and len(text) < 2_000


async def test_a_pattern_may_go_across_lines(context: ToolContext) -> None:
    write(context, "a.py", "def f(\n    x\n):\n    pass\n")
    text = (await found(context, r"def f\(\n\s+x")).text
    assert ">   1 | def f(\n>   2 |     x\n    3 | ):" in text


async def test_gitignore_holds_without_a_repository(context: ToolContext) -> None:
    write(context, ".gitignore", "*.log\n")
    write(context, "a.log", "needle\n")
    assert (await found(context, "needle")).text == "No results found."


async def test_the_ignore_file_of_the_workspace_hides(tmp_path: Path) -> None:
    context = ToolContext(tmp_path, tmp_path, ignored=lambda path: Path(path).name == "secret.txt")
    write(context, "secret.txt", "needle in secret\n")
    write(context, "open.txt", "needle\n")
    text = (await found(context, "needle")).text
    assert "Found 1 result." in text and "secret" not in text


async def test_other_encodings_are_shown_as_well_as_can_be(context: ToolContext) -> None:
    write(context, "latin.txt", "needle caf\xe9\n".encode("latin-1"))
    write(context, "wide.txt", "needle é\n".encode("utf-16"))
    text = (await found(context, "needle")).text
    assert "needle caf\ufffd" in text and "needle é" in text


async def test_odd_file_names_are_no_trouble(context: ToolContext) -> None:
    write(context, "with space é.txt", "needle\n")
    write(context, "-x", "needle\n")
    text = (await found(context, "needle")).text
    assert "# with space é.txt" in text and "# -x" in text
    assert "needle" in (await found(context, "needle", "./-x")).text


async def test_a_name_with_a_line_break_is_one_quoted_name(context: ToolContext) -> None:
    write(context, "two\n# lines.txt", "needle\n")
    assert '# "two\\n# lines.txt"\n' in (await found(context, "needle")).text
