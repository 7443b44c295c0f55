"""The recorded cases of the dialects, and how an answer is compared with them."""

from __future__ import annotations

import json
import random
import re
import tarfile
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from joey.cli.parse import as_json
from joey.protocols import Reply, collect, get
from joey.testing import check_laws, read
from joey.toolspec import ToolSpec
from vectors_data import ROOT

FOLDER = ROOT / "dialects"
ARCHIVE = Path(__file__).parent / "vectors" / "dialects.tar.xz"
"""The same files, five megabytes, packed; read where the folder is not there."""


@cache
def _files() -> dict[str, str]:
    if FOLDER.is_dir():
        return {path.name: path.read_text(encoding="utf-8") for path in FOLDER.glob("*.json*")}
    with tarfile.open(ARCHIVE) as archive:
        members = [member for member in archive if member.isfile()]
        return {Path(each.name).name: archive.extractfile(each).read().decode() for each in members}  # type: ignore[union-attr]


def dialect_names() -> list[str]:
    return sorted(name.removesuffix(".jsonl") for name in _files() if name.endswith(".jsonl"))


@cache
def rows(dialect: str) -> tuple[Any, ...]:
    return tuple(json.loads(line) for line in _files()[f"{dialect}.jsonl"].splitlines() if line.strip())


def cases_of(dialect: str) -> list[Any]:
    """The cases that are parsed."""
    return [row for row in rows(dialect) if row.get("kind") != "render"]


def renders_of(dialect: str) -> list[Any]:
    return [row for row in rows(dialect) if row.get("kind") == "render"]


@cache
def _named_tools() -> dict[str, tuple[ToolSpec, ...]]:
    named = json.loads(_files()["tools.json"])
    return {name: tuple(ToolSpec.read(tool) for tool in tools) for name, tools in named.items()}


def tools_of(case: Any) -> Sequence[ToolSpec]:
    tools = case["tools"]
    return _named_tools()[tools] if isinstance(tools, str) else [ToolSpec.read(tool) for tool in tools or ()]


def _random_cut(case: Any, rng: random.Random) -> list[str]:
    text = case["text"]
    places = sorted(rng.randint(0, len(text)) for _ in range(rng.randint(1, 6)))
    return [text[a:b] for a, b in zip([0, *places], [*places, len(text)], strict=True)]


CUTS: dict[str, Callable[[Any, random.Random], list[str]]] = {
    "whole": lambda case, _: [case["text"]],
    "character": lambda case, _: list(case["text"]),
    "chunks": lambda case, _: case.get("chunks") or [case["text"]],
    "random": _random_cut,
}


def reply_of(case: Any, pieces: Sequence[str]) -> Reply:
    tail = case.get("prompt_tail")
    protocol = get(case["dialect"])
    protocol = protocol.with_options(prompt_tail=tail) if tail else protocol
    events = read(protocol.parser(tools_of(case)), pieces)
    check_laws(events, case["text"], with_reasoning=True)
    return collect(events)


def answer(case: Any, pieces: Sequence[str]) -> list[dict[str, Any]]:
    """What Joey makes of a case, in the form of `expected`, as `joey parse` writes it."""
    content: list[dict[str, Any]] = as_json(reply_of(case, pieces), (), in_dialect=True)["content"]
    return content


def right(case: Any, got: list[dict[str, Any]]) -> bool:
    """Whether an answer is the expected one: text and reasoning joined without white space, calls exactly. Of a reply
    that was cut, the calls must be those of the whole reply, in order; what becomes of the rest is our own business."""
    if case["category"] == "unfinished":
        return _calls_of_whole(case, got)
    expected = case["expected"]["content"]
    if any(_joined(got, kind) != _joined(expected, kind) for kind in ("text", "reasoning")):
        return False
    calls = [part for part in got if part["type"] == "tool_call"]
    wanted = [part for part in expected if part["type"] == "tool_call"]
    return len(calls) == len(wanted) and all(map(_same_call, calls, wanted))


def _calls_of_whole(case: Any, got: list[dict[str, Any]]) -> bool:
    whole = [part for part in case["full"] if part["type"] == "tool_call"]
    calls = [part for part in got if part["type"] == "tool_call"]
    return len(calls) <= len(whole) and all(map(_same_call, calls, whole[: len(calls)]))


def _same_call(call: dict[str, Any], wanted: dict[str, Any]) -> bool:
    same_id = "id" not in wanted or call["id"] == wanted["id"]
    return same_id and call["name"] == wanted["name"] and _same(call["input"], wanted["input"])


def _same(left: Any, right_: Any) -> bool:
    if isinstance(left, bool) or isinstance(right_, bool):
        return left is right_
    if isinstance(left, dict) and isinstance(right_, dict):
        return left.keys() == right_.keys() and all(_same(left[key], right_[key]) for key in left)
    if isinstance(left, list) and isinstance(right_, list):
        return len(left) == len(right_) and all(map(_same, left, right_))
    return bool(left == right_)


def _joined(content: list[dict[str, Any]], kind: str) -> str:
    return re.sub(r"\s", "", "".join(part["text"] for part in content if part["type"] == kind))
