"""What was approved is where it is written: a folder or a file that becomes a link afterwards leads nowhere.

The call goes the whole way (registry, policy, plan, question, execution); the swap happens while the user is asked,
which is the longest moment between the judgement and the write.
"""

from __future__ import annotations

import base64
import json
import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import pytest

from image_kit import made
from joey.app.calls import CallRunner
from joey.bounded.folders import LinkInPathError
from joey.messages import ToolResult, ToolUseBlock
from joey.modes.builtin import CODE
from joey.policy import Settings, Workspace
from joey.sandbox import SandboxSettings
from joey.task.calls import Judged
from joey.tools.base import Plan, Tool, ToolContext
from joey.tools.builtin import builtin_tools
from joey.tools.builtin.execute_command import ExecuteCommand
from joey.tools.builtin.generate_image import GenerateImage
from joey.tools.builtin.write_to_file import WriteToFile, WriteToFileParams
from joey.tools.editing.changes import ChangeFailed, Disk, FileChange, commit
from joey.tools.images import ImageEndpoint
from joey.tools.options import BuiltinOptions
from joey.tools.registry import Registry
from joey.tools.shell.job import start
from joey.tools.shell.output import CommandOutput
from joey.tools.toolset import ToolChoices, build_toolset
from pages_kit import Page, Pages

EDIT_TOOLS = ("apply_diff", "search_and_replace", "search_replace", "edit_file", "apply_patch")
DIFF = "<<<<<<< SEARCH\nold\n=======\nnew\n>>>>>>> REPLACE"
REPLACED = {"file_path": "src/a.txt", "old_string": "old", "new_string": "new"}
CALLS: dict[str, tuple[str, dict[str, Any]]] = {
    "whole file": ("write_to_file", {"path": "src/a.txt", "file_text": "new\n"}),
    "new file": ("write_to_file", {"path": "src/b.txt", "file_text": "new\n"}),
    "new folders": ("write_to_file", {"path": "src/x/y/b.txt", "file_text": "new\n"}),
    "diff": ("apply_diff", {"path": "src/a.txt", "diff": DIFF}),
    "edit_file": ("edit_file", REPLACED),
    "search_replace": ("search_replace", REPLACED),
    "search_and_replace": (
        "search_and_replace", {"path": "src/a.txt", "operations": [{"search": "old", "replace": "new"}]},
    ),
    "patched": (
        "apply_patch", {"patch": "*** Begin Patch\n*** Update File: src/a.txt\n@@\n-old\n+new\n*** End Patch"},
    ),
    "added": ("apply_patch", {"patch": "*** Begin Patch\n*** Add File: src/b.txt\n+new\n*** End Patch"}),
    "deleted": ("apply_patch", {"patch": "*** Begin Patch\n*** Delete File: src/a.txt\n*** End Patch"}),
    "moved away": (
        "apply_patch",
        {"patch": "*** Begin Patch\n*** Update File: src/a.txt\n*** Move to: c.txt\n@@\n-old\n+new\n*** End Patch"},
    ),
    "moved there": (
        "apply_patch",
        {"patch": "*** Begin Patch\n*** Update File: top.txt\n*** Move to: src/c.txt\n@@\n-old\n+new\n*** End Patch"},
    ),
}  # fmt: skip


@dataclass
class Scene:
    """A workspace with a folder `src`, and a place outside that looks just like it."""

    work: Path
    outside: Path

    def runner(self, during: Callable[[], None], *more: Tool[Any]) -> CallRunner:
        def ask(_call: Judged) -> bool:
            during()
            return True

        tools = (*builtin_tools(BuiltinOptions()), *more)
        tools = tuple({tool.name: tool for tool in tools}.values())
        choices = ToolChoices(include=EDIT_TOOLS, features=frozenset({"image_generation"}))
        context = ToolContext(self.work, self.work)
        return CallRunner(Registry(build_toolset(CODE, tools, choices=choices)), context, Settings(),
                          Workspace.of(self.work), ask)  # fmt: skip

    async def call(self, name: str, arguments: dict[str, Any], during: Callable[[], None]) -> ToolResult:
        return await self.runner(during).run(ToolUseBlock("1", name, arguments))

    def swap_folder(self) -> None:
        (self.work / "src").rename(self.work / "kept")
        (self.work / "src").symlink_to(self.outside)

    def state(self) -> dict[str, str | bytes]:
        found: dict[str, str | bytes] = {}
        for folder, folders, files in os.walk(self.outside.parent):
            for name in (*folders, *files):
                path = Path(folder, name)
                shown = path.relative_to(self.outside.parent).as_posix()
                found[shown] = (
                    str(path.readlink()) if path.is_symlink() else path.read_bytes() if path.is_file() else ""
                )
        return found


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    scene = Scene(tmp_path / "work", tmp_path / "outside")
    for folder in (scene.work / "src", scene.outside):
        folder.mkdir(parents=True)
        (folder / "a.txt").write_text("old\n")
    (scene.work / "top.txt").write_text("old\n")
    return scene


@pytest.mark.parametrize("case", CALLS)
async def test_each_call_works_when_nothing_is_swapped(scene: Scene, case: str) -> None:
    before = scene.state()
    result = await scene.call(*CALLS[case], lambda: None)
    assert not result.is_error, result.text
    assert scene.state() != before


@pytest.mark.parametrize("case", CALLS)
async def test_a_folder_that_becomes_a_link_during_the_question_is_not_followed(scene: Scene, case: str) -> None:
    after_swap: dict[str, str | bytes] = {}

    def swap() -> None:
        scene.swap_folder()
        after_swap.update(scene.state())

    result = await scene.call(*CALLS[case], swap)
    assert result.is_error and "leads somewhere else" in result.text and "Nothing was changed" in result.text
    assert scene.state() == after_swap


@pytest.mark.parametrize("case", ["whole file", "diff", "edit_file", "patched"])
async def test_a_file_that_becomes_a_link_during_the_question_is_not_followed(scene: Scene, case: str) -> None:
    def swap() -> None:
        (scene.work / "src/a.txt").unlink()
        (scene.work / "src/a.txt").symlink_to(scene.outside / "a.txt")

    result = await scene.call(*CALLS[case], swap)
    assert result.is_error and "leads somewhere else" in result.text
    assert (scene.outside / "a.txt").read_text() == "old\n"
    assert (scene.work / "src/a.txt").is_symlink()


@pytest.mark.parametrize("sandbox", ["off", "auto"])
async def test_a_command_does_not_run_in_a_folder_that_became_a_link_during_the_question(
    scene: Scene, sandbox: Literal["off", "auto"]
) -> None:
    runner = scene.runner(scene.swap_folder, ExecuteCommand(sandbox=SandboxSettings(mode=sandbox)))
    result = await runner.run(ToolUseBlock("1", "execute_command", {"command": "rm a.txt", "cwd": "src"}))
    assert result.is_error and "leads somewhere else" in result.text and "Nothing was changed or run" in result.text
    assert (scene.outside / "a.txt").exists()


async def test_a_command_is_not_started_through_a_link_that_takes_the_folders_place_last(scene: Scene) -> None:
    output = CommandOutput(scene.work)
    scene.swap_folder()
    with pytest.raises(LinkInPathError):
        await start("rm a.txt", scene.work / "src", output, print)
    assert (scene.outside / "a.txt").exists()


async def test_a_new_file_is_not_written_through_a_dangling_link_put_in_its_place(scene: Scene) -> None:
    def swap() -> None:
        (scene.work / "src/b.txt").symlink_to(scene.outside / "b.txt")

    result = await scene.call(*CALLS["new file"], swap)
    assert result.is_error
    assert not (scene.outside / "b.txt").exists()


async def test_a_folder_that_the_call_would_make_is_not_followed_where_a_link_has_its_name(scene: Scene) -> None:
    result = await scene.call(*CALLS["new folders"], lambda: (scene.work / "src/x").symlink_to(scene.outside))
    assert result.is_error and "leads somewhere else" in result.text
    assert names(scene.outside) == ["a.txt"]


async def test_another_folder_in_the_place_of_the_judged_one_is_noticed_before_the_last_step(scene: Scene) -> None:
    """The link may come at any instant, also after the temporary file was written."""

    class Swapping(Disk):
        def write(self, descriptor: int, data: bytes) -> None:
            super().write(descriptor, data)
            scene.swap_folder()

    path = scene.work / "src/a.txt"
    with pytest.raises(ChangeFailed, match="leads somewhere else"):
        commit([FileChange(path, "src/a.txt", b"old\n", b"new\n")], disk=Swapping())
    assert (scene.outside / "a.txt").read_text() == "old\n"
    assert names(scene.outside) == names(scene.work / "kept") == ["a.txt"]


async def test_a_link_that_was_there_only_while_the_call_was_planned_does_not_pass_the_policy(scene: Scene) -> None:
    """The path as written is inside at both judgements; where the plan would write is judged as well."""

    class Swapped(WriteToFile):
        async def plan(self, params: WriteToFileParams, context: ToolContext) -> Plan:
            scene.swap_folder()
            plan = await super().plan(params, context)
            (scene.work / "src").unlink()
            (scene.work / "kept").rename(scene.work / "src")
            return plan

    runner = scene.runner(lambda: None, Swapped())
    runner = replace(runner, settings=Settings(writes="allow", writes_outside="deny"))
    result = await runner.run(ToolUseBlock("1", *CALLS["whole file"]))
    assert result.is_error and "outside the workspace" in result.text
    assert (scene.outside / "a.txt").read_text() == "old\n"


async def test_a_generated_image_goes_where_it_was_approved_or_nowhere(scene: Scene) -> None:
    image = Page(json.dumps({"data": [{"b64_json": base64.b64encode(made(4, 4)).decode()}]}))
    async with Pages({"/v1/images/generations": image}) as server:
        tool = GenerateImage(ImageEndpoint("sd", f"{server.url}/v1", "k", 10.0))
        call = ToolUseBlock("1", "generate_image", {"prompt": "a roo", "path": "src/roo.png"})
        result = await scene.runner(scene.swap_folder, tool).run(call)
    assert result.is_error and "leads somewhere else" in result.text
    assert names(scene.outside) == ["a.txt"]
