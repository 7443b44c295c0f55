"""Rules for commands: whole words, the longest wins, a tie denies."""

from __future__ import annotations

import pytest

from joey.policy import Settings, Workspace
from joey.policy.lines import judge_line
from joey.policy.verdict import Verdict, combine

WORKSPACE = Workspace("/nonexistent/ws", home="/nonexistent/home", expand=lambda _text: ())


def judge(line: str, allow: str = "", deny: str = "") -> Verdict:
    """Rules are given in one string, apart by commas."""
    rules = Settings(allow=tuple(filter(None, allow.split(","))), deny=tuple(filter(None, deny.split(","))))
    return combine(judge_line(line, rules, WORKSPACE, WORKSPACE.root))


@pytest.mark.parametrize(
    ("line", "allow", "deny", "expected"),
    [
        ("git log -p", "git log", "", "allow"),
        ("git logs", "git log", "", "ask"),
        ("gitevil", "git", "", "ask"),
        ("git", "git", "", "allow"),
        ("git", "git log", "", "ask"),
        ("git push", "git", "git push", "deny"),
        ("git push --dry-run", "git,git push --dry-run", "git push", "allow"),
        ("git push", "git push", "git push", "deny"),
        ("git push", "git push", "git", "allow"),
        ("anything at all", "*", "*", "deny"),
        ("anything at all", "*", "", "allow"),
        ("rm x", "*", "rm", "deny"),
        ("rm x", "", "rm *", "deny"),
        ("rm", "*", "rm *", "deny"),
        ("rmdir x", "*", "rm*", "deny"),
        ("mkfs.ext4 /x", "*", "mkfs*", "deny"),
        ("rm -r -f x", "rm", "rm -rf", "ask"),
        ("rm -fr x", "rm", "rm -rf", "ask"),
        ("rm --recursive --force x", "rm", "rm -rf", "ask"),
        ("rm x", "rm", "rm -rf", "allow"),
        ("git branch -D x", "git branch -d", "", "ask"),
        ("git branch -d x", "git branch -d", "", "allow"),
        ("GIT status", "git", "", "allow"),
        ("/usr/bin/git status", "git", "", "allow"),
        ("/opt/x/git status", "git", "", "ask"),
        ("/opt/x/git status", "/opt/x/git", "", "allow"),
        ("./gradlew build", "./gradlew", "", "allow"),
        ("cd sub && ./gradlew build", "./gradlew", "", "ask"),
        ("/opt/x/rm y", "*", "rm", "deny"),
        ("rm y", "*", "/bin/rm", "deny"),
        ("docker rm x", "docker", "rm", "allow"),
        ("docker exec c rm x", "docker", "rm", "ask"),
        ("npm --prefix web publish", "npm", "npm publish", "ask"),
        ("git commit -m push", "git", "git push", "allow"),
        ("grep rm notes.txt", "grep", "rm", "allow"),
        ("sudo apt install x", "sudo apt", "", "allow"),
        ("sudo apt install x", "sudo", "", "ask"),
        ("sudo apt install x", "apt", "", "ask"),
        ("sudo apt install x", "sudo,apt", "", "allow"),
        ("sudo rm x", "sudo", "rm", "deny"),
        ("timeout 5 git log", "git log", "", "allow"),
        ("timeout 5 tool", "timeout", "", "ask"),
        ("timeout 5 tool", "timeout 5 tool", "", "allow"),
        ("python -c 'print(1)'", "python", "", "ask"),
        ("python -c 'print(1)'", "python -c", "", "allow"),
        ("python -c 'print(1)'", "*", "", "allow"),
        ("python -c 'print(1)'", "*", "rm", "allow"),
        ("python -c 'import os; os.system(x)'", "*", "rm", "ask"),
        ("python -c 'run(\"rm\")'", "python -c", "rm", "ask"),
        ("find . -delete", "find", "", "ask"),
        ("find . -delete", "find . -delete", "", "allow"),
        ("find . -delete", "*", "rm", "ask"),
        ("git -c a=b log", "git -c", "", "allow"),
        ("FOO=1 tool", "tool", "", "ask"),
        ("FOO=1 tool", "*", "rm", "allow"),
        ("", "", "", "allow"),
        ("   \n", "", "", "allow"),
        ("# only a note", "git", "", "ask"),
        ("x=1", "git", "", "ask"),
        ("cd src", "git", "", "ask"),
    ],
)
def test_the_rule_that_fits_best_decides(line: str, allow: str, deny: str, expected: str) -> None:
    verdict = judge(line, allow, deny)
    assert verdict.decision == expected, verdict.reason


def test_the_verdict_names_the_rule_of_each_command() -> None:
    verdict = judge("git log | head; rm x", "git log,head", "rm")
    assert [(part.subject, part.decision, part.rule) for part in verdict.parts] == [
        ("git log", "allow", "git log"),
        ("head", "allow", "head"),
        ("rm x", "deny", "rm"),
    ]
    assert verdict.reason == "`rm x`: denied by the rule `rm`"


def test_a_question_says_what_is_not_known() -> None:
    assert "only known when it runs" in judge("$x y", "git").reason
    assert "not a complete shell command line" in judge("git status &&", "git").reason
    assert "outside the workspace" in judge("echo x > /etc/y", "echo").reason
    assert "`-c` makes `python` run code" in judge("python -c 1", "python").reason


def test_where_nobody_can_be_asked_a_question_is_a_refusal() -> None:
    verdict = judge("ls", "git").without_asking()
    assert verdict.decision == "deny"
    assert "no rule names it" in verdict.reason
