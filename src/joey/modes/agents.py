"""Agents from Markdown, in the form that Claude Code gave them: a mode that a subtask can have.

    ---
    name: reviewer
    description: Reviews a change. Use it after code was written.
    tools: Read, Grep, Glob
    model: haiku
    ---
    You review changes …

The text is the role, the description says when to use it, and the tools decide which groups the mode has: a group is
there if one of its tools is named, and all are where no tools are. A `mode` is one whose groups and file patterns it
keeps within. What `model` stands for, and whether it may be used, is decided when a subtask begins
(`joey.app.agent_models`). What else stands in the front matter (`color` and so on) is left alone.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from joey.bounded.files import read_regular_text
from joey.bounded.formats import FormatError, Problem
from joey.bounded.formats.yaml import read_yaml
from joey.modes.mode import MODE_GROUPS, GroupRule, Mode, Origin
from joey.toolspec import Group

_FRONT = re.compile(r"\A---[ \t]*\n(.*?)(?:\n)?^---[ \t]*(?:\n|\Z)", re.DOTALL | re.MULTILINE)
_KEYS = (
    "name|description|tools|disallowedTools|model|mode|color|permissionMode|skills|hooks|memory|mcpServers|maxTurns|background"
    "|effort|isolation|initialPrompt"
)
_LINE = re.compile(rf"^({_KEYS}):[ \t]*(.*?)(?=^(?:{_KEYS}):|\Z)", re.MULTILINE | re.DOTALL)
_SLUG = re.compile(r"[a-zA-Z0-9-]{1,100}")
_MAX_BYTES = 256 * 1024
_MAX_NAME = 200
_OPENCODES_MODES = ("primary", "subagent", "all")
"""What opencode's agents have as `mode`: who may use them."""
_GROUPS: dict[str, Group] = {
    **dict.fromkeys(("read", "grep", "glob", "ls", "list", "notebookread"), "read"),
    **dict.fromkeys(("edit", "write", "multiedit", "patch", "notebookedit"), "edit"),
    **dict.fromkeys(("bash", "monitor"), "command"),  # BashOutput and KillShell alone run nothing
    **dict.fromkeys(("webfetch", "websearch"), "browser"),
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
        return [], [Problem(str(path), 1, f"'name' is letters, digits and hyphens, 100 at most, got {name[:80]!r}")]
    if not role:
        return [], [Problem(str(path), 1, "an agent needs a text: what it is, and how it works")]
    words = " ".join(str(about.get("description") or "").split())
    model, base = _word(about.get("model")), _word(about.get("mode"))
    if model is None or base is None:
        return [], [Problem(str(path), 1, "'model' and 'mode' are names, in one line")]
    base = "" if base in _OPENCODES_MODES else base
    mode = Mode(slug, name, role, _groups(about), words, origin=origin, file=str(path), line=1, model=model, base=base)
    return [mode], []


def _word(value: Any) -> str | None:
    """A name; None for what cannot be one."""
    word = "" if value is None else value.strip() if isinstance(value, str) else None
    return word if word is not None and word.isprintable() and len(word) <= _MAX_NAME else None


def _about(front: str) -> Mapping[str, Any]:
    """The front matter. Descriptions often hold colons, and examples in lines of their own, which YAML does not take:
    then an entry goes from one known key to the next, and a name to the end of its line."""
    try:
        found = read_yaml(front)
    except FormatError:
        found = dict(_LINE.findall(front))
        found |= {key: found[key].partition("\n")[0] for key in ("model", "mode") if key in found}
    return found if isinstance(found, Mapping) else {}


def _names(value: Any) -> list[str] | None:
    """The tools of a list, or of a line with commas; None where there are none. `Bash(git:*)` is Bash."""
    listed = value.split(",") if isinstance(value, str) else value
    if not isinstance(listed, list) or not listed:
        return None
    return [name for each in listed if (name := str(each).partition("(")[0].strip())]


def _groups(about: Mapping[str, Any]) -> tuple[GroupRule, ...]:
    """The groups of the tools that are named. In opencode's form each tool is on or off, and `*` is the rest."""
    tools, without = about.get("tools"), _names(about.get("disallowedTools")) or []
    names = _names(tools)
    if isinstance(tools, Mapping):
        off = [str(each) for each, on in tools.items() if on is not True]
        names, without = [str(each) for each in tools if str(each) not in off] if "*" in off else None, [*without, *off]
    has = {*MODE_GROUPS} if names is None or "*" in names else {_group(name) for name in names}
    has -= {_group(name) for name in without}
    return tuple(GroupRule(group) for group in MODE_GROUPS if group in has)


def _group(name: str) -> Group | None:
    return "mcp" if name.startswith("mcp__") else _GROUPS.get(name.lower())
