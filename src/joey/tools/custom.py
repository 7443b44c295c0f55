"""Tools that people write: Python files in `.joey/tools/` of the workspace and `tools/` of the user's folder.

A file may define any number of tools: functions under `@joey.tool`, and subclasses of `Tool`. Files whose names begin
with an underscore are left alone. The workspace's tools are loaded only if the user trusts it (`system.trust`); a
tool of the workspace beats the user's tool of the same name.

Loading runs a file, once for each content it has had: the file's bytes decide, not its time stamp. A file that fails
is reported with the line that failed, and its tools are not there.

Every custom tool is wrapped in `LeashedTool`: it declares the action `RunCode`, so that it runs only if approved; what
it would touch is asked before and held to; it ends at its timeout; and what it raises becomes a result.
"""

from __future__ import annotations

import asyncio
import hashlib
import inspect
import sys
import traceback
import types
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias, cast

from pydantic import BaseModel
from pydantic.errors import PydanticUserError

from joey.actions import Action, RunCode
from joey.bounded.files import read_regular
from joey.bounded.formats import Problem
from joey.errors import UsageError
from joey.messages import ToolResult
from joey.system.folders import project_folder
from joey.system.trust import TrustStore
from joey.tools.base import Plan, Tool, ToolContext, failed
from joey.tools.display import Display
from joey.tools.function import DEFAULT_TIMEOUT, MARK, FunctionTool, as_exception
from joey.wire import JsonObject

_Declared: TypeAlias = Callable[[], tuple[Action, ...]]


class LeashedTool(Tool[BaseModel]):
    """Somebody's tool, made safe to offer."""

    def __init__(self, inner: Tool[Any], origin: Path) -> None:
        self.inner, self.origin = inner, origin
        self.name, self.group, self.params = inner.name, inner.group, inner.params
        display = getattr(inner, "display", None)  # whatever the file says
        self.display = display if isinstance(display, Display) else Display()
        self.aliases, self.field_aliases, self.example = inner.aliases, inner.field_aliases, inner.example
        self.feature, self.opt_in = inner.feature, inner.opt_in
        self.description, self.schema = inner.description, _schema(inner)
        self.timeout = _seconds(inner)

    def actions(self, params: BaseModel, context: ToolContext) -> tuple[Action, ...]:
        return (RunCode(self.name, str(self.origin)), *self.inner.actions(params, context))

    async def plan(self, params: BaseModel, context: ToolContext) -> Plan:
        """Only what the tool declares: its own `plan` is its code too, and runs with approval."""
        return Plan((), lambda: self._run(params, context, lambda: context.declared))

    async def run(self, params: BaseModel, context: ToolContext) -> ToolResult:
        return await self._run(params, context, lambda: self.inner.actions(params, context))

    async def _run(self, params: BaseModel, context: ToolContext, declared: _Declared) -> ToolResult:
        limit = asyncio.timeout(self.timeout)
        try:
            async with limit:
                result = await self._inner_run(params, context, declared)
        except (Exception, SystemExit, asyncio.CancelledError) as error:
            if limit.expired():
                return self._too_slow()
            if isinstance(error, asyncio.CancelledError) and _is_cancelled():
                raise
            return self._raised(as_exception(error))
        if not isinstance(result, ToolResult):
            return failed(f"{self.name} answered with {type(result).__name__} instead of a ToolResult ({self.origin}).")
        return result

    async def _inner_run(self, params: BaseModel, context: ToolContext, declared: _Declared) -> Any:
        plan = await self.inner.plan(params, context)
        if plan.refusal is not None:
            return plan.refusal
        undeclared = set(plan.actions) - set(declared())
        if undeclared:
            return failed(f"{self.name} would do more than it declared: {', '.join(map(repr, undeclared))}.")
        return await plan.execute()

    def _too_slow(self) -> ToolResult:
        return failed(
            f"{self.name} did not finish within {self.timeout:g} s and was abandoned. "
            "Work that it has started in a thread may still continue."
        )

    def _raised(self, error: Exception) -> ToolResult:
        line = _line_in(self.origin, error)
        return failed(f"{self.name} failed: {type(error).__name__}: {error} ({self.origin.name}, line {line})")


def _schema(tool: Tool[Any]) -> JsonObject:
    try:
        return tool.schema
    except PydanticUserError as error:
        reason = str(error).partition("\n")[0]
        raise UsageError(f"the parameters of {tool.name!r} have no JSON Schema: {reason}") from None


def _seconds(tool: Tool[Any]) -> float:
    timeout = getattr(tool, "timeout", DEFAULT_TIMEOUT)
    if isinstance(timeout, bool) or not isinstance(timeout, int | float) or not timeout > 0:
        raise UsageError(f"the timeout of {tool.name!r} must be greater than 0 seconds, not {timeout!r}")
    return float(timeout)


def _is_cancelled() -> bool:
    """Whether the call itself is cancelled. If not, a CancelledError is the tool's: of a request it made, say."""
    current = asyncio.current_task()
    return current is not None and current.cancelling() > 0


@dataclass(frozen=True, slots=True)
class CustomTools:
    """The custom tools there are now, and what is wrong with their files."""

    tools: tuple[LeashedTool, ...] = ()
    problems: tuple[Problem, ...] = ()


class CustomToolLoader:
    """Loads custom tools: the user's again when their content has changed, a project's as they were at the first look.

    Commands of the model can write in the workspace. What they make there must not run in this process, so a project's
    file that came or changed since then counts only for the next loader, which is made for the next task.
    """

    def __init__(self, workspace: Path, user: Path, trust: TrustStore) -> None:
        self._workspace, self._user, self._trust = workspace, user, trust
        self._loaded: dict[Path, tuple[str, CustomTools]] = {}
        self._project: dict[Path, CustomTools] | None = None

    def load(self) -> CustomTools:
        """The tools of every file as it is now."""
        tools: dict[str, LeashedTool] = {}
        problems: list[Problem] = []
        for path in _tool_files(self._user / "tools"):
            self._add(path, tools, problems)
        project = _tool_files(project_folder(self._workspace) / "tools")
        if project and not self._trust.trusts(self._workspace):
            problems += [Problem(str(path), 1, f"not loaded: {_UNTRUSTED}") for path in project]
        else:
            if self._project is None:
                self._project = {path: self._file(path) for path in project}
            for found in self._project.values():
                tools.update({tool.name: tool for tool in found.tools})
                problems += found.problems
        return CustomTools(tuple(tools.values()), tuple(problems))

    def _add(self, path: Path, tools: dict[str, LeashedTool], problems: list[Problem]) -> None:
        found = self._file(path)
        tools.update({tool.name: tool for tool in found.tools})
        problems += found.problems

    def _file(self, path: Path) -> CustomTools:
        try:
            source = read_regular(path)
        except OSError as error:
            return CustomTools(problems=(Problem(str(path), 1, f"cannot be read: {error.strerror}"),))
        digest = hashlib.sha256(source).hexdigest()
        if path not in self._loaded or self._loaded[path][0] != digest:
            self._loaded[path] = (digest, load_tool_file(path, source))
        return self._loaded[path][1]


_UNTRUSTED = "this workspace is not trusted. If you know what is in these files, run `joey tools --trust` here"


def _tool_files(folder: Path) -> list[Path]:
    if not folder.is_dir():
        return []
    return sorted(path for path in folder.glob("*.py") if not path.is_dir() and not path.name.startswith("_"))


def load_tool_file(path: Path, source: bytes) -> CustomTools:
    """Run one file and take the tools it defines. This executes the file: ask `TrustStore` first."""
    name = f"joey_custom_tools.{path.stem}_{hashlib.sha256(str(path).encode()).hexdigest()[:8]}"
    module = types.ModuleType(name)
    module.__file__ = str(path)
    sys.modules[name] = module  # type hints and dataclasses look their module up there
    try:
        # Compiled here and not imported: an import would trust time stamps and leave __pycache__ in the project.
        exec(compile(source, str(path), "exec", dont_inherit=True), module.__dict__)  # noqa: S102
    except (Exception, SystemExit) as error:  # noqa: BLE001 - somebody else's code may raise anything
        message = f"cannot be loaded: {type(error).__name__}: {error}"
        return CustomTools(problems=(Problem(str(path), _line_in(path, error), message),))
    return _tools_of(module, path)


def _tools_of(module: types.ModuleType, path: Path) -> CustomTools:
    tools: dict[str, LeashedTool] = {}
    problems: list[Problem] = []
    for value in list(vars(module).values()):
        if not _defines_a_tool(value, module.__name__):
            continue
        line = _line_of(value)
        try:
            tool = LeashedTool(_made(value), path)
        except UsageError as error:
            problems.append(Problem(str(path), line, str(error)))
        except Exception as error:  # noqa: BLE001 - a class of somebody else's, made for the first time
            problems.append(
                Problem(str(path), line, f"{value.__name__} cannot be made: {type(error).__name__}: {error}")
            )
        else:
            if tool.name in tools:
                problems.append(Problem(str(path), line, f"a tool {tool.name!r} came before in this file"))
            tools.setdefault(tool.name, tool)
    if not tools and not problems:
        problems.append(Problem(str(path), 1, "defines no tool: no function under @joey.tool and no Tool class"))
    return CustomTools(tuple(tools.values()), tuple(problems))


def _made(value: Any) -> Tool[Any]:
    return FunctionTool(value) if inspect.isfunction(value) else cast("Tool[Any]", value())


def _defines_a_tool(value: Any, module: str) -> bool:
    if inspect.isclass(value):
        return issubclass(value, Tool) and value.__module__ == module and not inspect.isabstract(value)
    return inspect.isfunction(value) and hasattr(value, MARK)


def _line_of(value: Any) -> int:
    if inspect.isfunction(value):
        return value.__code__.co_firstlineno
    methods: Iterable[Any] = (each for each in vars(value).values() if inspect.isfunction(each))
    return min((method.__code__.co_firstlineno for method in methods), default=1)


def _line_in(path: Path, error: BaseException) -> int:
    """The last line of the file that the error went through."""
    if isinstance(error, SyntaxError) and error.filename == str(path):
        return error.lineno or 1
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(path)]
    return (frames[-1].lineno or 1) if frames else 1
