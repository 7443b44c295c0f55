"""What a program gives to `joey.Task`, checked before anything is opened: what is wrong is a UsageError that says what
would be right."""

from __future__ import annotations

import difflib
import functools
import inspect
import sys
from collections.abc import Awaitable, Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Literal, ParamSpec, TypeAlias

from joey.config.files import Value, check_setting
from joey.config.keys import BY_NAME
from joey.config.kinds import LIST
from joey.errors import UsageError
from joey.events import ApprovalRequested
from joey.hooks.hook import Hook
from joey.messages import ImageBlock
from joey.policy.settings import PROFILES, Settings
from joey.providers import Provider
from joey.tools.base import Tool
from joey.tools.custom import LeashedTool
from joey.tools.function import FunctionTool

Approver: TypeAlias = Callable[[ApprovalRequested], bool | str | Awaitable[bool | str]]
"""Decides about one call: True runs it, False does not, and a text is the reason for a no, which the model reads."""
ModelChoice: TypeAlias = str | Provider | tuple[Provider, str]
Toolable: TypeAlias = Callable[..., Any] | Tool[Any] | type[Tool[Any]]
Unanswered: TypeAlias = Literal["default", "wait"]
P = ParamSpec("P")


def checked_names(init: Callable[P, None]) -> Callable[P, None]:
    """Refuses options that there are not, with what would be right."""
    names = tuple(inspect.signature(init).parameters)[1:]

    @functools.wraps(init)
    def checked(*args: P.args, **options: P.kwargs) -> None:
        for name in options:
            if name not in names:
                raise UsageError(f"there is no option {name!r}; {_nearest(name, names)}")
        init(*args, **options)

    return checked


def _nearest(name: str, names: tuple[str, ...]) -> str:
    setting = next((key for key in BY_NAME if name in (key, key.rpartition(".")[2])), None)
    if setting is not None:
        return f'it is a setting: settings={{"{setting}": …}}'
    near = difflib.get_close_matches(name, names, n=1)
    return f"did you mean {near[0]!r}?" if near else f"the options are {', '.join(names)}"


def text(name: str, given: Any) -> str:
    if not isinstance(given, str):
        raise UsageError(f"{name} is a text, not {given!r}")
    return given


def optional_text(name: str, given: Any) -> str | None:
    return None if given is None else text(name, given)


def folder(name: str, given: Any) -> Path:
    if not isinstance(given, str | Path):
        raise UsageError(f"{name} is the path of a folder, not {given!r}")
    return Path(given).absolute()


def approval(approve: str | Approver | None) -> tuple[str | None, Approver | None]:
    """A profile, or a function."""
    if callable(approve):
        return None, approve
    if approve is not None and not isinstance(approve, str):
        raise UsageError(f"approve is a profile ({', '.join(PROFILES)}) or a function, not {approve!r}")
    if approve is not None:
        Settings.for_profile(approve)
    return approve, None


def opened_model(model: ModelChoice | None, *, config: bool) -> tuple[Provider, str] | None:
    """The model that the program has opened; None if it is to be opened by its name."""
    match model:
        case None if not config:
            raise UsageError("without the configuration there is no default model; name one: model=…")
        case None | str():
            return None
        case Provider():
            return model, model.name
        case (Provider() as provider, str() as name):
            return provider, name
    raise UsageError(f"model is a name such as 'anthropic/…' or a Provider, not {model!r}")


def tools_from(given: Any) -> tuple[Tool[Any], ...]:
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise UsageError(f"tools is a list: tools=[{getattr(given, '__name__', repr(given))}]")
    return tuple(map(_as_tool, given))


def _as_tool(value: Toolable) -> Tool[Any]:
    """A tool that a program gives, guarded like those of files: it ends in time, and what it raises is a result."""
    if isinstance(value, type) and issubclass(value, Tool):
        try:
            value = value()
        except TypeError as error:
            raise UsageError(f"{error}; finish the class, or give an object of it: tools=[…(…)]") from None
    if isinstance(value, Tool):
        return LeashedTool(value, Path(getattr(sys.modules[type(value).__module__], "__file__", None) or "<input>"))
    if inspect.isfunction(value) or inspect.ismethod(value):
        return LeashedTool(FunctionTool(value), Path(value.__code__.co_filename))
    raise UsageError(f"a tool is a function or a subclass of joey.Tool, not {value!r}")


def hooks_from(given: Any) -> tuple[Hook, ...]:
    listed = list(given) if isinstance(given, Iterable) and not isinstance(given, str) else None
    if listed is None or not all(isinstance(each, Hook) for each in listed):
        raise UsageError(f"hooks is a list of functions made with @joey.hook(…), not {given!r}")
    return tuple(listed)


def split_images(images: Any) -> tuple[tuple[str, ...], tuple[ImageBlock, ...]]:
    """The files among the images, and the others."""
    if isinstance(images, str | Path):
        images = [images]
    if isinstance(images, bytes) or not isinstance(images, Iterable):
        raise UsageError(f"images is a list of paths and ImageBlocks, not {images!r}")
    given = list(images)
    files = tuple(str(image) for image in given if not isinstance(image, ImageBlock))
    return files, tuple(image for image in given if isinstance(image, ImageBlock))


def rules(name: str, given: Any) -> tuple[str, ...]:
    if isinstance(given, str):
        raise UsageError(f"{name} is a list of rules: {name}=[{given!r}]")
    listed = list(given) if isinstance(given, Iterable) else given
    if not LIST.matches(listed):
        raise UsageError(f"{name} is a list of rules, such as {name}=['pytest'], not {listed!r}")
    return tuple(listed)


def checked_settings(settings: Any) -> dict[str, Value]:
    if settings is None:
        return {}
    if not isinstance(settings, Mapping) or not all(isinstance(name, str) for name in settings):
        raise UsageError(f'settings is a dict by full names, such as {{"limits.max_turns": 20}}, not {settings!r}')
    return {name: Value(check_setting(name, value), f"settings[{name!r}]") for name, value in settings.items()}


def store_outside(workspace: Path, store: str | Path | None) -> Path | None:
    """Where tasks are saved: a place that the model does not work in."""
    if store is None:
        return None
    place = folder("store", store)
    if place.resolve().is_relative_to(workspace.resolve()):
        raise UsageError(
            f"store is inside the workspace, where tools could change it; take a folder outside {workspace}"
        )
    return place
