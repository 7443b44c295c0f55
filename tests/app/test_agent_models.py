"""An agent may have a model of its own: which one its file names, whether it may be used, and a subtask that has it."""

from __future__ import annotations

import asyncio
import json
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from git_kit import IDENTITY
from joey.app.agent_models import ConfiguredAgentModels
from joey.app.services import Choices, Services
from joey.app.tasks import TaskOptions, make_config, prepare_task
from joey.commands import Answer
from joey.events import (
    ApprovalRequested,
    CompletionRequested,
    ContinueRequested,
    Event,
    ModelChanged,
    SubtaskClosed,
    SubtaskOpened,
    TaskFinished,
    TaskStarted,
)
from joey.journal.journal import read_journal
from joey.journal.records import ChildOpened, TaskOpened
from joey.modes.mode import Mode
from joey.system.trust import TrustStore
from joey.task.config import AgentModel, TaskConfig
from joey.testing import LocalServer
from joey.testing.script import Failure, Faults, Scripted, reply
from joey.testing.server import ReceivedRequest
from task_kit import call, done

MAIN = "anthropic/claude-sonnet-5-5"


class Place:
    """A workspace and a user of their own."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder, self._patch = folder / "work", monkeypatch
        self.folder.mkdir()
        monkeypatch.setenv("HOME", str(folder))
        monkeypatch.setenv("XDG_CONFIG_HOME", str(folder / "config"))
        monkeypatch.setenv("XDG_STATE_HOME", str(folder / "state"))
        self.keys("ANTHROPIC", "OPENAI")

    def keys(self, *names: str) -> None:
        for each in ("ANTHROPIC", "OPENAI"):
            self._patch.delenv(f"{each}_API_KEY", raising=False)
        for each in names:
            self._patch.setenv(f"{each}_API_KEY", f"key-of-{each}-" + "x" * 20)

    def serve(self, server: LocalServer) -> None:
        """All providers are this server."""
        self._patch.setenv("ANTHROPIC_BASE_URL", server.anthropic_url)
        self._patch.setenv("OPENAI_BASE_URL", server.openai_url)

    def trust(self) -> None:
        TrustStore().trust(self.folder)

    def agent(self, model: str, name: str = "helper", tools: str = "Read", folder: str = ".claude/agents") -> None:
        path = self.folder / folder / f"{name}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"---\nname: {name}\ndescription: Helps.\ntools: {tools}\nmodel: {model}\n---\nYou help.\n")

    def settings(self, text: str) -> None:
        user = self.folder.parent / "config" / "joey"
        user.mkdir(parents=True, exist_ok=True)
        (user / "config.toml").write_text(text)

    def commit(self) -> None:
        (self.folder / "a.txt").write_text("a\n")
        for line in (["init", "-q", "-b", "main"], ["add", "-A"], ["commit", "-qm", "Begin"]):
            subprocess.run(["git", *IDENTITY, *line], cwd=self.folder, check=True, capture_output=True)

    def config(self, main: str = MAIN, /, **flags: Any) -> TaskConfig:
        setup = prepare_task(TaskOptions(self.folder, {"model": main, **flags}))
        return make_config(setup, lambda *_: None)

    def chosen(self, main: str = MAIN, /, **flags: Any) -> AgentModel:
        config = self.config(main, **flags)
        return config.agent_models.choose(config.mode("helper"))


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    return Place(tmp_path, monkeypatch)


# Which model


@pytest.mark.parametrize(
    ("words", "name"),
    [
        ("inherit", ""),
        ("default", ""),
        ("''", ""),
        ("haiku", "anthropic/claude-haiku-5-5"),
        ("sonnet", MAIN),
        ("Opus", "anthropic/claude-opus-5-5"),
        ("opus[1m]", "anthropic/claude-opus-5-5"),
        ("claude-opus-4-8", "anthropic/claude-opus-4-8"),
        ("claude-haiku-4-5-20251001", "anthropic/claude-haiku-4-5-20251001"),
        ("gpt-6-luna", "openai/gpt-6-luna"),
        ("openai/gpt-6.1-sol", "openai/gpt-6.1-sol"),
        ("ollama/qwen3", "ollama/qwen3"),
        ("main", MAIN),
        ("fast", "openai/gpt-6-luna"),
        ("fallback", "openai/gpt-6-sol"),
    ],
)
def test_the_words_of_a_file_stand_for_a_model(place: Place, words: str, name: str) -> None:
    place.trust()
    place.agent(words)
    roles: dict[str, Any] = {
        "fast_model": "openai/gpt-6-luna",
        "fallback_models": ("openai/gpt-6-sol", "openai/gpt-6-luna"),
    }
    assert place.chosen(**roles) == AgentModel(name)


def test_a_setting_says_what_a_name_of_claude_codes_stands_for(place: Place) -> None:
    place.trust()
    place.agent("haiku")
    assert place.chosen(**{"agents.haiku": "openai/gpt-6-luna"}) == AgentModel("openai/gpt-6-luna")


@pytest.mark.parametrize(
    ("words", "why"),
    [
        ("gemini-pro", "gemini-pro"),
        ("nowhere/model", "there is no provider 'nowhere'"),
        ("fast", "there is no fast model; the setting `fast_model`"),
        ("fallback", "there is no fallback model; the setting `fallback_models`"),
        ("openai/gpt-6.1-sol", "no API key for openai; set OPENAI_API_KEY"),
        ("claude-opus-4", "was switched off on 2026-06-15"),
        ("local/nothing.gguf", "neither a model that Joey knows"),
    ],
)
def test_what_cannot_be_used_is_reported(place: Place, words: str, why: str) -> None:
    place.trust()
    place.agent(words)
    place.keys("ANTHROPIC")
    chosen = place.chosen()
    assert chosen.name == "" and why in chosen.refused and "The agent helper" in chosen.refused


def test_without_a_price_there_is_no_use_under_a_cost_limit(place: Place) -> None:
    place.trust()
    place.agent("openai/unheard-of")
    assert place.chosen() == AgentModel("openai/unheard-of")
    assert "there is a cost limit" in place.chosen(**{"limits.max_cost": 1.0}).refused
    assert "there is a cost limit" in place.chosen(**{"limits.all_subtasks_cost": 1.0}).refused


# In a folder that nobody trusts


@pytest.mark.parametrize(
    ("main", "words"),
    [
        (MAIN, "inherit"),
        (MAIN, "main"),
        (MAIN, "sonnet"),
        (MAIN, "haiku"),
        ("anthropic/claude-opus-5-5", "sonnet"),
        ("anthropic/claude-opus-5-5", "fast"),
        ("openai/gpt-6.1-sol", "gpt-6-luna"),
        ("openrouter/anthropic/claude-opus-5-5", "openrouter/anthropic/claude-haiku-5-5"),
    ],
)
def test_an_untrusted_agent_may_have_a_model_of_the_same_provider_that_costs_no_more(
    place: Place, monkeypatch: pytest.MonkeyPatch, main: str, words: str
) -> None:
    monkeypatch.setenv("OPENROUTER_API_KEY", "x" * 20)
    place.agent(words)
    assert place.chosen(main, fast_model="anthropic/claude-haiku-5-5").refused == ""


@pytest.mark.parametrize(
    ("main", "words", "why"),
    [
        (MAIN, "opus", "costs more than"),
        (MAIN, "claude-fable-5-1", "costs more than"),
        (MAIN, "claude-unheard-of-9", "not known whether"),
        (MAIN, "anthropic/some/claude-haiku-5-5", "another provider"),
        (MAIN, "gpt-6-luna", "another provider"),
        (MAIN, "openai/gpt-6-luna", "another provider"),
        (MAIN, "ollama/qwen3", "another provider"),
        (MAIN, "fast", "another provider"),
        ("openai/unpriced", "gpt-6-luna", "not known whether"),
        ("ollama/qwen3", "ollama/other", "not known whether"),
        ("openrouter/anthropic/claude-opus-5-5", "openrouter/someone/claude-haiku-5-5", "another provider"),
        ("openrouter/anthropic/claude-opus-5-5", "haiku", "another provider"),
    ],
)
def test_any_other_model_of_an_untrusted_agent_is_not_used(
    place: Place, monkeypatch: pytest.MonkeyPatch, main: str, words: str, why: str
) -> None:
    monkeypatch.setenv("OPENROUTER_API_KEY", "x" * 20)
    place.agent(words)
    chosen = place.chosen(main, fast_model="openai/gpt-6-luna")
    assert chosen.name == "" and why in chosen.refused and "not trusted" in chosen.refused


def test_an_untrusted_agent_loads_no_file_as_a_model(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    (place.folder / "evil.gguf").write_bytes(b"GGUF")
    monkeypatch.chdir(place.folder)
    base = place.config()
    models = base.agent_models
    assert isinstance(models, ConfiguredAgentModels)
    mode = Mode("helper", "helper", "You help.", model="local/evil.gguf", untrusted=True)
    local = ConfiguredAgentModels(models.config, models.maker, _renamed(base, "local/qwen2.5-coder-1.5b"))
    assert "is a file" in local.choose(mode).refused


def _renamed(config: TaskConfig, label: str) -> Any:
    return replace(config.model, label=label)


def test_the_project_file_of_an_untrusted_folder_cannot_say_what_a_name_stands_for(place: Place) -> None:
    place.agent("haiku")
    (place.folder / ".joey").mkdir()
    (place.folder / ".joey/config.toml").write_text('[agents]\nhaiku = "openai/gpt-6-astra"\n')
    assert place.chosen() == AgentModel("anthropic/claude-haiku-5-5")


def test_the_users_own_agent_has_its_model_in_any_folder(place: Place) -> None:
    place.agent("opus", folder="../config/joey/agents")
    assert place.chosen() == AgentModel("anthropic/claude-opus-5-5")


# A subtask with it


class Play:
    """What each conversation is answered: by its first word, and in order. Who requests which model is written down."""

    def __init__(self, **replies: list[Scripted]) -> None:
        self.replies = replies
        self.requests: list[tuple[str, str, str]] = []

    def __call__(self, request: ReceivedRequest) -> Scripted:
        messages = [each for each in request.body["messages"] if each["role"] not in ("system", "developer")]
        first = messages[0]["content"]
        who = str(first if isinstance(first, str) else first[0]["text"]).split()[0]
        self.requests.append((who, request.path, request.body["model"]))
        turn: int = sum(each["role"] == "assistant" for each in messages)
        return self.replies[who][turn]


def hand(number: int, words: str, mode: str = "helper") -> Any:
    return call(f"n{number}", "new_task", mode=mode, message=words)


class Run:
    """A task that runs to its end, with a user who agrees."""

    def __init__(self, place: Place, **flags: Any) -> None:
        self.events: list[tuple[str, Event]] = []
        self.services = Services(TaskOptions(place.folder, {"model": MAIN, **flags}))
        self.task_id = ""

    async def to_end(self, prompt: str = "Do it.", resume: str | None = None) -> TaskFinished:
        def watch(task_id: str, event: Event) -> None:
            self.events.append((task_id, event))
            agrees = not isinstance(event, ContinueRequested)
            if isinstance(event, (ApprovalRequested, CompletionRequested, ContinueRequested)):
                asyncio.get_running_loop().call_soon(task.send, Answer(event.request_id, yes=agrees))

        choices = Choices(resume=resume)
        async with self.services.open(prompt, choices, watch) as task:
            self.task_id = task.id
            return await task.run()

    def of(self, kind: type) -> list[Any]:
        return [event for _, event in self.events if isinstance(event, kind)]

    def child(self) -> str:
        return str(self.of(SubtaskOpened)[0].child_id)

    def records(self, task_id: str, kind: type) -> list[Any]:
        return [each for each in read_journal(self.services.journal_path(task_id)) if isinstance(each, kind)]


async def test_a_subtask_works_with_the_model_of_its_agent_and_costs_what_that_costs(place: Place) -> None:
    place.trust()
    place.agent("openai/gpt-4o", tools="Read, Edit, Bash")
    play = Play(Do=[reply(hand(1, "Help now")), done("d", "All.")], Help=[done("c", "Helped.")])
    async with LocalServer(play) as server:
        place.serve(server)
        run = Run(place, **{"approvals.profile": "ask"})
        assert await run.to_end() == TaskFinished("completed", "All.")
    assert play.requests == [
        ("Do", "/v1/messages", "claude-sonnet-5-5"),
        ("Help", "/v1/chat/completions", "gpt-4o"),
        ("Do", "/v1/messages", "claude-sonnet-5-5"),
    ]
    (opened,) = run.of(SubtaskOpened)
    assert opened.model == "openai/gpt-4o"
    started = [each for each in run.of(TaskStarted) if each.parent_id]
    assert [(each.model, each.window) for each in started] == [("openai/gpt-4o", 128_000)]
    (closed,) = run.of(SubtaskClosed)
    assert closed.cost == pytest.approx((100 * 2.5 + 20 * 10) / 1e6)
    assert run.records(run.task_id, ChildOpened)[0].model == "openai/gpt-4o"
    assert run.records(opened.child_id, TaskOpened)[0].model == "openai/gpt-4o"
    request = next(each for each in run.of(ApprovalRequested) if each.name == "new_task")
    assert "starting a subtask with openai/gpt-4o" in request.reason


async def test_a_subtask_without_a_key_for_its_model_uses_its_tasks_and_that_is_reported_once(place: Place) -> None:
    place.trust()
    place.agent("openai/gpt-4o")
    place.keys("ANTHROPIC")
    replies = [reply(hand(1, "Help here"), hand(2, "Help there"), hand(3, "Help more")), done("d", "All.")]
    play = Play(Do=replies, Help=[done("c", "Helped.")])
    async with LocalServer(play) as server:
        place.serve(server)
        run = Run(place, **{"approvals.profile": "all"})
        assert (await run.to_end()).outcome == "completed"
    assert {model for _, _, model in play.requests} == {"claude-sonnet-5-5"}
    (changed,) = run.of(ModelChanged)
    assert changed.model == MAIN and "'openai/gpt-4o', which is not used: no API key for openai" in changed.reason
    assert {each.model for each in run.of(SubtaskOpened)} == {MAIN}


@pytest.mark.parametrize("failure", [Failure(404, "model: claude-gone-9", "not_found_error"), Failure(401, "no", "x")])
async def test_a_model_that_only_its_server_knows_to_be_none_is_replaced(place: Place, failure: Failure) -> None:
    place.trust()
    place.agent("claude-gone-9")
    helped: list[Scripted] = [done("c", "Helped.")]
    play = Play(Do=[reply(hand(1, "Help now")), done("d", "All.")], Help=helped)

    def answer(request: ReceivedRequest) -> Scripted:
        scripted = play(request)
        return failure if request.body["model"] == "claude-gone-9" else scripted

    async with LocalServer(answer) as server:
        place.serve(server)
        run = Run(place, **{"approvals.profile": "all"})
        assert (await run.to_end()).outcome == "completed"
    assert [model for who, _, model in play.requests if who == "Help"] == ["claude-gone-9", "claude-sonnet-5-5"]
    ((task_id, changed),) = [(task, each) for task, each in run.events if isinstance(each, ModelChanged)]
    assert (task_id, changed.model) == (run.child(), MAIN)


async def test_a_subtask_below_inherits_the_model_of_the_one_above_it(place: Place) -> None:
    place.trust()
    place.agent("haiku", "outer", tools="Read, Edit")
    place.agent("inherit", "inner")
    place.agent("main", "chief")
    play = Play(
        Do=[reply(hand(1, "Outer work", "outer")), done("d", "All.")],
        Outer=[reply(hand(1, "Inner work", "inner"), hand(2, "Chief work", "chief")), done("o", "Outer.")],
        Inner=[done("i", "Inner.")],
        Chief=[done("h", "Chief.")],
    )
    async with LocalServer(play) as server:
        place.serve(server)
        assert (await Run(place, **{"approvals.profile": "all"}).to_end()).outcome == "completed"
    used = {who: model for who, _, model in play.requests}
    assert used == {
        "Do": "claude-sonnet-5-5",
        "Outer": "claude-haiku-5-5",
        "Inner": "claude-haiku-5-5",
        "Chief": "claude-sonnet-5-5",
    }


async def test_a_model_without_tools_gets_calls_in_text_beside_a_task_with_native_ones(place: Place) -> None:
    place.trust()
    place.agent("openai/plain-model")
    text = "<attempt_completion>\n<result>\nHelped.\n</result>\n</attempt_completion>"
    play = Play(Do=[reply(hand(1, "Help now")), done("d", "All.")], Help=[reply(text)])
    async with LocalServer(play) as server:
        place.serve(server)
        place.settings('[models."plain-model"]\ntools = false\n')
        run = Run(place, **{"approvals.profile": "all"})
        assert (await run.to_end()).outcome == "completed"
        body = next(each.body for each in server.requests if each.body["model"] == "plain-model")
    assert "tools" not in body
    assert run.records(run.child(), TaskOpened)[0].protocol == "xml"


async def test_four_in_worktrees_each_with_its_own_model_continue_with_it(place: Place) -> None:
    place.trust()
    models = {"one": "haiku", "two": "openai/gpt-4o", "three": "opus", "four": "inherit"}
    for name, model in models.items():
        place.agent(model, name, tools="Read, Write")
    place.commit()

    def work(name: str, faults: Faults | None = None) -> list[Scripted]:
        return [reply(call("w", "write_to_file", path=f"{name}.txt", file_text=f"{name}\n")), reply(
            call("c", "attempt_completion", result=name), faults=faults
        )]  # fmt: skip

    names = {"one": "One", "two": "Two", "three": "Three", "four": "Four"}
    handed = [hand(at, f"{word} work", name) for at, (name, word) in enumerate(names.items())]
    begun = Play(Do=[reply(*handed)], **{word: work(name, Faults(latency=60)) for name, word in names.items()})
    async with LocalServer(begun) as server:
        place.serve(server)
        run = Run(place, **{"approvals.profile": "all"})
        running = asyncio.create_task(run.to_end())
        async with asyncio.timeout(60):
            while len(begun.requests) < 9:  # noqa: ASYNC110 - the second request of all four has come
                await asyncio.sleep(0.01)
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
    ended = Play(Do=[reply(*handed), done("d", "All.")], **{word: work(name) for name, word in names.items()})
    async with LocalServer(ended) as server:
        place.serve(server)
        again = Run(place, **{"approvals.profile": "all"})
        assert await again.to_end("", resume=run.task_id) == TaskFinished("completed", "All.")
    expected = {
        "One": ("/v1/messages", "claude-haiku-5-5"),
        "Two": ("/v1/chat/completions", "gpt-4o"),
        "Three": ("/v1/messages", "claude-opus-5-5"),
        "Four": ("/v1/messages", "claude-sonnet-5-5"),
    }
    for play in (begun, ended):
        assert {who: (path, model) for who, path, model in play.requests if who != "Do"} == expected
    assert {name: (place.folder / f"{name}.txt").read_text() for name in names} == {name: f"{name}\n" for name in names}
    assert not again.of(ModelChanged)


async def test_a_subtask_that_had_not_begun_begins_with_its_model_after_a_break(place: Place) -> None:
    """Also one that speaks another protocol than its task, which keeps the one it began with."""
    place.trust()
    place.agent("openai/plain-model")
    place.settings('[models."plain-model"]\ntools = false\n')
    play = Play(Do=[reply(hand(1, "Help now")), done("d", "All.")], Help=[Failure(400, "stop here")])
    async with LocalServer(play) as server:
        place.serve(server)
        run = Run(place, **{"approvals.profile": "all", "limits.max_turns": 1})
        await run.to_end()
    journal = run.services.journal_path(run.task_id)
    lines = journal.read_text().splitlines()
    at = next(at for at, line in enumerate(lines) if json.loads(line).get("type") == "child_opened")
    journal.write_text("\n".join(lines[: at + 1]) + "\n")
    run.services.journal_path(run.child()).unlink()
    text = "<attempt_completion>\n<result>\nHelped.\n</result>\n</attempt_completion>"
    play = Play(Do=[reply(hand(1, "Help now")), done("d", "All.")], Help=[reply(text)])
    async with LocalServer(play) as server:
        place.serve(server)
        again = Run(place, **{"approvals.profile": "all"})
        assert (await again.to_end("", resume=run.task_id)).outcome == "completed"
    assert play.requests[0][::2] == ("Help", "plain-model")
    assert again.records(run.child(), TaskOpened)[0].protocol == "xml"
