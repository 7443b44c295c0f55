"""The profiles, and what the settings decide."""

from __future__ import annotations

from dataclasses import replace

import pytest

from joey.actions import (
    Action,
    AskUser,
    CallServer,
    ReadPath,
    RunCode,
    RunCommand,
    StartSubtask,
    SwitchMode,
    VisitUrl,
    WidenSandbox,
    WritePath,
)
from joey.errors import UsageError
from joey.policy import Settings, Workspace, judge
from joey.policy.permissions import permissions_for, permitted
from joey.policy.settings import PROFILES

WORKSPACE = Workspace("/nonexistent/ws", home="/nonexistent/home")


def test_no_settings_are_the_strict_profile() -> None:
    assert Settings() == Settings.for_profile("strict")


def test_a_file_is_named_once_however_many_names_it_has() -> None:
    actions = [WritePath("a.txt"), WritePath("/nonexistent/ws/a.txt")]
    assert judge(actions, Settings(), WORKSPACE).reason == "`a.txt`: changing files of the workspace requires approval"


@pytest.mark.parametrize(
    ("line", "decision"),
    [
        ("ls -la src", "allow"),
        ("git log --oneline -5", "allow"),
        ("cd src && ls", "allow"),
        ("ls > x", "deny"),
        ("git diff --output=x", "deny"),
        ("git log && make", "deny"),
        ("cat a", "deny"),
        ("ls $(make)", "deny"),
    ],
)
def test_a_plan_is_made_with_commands_that_only_look(line: str, decision: str) -> None:
    assert judge([RunCommand(line)], Settings.for_profile("plan"), WORKSPACE, headless=True).decision == decision


def test_an_unknown_profile_is_named_with_those_there_are() -> None:
    with pytest.raises(
        UsageError, match="unknown profile 'yolo'; available profiles: ask, edits, read-only, auto, all"
    ):
        Settings.for_profile("yolo")


ACTIONS: dict[str, Action] = {
    "read": ReadPath("a.txt"),
    "read outside": ReadPath("/etc/hosts"),
    "write": WritePath("a.txt"),
    "write outside": WritePath("/etc/hosts"),
    "write protected": WritePath(".git/config"),
    "run": RunCommand("make"),
    "run and write": RunCommand("ls > x"),
    "server": CallServer("s", "t"),
    "resource": CallServer("s"),
    "page": VisitUrl("http://x"),
    "own page": VisitUrl("http://localhost:3000"),
    "custom": RunCode("tool", "tools/tool.py"),
    "mode": SwitchMode("ask"),
    "subtask": StartSubtask("code"),
    "widen": WidenSandbox("network"),
    "question": AskUser(),
}

ALLOWED = {
    "strict": {"question", "own page"},
    "ask": {"read", "question", "own page"},
    "edits": {"read", "write", "question", "own page"},
    "read-only": {"read", "question"},
    "plan": {"read", "question"},
    "auto": {"read", "write", "run", "run and write", "question", "own page"},
    "all": set(ACTIONS),
}
DENIED = {
    "ask": set[str](),
    "edits": set[str](),
    "read-only": {"write", "write outside", "write protected", "run", "run and write", "server", "resource", "page"}
    | {"custom", "subtask", "own page", "widen"},
    "auto": set[str](),
    "all": set[str](),
    "strict": set[str](),
}
DENIED["plan"] = DENIED["read-only"]


@pytest.mark.parametrize("profile", PROFILES)
def test_a_profile_allows_what_it_says(profile: str) -> None:
    settings = Settings.for_profile(profile)
    decisions = {name: judge([action], settings, WORKSPACE).decision for name, action in ACTIONS.items()}
    assert {name for name, decision in decisions.items() if decision == "allow"} == ALLOWED[profile]
    assert {name for name, decision in decisions.items() if decision == "deny"} == DENIED[profile]


def test_even_all_keeps_to_deny_rules() -> None:
    settings = replace(Settings.for_profile("all"), deny=("rm",))
    assert judge([RunCommand("echo $(rm x)")], settings, WORKSPACE).decision == "deny"
    assert judge([RunCommand("$x")], settings, WORKSPACE).decision == "ask"


def test_the_strictest_part_of_a_call_decides() -> None:
    settings = Settings.for_profile("edits")
    assert judge([WritePath("a"), WritePath("../b")], settings, WORKSPACE).decision == "ask"
    assert judge([], settings, WORKSPACE).decision == "allow"


@pytest.mark.parametrize(
    ("url", "decision"),
    [
        ("http://localhost:3000/a", "allow"),
        ("http://127.0.0.1:9", "allow"),
        ("http://docs.example.com/x", "allow"),
        ("https://example.org", "allow"),
        ("https://www.example.org", "ask"),
        ("http://127.0.0.1@evil.example/", "ask"),
        ("http://localhost.evil.example/", "ask"),
        ("http://192.168.0.1/", "ask"),
        ("file:///etc/passwd", "deny"),
        ("data:text/html,x", "deny"),
        ("chrome://settings", "deny"),
    ],
)
def test_pages_of_this_machine_and_of_listed_hosts_need_no_approval(url: str, decision: str) -> None:
    settings = Settings().changed(browser_allow=("example.org", "*.example.com"))
    assert judge([VisitUrl(url)], settings, WORKSPACE).decision == decision
    assert judge([VisitUrl(url)], settings.changed(browser="deny", browser_local="deny"), WORKSPACE).decision == "deny"


def test_always_allows_the_host_that_needed_approval_and_no_other() -> None:
    lasting = permissions_for([VisitUrl("https://example.com/a")], ())
    settings = permitted(Settings().changed(browser_local="ask"), lasting)
    visits = {
        url: judge([VisitUrl(url)], settings, WORKSPACE).decision for url in ("https://example.com/b", "http://b")
    }
    assert visits == {"https://example.com/b": "allow", "http://b": "ask"}
    assert settings.pages.local == "ask"
    assert permitted(settings, permissions_for([VisitUrl("http://localhost:1")], ())).pages.local == "allow"


@pytest.mark.parametrize(
    ("action", "allowed"),
    [
        (ReadPath("a.py"), ("reading files of the workspace",)),
        (ReadPath("/etc/hosts"), ()),
        (WritePath("a.py"), ("changing files of the workspace",)),
        (WritePath("/etc/hosts"), ()),
        (WritePath(".git/config"), ()),
    ],
)
def test_always_for_a_path_is_about_the_workspace_only_where_the_question_was(
    action: Action, allowed: tuple[str, ...]
) -> None:
    settings = Settings.for_profile("strict")
    verdict = judge([action], settings, WORKSPACE)
    assert verdict.decision == "ask"
    lasting = permissions_for([action], verdict.parts)
    assert tuple(each.words for each in lasting) == allowed
    assert judge([action], permitted(settings, lasting), WORKSPACE).allowed is bool(allowed)


def test_servers_tools_are_allowed_one_by_one() -> None:
    settings = Settings().changed(mcp_allow=("files/read", "search/*"))
    calls = {("files", "read"): "allow", ("files", "write"): "ask", ("search", "any"): "allow", ("files", "*"): "ask"}
    assert {call: judge([CallServer(*call)], settings, WORKSPACE).decision for call in calls} == calls


def test_custom_tools_are_allowed_by_name() -> None:
    settings = Settings().changed(custom_tools_allow=("one",))
    assert judge([RunCode("one", "x")], settings, WORKSPACE).allowed
    assert not judge([RunCode("two", "x")], settings, WORKSPACE).allowed


def test_limits_say_when_to_ask_again() -> None:
    settings = Settings().changed(max_requests=3, max_cost=1.0)
    assert settings.over_limit(2, 0.5) is None
    assert "the limit is 3" in str(settings.over_limit(3, 0.5))
    assert "the limit is $1.00" in str(settings.over_limit(0, 1.5))
    assert settings.over_limit(0, 1.00005) is None
    assert Settings().over_limit(10_000, 10_000) is None


def test_a_question_is_answered_for_the_user_only_when_allowed_and_suggested() -> None:
    assert Settings().changed(followup_timeout=5).answer_after(2) == 5
    assert Settings().changed(followup_timeout=5).answer_after(0) is None
    assert Settings().answer_after(2) is None
