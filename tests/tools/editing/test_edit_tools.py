"""The tools that write, called as the task loop calls them: resolved by the registry, planned, executed."""

from __future__ import annotations

import codecs
import stat
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from joey.actions import WritePath
from joey.messages import ShownDiff, ToolResult, ToolUseBlock
from joey.modes.builtin import CODE
from joey.task.profiles.small import Small
from joey.tools.base import Plan, Tool, ToolContext
from joey.tools.builtin import builtin_tools
from joey.tools.options import BuiltinOptions
from joey.tools.registry import Registry, ResolvedCall
from joey.tools.seen_files import note_seen
from joey.tools.toolset import ToolChoices, build_toolset

DIFF = "<<<<<<< SEARCH\n{}\n=======\n{}\n>>>>>>> REPLACE"
EDIT_TOOLS = ("apply_diff", "search_and_replace", "search_replace", "edit_file", "apply_patch")


class Bench:
    """A workspace and the tools."""

    def __init__(self, workspace: Path, tools: Sequence[Tool[Any]] | None = None) -> None:
        self.workspace = workspace
        self.context = ToolContext(workspace, workspace)
        self._registry = Registry(
            build_toolset(CODE, tools or builtin_tools(), choices=ToolChoices(include=EDIT_TOOLS))
        )

    async def plan(self, name: str, **arguments: Any) -> Plan:
        resolved = self._registry.resolve(ToolUseBlock("1", name, arguments))
        assert isinstance(resolved, ResolvedCall), resolved
        declared = resolved.tool.actions(resolved.params, self.context)
        plan = await resolved.tool.plan(resolved.params, self.context)
        return replace(plan, actions=(*declared, *plan.actions))

    async def call(self, name: str, **arguments: Any) -> ToolResult:
        plan = await self.plan(name, **arguments)
        return plan.refusal or await plan.execute()

    def put(self, name: str, content: str | bytes) -> Path:
        path = self.workspace / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    def files(self) -> dict[str, bytes]:
        files = (path for path in self.workspace.rglob("*") if path.is_file())
        return {path.relative_to(self.workspace).as_posix(): path.read_bytes() for path in files}


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def replacing(name: str, path: str, old: str, new: str) -> dict[str, Any]:
    """The arguments with which each tool replaces one line by another."""
    if name == "apply_diff":
        return {"path": path, "diff": DIFF.format(old, new)}
    if name == "apply_patch":
        return {"patch": f"*** Begin Patch\n*** Update File: {path}\n@@\n-{old}\n+{new}\n*** End Patch"}
    return {"file_path": path, "old_string": old, "new_string": new}


async def test_writing_a_file_answers_as_the_seed_says(bench: Bench) -> None:
    plan = await bench.plan("write_to_file", path="src/server.js", file_text="const a = 1\n")
    assert plan.actions == (WritePath("src/server.js", "create"),)
    assert bench.files() == {}, "folders are made only when the write goes ahead"
    assert not (bench.workspace / "src").exists()
    result = await plan.execute()
    assert result.text == "File successfully written to src/server.js"
    assert bench.files() == {"src/server.js": b"const a = 1\n"}
    assert result.shown == (
        ShownDiff("src/server.js", "--- /dev/null\n+++ b/src/server.js\n@@ -0,0 +1 @@\n+const a = 1\n"),
    )


async def test_the_header_of_a_diff_is_one_line_whatever_the_name(bench: Bench) -> None:
    plan = await bench.plan("write_to_file", path="a\n+++ b/other", file_text="x\n")
    assert isinstance(plan.shown[0], ShownDiff)
    assert plan.shown[0].diff == '--- /dev/null\n+++ "b/a\\n+++ b/other"\n@@ -0,0 +1 @@\n+x\n'


async def test_arguments_have_the_other_names_that_models_give_them(bench: Bench) -> None:
    await bench.call("write_file", file_path="a", content="x\n")
    await bench.call("edit", path="a", old_string="x", new_string="y")
    await bench.call("apply_diff", file_path="a", diff=DIFF.format("y", "z"))
    await bench.call("apply_patch", input=patch("*** Update File: a", "-z", "+end"))
    assert bench.files() == {"a": b"end\n"}


@pytest.mark.parametrize(
    "text", ["", "no newline", "```\ncode\n```\n", "&lt;b&gt; &amp;\n", "1 | a\n2 | b\n", "\n\n  x  \n\n", "\ufeffx\n"]
)
async def test_a_file_is_written_exactly_as_given(bench: Bench, text: str) -> None:
    bench.put("old.txt", "something\n")
    for name in ("new.txt", "old.txt"):
        await bench.call("write_to_file", path=name, file_text=text)
    assert bench.files() == {"new.txt": text.encode(), "old.txt": text.encode()}


async def test_writing_keeps_the_line_ends_and_the_encoding_of_the_file(bench: Bench) -> None:
    bench.put("crlf", "a\r\nb\r\n")
    bench.put("mixed", "a\r\nb\nc\r\n")
    bench.put("bom", codecs.BOM_UTF8 + b"a\n")
    bench.put("wide", codecs.BOM_UTF16_LE + "é\n".encode("utf-16-le"))
    bench.put("latin", "é\n".encode("latin-1"))
    for name in ("crlf", "mixed", "bom", "wide", "latin"):
        result = await bench.call("write_to_file", path=name, file_text="a\nb\nü\n")
        assert "kept." in result.text
    assert bench.files() == {
        "crlf": "a\r\nb\r\nü\r\n".encode(),
        "mixed": "a\r\nb\nü\r\n".encode(),
        "bom": codecs.BOM_UTF8 + "a\nb\nü\n".encode(),
        "wide": codecs.BOM_UTF16_LE + "a\nb\nü\n".encode("utf-16-le"),
        "latin": "a\nb\nü\n".encode("latin-1"),
    }


async def test_a_character_the_file_cannot_hold_changes_nothing(bench: Bench) -> None:
    bench.put("latin", b"\xe9 \x81\n")
    result = await bench.call("write_to_file", path="latin", file_text="日\n")
    assert result.is_error and "Latin-1" in result.text
    assert bench.files() == {"latin": b"\xe9 \x81\n"}


async def test_writing_the_same_content_writes_nothing(bench: Bench) -> None:
    path = bench.put("a", "x\n")
    before = path.stat().st_ino
    result = await bench.call("write_to_file", path="a", file_text="x\n")
    assert not result.is_error and "already has this content" in result.text
    assert path.stat().st_ino == before


async def test_a_path_that_names_a_folder_makes_no_file(bench: Bench) -> None:
    result = await bench.call("write_to_file", path="docs/", file_text="x")
    assert result.is_error and "docs/ names a folder" in result.text
    assert bench.files() == {}


async def test_creating_a_file_that_is_already_so_writes_nothing(bench: Bench) -> None:
    bench.put("a", "x\n")
    result = await bench.call("edit_file", file_path="a", old_string="", new_string="x\n")
    assert result.text == "No changes: a already has this content."


async def test_a_single_place_is_counted_in_the_singular(bench: Bench) -> None:
    bench.put("a", "x\ny\n")
    result = await bench.call("edit_file", file_path="a", old_string="y", new_string="z", expected_replacements=2)
    assert "1 place matches where 2 were expected: line 2." in result.text


async def test_what_was_kept_of_a_file_is_named(bench: Bench) -> None:
    bench.put("a", codecs.BOM_UTF8 + b"x\r\n")
    result = await bench.call("write_to_file", path="a", file_text="y\n")
    assert result.text.splitlines()[1:] == [
        "The line ends of the file were kept.",
        "The encoding of the file (UTF-8 with BOM) was kept.",
    ]


async def test_a_file_changed_since_it_was_read_is_not_overwritten(bench: Bench) -> None:
    path = bench.put("a", "mine\n")
    note_seen(bench.context, path, b"mine\n")
    bench.put("a", "theirs\n")
    result = await bench.call("write_to_file", path="a", file_text="new\n")
    assert result.is_error and "changed by somebody else since you last read it" in result.text
    assert bench.files() == {"a": b"theirs\n"}


class TestWritingForSmallModels:
    """They write what they have not read, write back what they have, and write the addition alone."""

    @pytest.fixture
    def bench(self, tmp_path: Path) -> Bench:
        return Bench(tmp_path, Small(8192).tools(BuiltinOptions()))

    async def test_a_file_must_have_been_read(self, bench: Bench) -> None:
        bench.put("a", "x\n")
        plan = await bench.plan("write_to_file", path="a", file_text="x\ny\n")
        assert plan.refusal is not None and "have not read it" in plan.refusal.text
        assert plan.suggested == ("read_file",)
        await bench.call("read_file", path="a")
        await bench.call("write_to_file", path="a", file_text="x\ny")
        assert bench.files() == {"a": b"x\ny\n"}

    async def test_the_same_again_is_an_error_and_the_second_time_only_an_edit_can_help(self, bench: Bench) -> None:
        bench.put("a", "x\n")
        await bench.call("read_file", path="a")
        plans = [await bench.plan("write_to_file", path="a", file_text="x") for _ in range(2)]
        assert all(plan.refusal and "holds exactly this already" in plan.refusal.text for plan in plans)
        assert [plan.suggested for plan in plans] == [
            ("write_to_file", "edit_file", "attempt_completion"),
            ("edit_file", "attempt_completion"),
        ]

    async def test_what_drops_nearly_all_of_a_file_must_be_sent_twice(self, bench: Bench) -> None:
        bench.put("a.py", "def add(a, b):\n    return a + b\n")
        await bench.call("read_file", path="a.py")
        alone = {"path": "a.py", "file_text": "print('hello')\n"}
        result = await bench.call("write_to_file", **alone)
        assert result.is_error and "a.py would lose def add(a, b):; return a + b" in result.text
        assert b"add" in bench.files()["a.py"]
        assert not (await bench.call("write_to_file", **alone)).is_error

    async def test_one_changed_line_of_two_is_a_change(self, bench: Bench) -> None:
        bench.put("a.py", "def even(n):\n    return n % 2 == 1\n")
        await bench.call("read_file", path="a.py")
        assert not (
            await bench.call("write_to_file", path="a.py", file_text="def even(n):\n    return n % 2 == 0")
        ).is_error


@pytest.mark.parametrize("tool", EDIT_TOOLS)
class TestEveryEditTool:
    async def test_makes_a_change_and_shows_the_new_state(self, bench: Bench, tool: str) -> None:
        bench.put("a.py", "one\ntwo\nthree\n")
        plan = await bench.plan(tool, **replacing(tool, "a.py", "two", "2"))
        assert plan.actions == (WritePath("a.py", "modify"),)
        assert plan.shown == (ShownDiff("a.py", "--- a/a.py\n+++ b/a.py\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n"),)
        result = await plan.execute()
        assert bench.files() == {"a.py": b"one\n2\nthree\n"}
        assert result.shown == plan.shown
        assert "applied at line 2" in result.text
        assert "a.py now reads:\n1 | one\n2 | 2\n3 | three" in result.text

    async def test_says_that_the_file_changed_since_it_was_read(self, bench: Bench, tool: str) -> None:
        path = bench.put("a", "two\nmore\n")
        note_seen(bench.context, path, b"two\n")
        result = await bench.call(tool, **replacing(tool, "a", "two", "2"))
        assert "a had been changed by somebody else since you last read it" in result.text
        result = await bench.call(tool, **replacing(tool, "a", "2", "3"))
        assert "somebody else" not in result.text

    async def test_says_so_too_when_the_edit_fails(self, bench: Bench, tool: str) -> None:
        path = bench.put("a", "two\n")
        note_seen(bench.context, path, b"two\n")
        bench.put("a", "three\n")
        result = await bench.call(tool, **replacing(tool, "a", "two", "2"))
        assert result.is_error and "a was changed by somebody else since you last read it" in result.text

    async def test_does_nothing_when_the_file_changes_between_plan_and_execution(self, bench: Bench, tool: str) -> None:
        bench.put("a", "two\n")
        plan = await bench.plan(tool, **replacing(tool, "a", "two", "2"))
        bench.put("a", "two\nand more\n")
        result = await plan.execute()
        assert result.is_error and "changed by somebody else after this edit was prepared" in result.text
        assert bench.files() == {"a": b"two\nand more\n"}

    async def test_keeps_crlf_bom_mode_and_missing_newline(self, bench: Bench, tool: str) -> None:
        path = bench.put("a", codecs.BOM_UTF8 + b"one\r\ntwo\r\nthree")
        path.chmod(0o755)
        await bench.call(tool, **replacing(tool, "a", "two", "2"))
        assert bench.files() == {"a": codecs.BOM_UTF8 + b"one\r\n2\r\nthree"}
        assert stat.S_IMODE(path.stat().st_mode) == 0o755

    async def test_takes_the_replacement_literally(self, bench: Bench, tool: str) -> None:
        new = "$& $1 $$ \\1 &lt;  trailing  "
        bench.put("a", "one\ntwo\n")
        await bench.call(tool, **replacing(tool, "a", "two", new))
        assert bench.files() == {"a": f"one\n{new}\n".encode()}

    async def test_refuses_to_choose_between_places(self, bench: Bench, tool: str) -> None:
        bench.put("a", "x\ndup\ny\ndup\n")
        plan = await bench.plan(tool, **replacing(tool, "a", "dup", "X"))
        assert plan.refusal is not None
        assert "2 places match: line 2 (after 'x'); line 4 (after 'y')" in plan.refusal.text
        assert bench.files() == {"a": b"x\ndup\ny\ndup\n"}

    async def test_shows_the_nearest_place_when_nothing_matches(self, bench: Bench, tool: str) -> None:
        bench.put("a", "def first():\n    pass\n")
        result = await bench.call(tool, **replacing(tool, "a", "def frist():", "x"))
        assert result.is_error
        assert "The nearest place is line 1" in result.text and "-def frist():\n+def first():" in result.text

    async def test_recognises_an_edit_that_was_made_already(self, bench: Bench, tool: str) -> None:
        bench.put("a", "value = compute(1)\n")
        arguments = replacing(tool, "a", "value = compute(1)", "value = compute(2)")
        await bench.call(tool, **arguments)
        result = await bench.call(tool, **arguments)
        assert not result.is_error and "already applied" in result.text
        assert bench.files() == {"a": b"value = compute(2)\n"}

    async def test_says_first_that_nothing_was_changed_where_it_is_already_so(self, bench: Bench, tool: str) -> None:
        """The first line is what people see of a call, in every front end."""
        bench.put("a", "value = compute(2)\n")
        result = await bench.call(tool, **replacing(tool, "a", "value = compute(1)", "value = compute(2)"))
        assert result.text.partition("\n")[0] == "No changes: a already has this content." and not result.shown

    async def test_does_not_insert_twice_when_called_twice(self, bench: Bench, tool: str) -> None:
        bench.put("a", "one\n")
        arguments = replacing(tool, "a", "one", "one, and more of it")
        await bench.call(tool, **arguments)
        result = await bench.call(tool, **arguments)
        assert "lready applied" in result.text
        assert bench.files() == {"a": b"one, and more of it\n"}

    async def test_writes_through_a_link(self, bench: Bench, tool: str) -> None:
        bench.put("real", "two\n")
        (bench.workspace / "link").symlink_to("real")
        await bench.call(tool, **replacing(tool, "link", "two", "2"))
        assert (bench.workspace / "link").is_symlink()
        assert (bench.workspace / "real").read_bytes() == b"2\n"

    async def test_leaves_a_read_only_file_alone(self, bench: Bench, tool: str) -> None:
        bench.put("a", "two\n").chmod(0o444)
        result = await bench.call(tool, **replacing(tool, "a", "two", "2"))
        assert result.is_error and "read-only" in result.text
        assert bench.files() == {"a": b"two\n"}

    @pytest.mark.parametrize("path", ["missing", "folder", "binary", "file/below", "", "nul\0", "loop", "x" * 300])
    async def test_answers_for_a_path_that_cannot_be_edited(self, bench: Bench, tool: str, path: str) -> None:
        (bench.workspace / "folder").mkdir()
        (bench.workspace / "loop").symlink_to("loop")
        bench.put("binary", b"\0\1\2")
        bench.put("file", "two\n")
        before = bench.files()
        result = await bench.call(tool, **replacing(tool, path, "two", "2"))
        assert result.is_error and result.text
        assert bench.files() == before


async def test_replace_all_replaces_all(bench: Bench) -> None:
    bench.put("a", "aa b aa\r\naaa\r\n")
    result = await bench.call("edit", file_path="a", old_string="aa", new_string="a\nb", replace_all="true")
    assert bench.files() == {"a": b"a\r\nb b a\r\nb\r\na\r\nba\r\n"}
    assert "applied in 3 places" in result.text


async def test_operations_are_made_in_order_all_or_none(bench: Bench) -> None:
    bench.put("a", "one\ntwo\n")
    operations = [{"search": "one", "replace": "1"}, {"search": "1\ntwo", "replace": "12"}]
    await bench.call("search_and_replace", path="a", operations=operations)
    assert bench.files() == {"a": b"12\n"}
    operations = [{"search": "12", "replace": "x"}, {"search": "nothing like it", "replace": "y"}]
    result = await bench.call("search_and_replace", path="a", operations=operations)
    assert "Replacement 1 of 2: would fit" in result.text and "Replacement 2 of 2: not found" in result.text
    assert bench.files() == {"a": b"12\n"}


async def test_a_call_of_neither_shape_learns_what_is_missing(bench: Bench) -> None:
    bench.put("a", "one\n")
    result = await bench.call("search_and_replace", file_path="a", old_string="one")
    assert result.is_error and "'new_string' is missing" in result.text


async def test_expected_replacements_must_be_the_number_there_is(bench: Bench) -> None:
    bench.put("a", "x\nx\ny\n")
    result = await bench.call("edit_file", file_path="a", old_string="x", new_string="z", expected_replacements=3)
    assert result.is_error and "2 places match where 3 were expected: lines 1, 2" in result.text
    await bench.call("edit_file", file_path="a", old_string="x", new_string="z", expected_replacements=2)
    assert bench.files() == {"a": b"z\nz\ny\n"}


async def test_edit_file_with_an_empty_old_string_creates_a_file_once(bench: Bench) -> None:
    result = await bench.call("edit_file", file_path="new/a", old_string="", new_string="x\n")
    assert result.text == "File successfully written to new/a"
    result = await bench.call("edit_file", file_path="new/a", old_string="", new_string="y\n")
    assert result.is_error and "exists and is not empty" in result.text
    assert bench.files() == {"new/a": b"x\n"}


async def test_a_string_across_lines_finds_them_with_other_white_space(bench: Bench) -> None:
    bench.put("a", "\tif x:  \n\t\ty()\n\tz()\n")
    await bench.call("search_replace", file_path="a", old_string="if x:\n    y()\n", new_string="if x:\n    w()\n")
    assert bench.files() == {"a": b"\tif x:  \n\t\tw()\n\tz()\n"}


def patch(*lines: str) -> str:
    return "\n".join(["*** Begin Patch", *lines, "*** End Patch"])


async def test_a_patch_adds_updates_moves_and_deletes(bench: Bench) -> None:
    bench.put("a", "1\n2\n").chmod(0o755)
    bench.put("gone", "x\n")
    plan = await bench.plan(
        "apply_patch",
        patch=patch(
            *("*** Add File: new/b", "+b"),
            *("*** Update File: a", "*** Move to: moved/a", "@@", "-1", "+one"),
            *("*** Delete File: gone",),
        ),
    )
    assert plan.actions == (
        WritePath("new/b", "create"),
        WritePath("a", "delete"),
        WritePath("moved/a", "create"),
        WritePath("gone", "delete"),
    )
    result = await plan.execute()
    assert not result.is_error
    assert bench.files() == {"new/b": b"b\n", "moved/a": b"one\n2\n"}
    assert stat.S_IMODE((bench.workspace / "moved" / "a").stat().st_mode) == 0o755
    assert {shown.path for shown in result.shown if isinstance(shown, ShownDiff)} == {"new/b", "a", "moved/a", "gone"}
    for line in ("new/b: added.", "a: moved to moved/a.", "gone: deleted."):
        assert line in result.text


async def test_a_patch_that_fails_anywhere_changes_nothing_anywhere(bench: Bench) -> None:
    bench.put("a", "1\n")
    bench.put("b", "1\n")
    result = await bench.call(
        "apply_patch",
        patch=patch(
            *("*** Add File: c/d", "+x"),
            *("*** Update File: a", "@@", "-1", "+one"),
            *("*** Update File: b", "@@", "-no such line at all", "+x"),
            *("*** Delete File: nowhere",),
        ),
    )
    assert result.is_error
    assert "b: chunk: not found" in result.text and "nowhere: cannot be deleted" in result.text
    assert bench.files() == {"a": b"1\n", "b": b"1\n"}
    assert not (bench.workspace / "c").exists()


async def test_two_sections_for_one_file_add_up(bench: Bench) -> None:
    bench.put("a", "1\n2\n")
    sections = ("*** Update File: a", "@@", "-1", "+one", "*** Update File: ./a", "@@", "-2", "+two")
    await bench.call("apply_patch", patch=patch(*sections))
    assert bench.files() == {"a": b"one\ntwo\n"}


async def test_chunks_may_share_the_lines_that_stay_between_them(bench: Bench) -> None:
    bench.put("a", "1\nkept\n2\n")
    rows = ("*** Update File: a", "@@", "-1", "+one", " kept", "@@", " kept", "-2", "+two")
    await bench.call("apply_patch", patch=patch(*rows))
    assert bench.files() == {"a": b"one\nkept\ntwo\n"}


@pytest.mark.parametrize(
    ("sections", "words"),
    [
        (("*** Add File: a", "+x"), "a: cannot be added, it exists"),
        (("*** Update File: a", "*** Move to: b", "@@", "-1", "+2"), "b exists"),
        (("*** Update File: x", "@@", "-1", "+2"), "x: cannot be updated, it does not exist"),
    ],
)
async def test_a_patch_does_not_write_over_files(bench: Bench, sections: tuple[str, ...], words: str) -> None:
    bench.put("a", "1\n")
    bench.put("b", "1\n")
    result = await bench.call("apply_patch", patch=patch(*sections))
    assert result.is_error and words in result.text
    assert bench.files() == {"a": b"1\n", "b": b"1\n"}


async def test_added_lines_go_below_their_context_line(bench: Bench) -> None:
    bench.put("a", "def f():\n    pass\n\ndef g():\n    pass")
    await bench.call("apply_patch", patch=patch("*** Update File: a", "@@ def f():", "+    x = 1", "@@", "+end"))
    assert bench.files() == {"a": b"def f():\n    x = 1\n    pass\n\ndef g():\n    pass\nend"}


async def test_context_lines_go_from_the_outside_in(bench: Bench) -> None:
    text = "class A:\n  def f():\n    pass\nclass B:\n  def f():\n    pass\n"
    bench.put("a", text)
    await bench.call(
        "apply_patch", patch=patch("*** Update File: a", "@@ class B:", "@@   def f():", "-    pass", "+    go()")
    )
    assert bench.files() == {"a": text[::-1].replace("ssap", ")(og", 1)[::-1].encode()}


async def test_a_context_line_may_be_cut_short_and_is_looked_for_when_it_is_missing(bench: Bench) -> None:
    bench.put("a", "def first(x):\n    pass\ndef second(x):\n    pass\n")
    result = await bench.call(
        "apply_patch", patch=patch("*** Update File: a", "@@ def secnod(x):", "-    pass", "+    go()")
    )
    assert result.is_error and "The nearest is line 3: 'def second(x):'" in result.text
    await bench.call("apply_patch", patch=patch("*** Update File: a", "@@ def second", "-    pass", "+    go()"))
    assert bench.files() == {"a": b"def first(x):\n    pass\ndef second(x):\n    go()\n"}


async def test_the_line_numbers_of_a_unified_diff_say_which_place(bench: Bench) -> None:
    bench.put("a", "x\ny\nx\ny\n")
    await bench.call("apply_patch", patch=patch("*** Update File: a", "@@ -3,2 +3,2 @@", "-x", "+z", " y"))
    assert bench.files() == {"a": b"x\ny\nz\ny\n"}


async def test_a_patch_can_add_and_remove_the_final_newline(bench: Bench) -> None:
    bench.put("a", "1")
    no_newline = "\\ No newline at end of file"
    await bench.call("apply_patch", patch=patch("*** Update File: a", "@@", "-1", no_newline, "+1"))
    assert bench.files() == {"a": b"1\n"}
    await bench.call("apply_patch", patch=patch("*** Update File: a", "@@", "-1", "+2", no_newline))
    assert bench.files() == {"a": b"2"}
    await bench.call("apply_patch", patch=patch("*** Add File: b", "+x", no_newline))
    assert bench.files() == {"a": b"2", "b": b"x"}


async def test_deleting_a_link_leaves_its_target(bench: Bench) -> None:
    bench.put("real", "x\n")
    (bench.workspace / "link").symlink_to("real")
    await bench.call("apply_patch", patch=patch("*** Delete File: link"))
    assert bench.files() == {"real": b"x\n"}


@pytest.mark.parametrize("path", ["link/../a", "link/../../a", "~/a", "~"])
async def test_a_path_that_can_be_read_in_two_ways_is_refused(tmp_path: Path, path: str) -> None:
    workspace, elsewhere = tmp_path / "workspace", tmp_path / "outside" / "inner" / "deep"
    elsewhere.mkdir(parents=True)
    workspace.mkdir()
    (workspace / "link").symlink_to(elsewhere)
    bench = Bench(workspace)
    result = await bench.call("write_to_file", path=path, file_text="x")
    assert result.is_error
    assert bench.files() == {}
    assert not any((folder / "a").exists() for folder in (tmp_path, tmp_path / "outside", workspace))


async def test_dots_without_links_are_fine(bench: Bench) -> None:
    await bench.call("write_to_file", path="b/../c/./a", file_text="x")
    assert bench.files() == {"c/a": b"x"}
