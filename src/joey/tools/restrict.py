"""A mode's file restriction: which files a call may change, checked on where they really are.

The rule is judged against what the call would do (its `WritePath` actions), not against arguments with certain names,
so that it holds for every file of a patch, for both ends of a move, for a generated image, and for the tools of MCP
servers and of users. The path is normalised first (`x.md/../a.py` is `a.py`), and where a symbolic link leads is
judged as well: both must match.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from urllib.parse import unquote

from joey.actions import Action, MentionPaths, ReadPath, WritePath
from joey.bounded.regexes import PatternError, SlowPatternError
from joey.modes.mode import GroupRule, Mode
from joey.system.filenames import quoted
from joey.toolspec import Group
from joey.wire import JsonValue

_PATH_NAME = re.compile(
    r"(?i:(.*[_-])?(path|file|file_?name|filepath|dir|directory|folder|source|destination)s?)|.*(Path|File|Dir)s?",
    re.DOTALL,
)
_PATH_KEY = re.compile(r"[/\\~]|\.\.")
"""A name of an argument that may be a path itself."""
_FILE_ADDRESS = re.compile(r"file:(?=/)(?://)?(.+)", re.IGNORECASE)
_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")


def file_refusal(tool_name: str, group: Group, mode: Mode, actions: Iterable[Action], workspace: Path) -> str | None:
    """Why the mode does not permit these changes, or None if it does."""
    rules = [rule for rule in (mode.rule(group), mode.rule("edit")) if rule is not None]
    for action in actions:
        if not isinstance(action, WritePath):
            continue
        for rule in dict.fromkeys(rules):
            try:
                paths = judged_paths(action.path, workspace)
            except OSError as error:  # it changes while it is followed
                return f"{quoted(action.path)} cannot be followed ({error.strerror}); try again."
            if not all(map(rule.permits, paths)):
                return _refusal(tool_name, mode, rule, action.path) + _problem(rule, action.path)
    return None


def judged_paths(path: str, workspace: Path) -> set[str]:
    """A path as rules see it: relative to the workspace if it is inside, once as written and once through links."""
    written = Path(os.path.normpath(workspace / path))
    real = written if "\0" in path else Path(os.path.realpath(written))  # no file has such a name; the policy says so
    return {_relative(written, workspace), _relative(real, workspace.resolve())}


def _relative(path: Path, workspace: Path) -> str:
    return path.relative_to(workspace).as_posix() if path.is_relative_to(workspace) else path.as_posix()


def _refusal(tool_name: str, mode: Mode, rule: GroupRule, path: str) -> str:
    description = f" ({rule.description})" if rule.description else ""
    return (
        f"Tool '{tool_name}' in mode '{mode.name}' can only edit files matching pattern: "
        f"{rule.file_regex}{description}. Got: {quoted(path)}"
    )


def _problem(rule: GroupRule, path: str) -> str:
    try:
        rule.finds(path)
    except SlowPatternError as error:
        return f". It could not be checked: {error}"
    except PatternError:
        pass  # that it is none was reported when the mode was read
    return ""


def path_actions(group: Group, arguments: JsonValue) -> tuple[Action, ...]:
    """What a tool that we know only from outside (a server's, a user's) would touch, judged by its arguments' names.

    A tool of the group `read` is taken to read what it is given; any other may change it.
    """
    paths = dict.fromkeys(_named_paths(arguments, is_path=False))
    return tuple(ReadPath(path) if group == "read" else WritePath(path) for path in paths)


def _named_paths(value: JsonValue, *, is_path: bool) -> Iterator[str]:
    if isinstance(value, dict):
        for name, item in value.items():
            yield from _named_paths(item, is_path=_PATH_NAME.fullmatch(str(name).strip()) is not None)
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _named_paths(item, is_path=is_path)
    elif isinstance(value, str) and (address := _FILE_ADDRESS.fullmatch(value.strip())):
        _, slash, path = address[1].partition("/")
        yield from (unquote(slash + path), unquote(address[1]), address[1])  # whether or not the host is read as one
    elif is_path and isinstance(value, str) and _may_be_path(value.strip()):
        yield from dict.fromkeys((value, value.strip()))


def mentioned_paths(group: Group, arguments: JsonValue) -> tuple[Action, ...]:
    """The other texts in the arguments of such a tool, wherever they stand: the policy sees which are paths."""
    named = set(_named_paths(arguments, is_path=False))
    texts = (text for text in _texts(arguments) if text not in named and not _FILE_ADDRESS.match(text))
    unique = tuple(dict.fromkeys(texts))
    return (MentionPaths(unique, writes=group != "read"),) if unique else ()


def _texts(value: JsonValue, *, inner: bool = True) -> Iterator[str]:
    """Every text in a value, keys included, and those in a text that is JSON itself."""
    if isinstance(value, dict):
        for name, item in value.items():
            yield from [str(name).strip()] if _PATH_KEY.search(str(name)) else []
            yield from _texts(item, inner=inner)
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _texts(item, inner=inner)
    elif isinstance(value, str) and (text := value.strip()):
        yield text
        if inner and text[0] in '{["':
            try:
                found = json.loads(text)
            except (ValueError, RecursionError):
                return
            yield from _texts(found, inner=False)


def _may_be_path(text: str) -> bool:
    """An address or a text of several lines is none, unless `..` leads a tool that takes it for one somewhere else."""
    return bool(text) and (".." in text.split("/") or not (_ADDRESS.match(text) or "\n" in text))
