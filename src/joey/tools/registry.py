"""From a call as the model wrote it to one that can run, or to an error that helps the model to correct it.

    registry = Registry(build_toolset(mode, builtin_tools()))
    match registry.resolve(call):
        case ResolvedCall(tool=tool, params=params): ...
        case RejectedCall() as rejected: answer(rejected.result)

One path for all protocols, in this order: the name (exact, then alias, then spelled with other punctuation), whether
the mode offers the tool, the names of the arguments (aliases), their types (`schema.repair`), and last the
tool's own model, strictly. A call is resolved only if all of it is understood: an unknown argument is an error, since
a model that believes in an option that does not exist believes something wrong about what will happen.
Nothing here raises on what a model sent, and nothing runs.
"""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from joey.events import ToolCallFinished
from joey.frames import original
from joey.messages import ToolResult, ToolUseBlock
from joey.schema.example import example_call
from joey.schema.references import Schema, members, properties, resolve
from joey.schema.repair import ArgumentRepair, expected, got
from joey.tools.base import Tool, failed
from joey.tools.toolset import Offered, Toolset, Withheld
from joey.wire import JsonObject, JsonValue

Rejection: TypeAlias = Literal["unknown_tool", "not_allowed", "invalid_arguments"]


@dataclass(frozen=True, slots=True)
class ResolvedCall:
    """A checked call: the tool and its arguments, ready to plan. `name` is what the model called it."""

    id: str
    name: str
    tool: Tool[Any]
    params: BaseModel
    repairs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RejectedCall:
    """A call that must not run. The message is for the model; the example (if any) is a call that would be right."""

    id: str
    name: str
    reason: Rejection
    message: str
    example: JsonObject | None = None

    @property
    def result(self) -> ToolResult:
        """The rejection as the answer to the call. A text protocol may rather write the example in its own form."""
        if self.example is None:
            return failed(self.message)
        example = json.dumps(self.example, ensure_ascii=False)
        return failed(f"{self.message}\nA valid call of {self.name}: {example}")


Resolution: TypeAlias = ResolvedCall | RejectedCall


class Registry:
    """Checks calls against one toolset."""

    def __init__(self, toolset: Toolset) -> None:
        self.toolset = toolset
        self.specs = toolset.specs
        """The tools as the model sees them: the same objects for as long as the registry lives."""
        self._offered = _by_every_name(toolset.offered)
        self._withheld = _by_every_name(toolset.withheld)
        self._plain_names = {_plain(name): name for name in {**self._withheld, **self._offered}}

    def resolve(self, call: ToolUseBlock | ToolCallFinished) -> Resolution:
        """The checked call, or why it cannot run."""
        call_id = call.id if isinstance(call, ToolUseBlock) else call.call_id
        name = self._known_name(call.name)
        if name in self._offered:
            return self._checked(call_id, self._offered[name].tool, call.name, call.arguments)
        if name in self._withheld:
            return self._not_allowed(call_id, call.name, self._withheld[name])
        return RejectedCall(call_id, call.name, "unknown_tool", self._unknown(call.name))

    def _checked(self, call_id: str, tool: Tool[Any], called: str, arguments: JsonValue) -> Resolution:
        checker = _Check(tool)
        # What is edited may hold marks of ours, which the model was shown broken.
        params = checker.params(_as_in_files(arguments) if tool.group == "edit" else arguments)
        if params is not None:
            return ResolvedCall(call_id, called, tool, params, tuple(checker.repairs))
        problems = "\n".join(f"- {problem}" for problem in checker.problems)
        message = f"{called} was not run: its arguments are not right.\n{problems}"
        return RejectedCall(call_id, called, "invalid_arguments", message, example_call(tool.spec))

    def _known_name(self, name: str) -> str:
        if name in self._offered or name in self._withheld:
            return name
        return self._plain_names.get(_plain(name), name)

    def _not_allowed(self, call_id: str, called: str, withheld: Withheld) -> RejectedCall:
        message = f'Tool "{called}" is not allowed in {self.toolset.mode.slug} mode. {withheld.reason}'
        return RejectedCall(call_id, called, "not_allowed", message)

    def _unknown(self, name: str) -> str:
        names = [offered.name for offered in self.toolset.offered if offered.tool.listed]
        near = difflib.get_close_matches(_plain(name), names, n=3, cutoff=0.5)
        hint = f"Did you mean {' or '.join(near)}? " if near else ""
        return f'There is no tool "{name}". {hint}Tools you can call: {", ".join(names)}.'


def _as_in_files(value: JsonValue) -> JsonValue:
    if isinstance(value, str):
        return original(value)
    if isinstance(value, list):
        return [_as_in_files(each) for each in value]
    return {key: _as_in_files(each) for key, each in value.items()} if isinstance(value, dict) else value


def _by_every_name(entries: Sequence[Any]) -> dict[str, Any]:
    """Entries by name and alias. A tool's own name beats another's alias, and the first alias a later one."""
    own: dict[str, Offered | Withheld] = {}
    other: dict[str, Offered | Withheld] = {}
    for entry in entries:
        own.setdefault(entry.name, entry)
        for alias in (entry.tool.name, *entry.tool.aliases):
            other.setdefault(alias, entry)
    return {**other, **own}


def _plain(name: str) -> str:
    """A name without what models add or change: a namespace, letter case, hyphens."""
    return re.sub(r"[^a-z0-9]+", "_", name.rpartition(".")[2].lower()).strip("_")


class _Check:
    """One call's arguments against one tool."""

    def __init__(self, tool: Tool[Any]) -> None:
        self._tool = tool
        self._schema = tool.schema
        self.repairs: list[str] = []
        self.problems: list[str] = []

    def params(self, arguments: JsonValue) -> BaseModel | None:
        given = self._object(arguments)
        if given is None:
            return None
        named = self._renamed(given)
        if self.problems:
            return None
        repair = ArgumentRepair(self._schema)
        given = repair.arguments(named)
        adapted = self._tool.adapted(given)
        if adapted != given:
            repair.repairs.append("the arguments were in another shape")
            given = repair.arguments(adapted)
        self.repairs += repair.repairs
        return self._validated(given)

    def _object(self, arguments: JsonValue) -> Mapping[str, Any] | None:
        if arguments is None:
            return {}
        if isinstance(arguments, str):
            try:
                arguments = json.loads(arguments) if arguments.strip() else {}
            except (ValueError, RecursionError):
                pass
            else:
                self.repairs.append("the arguments were a string of JSON")
        if isinstance(arguments, Mapping):
            return arguments
        self.problems.append(f"the arguments must be an object, got {got(arguments)}")
        return None

    def _renamed(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """The arguments under their own names. The same argument twice is fine only if both say the same."""
        known = properties(self._schema)
        named = {key: value for key, value in given.items() if key in known or key not in self._tool.field_aliases}
        for key, value in given.items():
            own = self._tool.field_aliases.get(key)
            if own is None or key in known:
                continue
            if own in named and named[own] != value:
                self.problems.append(f'"{own}" and "{key}" are the same argument with two values; give "{own}" once')
            else:
                named[own] = value
                self.repairs.append(f"{own}: given as {key}")
        return named

    def _validated(self, arguments: dict[str, Any]) -> BaseModel | None:
        # Through JSON, because strict validation of Python objects would refuse a list where a tuple is declared.
        try:
            return self._tool.params.model_validate_json(json.dumps(arguments), strict=True)
        except ValidationError as error:
            details = error.errors(include_url=False)
            self.problems += dict.fromkeys(self._problem(each, arguments) for each in details)
            return None

    def _problem(self, error: ErrorDetails, arguments: dict[str, Any]) -> str:
        kind = error["type"]
        if kind == "json_invalid":
            return "a string holds half of a character pair (a lone surrogate), which no file or message can hold"
        place, schema = _walk(error["loc"], self._schema)
        where = f'"{dotted(place)}"' if place else "the arguments"
        if kind == "missing":
            return f"{where} is missing: {_with_description(schema, self._schema)}"
        if kind == "extra_forbidden":
            return self._unknown_argument(place)
        if kind in ("value_error", "assertion_error"):
            reason = str(error.get("ctx", {}).get("error", error["msg"]))
            return f"{where}: {reason}"
        if kind in ("union_tag_invalid", "union_tag_not_found"):
            field = str(error.get("ctx", {}).get("discriminator", "")).strip("'")
            place, schema = [*place, field], _step_in_any(schema, field)
            where = f'"{dotted(place)}"'
        return f"{where} must be {expected(schema, self._schema)}; got {got(_at(arguments, place))}"

    def _unknown_argument(self, place: list[str | int]) -> str:
        _, parent = _walk(place[:-1], self._schema)
        names = list(properties(parent))
        near = difflib.get_close_matches(str(place[-1]), names, n=1)
        hint = f' (did you mean "{near[0]}"?)' if near else ""
        takes = f"it takes {', '.join(names)}" if names else "it takes no arguments"
        return f'"{dotted(place)}" is not an argument of {self._tool.name}{hint}; {takes}'


def _walk(place: Sequence[str | int], schema: JsonObject) -> tuple[list[str | int], Any]:
    """Follow a place into the schema: the fields and items passed, and the schema there (empty if it leads out).

    Between the names of fields, pydantic puts the names of a union's members and of validators; those are no places.
    """
    root, passed = schema, list[str | int]()
    for part in place:
        schema = resolve(schema, root)
        options = [resolve(option, root) for option in members(schema) or [schema]]
        found = [step for option in options if (step := _step(option, part)) is not None]
        if not found and isinstance(part, str) and (members(schema) or "[" in part):
            continue
        passed.append(part)
        schema = found[0] if found else {}
    return passed, resolve(schema, root)


def _step(schema: Schema, part: str | int) -> JsonObject | None:
    if not isinstance(schema, Mapping):
        return None
    others = schema.get("items" if isinstance(part, int) else "additionalProperties")
    step = properties(schema).get(part, others) if isinstance(part, str) else others
    return step if isinstance(step, dict) else None


def _step_in_any(schema: JsonObject, field: str) -> JsonObject:
    """The field that tells the members of a union apart, with what it is in any of them."""
    found = [_step(option, field) or {} for option in members(schema)]
    return {"enum": [value for member in found for value in member.get("enum", ())]}


def _at(arguments: JsonValue, place: Sequence[str | int]) -> JsonValue:
    for part in place:
        try:
            arguments = arguments[part]
        except (KeyError, IndexError, TypeError):
            return None
    return arguments


def dotted(place: Iterable[str | int]) -> str:
    """A place in arguments: `files[0].path`."""
    text = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in place)
    return text.removeprefix(".")


def _with_description(schema: JsonObject, root: JsonObject) -> str:
    description = str(schema.get("description", "")).rstrip(".")
    return f"{expected(schema, root)} ({description})" if description else expected(schema, root)
