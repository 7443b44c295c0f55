"""The built-in tools. A tool is a pair: `read_file.py` is the code, `read_file.md` the words the model reads.

To add one, write the pair: the one `Tool` of each module here is found. Models see them in the order of the modules'
names; it never depends on anything else, so that prompt caches hold.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

from joey.tools.base import Tool
from joey.tools.display import Display
from joey.tools.options import BuiltinOptions


def builtin_tools(options: BuiltinOptions | None = None) -> tuple[Tool[Any], ...]:
    """Every built-in tool, made for these options, in the order models see them."""
    options = options or BuiltinOptions()
    return tuple(tool.configured(options) for tool in _classes())


@cache
def _classes() -> tuple[type[Tool[Any]], ...]:
    return tuple(_tool_in(f"{__name__}.{each.name}") for each in iter_modules(__path__))


def _tool_in(module: str) -> type[Tool[Any]]:
    (found,) = (
        each
        for each in vars(import_module(module)).values()
        if isinstance(each, type) and issubclass(each, Tool) and each.__module__ == module
    )
    return found


def builtin_display(name: str) -> Display:
    """How calls of a tool are shown, by the name that a model called it; the default for all that is not built in."""
    return _displays().get(name, _DEFAULT)


_DEFAULT = Display()


@cache
def _displays() -> dict[str, Display]:
    return {name: tool.display for tool in _classes() for name in (*tool.aliases, tool.name)}
