"""Writes the generated pages of docs/. With --check, fails if a page is not what would be written now."""

from __future__ import annotations

import argparse
import dataclasses
import importlib
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from joey import chunks, commands, events, messages
from joey.cli import COMMANDS
from joey.config.keys import DECISION, KEYS, Key
from joey.terminal.headless import SCHEMA
from joey.tools.base import Tool
from joey.tools.builtin import builtin_tools
from joey.wire import Codec, tag
from joey.wire_schema import lines_schema

DOCS = Path(__file__).parents[1] / "docs"

INTRODUCTION = """\
Generated from the code by `make docs`. Every class is frozen and has one JSON form: its fields, and a `"type"` that is
the class name in snake case."""

SETTINGS = """\
Generated from the code by `make docs`. What stands before the dot is the table: `limits.max_turns` is `max_turns` under
`[limits]`. The last column says what a project's file may do in a folder that the user has not trusted, see
[settings](guides/settings.md)."""
COMMAND_LINE = """\
Generated from the code by `make docs`: what `joey COMMAND --help` says. Exit codes of all of them: 0 done, 1 it did not
work, 2 asked wrongly, 130 interrupted; those of `joey run` are in [headless runs](guides/headless.md)."""
TOOLS = """\
Generated from the code by `make docs`: the built-in tools as a model reads them, without the examples. Which of them a
mode offers, and why not, is what `joey tools` tells; other names under which models know a tool or an argument are
understood."""
IN_PROJECT = {"free": "yes", "stricter": "stricter only", "trusted": "no", "never": "never", "tighter": "tighter only"}


def main(argv: list[str]) -> int:
    stale = []
    for name, text in pages().items():
        path = DOCS / name
        if path.exists() and path.read_text(encoding="utf-8") == text:
            continue
        stale.append(name)
        if "--check" not in argv:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
    if stale and "--check" in argv:
        print(f"out of date: {', '.join(stale)}; run `make docs`", file=sys.stderr)
        return 1
    return 0


def pages() -> dict[str, str]:
    return {
        "commands.md": commands_page(),
        "events.md": events_page(),
        "events.schema.json": events_schema(),
        "settings.md": settings_page(),
        "tools.md": tools_page(),
    }


def settings_page() -> str:
    rows = [
        f"| `{key.name}` | {key.about} | {key.kind.expected} | {default_setting(key)} | {IN_PROJECT[key.in_project]} |"
        for key in KEYS
    ]
    table = ["| setting | what it is for | takes | default | in an untrusted project |", "|---|---|---|---|---|", *rows]
    return "\n\n".join(["# Every setting", SETTINGS, "\n".join(table)]) + "\n"


def default_setting(key: Key) -> str:
    if key.kind is DECISION:
        return "by the profile"
    value = str(key.default).lower() if isinstance(key.default, bool) else key.default
    return f"`{value}`" if key.default not in (None, ()) else ""


# The command line


def commands_page() -> str:
    sections = map(command_section, COMMANDS)
    return "\n\n".join(["# Every command", COMMAND_LINE, *sections]) + "\n"


def command_section(name: str) -> str:
    module = importlib.import_module(f"joey.cli.{name}")
    parser = argparse.ArgumentParser(add_help=False)
    module.configure(parser)
    words = (module.__doc__ or "").strip()
    options = "\n".join(["| | |", "|---|---|", *argument_rows(parser)])
    return f"## joey {name}\n\n```text\n{words}\n```\n\n{options}"


def argument_rows(parser: argparse.ArgumentParser, before: str = "") -> Iterator[str]:
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for name, sub in action.choices.items():
                yield from argument_rows(sub, f"{before}{name} ")
        elif not isinstance(action, argparse._HelpAction):
            among = f"{', '.join(action.choices)}; " if action.choices and action.metavar else ""
            yield f"| `{before}{written(action)}` | {cell(among + (action.help or ''))} |"


def written(action: argparse.Action) -> str:
    """How an argument is written on the command line."""
    choices = "{" + ",".join(map(str, action.choices)) + "}" if action.choices else ""
    metavar = action.metavar if isinstance(action.metavar, str) else None
    value = metavar or choices or (action.dest.upper() if action.nargs != 0 else "")
    words = f"{', '.join(action.option_strings)} {value}" if action.option_strings else value
    return words.strip().replace("|", "\\|")


def cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


# The tools


def tools_page() -> str:
    tools = sorted(builtin_tools(), key=lambda tool: tool.name)
    return "\n\n".join(["# Every tool", TOOLS, *map(tool_section, tools)]) + "\n"


def tool_section(tool: Tool[Any]) -> str:
    facts = [f"Group `{tool.group}`"]
    facts += ["offered to models whose include list names it"] if tool.opt_in else []
    facts += [f"needs the feature `{tool.feature}`"] if tool.feature else []
    facts += [f"also called {', '.join(f'`{alias}`' for alias in tool.aliases)}"] if tool.aliases else []
    first = tool.description.split("\n\n")[0]
    rows = list(property_rows(tool.schema))
    table = "\n".join(["| argument | takes | |", "|---|---|---|", *rows]) if rows else "No arguments."
    return f"## {tool.name}\n\n{'; '.join(facts)}.\n\n{first}\n\n{table}"


def property_rows(schema: Any, before: str = "") -> Iterator[str]:
    required = schema.get("required", ())
    for name, value in schema.get("properties", {}).items():
        needed = "" if name in required else ", may be left out"
        yield f"| `{before}{name}` | {kind_of(value)}{needed} | {cell(value.get('description', ''))} |"
        inner = value.get("items", value)
        if isinstance(inner, dict) and inner.get("properties"):
            yield from property_rows(inner, f"{before}{name}{'[].' if inner is not value else '.'}")


def kind_of(value: Any) -> str:
    if "enum" in value:
        return " or ".join(f"`{each}`" for each in value["enum"] if each is not None)
    if "anyOf" in value:
        return " or ".join(kind_of(each) for each in value["anyOf"] if each.get("type") != "null")
    kinds = value.get("type", "anything")
    kinds = [kinds] if isinstance(kinds, str) else [each for each in kinds if each != "null"]
    if kinds == ["array"]:
        return f"list of {kind_of(value.get('items', {}))}"
    return " or ".join(kinds)


def events_page() -> str:
    laws = (events.__doc__ or "").strip()
    return (
        "\n\n".join(
            [
                "# Events, chunks and blocks",
                INTRODUCTION,
                "## Stream events: what happened",
                laws,
                *class_sections(events.STREAM_EVENTS),
                "## Task events: what Joey did, and what it asks",
                *class_sections(events.TASK_EVENTS),
                "## Commands: what a front end may ask",
                (commands.__doc__ or "").strip(),
                *class_sections(commands.COMMANDS),
                "## Chunks: what a provider sent",
                (chunks.__doc__ or "").strip(),
                *class_sections(chunks.CHUNKS),
                "## Blocks: the conversation",
                (messages.__doc__ or "").strip(),
                *class_sections(messages.BLOCKS),
            ]
        )
        + "\n"
    )


def events_schema() -> str:
    return json.dumps(lines_schema(events.EVENTS.classes, SCHEMA), indent=2) + "\n"


def class_sections(codec: Codec) -> list[str]:
    return [class_section(cls) for cls in codec.classes]


def class_section(cls: type) -> str:
    doc = "\n".join(line.strip() for line in (cls.__doc__ or "").strip().splitlines())
    rows = [
        f"| `{field.name}` | `{str(field.type).replace('|', chr(92) + '|')}` | {default_of(field)} |"
        for field in dataclasses.fields(cls)
    ]
    table = "\n".join(["| field | type | default |", "|---|---|---|", *rows]) if rows else "No fields."
    return f"### {cls.__name__}\n\n`{tag(cls)}`: {doc}\n\n{table}"


def default_of(field: dataclasses.Field[object]) -> str:
    if field.default is not dataclasses.MISSING:
        return f"`{field.default!r}`"
    return "made anew" if field.default_factory is not dataclasses.MISSING else "required"


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
