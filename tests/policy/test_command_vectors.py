"""What Roo decided about command lines, and where Joey decides otherwise on purpose."""

from __future__ import annotations

from typing import Any

from joey.policy import Settings, Workspace
from joey.policy.commands import parse
from joey.policy.lines import judge_line
from joey.policy.rules import Rules
from joey.policy.verdict import Verdict, combine
from joey.policy.words import Word
from vectors_data import cases

WORKSPACE = Workspace("/nonexistent/ws", home="/nonexistent/home")
NAMES = {"allow": "auto_approve", "ask": "ask_user", "deny": "auto_deny"}

# Why Joey answers otherwise. The holes first: Roo lets these through.
DENIED_INSIDE = "the denied program is found inside quotes, blocks, wrappers or arithmetic"
WHOLE_WORDS = "rules match whole words: `git` does not allow `gitx`"
OUTSIDE = "it removes files outside the workspace, which asks even under `*`"
BROKEN = "bash cannot parse it, or only zsh can, where it runs code: a line that cannot be parsed asks"
DENY_STAR = "a deny rule with a star denies; Roo reads the star as a letter and denies nothing"
# Then the bluntness: Roo asks or denies where nothing can happen.
ONLY_TEXT = "it is text (a message, a here-document, single quotes), not a command"
UNDERSTOOD = "the block, wrapper or redirection is understood, and what it runs has a rule"

OTHERWISE: dict[str, str] = {
    **dict.fromkeys(
        [
            "60",
            "277",
            "284",
            "286",
            "374",
            "376",
            "380",
            "382",
            "391",
            "397",
            "400",
            "427",
            "500",
            "502",
            "508",
            "518",
            "520",
        ],
        DENIED_INSIDE,
    ),
    "258": WHOLE_WORDS,
    "123": OUTSIDE,
    "75": DENY_STAR,
    **dict.fromkeys(
        [
            "36",
            "37",
            "55",
            "56",
            "429",
            "430",
            "434",
            "435",
            "436",
            "441",
            "442",
            "447",
            "448",
            "449",
            "450",
            "458",
            "459",
            "460",
            "464",
            "465",
        ],
        BROKEN,
    ),
    **dict.fromkeys(["302", "304", "310", "312", "316", "512", "514"], ONLY_TEXT),
    **dict.fromkeys(["236", "272", "276", "278", "282", "294", "392", "396", "416", "422", "426"], UNDERSTOOD),
}


def verdict(case: Any) -> Verdict:
    settings = Settings(allow=tuple(case["allowed"] or ()), deny=tuple(case["denied"] or ()))
    return combine(judge_line(case["command"], settings, WORKSPACE, WORKSPACE.root))


def of(*sets: str) -> list[Any]:
    return [case for name in sets for case in cases("roo/command_approval", set=name)]


def number(case: Any) -> str:
    return str(case["id"]).rpartition("-")[2]


def test_decisions_agree_except_where_listed() -> None:
    differing = {number(case) for case in of("decision") if NAMES[verdict(case).decision] != case["expected"]}
    assert differing == set(OTHERWISE)


def test_decisions_about_single_commands_agree() -> None:
    assert [case for case in of("single_decision") if NAMES[verdict(case).decision] != case["expected"]] == []


def test_single_commands_are_approved_and_denied_alike() -> None:
    approved, denied = of("auto_approved_single"), of("auto_denied_single")
    assert [case for case in approved if (verdict(case).decision == "allow") != case["expected"]] == []
    assert [case for case in denied if (verdict(case).decision == "deny") != case["expected"]] == []


def test_the_longest_rule_is_the_same() -> None:
    for case in of("longest_prefix"):
        words = [Word.literal(word) for word in case["command"].split()]
        rule = Rules.read(case["prefixes"], ()).allowing(words)
        assert (rule.text.casefold() if rule else None) == case["expected"], case


STRICTER: dict[str, str] = {
    **dict.fromkeys(["7", "127"], "code that may start programs cannot be held to a deny list"),
    **dict.fromkeys(["58", "68", "69", "105", "109", "110", "198", "199", "201", "202"], BROKEN),
    **dict.fromkeys(["83", "147"], OUTSIDE),
    **dict.fromkeys(["187", "188"], "which files it removes is only known when it runs"),
}


def test_dangerous_substitutions_ask_even_when_everything_is_allowed() -> None:
    lines = [(case, verdict({**case, "allowed": ["*"], "denied": ["shutdown"]})) for case in of("dangerous")]
    assert [case for case, answer in lines if case["expected"] and answer.allowed] == []
    asked = {number(case) for case, answer in lines if not case["expected"] and not answer.allowed}
    assert asked == set(STRICTER)


SPLIT_OTHERWISE: dict[str, str] = {
    **dict.fromkeys(["16", "147", "164", "166", "54"], BROKEN),
    **dict.fromkeys(["22", "23", "55", "71", "83", "138", "139"], "keywords and brackets are not programs"),
    **dict.fromkeys(["48", "56", "57", "168", "180"], "an assignment is not a program"),
    **dict.fromkeys(["34", "88", "89", "98", "101", "103", "104", "108", "143", "144", "145", "178"], ONLY_TEXT),
    **dict.fromkeys(["132", "162"], "`&>` and `>|` are redirections"),
    "30": "a carriage return is a character, and a line that holds one asks",
    "177": DENIED_INSIDE,
}


def test_the_same_programs_are_found_except_where_listed() -> None:
    differing = set()
    for case in of("parse"):
        found = sorted(command.words[0].value or "" for command in parse(case["command"]).commands if command.words)
        if found != sorted((text.split() or [""])[0] for text in case["expected"]):
            differing.add(number(case))
    assert differing == set(SPLIT_OTHERWISE)
