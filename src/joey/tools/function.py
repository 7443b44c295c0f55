"""A Python function as a tool: its type hints are the schema, its docstring the words the model reads.

    @joey.tool(group="read")
    def count_words(path: str, unique: bool = False) -> str:
        \"\"\"Count the words of a file.

        Args:
            path: The file, relative to the workspace.
            unique: Whether to count each word once.
        \"\"\"

The decorator leaves the function as it is and only marks it; `FunctionTool` makes the tool. A parameter annotated
with `ToolContext` is handed the context and is not part of the schema. What the function returns is what the model
reads: a string as it is, a `ToolResult` whole, anything else as JSON.
"""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import functools
import inspect
import itertools
import json
import re
import threading
import typing
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar, get_args, overload

from pydantic import BaseModel, ConfigDict, Field, create_model
from pydantic.errors import PydanticUserError
from pydantic.fields import FieldInfo

from joey.actions import Action
from joey.errors import UsageError
from joey.messages import ToolResult
from joey.tools.base import Tool, ToolContext, ok
from joey.tools.restrict import mentioned_paths, path_actions
from joey.toolspec import Group

MARK = "__joey_tool__"
DEFAULT_TIMEOUT = 60.0

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,63}")
_ARGUMENT_LINE = re.compile(r"(\s*)\*{0,2}(\w+)\s*(?:\([^)]*\))?\s*:\s*(.*)")
_SECTIONS = re.compile(r"(Args|Arguments|Parameters|Returns|Return|Raises|Yields|Examples?|Notes?):\s*")

FunctionT = TypeVar("FunctionT", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class ToolMark:
    """What `@joey.tool` says about a function."""

    name: str | None = None
    group: Group = "command"
    timeout: float = DEFAULT_TIMEOUT
    aliases: tuple[str, ...] = ()


@overload
def tool(function: FunctionT, /) -> FunctionT: ...
@overload
def tool(
    *,
    name: str | None = None,
    group: Group = "command",
    timeout: float = DEFAULT_TIMEOUT,
    aliases: tuple[str, ...] = (),
) -> Callable[[FunctionT], FunctionT]: ...
def tool(
    function: Callable[..., Any] | None = None,
    /,
    *,
    name: str | None = None,
    group: Group = "command",
    timeout: float = DEFAULT_TIMEOUT,
    aliases: tuple[str, ...] = (),
) -> Any:
    """Mark a function with type hints as a tool. The group decides the modes that offer it."""
    mark = ToolMark(name, group, timeout, aliases)

    def marked(function: Callable[..., Any]) -> Callable[..., Any]:
        setattr(function, MARK, mark)
        return function

    return marked if function is None else marked(function)


class FunctionTool(Tool[BaseModel]):
    """A function as a tool. Raises UsageError, with what to change, for a function that cannot be one."""

    def __init__(self, function: Callable[..., Any], mark: ToolMark | None = None) -> None:
        mark = mark or getattr(function, MARK, None) or ToolMark()
        words = _Docstring(function)
        self._function = function
        self.name = mark.name or function.__name__
        self.group = mark.group
        self.aliases = mark.aliases
        self.timeout = mark.timeout
        self.description = words.summary
        if not _NAME.fullmatch(self.name):
            raise UsageError(f"{self.name!r} is not a valid tool name; use up to 64 letters, digits, _ and -")
        if self.group not in get_args(Group):
            raise UsageError(f"there is no group {self.group!r}; groups are {', '.join(get_args(Group))}")
        if not words.summary:
            raise UsageError(f"the function {self.name!r} needs a docstring: it is what the model reads")
        self._context_name, self._names, self.params = _parameters(function, words)

    def actions(self, params: BaseModel, context: ToolContext) -> tuple[Action, ...]:
        arguments = params.model_dump(mode="json", by_alias=True)
        return (*path_actions(self.group, arguments), *mentioned_paths(self.group, arguments))

    async def run(self, params: BaseModel, context: ToolContext) -> ToolResult:
        arguments = {name: getattr(params, field) for field, name in self._names.items()}
        if self._context_name is not None:
            arguments[self._context_name] = context
        if inspect.iscoroutinefunction(self._function):
            return _as_result(await self._function(**arguments))
        return _as_result(await _in_thread(functools.partial(self._function, **arguments)))


async def _in_thread(function: Callable[[], Any]) -> Any:
    """Run a blocking function in a daemon thread, so that one that never ends cannot keep Joey from ending."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[Any] = loop.create_future()
    context = contextvars.copy_context()

    def settle(value: Any, error: BaseException | None) -> None:
        if not future.done():
            future.set_exception(error) if error is not None else future.set_result(value)

    def work() -> None:
        value, error = None, None
        try:
            value = context.run(function)
        except BaseException as raised:  # noqa: BLE001 - carried over to whoever awaits
            error = as_exception(raised)
        with contextlib.suppress(RuntimeError):  # the loop has closed: nobody waits any more
            loop.call_soon_threadsafe(settle, value, error)

    threading.Thread(target=work, daemon=True, name="joey-custom-tool").start()
    return await future


def as_exception(raised: BaseException) -> Exception:
    """What a tool raised, as an error that a future can hold and that ends nothing but the call."""
    if isinstance(raised, Exception) and not isinstance(raised, StopIteration):
        return raised
    what = f"called exit({raised.code})" if isinstance(raised, SystemExit) else f"raised {type(raised).__name__}"
    return RuntimeError(f"the tool {what}").with_traceback(raised.__traceback__)


def _as_result(value: Any) -> ToolResult:
    if isinstance(value, ToolResult):
        return value
    if value is None:
        return ok("Done.")
    return ok(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=2, default=str))


def _parameters(function: Callable[..., Any], words: _Docstring) -> tuple[str | None, dict[str, str], type[BaseModel]]:
    """The parameter that wants the context, the others by field, and the model of the others.

    Fields have names of their own, with the parameter's as alias: a parameter may be called `json` or `_x`.
    """
    hints = _hints(function)
    context_name: str | None = None
    names: dict[str, str] = {}
    fields: dict[str, Any] = {}
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
            raise UsageError(f"the parameter {parameter} of {function.__name__!r} cannot be given by name")
        if parameter.name not in hints:
            raise UsageError(f"the parameter {parameter.name!r} of {function.__name__!r} needs a type hint")
        if hints[parameter.name] is ToolContext:
            context_name = parameter.name
            continue
        field = f"argument_{len(names)}"
        names[field] = parameter.name
        fields[field] = (hints[parameter.name], _field(parameter, hints[parameter.name], words))
    config = ConfigDict(extra="forbid", frozen=True, arbitrary_types_allowed=False)
    try:
        return context_name, names, create_model(f"{function.__name__}_params", __config__=config, **fields)
    except PydanticUserError as error:
        reason = str(error).partition("\n")[0]
        raise UsageError(f"a type hint of {function.__name__!r} cannot be used: {reason}") from None


def _hints(function: Callable[..., Any]) -> dict[str, Any]:
    try:
        return typing.get_type_hints(function, include_extras=True)
    except (NameError, SyntaxError) as error:
        raise UsageError(f"a type hint of {function.__name__!r} cannot be resolved: {error}") from None


def _field(parameter: inspect.Parameter, hint: Any, words: _Docstring) -> FieldInfo:
    default = ... if parameter.default is parameter.empty else parameter.default
    own = [each.description for each in getattr(hint, "__metadata__", ()) if isinstance(each, FieldInfo)]
    described = next(filter(None, own), None) or words.arguments.get(parameter.name)
    description = described or f"The {parameter.name.strip('_').replace('_', ' ')}."
    made: FieldInfo = Field(default=default, alias=parameter.name, description=description)
    return made


class _Docstring:
    """A docstring in the Google style: the words before the first section, and what `Args:` says of each parameter."""

    def __init__(self, function: Callable[..., Any]) -> None:
        lines = (inspect.getdoc(function) or "").splitlines()
        starts = [i for i, line in enumerate(lines) if _SECTIONS.fullmatch(line)]
        self.summary = "\n".join(lines[: starts[0]] if starts else lines).strip()
        self.arguments: dict[str, str] = {}
        for start, end in itertools.pairwise([*starts, len(lines)]):
            if lines[start].startswith(("Args", "Arguments", "Parameters")):
                self._read_arguments(lines[start + 1 : end])

    def _read_arguments(self, lines: list[str]) -> None:
        name, depth = "", 0
        for line in filter(str.strip, lines):
            found = _ARGUMENT_LINE.fullmatch(line)
            indent = len(line) - len(line.lstrip())
            if found and (not name or indent <= depth):
                name, depth = found[2], indent
                self.arguments[name] = found[3].strip()
            elif name:
                self.arguments[name] = f"{self.arguments[name]} {line.strip()}".strip()
