"""What was judged is what is read: a file or a folder that becomes a link afterwards leads nowhere.

The calls go the whole way (registry, policy, plan, execution). Once the swap is made at an exact moment; once another
process swaps as fast as it can, as a command that runs in the background may.
"""

from __future__ import annotations

import asyncio
import errno
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from joey.actions import WritePath
from joey.app.calls import CallRunner
from joey.bounded.files import read_resolved
from joey.bounded.folders import LinkInPathError
from joey.checkpoints.store import CheckpointStore
from joey.messages import ToolResult, ToolUseBlock
from joey.modes.builtin import ARCHITECT, CODE
from joey.policy import Settings, Workspace
from joey.policy.paths import Located
from joey.task.calls import Judged
from joey.task.mentions import WorkspaceSources
from joey.task.profiles.small.beside import files_beside
from joey.task.profiles.small.completion_checks import CompletionChecks
from joey.tools.base import Plan, Tool, ToolContext
from joey.tools.builtin import builtin_tools
from joey.tools.builtin.read_file import ReadFile
from joey.tools.builtin.search_files import stands_in
from joey.tools.editing.planning import EditRefused, real_path
from joey.tools.options import BuiltinOptions
from joey.tools.registry import Registry
from joey.tools.restrict import file_refusal
from joey.tools.searching.ripgrep import FoundLine
from joey.tools.toolset import ToolChoices, build_toolset

SECRET = "OUTSECRET"
NAME = "outside_name.txt"
ROUNDS = 100
SETTINGS = Settings(reads="ask", reads_outside="deny", writes_outside="deny")
CALLS: dict[str, tuple[str, dict[str, Any]]] = {
    "read a file": ("read_file", {"path": "src/a.txt"}),
    "read a missing file": ("read_file", {"path": "src/missing.txt"}),
    "read several": ("read_file", {"files": [{"path": "src/a.txt"}, {"path": "top.txt"}]}),
    "search a folder": ("search_files", {"path": "src", "regex": "."}),
    "search a file": ("search_files", {"path": "src/a.txt", "regex": "."}),
    "search all": ("search_files", {"path": ".", "regex": "."}),
    "list a folder": ("list_files", {"path": "src"}),
    "list all": ("list_files", {"path": ".", "recursive": True}),
    "a diff that does not fit": ("apply_diff", {
        "path": "src/a.txt", "diff": f"<<<<<<< SEARCH\n{SECRET[:-1]}\n=======\nnew\n>>>>>>> REPLACE"}),
    "an edit that does not fit": ("edit_file", {
        "file_path": "src/a.txt", "old_string": SECRET[:-1] + "_", "new_string": "new"}),
}  # fmt: skip
_EXCHANGE = """
import ctypes, sys
libc = ctypes.CDLL(None, use_errno=True)
pairs = [tuple(map(str.encode, sys.argv[at : at + 2])) for at in range(1, len(sys.argv), 2)]
print("ready", flush=True)
while True:
    for a, b in pairs:
        libc.renameat2(-100, a, -100, b, 2)
"""


@dataclass
class Scene:
    """A workspace with a folder `src`, and a folder outside it with the same names, a secret and one name more."""

    work: Path
    outside: Path

    def runner(self, during: Callable[[], None] = lambda: None, *more: Tool[Any]) -> CallRunner:
        def ask(_call: Judged) -> bool:
            during()
            return True

        tools = {tool.name: tool for tool in (*builtin_tools(BuiltinOptions()), *more)}
        toolset = build_toolset(CODE, tuple(tools.values()), choices=ToolChoices(include=("apply_diff", "edit_file")))
        workspace = Workspace.of(self.work)
        context = ToolContext(self.work, self.work, ignored=workspace.hides)
        return CallRunner(Registry(toolset), context, SETTINGS, workspace, ask)

    def swap_folder(self) -> None:
        (self.work / "src").rename(self.work / "kept")
        (self.work / "src").symlink_to(self.outside)

    def swap_back(self) -> None:
        (self.work / "src").unlink()
        (self.work / "kept").rename(self.work / "src")

    def swap_file(self) -> None:
        (self.work / "src/a.txt").unlink()
        (self.work / "src/a.txt").symlink_to(self.outside / "a.txt")


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    scene = Scene(tmp_path / "work", tmp_path / "outside")
    (scene.work / "src").mkdir(parents=True)
    scene.outside.mkdir()
    (scene.work / "src/a.txt").write_text("inside\n")
    (scene.work / "top.txt").write_text("inside\n")
    for name in ("a.txt", NAME):
        (scene.outside / name).write_text(f"{SECRET}\n")
    return scene


def leaks(result: ToolResult) -> bool:
    return SECRET in result.text or NAME in result.text


@pytest.mark.parametrize("case", [case for case in CALLS if "missing" not in case and "not fit" not in case])
async def test_each_call_works_when_nothing_is_swapped(scene: Scene, case: str) -> None:
    result = await scene.runner().run(ToolUseBlock("1", *CALLS[case]))
    assert not result.is_error and ("inside" in result.text or "a.txt" in result.text)


@pytest.mark.parametrize("case", CALLS)
async def test_a_folder_that_becomes_a_link_after_the_judgement_is_not_followed(scene: Scene, case: str) -> None:
    result = await scene.runner(scene.swap_folder).run(ToolUseBlock("1", *CALLS[case]))
    assert not leaks(result)
    assert result.is_error or case in ("read several", "search all", "list all")


@pytest.mark.parametrize("case", CALLS)
async def test_a_file_that_becomes_a_link_after_the_judgement_is_not_followed(scene: Scene, case: str) -> None:
    result = await scene.runner(scene.swap_file).run(ToolUseBlock("1", *CALLS[case]))
    assert not leaks(result)


async def test_the_refusal_says_what_happened(scene: Scene) -> None:
    for case in ("read a file", "search a folder", "list a folder"):
        result = await scene.runner(scene.swap_folder).run(ToolUseBlock("1", *CALLS[case]))
        assert result.is_error and "leads somewhere else than when it was approved" in result.text
        scene.swap_back()


@pytest.mark.parametrize("case", CALLS)
async def test_a_link_that_was_there_only_while_the_call_was_planned_does_not_pass_the_policy(
    scene: Scene, case: str
) -> None:
    """The path as written is inside at both judgements; what the plan found behind it is judged as well."""
    original: type[Tool[Any]] = next(
        type(tool) for tool in builtin_tools(BuiltinOptions()) if tool.name == CALLS[case][0]
    )

    class Swapped(original):  # type: ignore[misc, valid-type]
        async def plan(self, params: Any, context: ToolContext) -> Any:
            scene.swap_folder()
            plan = await super().plan(params, context)
            scene.swap_back()
            return plan

    result = await scene.runner(lambda: None, Swapped()).run(ToolUseBlock("1", *CALLS[case]))
    assert not leaks(result)


async def test_a_link_inside_that_leads_inside_is_read_as_ever(scene: Scene) -> None:
    (scene.work / "to_file").symlink_to("src/a.txt")
    (scene.work / "to_folder").symlink_to("src")
    for path in ("to_file", "to_folder/a.txt"):
        assert "inside" in (await scene.runner().run(ToolUseBlock("1", "read_file", {"path": path}))).text
    found = await scene.runner().run(ToolUseBlock("1", "search_files", {"path": "to_folder", "regex": "ins"}))
    assert "inside" in found.text
    assert "a.txt" in (await scene.runner().run(ToolUseBlock("1", "list_files", {"path": "to_folder"}))).text


async def test_a_file_outside_that_was_approved_is_read(scene: Scene) -> None:
    runner = scene.runner()
    runner = CallRunner(runner.registry, runner.context, Settings(), runner.workspace, runner.ask)
    result = await runner.run(ToolUseBlock("1", "read_file", {"path": str(scene.outside / "a.txt")}))
    assert SECRET in result.text


@pytest.mark.parametrize("moment", range(4))
async def test_where_nobody_is_there_no_user_denied_it(scene: Scene, moment: int) -> None:
    """The path leads outside for one judgement only, whichever that is."""
    judgements = count()

    class Changing(Workspace):
        def locate(self, path: str, base: str | None = None) -> Located:
            located = super().locate(path, base)
            return replace(located, inside=False) if next(judgements) == moment else located

    call, runner = ToolUseBlock("1", *CALLS["read a file"]), scene.runner()
    workspace, settings = Changing.of(scene.work), Settings(reads="allow", reads_outside="ask")
    result = await CallRunner(runner.registry, runner.context, settings, workspace).run(call)
    assert "user denied" not in result.text and ("This call was denied: " in result.text or "inside" in result.text)


async def test_a_path_that_cannot_be_followed_now_is_a_refusal_of_the_call(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As when a folder becomes a link between looking at it and reading the link."""

    def changing(_path: str) -> str:
        raise OSError(errno.EINVAL, "Invalid argument")

    (scene.work / "link").symlink_to("src")
    monkeypatch.setattr(os, "readlink", changing)
    for name, arguments in (
        ("write_to_file", {"path": "link/new.txt", "file_text": "new"}),
        ("apply_diff", {"path": "link/a.txt", "diff": "<<<<<<< SEARCH\na\n=======\nb\n>>>>>>> REPLACE"}),
        ("read_file", {"path": "link/a.txt"}),
        ("list_files", {"path": "link"}),
    ):
        result = await scene.runner().run(ToolUseBlock("1", name, arguments))
        assert result.is_error and "cannot be followed" in result.text and "Invalid argument" in result.text
    with pytest.raises(EditRefused, match="cannot be followed: Invalid argument"):
        real_path(scene.runner().context, "link/new.txt")


def test_a_mode_does_not_permit_what_cannot_be_followed_now(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    def changing(_path: str) -> str:
        raise OSError(errno.EINVAL, "Invalid argument")

    (scene.work / "link").symlink_to("src")
    monkeypatch.setattr(os, "readlink", changing)
    refusal = file_refusal("write_to_file", "edit", ARCHITECT, [WritePath("link/a.md")], scene.work)
    assert refusal is not None and "cannot be followed" in refusal


# Other readers


async def test_a_mention_does_not_follow_a_link_that_came_since(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = ReadFile.plan

    async def swapping(self: ReadFile, params: Any, context: ToolContext) -> Plan:
        scene.swap_folder()
        return await plan(self, params, context)

    monkeypatch.setattr(ReadFile, "plan", swapping)
    blocks = await WorkspaceSources(Workspace.of(scene.work)).path("src/a.txt")
    assert blocks is not None and "replaced" in str(blocks) and SECRET not in str(blocks)


def test_a_checkpoint_does_not_read_through_a_link_that_came_since(scene: Scene, tmp_path: Path) -> None:
    store = CheckpointStore(tmp_path / "kept", scene.work)
    scene.swap_folder()
    with pytest.raises(LinkInPathError):
        read_resolved(scene.work / "src/a.txt")
    assert store.look("src/a.txt").kind != "file"


def test_a_small_model_is_not_shown_what_a_link_leads_to(scene: Scene) -> None:
    paths = Workspace.of(scene.work)

    def outside(path: Path) -> bool:
        return not paths.locate(str(path)).inside

    checks = CompletionChecks("src/a.txt", scene.work, 4000, hidden=outside)
    checks.ran([WritePath("src/a.txt")])
    scene.swap_file()
    objection = checks.objection("I wrote it.")
    assert objection is not None and SECRET not in objection.text
    context = ToolContext(scene.work, scene.work)
    assert SECRET not in files_beside("Fix src/a.txt.", context, paths, 8000).text


@pytest.mark.parametrize(
    ("data", "raw", "expected"),
    [
        (b"one\ntwo\n", b"two\n", True),
        (b"one\ntwo", b"two", True),
        (b"one\ntwo\nthree\n", b"one\ntwo\n", True),
        (b"one\r\n", b"one\r\n", True),
        (b"\xef\xbb\xbfone\n", b"one\n", True),
        ("één\n".encode("utf-16"), "één\n".encode(), True),
        (b"caf\xe9\n", b"caf\xe9\n", True),
        (b"a\0b\n", b"b\n", True),
        (b"one\n", b"two\n", False),
        (b"", b"two\n", False),
    ],
)
def test_a_found_line_must_stand_in_the_file(tmp_path: Path, data: bytes, raw: bytes, *, expected: bool) -> None:
    path = tmp_path.resolve() / "file"
    path.write_bytes(data)
    assert stands_in(path, [FoundLine("file", 1, "", matched=True, raw=raw)]) is expected


# While another process swaps


@pytest.fixture
def swapping(scene: Scene) -> Iterator[Scene]:
    """Exchanges a file and a folder with links to their like outside, without pause."""
    if sys.platform != "linux":
        pytest.skip("renameat2 is a call of Linux")
    (scene.work / "link_to_folder").symlink_to(scene.outside)
    (scene.work / "link_to_file").symlink_to(scene.outside / "a.txt")
    (scene.work / "f").write_text("inside\n")
    pairs = [str(scene.work / name) for name in ("src", "link_to_folder", "f", "link_to_file")]
    process = subprocess.Popen([sys.executable, "-c", _EXCHANGE, *pairs], stdout=subprocess.PIPE)
    assert process.stdout is not None
    with process:
        assert process.stdout.readline() == b"ready\n"
        yield scene
        process.kill()


_WHILE_SWAPPED = [
    ("read_file", {"path": "f"}),
    ("read_file", {"path": "src/a.txt"}),
    ("read_file", {"path": "src/missing.txt"}),
    ("search_files", {"path": ".", "regex": "[A-Z]{5}|ins"}),
    ("search_files", {"path": "src", "regex": "."}),
    ("list_files", {"path": ".", "recursive": True}),
    CALLS["a diff that does not fit"],
    ("write_to_file", {"path": "src/new.txt", "file_text": "new\n"}),
]


@pytest.mark.parametrize("call", _WHILE_SWAPPED, ids=lambda call: f"{call[0]} {call[1]['path']}")
async def test_nothing_outside_is_shown_while_links_are_swapped_in(
    swapping: Scene, call: tuple[str, dict[str, Any]]
) -> None:
    runner = swapping.runner()
    for _ in range(ROUNDS):
        result = await runner.run(ToolUseBlock("1", *call))
        assert not leaks(result) and "failed unexpectedly" not in result.text
        await asyncio.sleep(0)
    assert not (swapping.outside / "new.txt").exists()
