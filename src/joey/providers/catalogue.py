"""What is known in advance about models: what they take, what they cost, which API they need.

The same conversation goes to all models, transformed where one takes less. `models.toml` is the data, with its sources;
it is read when something is first looked up. Over it come what servers reported (`joey models refresh`) and what the
user knows better (`[models."NAME"]`, `[prices."NAME"]`), as entries of the same form. A model that nothing is known of
is taken for a usual one.
"""

from __future__ import annotations

import difflib
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, replace
from datetime import date
from functools import cache
from pathlib import Path
from typing import Any, Literal, TypeAlias, get_args

from joey.images.limits import ImageLimits
from joey.providers.prices import LongContext, Price, read_price
from joey.usage import Usage

USUAL_IMAGES = ImageLimits()
IdRule: TypeAlias = Literal["anthropic", "openai", "mistral"]
Api: TypeAlias = Literal["chat", "responses", "messages"]
Effort: TypeAlias = Literal["none", "minimal", "low", "medium", "high", "xhigh", "max"]
EFFORTS: tuple[Effort, ...] = get_args(Effort)
"""How much a model may think, from least to most."""
Thinking: TypeAlias = Literal["budget", "adaptive", "both"]
ResponsesTool: TypeAlias = Literal["custom_tools", "namespaces"]
RESPONSES_TOOLS: tuple[ResponsesTool, ...] = get_args(ResponsesTool)


@dataclass(frozen=True, slots=True)
class Abilities:
    """What a model, or the endpoint that serves it, takes."""

    system: Literal["system", "developer", "none"] = "system"
    """The role of the system prompt. With none, it becomes the beginning of the first user message."""
    streaming: bool = True
    tools: bool = True
    """A tools parameter. Without it, calls and results in the history are written as text."""
    images: bool = True
    image_limits: ImageLimits = USUAL_IMAGES
    """How large and how many, if it takes any."""
    temperature: bool = True
    stream_usage: bool = True
    """Whether the endpoint takes the request to count tokens in a stream."""
    max_tokens: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    merge_tool_result_text: bool = False
    """Text after tool results goes into the last of them: some models forget their reasoning at a user message."""
    echo_reasoning: bool = False
    """Whether the model wants its plain reasoning back."""
    ids: IdRule = "openai"
    context_window: int | None = None
    """How many tokens a conversation may have; None if that is not known."""
    max_output: int | None = None
    """How many tokens a reply may have; None if that is not known."""
    api: Api | None = None
    """The only API that takes this model with tools; None if any does."""
    efforts: tuple[Effort, ...] | None = None
    """The reasoning efforts it takes: none at all if empty, unknown if None."""
    thinking: Thinking | None = None
    """How Anthropic's format asks for thinking: with a budget, adaptively, or either; None if that is not known."""
    forced_calls: bool = True
    """Whether a reply can be forced to be a call."""
    responses_tools: frozenset[ResponsesTool] = frozenset()
    """The kinds of tools of the Responses API that it knows: one text held to a grammar, and those in namespaces."""
    dialect: str | None = None
    """The dialect in which the model writes calls as text, if it has one of its own."""

    @property
    def reasons(self) -> bool:
        """Whether it thinks before it answers, as far as is known."""
        return self.efforts is None or bool(self.efforts)

    def nearest_effort(self, wanted: Effort) -> Effort | None:
        """The effort to ask for; None to ask for none. Of two that are equally near, the greater."""
        if self.efforts is None or wanted in self.efforts:
            return wanted
        place = EFFORTS.index(wanted)
        distances = {each: EFFORTS.index(each) - place for each in self.efforts}
        return min(self.efforts, key=lambda each: (abs(distances[each]), -distances[each]), default=None)


USUAL = Abilities()


@dataclass(frozen=True, slots=True)
class FactSource:
    """Where something was read, and when."""

    url: str
    read: str
    note: str = ""


@dataclass(frozen=True, slots=True)
class ModelFacts:
    """What is known of one model. None is unknown."""

    abilities: Abilities
    price: Price | None = None
    ends: date | None = None
    """The day on which the provider switches it off."""
    sources: tuple[FactSource, ...] = ()
    effort: Effort | None = None
    """The effort that the user set for it."""
    budget: int | None = None
    """The thinking budget that the user set for it, in tokens."""


_RENAMED = {"window": "context_window"}
_FIELDS = {each.name for each in fields(Abilities)}
_DATE = re.compile(r"[-@](\d{8}|\d{4}-\d{2}-\d{2})$|-latest$")
_REGION = re.compile(r"^((us|eu|apac|global|jp|au)\.)?(anthropic|openai|deepseek|mistral)\.")
"""How Bedrock writes vendors in front of models."""


_MAKERS = ((re.compile(r"claude-"), "anthropic"), (re.compile(r"gpt-|o\d|codex"), "openai"))


def maker_of(bare: str) -> str | None:
    """Who serves a model that is known by its name."""
    return next((provider for pattern, provider in _MAKERS if pattern.match(bare)), None)


class Catalogue:
    """Facts by model. `layers` come over the shipped data, each a table of entries by name; the last counts most."""

    def __init__(self, *layers: Mapping[str, Mapping[str, Any]]) -> None:
        self._layers = layers
        self._found: dict[str, ModelFacts] = {}

    def extended(self, entries: Mapping[str, Mapping[str, Any]]) -> Catalogue:
        """This catalogue with more entries: `{"my-model": {"window": 32768, "efforts": []}}`."""
        return Catalogue(*self._layers, entries) if entries else self

    def facts(self, model: str) -> ModelFacts:
        """What is known of a model, with its provider in front or not."""
        if model not in self._found:
            merged: dict[str, Any] = {}
            for entry in self._entries(model):
                merged |= {**entry, "source": [*merged.get("source", ()), *entry.get("source", ())]}
            self._found[model] = _facts(merged)
        return self._found[model]

    def lists(self, model: str) -> bool:
        """Whether a model has an entry of its own, and is not only of a family."""
        tables = (_data()["models"], *self._layers)
        return any(name in table for name in _names(model) for table in tables)

    def near(self, model: str) -> str | None:
        """The model with an entry of its own whose name is nearest, with its provider."""
        near = difflib.get_close_matches(model.rpartition("/")[2], self.names, n=1)
        provider = maker_of(near[0]) if near else None
        return f"{provider}/{near[0]}" if provider else None

    @property
    def names(self) -> tuple[str, ...]:
        """The models that have entries of their own in the shipped data."""
        return tuple(_data()["models"])

    def _entries(self, model: str) -> Iterator[Mapping[str, Any]]:
        bare = _bare(model).lower()
        yield from (family for family in _data()["families"] if family["pattern"].match(bare))
        for table in (_data()["models"], *self._layers):
            yield from (table[name] for name in reversed(_names(model)) if name in table)


def abilities_of(model: str) -> Abilities:
    """The abilities of a model by its name; a vendor in front of it (`openai/o3`) does not matter."""
    return _shipped(model).abilities


@cache
def _shipped(model: str) -> ModelFacts:
    return Catalogue().facts(model)


@cache
def _data() -> dict[str, Any]:
    data = tomllib.loads(Path(__file__).with_name("models.toml").read_text(encoding="utf-8"))
    for family in data["families"]:
        family["pattern"] = re.compile(family.pop("match"))
    return data


def _bare(model: str) -> str:
    return _REGION.sub("", model.rsplit("/", 1)[-1])


def _names(model: str) -> tuple[str, ...]:
    """The names under which a model may be listed, the most exact first: without the vendor, without the date."""
    own = model.partition("/")[2]
    bare = _bare(model)
    return tuple(dict.fromkeys(filter(None, (model, own, _DATE.sub("", model), bare, _DATE.sub("", bare)))))


def _facts(entry: Mapping[str, Any]) -> ModelFacts:
    named = {_RENAMED.get(name, name): value for name, value in entry.items()}
    given = {name: value for name, value in named.items() if name in _FIELDS}
    given["responses_tools"] = frozenset(name for name in RESPONSES_TOOLS if named.get(name))
    if isinstance(given.get("efforts"), list):
        given["efforts"] = tuple(given["efforts"])
    if isinstance(given.get("image_limits"), Mapping):
        given["image_limits"] = ImageLimits(**given["image_limits"])
    return ModelFacts(
        replace(USUAL, **given),
        _price(entry.get("price")),
        entry.get("ends"),
        tuple(dict.fromkeys(map(_source, entry.get("source", ())))),
        entry.get("effort"),
        entry.get("budget"),
    )


def _source(name: str) -> FactSource:
    known = _data()["sources"].get(name)
    return FactSource(known["url"], str(known["read"]), known.get("note", "")) if known else FactSource(name, "")


def _price(entry: Any) -> Price | None:
    if entry is None or isinstance(entry, Price):
        return entry
    long = _data()["long"].get(entry.get("long"))
    price = Price(**{name: value for name, value in entry.items() if name != "long"})
    return replace(price, long_context=LongContext(**long)) if long else price


class Prices:
    """The price of each model: the catalogue's, and those that were put over it."""

    def __init__(self, catalogue: Catalogue | None = None) -> None:
        self._catalogue = catalogue or Catalogue()

    def of(self, model: str) -> Price | None:
        """The price of a model: under its full name, else without the vendor in front and the date at the end."""
        return self._catalogue.facts(model).price

    def cost(self, model: str, usage: Usage) -> float | None:
        """Dollars, or None when the model's price is not known."""
        price = self.of(model)
        return None if price is None else price.cost(usage)

    def extended(self, entries: Mapping[str, Any]) -> Prices:
        """This table with more entries: `{"my-model": {"input": 1, "output": 2, "cache_read": 0.1}}`."""
        layer = {name: {"price": read_price(name, each)} for name, each in entries.items()}
        return Prices(self._catalogue.extended(layer))
