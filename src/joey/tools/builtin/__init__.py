"""The built-in tools. A tool is a pair: `read_file.py` is the code, `read_file.md` the words the model reads.

To add one: write the pair, and add a line to `builtin_tools`. The order is the order in which models see
them; it never depends on anything, so that prompt caches hold.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from joey.tools.base import Tool
from joey.tools.builtin.apply_diff import ApplyDiff
from joey.tools.builtin.apply_patch import ApplyPatch
from joey.tools.builtin.ask_followup_question import AskFollowupQuestion
from joey.tools.builtin.attempt_completion import AttemptCompletion
from joey.tools.builtin.browser_action import BrowserAction
from joey.tools.builtin.codebase_search import CodebaseSearch
from joey.tools.builtin.edit_file import EditFile
from joey.tools.builtin.execute_command import ExecuteCommand
from joey.tools.builtin.fetch_instructions import FetchInstructions
from joey.tools.builtin.find_symbol import FindSymbol
from joey.tools.builtin.generate_image import GenerateImage
from joey.tools.builtin.list_files import ListFiles
from joey.tools.builtin.new_task import NewTask
from joey.tools.builtin.read_command_output import ReadCommandOutput
from joey.tools.builtin.read_file import ReadFile
from joey.tools.builtin.run_slash_command import RunSlashCommand
from joey.tools.builtin.search_and_replace import SearchAndReplace
from joey.tools.builtin.search_files import SearchFiles
from joey.tools.builtin.search_replace import SearchReplace
from joey.tools.builtin.skill import LoadSkill
from joey.tools.builtin.switch_mode import SwitchModeTool
from joey.tools.builtin.update_todo_list import UpdateTodoList
from joey.tools.builtin.web_fetch import WebFetch
from joey.tools.builtin.web_search import WebSearch
from joey.tools.builtin.write_to_file import WriteToFile
from joey.tools.display import Display
from joey.tools.options import BuiltinOptions


def builtin_tools(options: BuiltinOptions | None = None) -> tuple[Tool[Any], ...]:
    """Every built-in tool, made for these options, in the order models see them."""
    options = options or BuiltinOptions()
    return (
        ApplyDiff(fuzzy=options.edit_likeness),
        ApplyPatch(),
        AskFollowupQuestion(),
        AttemptCompletion(),
        CodebaseSearch(),
        BrowserAction(program=options.browser_program, sandbox=options.browser_sandbox),
        ExecuteCommand(
            kill_after=options.kill_commands_after,
            never_killed=options.commands_never_killed,
            environment=options.command_environment,
            sandbox=options.sandbox,
        ),
        FetchInstructions(),
        FindSymbol(options.languages),
        GenerateImage(options.image_endpoint, sees_images=options.sees_images),
        ListFiles(),
        NewTask(needs_todos=options.subtask_needs_todos),
        ReadCommandOutput(),
        ReadFile(sees_images=options.sees_images, line_numbers=options.line_numbers),
        RunSlashCommand(options.library),
        LoadSkill(options.library),
        SearchReplace(),
        EditFile(),
        SearchAndReplace(),
        SearchFiles(),
        SwitchModeTool(),
        UpdateTodoList(),
        WebFetch(),
        WebSearch(options.search_url or ""),
        WriteToFile(),
    )


def builtin_display(name: str) -> Display:
    """How calls of a tool are shown, by the name that a model called it; the default for all that is not built in."""
    return _displays().get(name, _DEFAULT)


_DEFAULT = Display()


@cache
def _displays() -> dict[str, Display]:
    return {name: tool.display for tool in builtin_tools() for name in (*tool.aliases, tool.name)}
