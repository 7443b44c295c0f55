"""What Roo decided about command lines. Joey is stricter on purpose: only what it understands goes unasked.

So it is never more lenient than Roo, but for the cases that are listed; where Roo approves and Joey asks, the reason is
one of a few that stand for the difference.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

from joey.policy import Settings, Workspace
from joey.policy.shell.lines import judge_line
from joey.policy.shell.rules import CommandRules
from joey.policy.shell.syntax import commands_seen
from joey.policy.verdict import Verdict, combine
from vectors_data import cases

WORKSPACE = Workspace("/nonexistent/ws", home="/nonexistent/home")
NAMES = {"allow": "auto_approve", "ask": "ask_user", "deny": "auto_deny"}
STRICTNESS = ["auto_approve", "ask_user", "auto_deny"]

STRICTER = re.compile(
    "it can only be allowed as a whole"  # it is not plain
    "|is not known to be harmless|are not known|lacks its value|more than is known|is not a plain"  # an option
    "|does not know the options|not a program Joey knows"  # a program without a table
    "|outside the workspace|(?:needs|requires) approval|protected|only known when it runs|is not written out"
    "|may match it|denied by the rule"  # a deny rule that Roo does not see
    "|no rule names it|it is listed in|is not a remote|is not in node_modules|not a module|looks like an option"
    "|is more than|reaches the whole workspace|would use the repository|cannot be read"
)

MORE_LENIENT = re.compile(r"['\"]|^(?:env|time|timeout|nice|nohup|command|xargs|bash) ")
"""Where Joey goes further than Roo: quoted text that merely looks like a command, and what a wrapper runs."""


def verdict(case: Any) -> Verdict:
    settings = Settings(allow=tuple(case["allowed"] or ()), deny=tuple(case["denied"] or ()))
    return combine(judge_line(case["command"], settings, WORKSPACE, WORKSPACE.root))


def of(*sets: str) -> list[Any]:
    return [case for name in sets for case in cases("roo/command_approval", set=name)]


def test_joey_is_never_more_lenient_except_where_listed() -> None:
    for case in of("decision", "single_decision"):
        answer = verdict(case)
        mine, roos = STRICTNESS.index(NAMES[answer.decision]), STRICTNESS.index(case["expected"])
        if mine < roos and answer.decision == "allow":
            assert MORE_LENIENT.search(case["command"]), (case, answer.reason)
        if mine > roos:
            assert STRICTER.search(answer.reason), (case, answer.reason)


def test_what_both_understand_is_decided_alike() -> None:
    agreed = Counter(NAMES[verdict(case).decision] == case["expected"] for case in of("decision", "single_decision"))
    assert agreed[True] > agreed[False]


def test_single_commands_are_denied_alike() -> None:
    assert [case for case in of("auto_denied_single") if (verdict(case).decision == "deny") != case["expected"]] == []
    approved = [case for case in of("auto_approved_single") if "*" not in "".join(case["allowed"] or ())]
    assert [case for case in approved if verdict(case).decision == "allow" and not case["expected"]] == []


def test_the_narrowest_rule_is_the_same() -> None:
    for case in of("longest_prefix"):
        rule = CommandRules.read(case["prefixes"], ()).allowing(case["command"].split())
        if rule is not None and not rule.open_end:  # Roo takes the star for a letter
            assert rule.text.casefold() == case["expected"], case


def test_dangerous_substitutions_ask_even_when_everything_is_allowed() -> None:
    lines = [
        verdict({**case, "allowed": ["*"], "denied": ["shutdown"]}) for case in of("dangerous") if case["expected"]
    ]
    assert [answer.reason for answer in lines if answer.allowed] == []


def test_nearly_all_programs_are_seen_in_lines_that_are_not_plain() -> None:
    alike = Counter[bool]()
    for case in of("parse"):
        found = {seen.words[0] for seen in commands_seen(case["command"]) if seen.words}
        alike[{(text.split() or [""])[0] for text in case["expected"]} <= found] += 1
    assert alike[True] > 2 * alike[False]
