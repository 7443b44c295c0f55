"""The form for small models: what it says, how long it is, and when it is taken."""

from __future__ import annotations

from pathlib import Path

import pytest

from joey import protocols
from joey.messages import TextBlock
from joey.modes.builtin import ASK, CODE
from joey.modes.mode import Mode
from joey.protocols import collect
from joey.task.profiles import SMALL_WINDOW, choose_profile
from joey.task.profiles.small import Small, demands, exact
from joey.task.profiles.small.prompt import describe_briefly, small_prompt
from joey.task.profiles.small.tools import CORE, short_spec
from joey.task.prompt import PromptContext
from joey.task.settings import Replies
from joey.tools.base import ToolContext, ok
from joey.tools.builtin import builtin_tools
from joey.tools.options import BuiltinOptions
from joey.tools.toolset import ToolChoices, Toolset, build_toolset
from joey.toolspec import ToolSpec

IN_TEXT = ("xml", "json_mix", "morph_xml")
TOKENS_A_CHARACTER = {"xml": 0.2545, "json_mix": 0.2297, "morph_xml": 0.2576}
"""Slightly more than the tokenizer of Qwen2.5-Coder makes of these prompts, which are 592, 570 and 589 tokens long."""


SMALL = Small(8192)


def core_tools(mode: Mode = CODE, include: tuple[str, ...] = ()) -> Toolset:
    choices = SMALL.choices(ToolChoices(include=include), "")
    return build_toolset(mode, builtin_tools(), choices=choices)


def prompt_in(protocol: str, mode: Mode = CODE, wishes: str = "") -> str:
    specs = core_tools(mode).specs
    return small_prompt(mode, protocols.get(protocol), specs, PromptContext("/w", instructions=wishes))


@pytest.mark.parametrize("protocol", IN_TEXT)
def test_the_prompt_with_the_core_tools_takes_less_than_600_tokens(protocol: str) -> None:
    assert len(prompt_in(protocol)) * TOKENS_A_CHARACTER[protocol] < 600


@pytest.mark.parametrize("protocol", IN_TEXT)
def test_the_tasks_in_the_prompt_are_read_as_the_calls_they_show(protocol: str) -> None:
    specs = core_tools().specs
    parser = protocols.get(protocol).parser(specs)
    reply = collect(parser.feed(describe_briefly(protocols.get(protocol), specs)) + parser.finish())
    assert [call.name for call in reply.calls] == [
        "write_to_file", "execute_command", "attempt_completion",
        "write_to_file", "attempt_completion",
        "execute_command", "attempt_completion",
        "attempt_completion",
    ]  # fmt: skip
    assert reply.calls[1].arguments == {"command": "python3 show.py"}
    assert not reply.malformed


def test_every_core_tool_has_one_line() -> None:
    lines = prompt_in("xml").splitlines()
    assert [sum(line.startswith(f"- {name}(") for line in lines) for name in CORE] == [1] * len(CORE)


def test_a_mode_that_cannot_write_is_shown_no_task_that_writes() -> None:
    words = prompt_in("xml", ASK)
    assert "<attempt_completion>" in words and "<write_to_file>" not in words


def test_what_the_user_wants_is_in_it_as_far_as_there_is_room() -> None:
    assert prompt_in("xml", wishes="Speak French.").endswith("Speak French.")
    long = prompt_in("xml", wishes="One line.\n" * 1000)
    assert len(long) < len(prompt_in("xml")) + 2_200 and long.endswith("left out for want of room.)")


def test_native_calls_need_no_description() -> None:
    assert describe_briefly(protocols.get("native"), core_tools().specs) == ""


# The tools


def test_the_core_tools_come_in_their_own_order_and_with_needed_arguments_only() -> None:
    specs = {spec.name: spec for spec in core_tools().specs}
    assert tuple(specs) == CORE
    assert specs["read_file"].parameters == ("path",)
    assert specs["edit_file"].parameters == ("path", "old_string", "new_string")
    assert specs["search_files"].description.startswith("Search the contents of files")
    assert "\n" not in "".join(spec.description for spec in specs.values())


def test_a_tool_besides_the_core_is_told_why_it_is_missing_and_can_be_added() -> None:
    reasons = {withheld.name: withheld.reason for withheld in core_tools().withheld}
    assert "tools.include" in reasons["list_files"]
    assert [spec.name for spec in core_tools(include=("list_files",)).specs] == [*CORE, "list_files"]


def test_a_short_tool_is_called_by_its_shown_names_and_by_its_own() -> None:
    whole = ToolSpec(
        "f", "Does it. And more.\n\nMuch more.",
        {"type": "object", "properties": {"file_path": {"type": "string"}, "how": {}}, "required": ["file_path"]},
        {"path": "file_path"}, {"file_path": "a.txt", "how": 1},
    )  # fmt: skip
    spec = short_spec(whole)
    assert (spec.description, spec.parameters, spec.example) == ("Does it.", ("path",), {"path": "a.txt"})
    assert spec.schema["required"] == ["path"]


async def test_without_line_numbers_a_file_is_shown_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("x = 1\ny = 2\n")
    reader = next(tool for tool in SMALL.tools(BuiltinOptions()) if tool.name == "read_file")
    result = await reader.run(reader.params(path="a.py"), ToolContext(tmp_path, tmp_path))
    assert result.content == (TextBlock("File: a.py\nx = 1\ny = 2"),)


# When


@pytest.mark.parametrize(
    ("name", "window", "small"),
    [
        ("auto", None, False),
        ("auto", SMALL_WINDOW, True),
        ("auto", SMALL_WINDOW + 1, False),
        ("full", 4096, False),
        ("small", None, True),
        ("small", 200_000, True),
    ],
)
def test_the_profile_goes_by_the_window_unless_it_is_named(name: str, window: int | None, small: bool) -> None:
    profile = choose_profile(name, window)  # type: ignore[arg-type]
    assert (profile.name == "small") is small
    long = ok("x" * 200_000)
    assert (profile.limited(long) != long) is small


def test_a_small_window_is_shared_out() -> None:
    replies = Small(4096).replies(Replies())
    assert (replies.max_tokens, replies.tool_choice, replies.temperature) == (1024, "required", 0.0)
    assert Small(4096).result_limit == 2048
    assert Small(4096).replies(Replies(temperature=0.7, max_tokens=9)).temperature == 0.7


async def test_a_small_model_must_read_a_file_before_it_writes_it_again_and_must_change_it(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("x = 1\n")
    context = ToolContext(tmp_path, tmp_path)
    tools = {tool.name: tool for tool in SMALL.tools(BuiltinOptions())}
    reader, writer = tools["read_file"], tools["write_to_file"]

    async def write(text: str) -> str:
        return (await writer.run(writer.params(path="a.py", file_text=text), context)).text

    assert "you have not read it" in await write("y = 2")
    await reader.run(reader.params(path="a.py"), context)
    assert "holds exactly this already" in await write("x = 1")
    assert "successfully written" in await write("y = 2")
    assert (tmp_path / "a.py").read_text() == "y = 2\n"


@pytest.mark.parametrize("word", ["write ", "without ", "print ", "title ", "<h1>", "<h1 "])
def test_a_request_that_repeats_a_word_for_ever_is_read_in_no_time(word: str) -> None:
    """Read again from each word to the end, it would run into the limit of every test."""
    request = word * (400_000 // len(word))
    assert not demands.tests_are_the_task(request) and not demands.printed_count(request)
    assert exact.missing_heading("a.html", request, request) is None
