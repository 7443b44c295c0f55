"""Joey: a coding agent for the terminal, and the streaming tool-call parsers under it.

Names load when they are first used, so that `import joey` and `joey --version` cost next to nothing.

`python -m joey` looks for modules in the current folder first, which may be anybody's project: a `json.py` there would
be run in place of Python's. So the folder is taken off the path here, before anything else is imported (`__future__` is
a file like any other). What Python imports before, to find this package, is beyond us: a `joey` or `importlib.py` there
is run. The program `joey` and `python -P -m joey` never look there.
"""

import sys


def _is_run_as_a_module() -> bool:
    """Whether Python is about to run a module of this package by `-m`, and looks in the current folder for it."""
    if getattr(sys, "argv", [])[:1] != ["-m"] or sys.flags.safe_path:  # Python's mark while it looks for the module
        return False
    module = sys.orig_argv[-len(sys.argv)]  # in front of the arguments: `-m joey …`, or in one word, `-Bmjoey …`
    if module.startswith("-"):
        module = module.partition("m")[2]
    return module == "joey" or module.startswith("joey.")


if _is_run_as_a_module():
    del sys.path[0]

__version__ = "0.1.0"

TYPE_CHECKING = False
if TYPE_CHECKING:
    from joey import protocols as protocols
    from joey.app.embedded import Task as Task
    from joey.app.embedded import TaskResult as TaskResult
    from joey.app.embedded import run as run
    from joey.errors import JoeyError as JoeyError
    from joey.errors import UsageError as UsageError
    from joey.events import ApprovalRequested as ApprovalRequested
    from joey.events import CompletionRequested as CompletionRequested
    from joey.events import ContinueRequested as ContinueRequested
    from joey.events import QuestionRequested as QuestionRequested
    from joey.events import TaskFinished as TaskFinished
    from joey.events import TextDelta as TextDelta
    from joey.events import ToolRunFinished as ToolRunFinished
    from joey.events import ToolRunStarted as ToolRunStarted
    from joey.hooks.hook import hook as hook
    from joey.protocols import parse as parse
    from joey.providers import Provider as Provider
    from joey.providers import ProviderError as ProviderError
    from joey.providers import open_model as open_model
    from joey.tools.base import Tool as Tool
    from joey.tools.base import ToolContext as ToolContext
    from joey.tools.function import tool as tool
    from joey.toolspec import ToolSpec as ToolSpec

_MODULES = {
    "joey.app.embedded": ("Task", "TaskResult", "run"),
    "joey.errors": ("JoeyError", "UsageError"),
    "joey.events": (
        "ApprovalRequested",
        "CompletionRequested",
        "ContinueRequested",
        "QuestionRequested",
        "TaskFinished",
        "TextDelta",
        "ToolRunFinished",
        "ToolRunStarted",
    ),
    "joey.hooks.hook": ("hook",),
    "joey.protocols": ("parse",),
    "joey.providers": ("Provider", "ProviderError", "open_model"),
    "joey.tools.base": ("Tool", "ToolContext"),
    "joey.tools.function": ("tool",),
    "joey.toolspec": ("ToolSpec",),
}
_MODULE_OF = {name: module for module, names in _MODULES.items() for name in names}

__all__ = ["__version__", "protocols", *_MODULE_OF]  # noqa: PLE0604 - they are strings


def __getattr__(name: str) -> object:
    import importlib  # noqa: PLC0415 - only a first use pays for it

    if name == "protocols":
        return importlib.import_module("joey.protocols")
    if name in _MODULE_OF:
        return getattr(importlib.import_module(_MODULE_OF[name]), name)
    raise AttributeError(f"module 'joey' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
