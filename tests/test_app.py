from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from joey.actions import Action, ReadPath, RunCommand, WritePath
from joey.app.calls import CallRunner
from joey.app.settings import default_model, notices
from joey.app.sources import settings_in_force
from joey.messages import ShownDiff, ToolResult, ToolUseBlock
from joey.modes import BUILTIN_MODES
from joey.policy import Settings, Workspace
from joey.providers.local.weights import known
from joey.task.calls import Judged
from joey.tools.base import Params, Plan, Tool, ToolContext, failed, ok
from joey.tools.registry import Registry
from joey.tools.toolset import build_toolset


class Spy(Tool[Params]):
    """Notes what happens to it."""

    name = "spy"
    group = "edit"
    params = Params

    def __init__(self, *declared: Action, planned: tuple[Action, ...] = (), refusal: ToolResult | None = None) -> None:
        self.declared, self.planned, self.refusal = declared, planned, refusal
        self.noted: list[str] = []

    def actions(self, params: Params, context: ToolContext) -> tuple[Action, ...]:
        return self.declared

    async def plan(self, params: Params, context: ToolContext) -> Plan:
        self.noted.append("planned")
        actions = self.planned or self.declared
        return Plan(actions, lambda: self.run(params, context), (ShownDiff("a", "+x"),), self.refusal)

    async def run(self, params: Params, context: ToolContext) -> ToolResult:
        self.noted.append("ran")
        return ok("done")


async def run(spy: Spy, workspace: Path, profile: str = "ask", answer: bool | None = None) -> tuple[str, list[Judged]]:
    requests: list[Judged] = []

    def ask(judged: Judged) -> bool:
        requests.append(judged)
        return bool(answer)

    runner = CallRunner(
        Registry(build_toolset(BUILTIN_MODES[1], [spy])),
        ToolContext(workspace, workspace),
        Settings.for_profile(profile),
        Workspace.of(workspace),
        None if answer is None else ask,
    )
    result = await runner.run(ToolUseBlock("c", "spy", {}))
    return result.text, requests


async def test_what_is_allowed_runs_at_once(tmp_path: Path) -> None:
    spy = Spy(WritePath("a.txt"))
    assert await run(spy, tmp_path, "edits", answer=False) == ("done", [])
    assert spy.noted == ["planned", "ran"]


async def test_the_user_sees_the_plan_before_deciding(tmp_path: Path) -> None:
    spy = Spy(WritePath("a.txt"))
    text, requests = await run(spy, tmp_path, answer=True)
    assert text == "done" and requests[0].plan.shown == (ShownDiff("a", "+x"),)
    assert "a.txt" in requests[0].verdict.reason


async def test_what_the_user_refuses_does_not_run(tmp_path: Path) -> None:
    spy = Spy(WritePath("a.txt"))
    text, _ = await run(spy, tmp_path, answer=False)
    assert text == "The user denied this call."
    assert spy.noted == ["planned"]


@pytest.mark.parametrize("declared", [(ReadPath("secret.txt"),), (WritePath("secret.txt"),)])
async def test_what_is_denied_is_not_even_looked_at(tmp_path: Path, declared: Any) -> None:
    (tmp_path / ".joeyignore").write_text("secret.txt\n")
    spy = Spy(*declared)
    text, requests = await run(spy, tmp_path, "all", answer=True)
    assert ".joeyignore" in text and requests == [] and spy.noted == []


async def test_nobody_to_ask_means_no(tmp_path: Path) -> None:
    spy = Spy(WritePath("a.txt"))
    text, _ = await run(spy, tmp_path)
    assert text.startswith("This call was denied: ") and spy.noted == []


async def test_what_the_plan_adds_is_judged_too(tmp_path: Path) -> None:
    spy = Spy(WritePath("a.txt"), planned=(RunCommand("rm -rf /"),))
    text, requests = await run(spy, tmp_path, "edits", answer=False)
    assert text == "The user denied this call." and len(requests) == 1 and spy.noted == ["planned"]


async def test_a_plan_s_own_refusal_waits_for_approval_to_read(tmp_path: Path) -> None:
    """What a plan says about a file outside would tell the model what is in it."""
    spy = Spy(WritePath("/etc/hostname"), refusal=failed("the line was: secret"))
    text, requests = await run(spy, tmp_path, "edits", answer=False)
    assert "secret" not in text and len(requests) == 1
    assert (await run(spy, tmp_path, "edits", answer=True))[0] == "the line was: secret"


def install_coder(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file of the model's name and size: nobody looks further before it is loaded."""
    monkeypatch.setenv("JOEY_MODELS", str(folder))
    weights = known("coder-1.5b")
    with weights.path().open("wb") as file:
        file.truncate(weights.size)


def test_without_a_key_the_installed_model_is_used_and_that_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    for variable in ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "JOEY_MODEL"):
        monkeypatch.delenv(variable, raising=False)
    install_coder(tmp_path, monkeypatch)
    assert default_model() == "local/coder-1.5b"
    (notice,) = notices(settings_in_force(tmp_path))
    assert notice.startswith("no API key is set; using local/coder-1.5b on this machine")


def test_a_key_comes_before_the_installed_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    install_coder(tmp_path, monkeypatch)
    assert default_model({"ANTHROPIC_API_KEY": "key"}).startswith("anthropic/")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "key")
    assert notices(settings_in_force(tmp_path)) == ()
