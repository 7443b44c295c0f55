"""Agents from Markdown, in the form that Claude Code gave them: a mode that a subtask can have.

    ---
    name: reviewer
    description: Reviews a change. Use it after code was written.
    tools: Read, Grep, Glob
    ---
    You review changes …

The text is the role, the description says when to use it, and the tools decide which groups the mode has: a group is
there if one of its tools is named, and all are where no tools are. What else stands in the front matter (`model`,
`color` and so on) is left alone: a subtask works with the model of its task.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from joey.bounded.files import read_regular_text
from joey.bounded.formats import FormatError, Problem
from joey.bounded.formats.yaml import read_yaml
from joey.modes.mode import MODE_GROUPS, GroupRule, Mode, Origin
from joey.toolspec import Group

_FRONT = re.compile(r"\A---[ \t]*\n(.*?)(?:\n)?^---[ \t]*(?:\n|\Z)", re.DOTALL | re.MULTILINE)
_KEYS = (
    "name|description|tools|disallowedTools|model|color|permissionMode|skills|hooks|memory|mcpServers|maxTurns|background"
    "|effort|isolation|initialPrompt"
)
_LINE = re.compile(rf"^({_KEYS}):[ \t]*(.*?)(?=^(?:{_KEYS}):|\Z)", re.MULTILINE | re.DOTALL)
_SLUG = re.compile(r"[a-zA-Z0-9-]+")
_MAX_BYTES = 256 * 1024
_GROUPS: dict[str, Group] = {
    **dict.fromkeys(("Read", "Grep", "Glob", "LS", "NotebookRead"), "read"),
    **dict.fromkeys(("Edit", "Write", "MultiEdit", "NotebookEdit"), "edit"),
    **dict.fromkeys(("Bash", "Monitor"), "command"),  # BashOutput and KillShell alone run nothing
    **dict.fromkeys(("WebFetch", "WebSearch"), "browser"),
}


def read_agent_file(path: Path, origin: Origin) -> tuple[list[Mode], list[Problem]]:
    """The agent of a file as a mode, or what is wrong with it."""
    try:
        text = read_regular_text(path, _MAX_BYTES).replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        return [], [Problem(str(path), 1, f"is not UTF-8 (byte {error.start})")]
    except OSError as error:
        return [], [Problem(str(path), 1, f"cannot be read: {error.strerror}")]
    front = _FRONT.match(text)
    if front is None:
        return [], [Problem(str(path), 1, "an agent begins with front matter between two lines of `---`")]
    about, role = _about(front[1]), text[front.end() :].strip()
    name = " ".join(str(about.get("name") or path.stem).split())
    slug = name if _SLUG.fullmatch(name) else re.sub(r"[ _]+", "-", name).lower()
    if not _SLUG.fullmatch(slug):
        return [], [Problem(str(path), 1, f"'name' is letters, digits and hyphens, got {name[:80]!r}")]
    if not role:
        return [], [Problem(str(path), 1, "an agent needs a text: what it is, and how it works")]
    words = " ".join(str(about.get("description") or "").split())
    groups = _groups(_names(about.get("tools")), _names(about.get("disallowedTools")) or ())
    return [Mode(slug, name, role, groups, when_to_use=words, origin=origin, file=str(path), line=1)], []


def _about(front: str) -> Mapping[str, Any]:
    """The front matter. Descriptions often hold colons, and examples in lines of their own, which YAML does not take:
    then an entry goes from one known key to the next."""
    try:
        found = read_yaml(front)
    except FormatError:
        found = dict(_LINE.findall(front))
    return found if isinstance(found, Mapping) else {}


def _names(value: Any) -> list[str] | None:
    """The tools of a list, or of a line with commas; None where there are none. `Bash(git:*)` is Bash."""
    listed = value.split(",") if isinstance(value, str) else value
    if not isinstance(listed, list) or not listed:
        return None
    return [name for each in listed if (name := str(each).partition("(")[0].strip())]


def _groups(tools: list[str] | None, without: Iterable[str]) -> tuple[GroupRule, ...]:
    has = {*MODE_GROUPS} if tools is None or "*" in tools else {_group(name) for name in tools}
    has -= {_group(name) for name in without}
    return tuple(GroupRule(group) for group in MODE_GROUPS if group in has)


def _group(name: str) -> Group | None:
    return "mcp" if name.startswith("mcp__") else _GROUPS.get(name)
