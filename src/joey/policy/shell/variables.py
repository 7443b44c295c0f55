"""Variables that may be set before a command (`CI=1 npm test`) or taken from it (`env -u CI npm test`): a short list of
those that change only how it prints.

A variable that is not here may name a program, a file of options or a folder of code, so the command is asked about. It
may also be one of those by which Joey holds commands: git's settings (`joey.system.git.quiet_git_environment`), PATH
without the folders of the workspace, the proxy and the folders of the sandbox.
"""

from __future__ import annotations

import re

_WORD = r"[A-Za-z0-9_.,:+@%-]*"
_VALUES = {
    **dict.fromkeys(
        [
            "CI", "DEBUG", "VERBOSE", "LOG_LEVEL", "LOGLEVEL", "NO_COLOR", "FORCE_COLOR", "CLICOLOR", "CLICOLOR_FORCE",
            "COLUMNS", "LINES", "LANG", "LANGUAGE", "LC_ALL", "LC_CTYPE", "LC_COLLATE", "LC_MESSAGES", "LC_NUMERIC",
            "LC_TIME", "PORT", "NODE_ENV", "APP_ENV", "RAILS_ENV", "RACK_ENV", "MIX_ENV", "ENVIRONMENT",
            "RUST_BACKTRACE", "RUST_LOG", "PYTHONUNBUFFERED", "PYTHONDONTWRITEBYTECODE", "PYTHONHASHSEED", "PYTHONUTF8",
            "PYTHONIOENCODING", "PY_COLORS", "GOOS", "GOARCH", "CGO_ENABLED", "SOURCE_DATE_EPOCH",
            "CARGO_TERM_COLOR", "JOBS", "CMAKE_BUILD_TYPE",
            "DOTNET_CLI_TELEMETRY_OPTOUT", "NEXT_TELEMETRY_DISABLED", "HYPOTHESIS_PROFILE",
        ],
        _WORD,
    ),
    "TERM": r"[A-Za-z0-9-]*",
    "TZ": r"[A-Za-z0-9_+-]+(?:/[A-Za-z0-9_+-]+){0,2}",
    "PAGER": "cat",
    "GIT_PAGER": "cat",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_OPTIONAL_LOCKS": "0",
}  # fmt: skip
_KEPT = frozenset({"PAGER", "GIT_PAGER", "GIT_TERMINAL_PROMPT", "GIT_OPTIONAL_LOCKS"})
"""May be set to one value, and are not taken away."""


_PROJECT_FOLDERS = re.compile(r"[A-Za-z0-9_-][\w.-]*(?:/[A-Za-z0-9_-][\w.-]*)*/?|\.")


def variable_problem(name: str, value: str, *, project_code: bool = False) -> str | None:
    """Why a command may not be given this variable unasked. What runs the project's code may get its folders."""
    if name == "PYTHONPATH" and project_code:
        inside = all(_PROJECT_FOLDERS.fullmatch(folder) for folder in value.split(":"))
        return None if inside else "PYTHONPATH leads out of the workspace"
    pattern = _VALUES.get(name)
    if pattern is None:
        return f"what setting {name} does to it is not known to be harmless"
    return None if re.fullmatch(pattern, value) else f"{name} is set to something other than a plain word"


def removal_problem(name: str) -> str | None:
    """Why this variable may not be taken from a command unasked."""
    if name in _VALUES and name not in _KEPT:
        return None
    return f"what a command does without the variable {name} is not known to be harmless"
