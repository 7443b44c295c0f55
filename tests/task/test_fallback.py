from __future__ import annotations

from pathlib import Path

import pytest

from joey import protocols
from joey.app.opening import refuse_fallbacks_without_tools
from joey.errors import UsageError
from joey.events import ModelChanged, RetryScheduled
from joey.providers import Abilities, ModelRequest, ReasoningOptions
from joey.providers.errors import OverloadedError
from joey.providers.fallback import FallbackProvider, OpenedModel
from joey.task.requests import unattended
from joey.terminal.notes import note_on
from joey.testing import Failure, ScriptedProvider
from joey.testing.script import Scripted
from task_kit import Kit, done

BUSY = Failure(529, "busy", "overloaded_error")


def fallback(*scripts: list[Scripted]) -> tuple[FallbackProvider, list[ScriptedProvider]]:
    providers = [ScriptedProvider(script) for script in scripts]
    models = [OpenedModel(each, f"m{place}", f"p/m{place}") for place, each in enumerate(providers)]
    return FallbackProvider(models), providers


def kit(folder: Path, provider: FallbackProvider) -> Kit:
    made = Kit(folder, [], user=unattended)
    made.change(provider=provider, label="p/m0", name="m0")
    return made


async def test_a_task_continues_with_another_model_when_one_is_overloaded(tmp_path: Path) -> None:
    provider, (first, second) = fallback([BUSY] * 5, [done()])
    task = kit(tmp_path, provider)
    finished = await task.run("Do it.")
    assert finished.outcome == "completed"
    assert task.of(ModelChanged) == [ModelChanged("p/m1", "busy")]
    assert len(first.requests) == 3 and len(task.of(RetryScheduled)) == 2
    assert [request.model for request in second.requests] == ["m1"]
    assert note_on(task.of(ModelChanged)[0]) == ("busy. Continuing with p/m1.", "warning")


async def test_the_last_model_fails_as_one_alone_would(tmp_path: Path) -> None:
    provider, _ = fallback([BUSY] * 5, [BUSY] * 5)
    finished = await kit(tmp_path, provider).run("Do it.")
    assert finished.outcome == "error" and "busy" in finished.message


async def test_a_request_that_is_wrong_is_wrong_for_all(tmp_path: Path) -> None:
    provider, (_, second) = fallback([Failure(400, "no such thing")], [done()])
    task = kit(tmp_path, provider)
    assert (await task.run("Do it.")).outcome == "error"
    assert not second.requests and not task.of(ModelChanged)


async def test_the_cost_is_that_of_the_model_that_answers(tmp_path: Path) -> None:
    provider, _ = fallback([BUSY] * 5, [done()])
    task = kit(tmp_path, provider)
    model = task.config.model
    priced = model.prices.extended({"p/m0": {"input": 1, "output": 0}, "p/m1": {"input": 10, "output": 0}})
    task.change(prices=priced)
    await task.run("Do it.")
    assert task.task is not None and task.task.state.spending.cost == pytest.approx(100 * 10 / 1e6)


async def test_an_effort_is_adapted_to_the_model_that_answers() -> None:
    known = ScriptedProvider([done()], abilities=Abilities(efforts=("low", "high")))
    provider = FallbackProvider([OpenedModel(known, "m", "p/m")])
    async for _ in provider.stream(ModelRequest("x", (), reasoning=ReasoningOptions("max"))):
        pass
    assert known.requests[0].reasoning == ReasoningOptions("high")


def test_a_model_without_tools_cannot_continue_native_calls() -> None:
    models = [ScriptedProvider([]), ScriptedProvider([], abilities=Abilities(tools=False))]
    provider = FallbackProvider([OpenedModel(each, "m", f"p/{n}") for n, each in enumerate(models)])
    with pytest.raises(UsageError, match="p/1 cannot be a fallback"):
        refuse_fallbacks_without_tools(provider, protocols.get("native"))
    refuse_fallbacks_without_tools(provider, protocols.get("xml"))


async def test_a_fallback_may_think_as_much_as_its_role_says() -> None:
    first, second = ScriptedProvider([BUSY]), ScriptedProvider([done()])
    provider = FallbackProvider([OpenedModel(first, "a", "p/a"), OpenedModel(second, "b", "p/b", "low")])
    assert provider.fall_back(OverloadedError("busy")) == "p/b"
    request = ModelRequest(model="a", messages=(), reasoning=ReasoningOptions("high"))
    async for _ in provider.stream(request):
        pass
    [sent] = second.requests
    assert sent.reasoning == ReasoningOptions(second.abilities("b").nearest_effort("low"))


@pytest.mark.parametrize(
    "failure", [Failure(404, "model: x", "not_found_error"), Failure(401, "no", "authentication_error")]
)
async def test_a_model_that_gives_up_is_replaced_where_its_server_refuses_it(tmp_path: Path, failure: Failure) -> None:
    """And those behind the one that comes then are behind it still."""
    last, (busy, good) = fallback([BUSY] * 5, [done()])
    own = ScriptedProvider([failure])
    behind = OpenedModel(last, "m0", "p/m0")
    task = kit(tmp_path, FallbackProvider([OpenedModel(own, "own", "p/own"), behind], gives_up=True))
    assert (await task.run("Do it.")).outcome == "completed"
    assert [each.model for each in task.of(ModelChanged)] == ["p/m0", "p/m1"]
    assert (len(own.requests), len(busy.requests), len(good.requests)) == (1, 3, 1)
