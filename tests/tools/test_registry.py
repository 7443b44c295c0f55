from __future__ import annotations

import json
from typing import Annotated, Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import Field, field_validator

from joey.events import ToolCallFinished
from joey.messages import ToolResult, ToolUseBlock
from joey.modes import BUILTIN_MODES, Mode
from joey.tools.base import Params, Tool, ToolContext, ok
from joey.tools.builtin import builtin_tools
from joey.tools.registry import Registry, RejectedCall, ResolvedCall
from joey.tools.toolset import build_toolset

MODES = {mode.slug: mode for mode in BUILTIN_MODES}


class Lines(Params):
    first: int = Field(ge=1, description="First line.")
    last: int | None = Field(default=None, description="Last line.")


class WriteParams(Params):
    path: str = Field(min_length=1, description="Where to write.")
    file_text: str = Field(description="What to write.")
    limit: int = Field(100, ge=1, le=5000, description="How many lines.")
    ratio: float = Field(1.0, description="How much.")
    force: bool = Field(False, description="Whether to overwrite.")
    mode: Literal["slice", "whole"] = Field("slice", description="How.")
    lines: tuple[Lines, ...] = Field((), max_length=3, description="Which lines.")
    options: dict[str, int] = Field(default_factory=dict, description="Anything else.")
    either: int | str = Field(0, description="A number or a word.")

    @field_validator("path")
    @classmethod
    def _no_null_byte(cls, path: str) -> str:
        if "\0" in path:
            raise ValueError("a path holds no null character")
        return path


class Write(Tool[WriteParams]):
    name = "write_to_file"
    group = "edit"
    params = WriteParams
    aliases: tuple[str, ...] = ("write_file",)
    field_aliases = {"content": "file_text"}
    example = {"path": "a.txt", "file_text": "hello\n"}
    description = "Write."

    async def run(self, params: WriteParams, context: ToolContext) -> ToolResult:
        return ok("written")


def registry(mode: str = "code") -> Registry:
    return Registry(build_toolset(MODES[mode], [Write(), *builtin_tools()]))


def resolve(name: str, arguments: Any, mode: str = "code") -> ResolvedCall | RejectedCall:
    return registry(mode).resolve(ToolUseBlock("c1", name, arguments))


def params(arguments: Any) -> WriteParams:
    call = resolve("write_to_file", {"path": "a", "file_text": "x", **arguments})
    assert isinstance(call, ResolvedCall), call
    assert isinstance(call.params, WriteParams)
    return call.params


def complaint(arguments: Any, name: str = "write_to_file") -> str:
    call = resolve(name, arguments)
    assert isinstance(call, RejectedCall)
    assert call.reason == "invalid_arguments"
    return call.message


def test_a_good_call_is_resolved_with_its_arguments_checked() -> None:
    call = resolve("write_to_file", {"path": "a", "file_text": "x"})
    assert isinstance(call, ResolvedCall)
    assert (call.id, call.tool.name, call.repairs) == ("c1", "write_to_file", ())


def test_a_finished_call_of_a_stream_goes_the_same_way() -> None:
    call = registry().resolve(ToolCallFinished("c9", "write_to_file", {"path": "a", "file_text": "x"}))
    assert isinstance(call, ResolvedCall) and call.id == "c9"


@pytest.mark.parametrize("name", ["write_file", "Write_To_File", "write-to-file", "functions.write_to_file"])
def test_other_spellings_of_a_name_find_the_tool(name: str) -> None:
    call = resolve(name, {"path": "a", "content": "x"})
    assert isinstance(call, ResolvedCall) and call.tool.name == "write_to_file"


def test_an_unknown_name_is_answered_with_the_nearest_ones() -> None:
    call = resolve("attempt_complete", {})
    assert isinstance(call, RejectedCall) and call.reason == "unknown_tool"
    assert call.message.startswith('There is no tool "attempt_complete". Did you mean attempt_completion')
    assert "Tools you can call: write_to_file, " in call.message


def test_a_tool_of_another_group_is_not_allowed_in_this_mode() -> None:
    call = resolve("write_file", {}, mode="ask")
    assert isinstance(call, RejectedCall) and call.reason == "not_allowed"
    assert call.message.startswith('Tool "write_file" is not allowed in ask mode. ')
    assert "'edit'" in call.message


@pytest.mark.parametrize(
    ("arguments", "field", "value"),
    [
        ({"limit": "5"}, "limit", 5),
        ({"limit": " 7 "}, "limit", 7),
        ({"limit": 5.0}, "limit", 5),
        ({"limit": "5.0"}, "limit", 5),
        ({"ratio": "0.5"}, "ratio", 0.5),
        ({"ratio": 2}, "ratio", 2.0),
        ({"force": "true"}, "force", True),
        ({"force": "False"}, "force", False),
        ({"mode": " Whole "}, "mode", "whole"),
        ({"lines": '[{"first": "3"}]'}, "lines", (Lines(first=3),)),
        ({"lines": [{"first": 1, "last": None}]}, "lines", (Lines(first=1),)),
        ({"options": '{"a": 1}'}, "options", {"a": 1}),
        ({"options": {"a": "1"}}, "options", {"a": 1}),
        ({"limit": None}, "limit", 100),
        ({"limit": ""}, "limit", 100),
        ({"lines": None}, "lines", ()),
        ({"either": "5"}, "either", "5"),
        ({"either": 5}, "either", 5),
    ],
)
def test_what_can_be_read_without_loss_is_read(arguments: Any, field: str, value: Any) -> None:
    got = getattr(params(arguments), field)
    assert got == value and type(got) is type(value)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"limit": "5 lines"}, '"limit" must be an integer, at least 1, at most 5000; got the string "5 lines"'),
        ({"limit": 5.5}, '"limit" must be an integer, at least 1, at most 5000; got the number 5.5'),
        ({"limit": True}, '"limit" must be an integer, at least 1, at most 5000; got true'),
        ({"limit": 0}, '"limit" must be an integer, at least 1, at most 5000; got the number 0'),
        ({"force": 1}, '"force" must be true or false; got the number 1'),
        ({"force": "yes"}, '"force" must be true or false; got the string "yes"'),
        ({"path": 5}, '"path" must be a string that is not empty; got the number 5'),
        ({"path": ""}, '"path" must be a string that is not empty; got an empty string'),
        ({"path": None}, '"path" must be a string that is not empty; got null'),
        ({"path": "a\0"}, '"path": a path holds no null character'),
        ({"mode": "half"}, '"mode" must be one of "slice", "whole"; got the string "half"'),
        ({"lines": [{"first": "x"}]}, '"lines[0].first" must be an integer, at least 1; got the string "x"'),
        ({"lines": [{}]}, '"lines[0].first" is missing: an integer, at least 1 (First line)'),
        ({"lines": {"first": 1}}, '"lines" must be an array'),
        ({"options": {"a": "x"}}, '"options.a" must be an integer; got the string "x"'),
        ({"pth": "b"}, '"pth" is not an argument of write_to_file (did you mean "path"?); it takes path, file_text,'),
        ({"either": []}, '"either" must be an integer or a string; got an array []'),
    ],
)
def test_what_does_not_match_is_named_with_what_was_expected_and_what_came(arguments: Any, words: str) -> None:
    assert words in complaint({"path": "a", "file_text": "x", **arguments})


def test_every_problem_is_reported_at_once_with_one_valid_example() -> None:
    call = resolve("write_to_file", {"file_text": 5, "extra": 1})
    assert isinstance(call, RejectedCall)
    assert call.result.is_error
    takes = "path, file_text, limit, ratio, force, mode, lines, options, either"
    assert call.result.text.splitlines() == [
        "write_to_file was not run: its arguments are not right.",
        '- "path" is missing: a string that is not empty (Where to write)',
        '- "file_text" must be a string; got the number 5',
        f'- "extra" is not an argument of write_to_file; it takes {takes}',
        'A valid call of write_to_file: {"path": "a.txt", "file_text": "hello\\n"}',
    ]


def test_a_missing_argument_of_a_built_in_tool_names_it() -> None:
    assert '"result" is missing: a string' in complaint({}, "attempt_completion")
    assert '"follow_up" must be an array' in complaint({"question": "q", "follow_up": []}, "ask_followup_question")


def test_an_argument_under_two_names_is_refused_unless_both_say_the_same() -> None:
    assert "the same argument with two values" in complaint({"path": "a", "file_text": "x", "content": "y"})
    assert params({"content": "x"}).file_text == "x"


class Cat(Params):
    kind: Literal["cat"] = Field(description="Which.")
    lives: int = Field(description="How many.")


class Dog(Params):
    kind: Literal["dog"] = Field(description="Which.")
    list: str = Field(description="A field with the name of a type.")


class PetParams(Params):
    pet: Annotated[Cat | Dog, Field(discriminator="kind", description="Who.")]
    other: Cat | str | None = Field(default=None, description="Who else.")


class Pet(Tool[PetParams]):
    """Strokes it."""

    name = "pet"
    group = "read"
    params = PetParams

    async def run(self, params: PetParams, context: ToolContext) -> ToolResult:
        return ok("purr")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"pet": {"kind": "cat", "lives": "many"}}, '"pet.lives" must be an integer; got the string "many"'),
        ({"pet": {"kind": "dog", "list": 5}}, '"pet.list" must be a string; got the number 5'),
        ({"pet": {"kind": "cow"}}, '"pet.kind" must be one of "cat", "dog"; got the string "cow"'),
        ({"pet": {"kind": "cat", "lives": 1}, "other": {"kind": "cat"}}, '"other.lives" is missing: an integer'),
    ],
)
def test_places_in_unions_are_named_by_fields_alone(arguments: Any, words: str) -> None:
    call = Registry(build_toolset(MODES["code"], [Pet()])).resolve(ToolUseBlock("c", "pet", arguments))
    assert isinstance(call, RejectedCall) and words in call.message, call


@pytest.mark.parametrize("arguments", [[], 5, "text", [{"path": "a"}]])
def test_arguments_that_are_no_object_are_refused(arguments: Any) -> None:
    assert "the arguments must be an object" in complaint(arguments)


def test_arguments_as_a_string_of_json_are_read() -> None:
    call = resolve("write_to_file", json.dumps({"path": "a", "content": "x"}))
    assert isinstance(call, ResolvedCall)
    assert call.repairs == ("the arguments were a string of JSON", "file_text: given as content")


def test_a_lone_surrogate_is_refused_in_words() -> None:
    assert "half of a character pair" in complaint({"path": "a", "file_text": "\ud83d"})


def test_repairs_say_what_was_changed() -> None:
    call = resolve("write_to_file", {"path": "a", "file_text": "x", "limit": "5", "force": None})
    assert isinstance(call, ResolvedCall)
    assert call.repairs == ('limit: read the string "5" as 5', "force: took null as left out")


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
names = st.sampled_from(["path", "file_text", "content", "limit", "force", "mode", "lines", "options", "ratio", "zz"])


@pytest.mark.property
@given(st.dictionaries(names, json_values) | json_values)
def test_no_arguments_make_the_registry_raise(arguments: Any) -> None:
    call = resolve("write_to_file", arguments)
    assert isinstance(call, ResolvedCall) or call.result.is_error


@pytest.mark.property
@given(st.text())
def test_a_string_that_is_wanted_arrives_unchanged(text: str) -> None:
    call = resolve("write_to_file", {"path": "a", "file_text": text})
    assert isinstance(call, ResolvedCall) and isinstance(call.params, WriteParams)
    assert call.params.file_text == text


def test_a_name_that_is_one_tool_s_own_beats_the_alias_of_another() -> None:
    class Other(Write):
        name = "write_file"
        aliases: tuple[str, ...] = ()

    mode: Mode = MODES["code"]
    call = Registry(build_toolset(mode, [Write(), Other()])).resolve(
        ToolUseBlock("c", "write_file", {"path": "a", "file_text": ""})
    )
    assert isinstance(call, ResolvedCall) and call.tool.name == "write_file"


def test_a_limit_of_one_is_in_the_singular() -> None:
    resolved = registry().resolve(ToolUseBlock("1", "ask_followup_question", {"question": "Which?", "follow_up": []}))
    assert isinstance(resolved, RejectedCall) and "at least 1 item, at most 4 items" in resolved.message


def test_marks_that_were_shown_broken_are_whole_in_an_edit() -> None:
    code = next(mode for mode in BUILTIN_MODES if mode.slug == "code")
    tools = Registry(build_toolset(code, builtin_tools()))
    call = ToolUseBlock("1", "write_to_file", {"path": "a.jsx", "content": "<\\Feedback a={1}>\n<\\\\answer>"})
    resolved = tools.resolve(call)
    assert isinstance(resolved, ResolvedCall)
    assert resolved.params.model_dump()["file_text"] == "<Feedback a={1}>\n<\\answer>"
