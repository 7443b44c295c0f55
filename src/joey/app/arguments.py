"""What a program gives to `joey.Task`, checked before anything is opened: what is wrong is a UsageError that says what
would be right."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Awaitable, Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Literal, TypeAlias

from joey.config.files import Value, check_setting
from joey.errors import UsageError
from joey.events import ApprovalRequested
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


def as_tool(value: Toolable) -> Tool[Any]:
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


def split_images(images: Iterable[str | Path | ImageBlock]) -> tuple[tuple[str, ...], tuple[ImageBlock, ...]]:
    """The files among the images, and the others."""
    if isinstance(images, str | Path):
        images = [images]
    given = list(images)
    files = tuple(str(image) for image in given if not isinstance(image, ImageBlock))
    return files, tuple(image for image in given if isinstance(image, ImageBlock))


def rules(name: str, given: Iterable[str]) -> tuple[str, ...]:
    if isinstance(given, str):
        raise UsageError(f"{name} is a list of rules: {name}=[{given!r}]")
    return tuple(given)


def checked_settings(settings: Mapping[str, Any]) -> dict[str, Value]:
    return {name: Value(check_setting(name, value), f"settings[{name!r}]") for name, value in settings.items()}


def store_outside(workspace: Path, store: str | Path | None) -> Path | None:
    """Where tasks are saved: a place that the model does not work in."""
    if store is None:
        return None
    folder = Path(store).absolute()
    if folder.resolve().is_relative_to(workspace.resolve()):
        raise UsageError(
            f"store is inside the workspace, where tools could change it; take a folder outside {workspace}"
        )
    return folder
