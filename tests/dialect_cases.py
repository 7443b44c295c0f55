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

from joey.app.parsing import reply_as_json
from joey.protocols import Reply, collect, get
from joey.testing import check_laws, read
from joey.toolspec import ToolSpec
from vectors_data import ROOT

FOLDER = ROOT / "dialects"
ARCHIVE = Path(__file__).parent / "vectors" / "dialects.tar.xz"
"""The same files, five megabytes, packed; read where the folder is not there."""

BETTER = (
    # Cases that Joey answers otherwise, on purpose: a pattern of their ids, and the promise or other case behind it.
    (
        r"\w+\.raw_(08|10)",
        "a call must not run without the arguments that were written; `hermes.raw_10` keeps the same",
    ),
    (r"\w+\.bool_as_[46]", "what is no boolean is not made false, as `spark25.bool_as_4` and seven others say"),
    (r"nemotron_v3\.null_as_0", "its own template writes None for null"),
    (r"hy_v[34]\.null_as_1", "null is null: the case `null` of the same dialect holds the same text and says so"),
    (
        r"beam\.missing_arg_close_last",
        "an argument that was not closed may have been cut: malformed, never run",
    ),
    (
        r"\w+\.missing_arg_close_last",
        "without an argument that was written it would be another call: it is kept, and `repairs` says so",
    ),
    (r"\w+\.double_close", "the calls were finished when the second closer came; what was reported is not taken back"),
    (
        r"muse_glimmer\.repeated_param",
        "the schema says string: `muse_glimmer.like_number` holds such a value and expects the text",
    ),
    (
        r"beam\.array_for_string",
        "the schema says string: the text as it stands, as in `beam.like_quoted` and elsewhere",
    ),
    (r"phi4_mini\.(raw_\d+|vllm_\w+)", "nothing is lost: here vLLM answers with neither a call nor a text"),
    (r"gemma4\.kv_0[29]", "quotes are not part of a key or value, as `gemma4.drift_json_quotes` says"),
    (r"gemma4\.kv_08", "the tokens around a key are no part of it, as vLLM says"),
    (r"pythonic\.py_02", "spaces are valid there, and the tool is known; vLLM reads it while it streams"),
    (r"apriel\.llamacpp_\w+", "the expected reasoning holds the last line of the prompt, which is not in the reply"),
    (r"nemotron_v3\.llamacpp_77ccd7e1", "the expected text holds the end of the prompt, and reasoning as text"),
    (r"minimax_m3\.llamacpp_3dd2fbb0", "elements are an object where the schema allows one, as vLLM and SGLang say"),
    (r"cohere_command[34]\.llamacpp_\w+", "a call that was cut is malformed, never run"),
    (r"nemotron_v3\.vllm_a1c9ac06", "a marker that is mentioned in prose is text, and no text is lost"),
    (r"qwen3_coder\.vllm_2900d059", "a header that was not closed is not a name"),
    (r"longcat\.vllm_623d7fbb", "no text is lost, that after a call neither"),
    (
        r"step3p5\.vllm_f0734ac9",
        "a parameter that the tool does not declare ends no other, as llama.cpp says; what streamed is not taken back",
    ),
    (r"kimi_k3\.vllm_a7d58165", "without a prompt that says so, a reply does not begin inside reasoning"),
)


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
    broken_as_text = get(case["dialect"]).broken_as_text
    reply = reply_as_json(reply_of(case, pieces), (), in_dialect=True, broken_as_text=broken_as_text)
    content: list[dict[str, Any]] = reply["content"]
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


def counts(case: Any) -> bool:
    """Whether an answer is prescribed."""
    return case["category"] == "unfinished" or case["expected"] is not None


def difference(case: Any) -> str:
    """Why Joey answers a case otherwise; empty if it should not."""
    return next((why for pattern, why in BETTER if re.fullmatch(pattern, case["id"])), "")
