"""What the real parsers answered, and what was put in: 5,857 recorded cases of 66 dialects."""

from __future__ import annotations

import json
import random
import re
from typing import Any

import pytest

from dialect_cases import CUTS, answer, cases_of, dialect_names, right
from joey.protocols import parse
from vectors_data import ROOT

BETTER = (
    # Cases that Joey answers otherwise, on purpose: a pattern of their ids, and why.
    (r"\w+\.bool_as_[46]", "what is no boolean stays what it is and is not made false; the validator speaks"),
    (r"nemotron_v3\.null_as_0", "its own template writes None for null"),
    (r"hy_v[34]\.null_as_1", "null is null: the case `null` holds the same text and says so"),
    (r"glm45\.empty_name|k2_horizon\.empty_name", "the text of a call without a name is kept, its section is markup"),
    (r"\w+\.missing_arg_close_last", "the value of an argument that was not closed is kept, not dropped"),
    (r"\w+\.double_close", "a second closer does not undo the calls before it, and is markup"),
    (r"\w+\.raw_0[89]|\w+\.raw_10", "arguments that are no object are kept, not dropped; null is none"),
    (r"muse_glimmer\.repeated_param|beam\.array_for_string", "the schema says string: the text as it stands"),
    (r"phi4_mini\.(raw_\d+|vllm_\w+)", "vLLM loses these calls"),
    (r"gemma4\.kv_0[289]", "quotes around a key or value are not part of it"),
    (r"pythonic\.py_(02|16)", "SGLang reads no spaces and no dots in names; they are valid"),
    (r"apriel\.llamacpp_(f56b7855|5406a885)", "the reply began inside reasoning, and nothing in the case says so"),
    (r"nemotron_v3\.llamacpp_77ccd7e1", "reasoning is reported as reasoning"),
    (r"minimax_m3\.llamacpp_3dd2fbb0", "elements are an object where the schema allows one, as vLLM and SGLang say"),
    (r"cohere_command[34]\.llamacpp_\w+", "a call that was cut is malformed, never run"),
    (r"nemotron_v3\.vllm_a1c9ac06", "a marker that is mentioned in prose is text"),
    (r"qwen3_coder\.vllm_2900d059", "a header that was not closed is not a name"),
    (r"longcat\.vllm_623d7fbb", "text after a call is kept"),
    (r"dots\.vllm_2f3866c6", "a call without its wrapper is a call"),
    (r"step3p5\.vllm_f0734ac9", "a parameter that the tool does not declare does not end another, as llama.cpp says"),
    (r"poolside_v1\.sglang_5414e7a5", "an argument without a value is malformed, not dropped"),
    (r"kimi_k3\.vllm_a7d58165", "without a prompt that says so, a reply does not begin inside reasoning"),
    (r"gigachat3\.sglang_56ec8d2e|hermes\.sglang_fcab6c63", "a broken call is malformed, not text"),
)


def known_difference(case: Any) -> bool:
    return any(re.fullmatch(pattern, case["id"]) for pattern, _ in BETTER)


def counts(case: Any) -> bool:
    return case["category"] == "unfinished" or case["expected"] is not None


@pytest.mark.parametrize("name", dialect_names())
def test_recorded_replies_are_read_right_at_every_cut(name: str) -> None:
    cases = [case for case in cases_of(name) if counts(case)]
    wrong = []
    for number, case in enumerate(cases):
        cuts = ("whole", ("chunks", "random", "character", "random")[number % 4])
        results = [right(case, answer(case, CUTS[cut](case, random.Random(case["id"])))) for cut in cuts]
        assert len(set(results)) == 1, f"{case['id']} depends on how it is cut"
        wrong += [] if results[0] else [case]
    assert not [case["id"] for case in wrong if not known_difference(case)]
    assert len([case for case in wrong if not case.get("recorded")]) <= 2, "what was put in is known"


def test_replies_without_a_recorded_answer_are_read_without_loss() -> None:
    for name in dialect_names():
        for case in cases_of(name)[::3]:
            if not counts(case):
                answer(case, CUTS["random"](case, random.Random(case["id"])))


def test_what_qwen_coder_really_writes_is_a_call() -> None:
    """A recorded reply of a real model that was given tools natively: an object in a code fence, left as text by its
    server."""
    stream = json.loads((ROOT / "streams" / "qwen15-native-tools-auto.json").read_text(encoding="utf-8"))
    reply = parse(list(stream["text"]), protocol="qwen2_5_coder", tools=stream["request"]["tools"])
    assert [call.name for call in reply.calls] == ["write_to_file"] and reply.text == ""
    other = [{"name": "another_tool"}]
    assert parse(f"So: {stream['text']}", protocol="qwen2_5_coder", tools=other).calls == ()
