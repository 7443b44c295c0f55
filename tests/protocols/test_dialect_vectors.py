"""What the real parsers answered, and what was put in: 5,857 recorded cases of 66 dialects."""

from __future__ import annotations

import json
import random
import re
from typing import Any

import pytest

from dialect_cases import BETTER, CUTS, answer, cases_of, counts, dialect_names, difference, right
from joey.protocols import parse
from vectors_data import ROOT
from vectors_data import cases as recorded


@pytest.mark.parametrize("name", dialect_names())
def test_recorded_replies_are_read_right_at_every_cut(name: str) -> None:
    cases = [case for case in cases_of(name) if counts(case)]
    wrong = []
    for number, case in enumerate(cases):
        cuts = ("whole", ("chunks", "random", "character", "random")[number % 4])
        results = [right(case, answer(case, CUTS[cut](case, random.Random(case["id"])))) for cut in cuts]
        assert len(set(results)) == 1, f"{case['id']} depends on how it is cut"
        wrong += [] if results[0] else [case]
    assert not [case["id"] for case in wrong if not difference(case)]
    assert len([case for case in wrong if not case.get("recorded")]) <= 2, "what was put in is known"


def test_every_difference_in_the_list_is_still_one() -> None:
    wrong = [case["id"] for name in dialect_names() for case in cases_of(name) if counts(case) and not _is_right(case)]
    assert [pattern for pattern, _ in BETTER if not any(re.fullmatch(pattern, each) for each in wrong)] == []


def _is_right(case: Any) -> bool:
    return right(case, answer(case, CUTS["whole"](case, random.Random(case["id"]))))


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


CLINE_NAMES = {
    "LS": "list_files", "Grep": "search_files", "Bash": "execute_command", "Read": "read_file",
    "Write": "write_to_file", "WebFetch": "web_fetch", "AccessMCPResource": "access_mcp_resource",
    "PlanModeRespond": "plan_mode_respond", "LoadMcpDocumentation": "load_mcp_documentation",
    "AttemptCompletion": "attempt_completion", "BrowserAction": "browser_action", "NewTask": "new_task",
    "MultiEdit": "replace_in_file",
}  # fmt: skip
CLINE_BETTER = {
    "v3-048": "a close tag inside a value is text",
    "v3-049": "Cline's older form is the protocol `xml`",
    "v3-050": "Cline's older form is the protocol `xml`",
}


def test_the_function_calls_form_is_read_as_cline_read_it() -> None:
    """Cline gives its tools other names than the prompt does, leaves out unknown ones, and trims values."""
    lines = (ROOT / "cline" / "xml_cline_v3.jsonl").read_text(encoding="utf-8").splitlines()
    tools = [{"name": name} for name in CLINE_NAMES]
    for case in map(json.loads, lines):
        if case["id"] in CLINE_BETTER:
            continue
        for pieces in ([case["text"]], list(case["text"])):
            reply = parse(pieces, protocol="function_calls", tools=tools)
            made = [call for call in reply.calls if call.name in CLINE_NAMES]
            wanted = [block for block in case["expected"] if block["type"] == "tool_use" and not block["partial"]]
            assert [CLINE_NAMES[call.name] for call in made] == [block["name"] for block in wanted], case["id"]
            for call, block in zip(made, wanted, strict=True):
                values = {str(value).strip() for value in call.arguments.values()}
                assert {value for key, value in block["params"].items() if key != "recursive"} <= values, case["id"]
            text = "".join(block["content"] for block in case["expected"] if block["type"] == "text")
            shown = "".join(reply.text.split())
            is_whole = "<function_calls>" not in case["text"] or "</function_calls>" in case["text"]
            assert (shown == "".join(text.split())) if is_whole else shown.startswith("".join(text.split())), case["id"]


QWEN_BETTER = (
    # Cases that are answered otherwise, on purpose: a pattern of their ids, and why.
    (r"truncate/.*|multi/no_close_all|test/0(028|032|088|089|090|093|107|108|113)", "what was cut is never run"),
    (r".*/list_rep\w*|test/00(01|36|42|55)", "of an argument that is repeated the last counts, as in the servers"),
    (r".*/(list_csv|order)\w*", "what only validation can tell is left to it"),
    (r".*/py\w*|.*/strict_text|test/00(12|13|14|15|16)", "no argument is dropped: the validator speaks"),
    (r"content/.*|test/00(24|25|53)", "a value is what stands there: its white space, its entities"),
    (r"multi/(name_tag|bare_name)|test/00(33|47|52|54|69|70|71|73|75|77|78)|test/0130", "no markup of this dialect"),
    (r"multi/think", "reasoning is reported as reasoning"),
    (r"test/00(11|17|21|23|79|80|83|84|85|86|99)|test/01(01|02|03|10|20|21|22|23|24)", "a name, but to JavaScript"),
    (r"test/00(27|29|35)", "a tag that opens what no tool declares does not end a value"),
    (r"test/00(95|97)", "text between calls is kept; text behind a close tag shows that it was none"),
    (r"test/0137", "numbers that JavaScript rounds"),
)


def test_the_qwen3_coder_form_is_read_as_the_parser_project_read_it_or_better() -> None:
    wrong = []
    for row in recorded("ai-sdk-tool/qwen3_coder"):
        tools = [{"name": tool["name"], "parameters": tool["schema"]} for tool in row["tools"]]
        replies = [parse(pieces, protocol="qwen3_coder", tools=tools) for pieces in (row["text"], row["chunks"])]
        assert replies[0] == replies[1], row["id"]
        content = row["expected"]["content"]
        made = [(call.name, call.arguments) for call in replies[0].calls]
        text = "".join(part["text"] for part in content if part["type"] == "text")
        same = made == [(part["name"], part["input"]) for part in content if part["type"] == "tool_call"]
        if not same or "".join(replies[0].text.split()) != "".join(text.split()):
            wrong.append(row["id"].removeprefix("qwen3_coder/"))
    assert [each for each in wrong if not any(re.fullmatch(pattern, each) for pattern, _ in QWEN_BETTER)] == []
    assert len(wrong) <= 140
