"""Writes the generated pages of docs/. With --check, fails if a page is not what would be written now."""

from __future__ import annotations

import dataclasses
import json
import sys
from pathlib import Path

from joey import chunks, commands, events, messages
from joey.config.keys import DECISION, KEYS, Key
from joey.terminal.headless import SCHEMA
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
IN_PROJECT = {"free": "yes", "stricter": "stricter only", "trusted": "no"}


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
    return {"events.md": events_page(), "events.schema.json": events_schema(), "settings.md": settings_page()}


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
