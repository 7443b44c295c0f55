from __future__ import annotations

from typing import Any

import pytest

from joey.app.settings import default_model
from joey.chunks import UsageChunk
from joey.errors import UsageError
from joey.providers.catalogue import Prices, abilities_of
from joey.providers.prices import LongContext, Price
from vectors_data import cases


def _price(info: Any) -> Price:
    long = info.get("longContextPricing")
    return Price(
        info["inputPrice"],
        info["outputPrice"],
        info.get("cacheWritesPrice"),
        info.get("cacheReadsPrice"),
        long
        and LongContext(
            long["thresholdTokens"],
            long.get("inputPriceMultiplier", 1),
            long.get("outputPriceMultiplier", 1),
            long.get("cacheWritesPriceMultiplier", 1),
            long.get("cacheReadsPriceMultiplier", 1),
        ),
    )


def _usage(case: Any) -> UsageChunk:
    given, output, *rest = case["args"][1:5]
    write, read = ([each or 0 for each in rest] + [0, 0])[:2]
    counts_cache = case["fn"] == "calculateApiCostOpenAI"
    return UsageChunk(given - (write + read if counts_cache else 0), output, write, read)


PRICED = [
    case
    for fn in ("calculateApiCostAnthropic", "calculateApiCostOpenAI")
    for case in cases("roo/functions", fn=fn)
    if "inputPrice" in case["args"][0]  # a model without prices has no price here, not the price 0
]


@pytest.mark.parametrize("case", PRICED, ids=lambda c: c["test"])
def test_a_request_costs_what_was_recorded(case: Any) -> None:
    info, usage = case["args"][0], _usage(case)
    if len(case["args"]) > 5:
        return  # service tiers: Joey asks for the usual one only
    unpriced = sum(
        tokens
        for tokens, price in (
            (usage.cache_write_tokens, "cacheWritesPrice"),
            (usage.cache_read_tokens, "cacheReadsPrice"),
        )
        if info.get(price) is None
    )
    # The recorded system takes cached tokens without a price for free; they are at most as cheap as input.
    expected = case["out"]["totalCost"] + unpriced * info["inputPrice"] / 1_000_000
    assert _price(info).cost(usage) == pytest.approx(expected)


def test_a_model_that_is_not_known_has_no_price() -> None:
    assert Prices().cost("anthropic/claude-next", UsageChunk(1000, 1000)) is None


@pytest.mark.parametrize(
    "name",
    [
        "claude-sonnet-4-5",
        "claude-sonnet-4-5-20250929",
        "anthropic/claude-sonnet-4-5",
        "anthropic/claude-sonnet-4-5@20250929",
    ],
)
def test_vendor_and_date_do_not_matter(name: str) -> None:
    assert Prices().of(name) == Price(3, 15, 3.75, 0.3, LongContext(200_000, 2, 1.5, 2, 2))


def test_a_name_that_only_begins_like_a_known_one_has_no_price() -> None:
    assert Prices().of("gpt-5-turbo") is None
    assert Prices().of("gpt-4o:free") is None


def test_users_put_their_prices_over_the_table() -> None:
    prices = Prices().extended(
        {"mine": {"input": 1, "output": 2}, "gpt-4o": {"input": 0, "output": 0, "cache_read": 0}}
    )
    assert prices.cost("vllm/mine", UsageChunk(1_000_000, 500_000)) == 2.0
    assert prices.cost("openai/gpt-4o", UsageChunk(1_000_000)) == 0.0


@pytest.mark.parametrize(
    "entry", [{}, {"input": 1}, {"input": 1, "output": "2"}, {"input": 1, "output": 2, "in": 3}, 5]
)
def test_a_wrong_price_is_refused(entry: Any) -> None:
    with pytest.raises(UsageError, match="'mine'"):
        Prices().extended({"mine": entry})


def test_the_models_that_are_used_when_nobody_names_one_have_a_price_and_a_window() -> None:
    for variable in ("ANTHROPIC_API_KEY", "OPENAI_API_KEY"):
        name = default_model({variable: "key", "PATH": ""}).partition("/")[2]
        assert Prices().of(name) is not None, name
        assert abilities_of(name).context_window, name


def test_a_long_request_to_a_newer_model_costs_more() -> None:
    short, long = UsageChunk(200_000, 1_000), UsageChunk(300_000, 1_000)
    assert Prices().cost("gpt-6.1-sol", short) == pytest.approx(0.41)
    assert Prices().cost("gpt-6.1-sol", long) == pytest.approx(1.215)


@pytest.mark.parametrize(
    ("model", "api"),
    [("gpt-6.1-sol", "responses"), ("gpt-5.6-luna", "responses"), ("gpt-5-codex", "responses"), ("gpt-5.2", None)],
)
def test_models_that_take_no_tools_in_chat_completions_are_known(model: str, api: str | None) -> None:
    assert abilities_of(model).api == api and abilities_of(model).tools


@pytest.mark.parametrize(
    ("one", "other", "at_most"),
    [
        (Price(1, 5), Price(1, 5), True),
        (Price(1, 5), Price(2, 5), True),
        (Price(1, 6), Price(2, 5), False),
        (Price(1, 5, cache_read=1), Price(2, 5, cache_read=0.5), False),
        (Price(1, 5), Price(2, 5, cache_write=0.5), False),
        (Price(1, 5, long_context=LongContext(1000, input=3)), Price(2, 5), False),
        (Price(1, 5, long_context=LongContext(1000, input=2)), Price(2, 5), True),
        (Price(1, 5, long_context=LongContext(1000, 3)), Price(2, 5, long_context=LongContext(2000, 2)), False),
        (Price(1, 5, long_context=LongContext(2000, 3)), Price(2, 5, long_context=LongContext(1000, 2)), True),
    ],
)
def test_a_price_is_at_most_another_if_no_token_costs_more_in_any_request(
    one: Price, other: Price, at_most: bool
) -> None:
    assert one.is_at_most(other) == at_most
