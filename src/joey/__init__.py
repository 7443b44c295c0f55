"""Joey: a coding agent for the terminal, and the streaming tool-call parsers under it.

Names load when they are first used, so that `import joey` and `joey --version` cost next to nothing.
"""

from __future__ import annotations

__version__ = "0.1.0"

TYPE_CHECKING = False
if TYPE_CHECKING:
    from joey import protocols as protocols
    from joey.errors import JoeyError as JoeyError
    from joey.protocols import parse as parse
    from joey.tools.function import tool as tool
    from joey.toolspec import ToolSpec as ToolSpec

_HOMES = {
    "JoeyError": "joey.errors",
    "ToolSpec": "joey.toolspec",
    "parse": "joey.protocols",
    "tool": "joey.tools.function",
}

__all__ = ["JoeyError", "ToolSpec", "__version__", "parse", "protocols", "tool"]


def __getattr__(name: str) -> object:
    import importlib  # noqa: PLC0415 - only a first use pays for it

    if name == "protocols":
        return importlib.import_module("joey.protocols")
    if name in _HOMES:
        return getattr(importlib.import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'joey' has no attribute {name!r}")
