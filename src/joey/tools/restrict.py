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

from joey.actions import Action, MentionPaths, ReadPath, WritePath
from joey.bounded.regexes import PatternError, SlowPatternError
from joey.modes.mode import GroupRule, Mode
from joey.system.addresses import addressed_files, is_address
from joey.system.filenames import quoted
from joey.toolspec import Group
from joey.wire import JsonValue

_PATH_NAME = re.compile(
    r"(?i:(.*[_-])?(path|file|file_?name|filepath|dir|directory|folder|source|destination)s?)|.*(Path|File|Dir)s?",
    re.DOTALL,
)
_PATH_KEY = re.compile(r"[/\\~.]")
"""A name of an argument that may be a path itself, as in a table of files and what is to be written in each."""
_QUOTED = re.compile(r'"(?:[^"\\]|\\.)*"')
_MAX_LAYERS = 3
"""Of JSON in texts of JSON."""


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
    paths = dict.fromkeys(_named_paths(arguments))
    return tuple(ReadPath(path) if group == "read" else WritePath(path) for path in paths)


def _named_paths(arguments: JsonValue) -> Iterator[str]:
    for name, text in _strings(arguments):
        stripped = text.strip()
        if name is None:
            continue
        if addressed := addressed_files(stripped):
            yield from addressed
        elif _PATH_NAME.fullmatch(name.strip()) and _may_be_path(stripped):
            yield from (text, stripped)


def mentioned_paths(group: Group, arguments: JsonValue) -> tuple[Action, ...]:
    """The other texts in the arguments of such a tool, wherever they stand: the policy sees which are paths."""
    named = set(_named_paths(arguments))
    texts = (text for text in _texts(arguments, _MAX_LAYERS) if not named.issuperset(addressed_files(text) or (text,)))
    unique = tuple(dict.fromkeys(texts))
    return (MentionPaths(unique, writes=group != "read"),) if unique else ()


def _texts(value: JsonValue, layers: int) -> Iterator[str]:
    """Every text in a value, keys that may be paths included, and those in a text that is JSON itself."""
    for name, text in _strings(value):
        stripped = text.strip()
        if not stripped or (name is None and not _PATH_KEY.search(stripped)):
            continue
        yield stripped
        if layers and stripped[0] in '{["':
            yield from _texts(_decoded(stripped), layers - 1)


def _strings(value: JsonValue) -> Iterator[tuple[str | None, str]]:
    """Every text with the name of its argument, which is its list's if it is in one, and every key, without a name.
    However deep the value is, this is not: a model may write what it likes."""
    left: list[tuple[str, JsonValue]] = [("", value)]
    while left:
        name, item = left.pop()
        if isinstance(item, dict):
            yield from ((None, str(key)) for key in item)
            left += reversed([(str(key), each) for key, each in item.items()])
        elif isinstance(item, (list, tuple)):
            left += reversed([(name, each) for each in item])
        elif isinstance(item, str):
            yield name, item


def _decoded(text: str) -> JsonValue:
    """What a text is as JSON. If that is too deep to read, all that is quoted in it."""
    try:
        found: JsonValue = json.loads(text)
    except ValueError:
        return None
    except RecursionError:
        return [each.strip('"') for each in _QUOTED.findall(text)]
    return found


def _may_be_path(text: str) -> bool:
    """An address or a text of several lines is none, unless `..` leads a tool that takes it for one somewhere else."""
    return bool(text) and (".." in text.split("/") or not (is_address(text) or "\n" in text))
