"""The models of agents: what the `model` in an agent's file stands for, whether it may be used, and a subtask with it.

| the file says | the model |
|---|---|
| `inherit`, `default`, or nothing | that of the task that starts the subtask |
| `main`, `fast`, `fallback` | that of the task a person started, `fast_model`, the first of `fallback_models` |
| `haiku`, `sonnet`, `opus` | the setting `agents.NAME`, else the newest of this name that Anthropic has |
| `provider/model`, `claude-…`, `gpt-…` | this one; without a provider, at the maker's own |

Anything else, a model that needs a key that is not there, and one that was switched off are not used: the subtask works
with its task's model, and the user reads why, once. One that only its server knows to be none is replaced at the first
request (`FallbackProvider`).

The file of a project that nobody trusts must neither spend more of the user's money nor show their files to somebody
else. So its model is used only if it is listed here: one of the same provider and maker as the model of the task that
the person started, whose tokens are all known to cost no more than that one's. In this process, only what
`joey local install` fetched: a file of the project's is not loaded.

Each model is opened when a subtask first needs it, and closed with the task.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import date

from joey.app.dialects import look_again
from joey.app.model_parts import ModelParts, PartsMaker, priced
from joey.app.models import catalogue
from joey.app.opening import open_named
from joey.app.values import check_model
from joey.config import Config
from joey.errors import JoeyError, UsageError
from joey.modes.mode import Mode
from joey.providers import LOCAL, Catalogue, Provider, ReasoningOptions, split_name
from joey.providers.fallback import FallbackProvider, OpenedModel
from joey.providers.local.weights import CATALOGUE
from joey.task.config import AgentModel, AgentModels, Model, TaskConfig
from joey.task.settings import Replies

_MAKERS = ((re.compile(r"claude-"), "anthropic"), (re.compile(r"gpt-|o\d|codex"), "openai"))
_SETTINGS = {"haiku": "agents.haiku", "sonnet": "agents.sonnet", "opus": "agents.opus"}
_OF_PROVIDER = ("protocol", "grammar", "api", "task.prompt")
"""Settings that were made for the models of one provider."""
_COST_LIMITS = ("limits.max_cost", "limits.subtask_cost", "limits.all_subtasks_cost")


@dataclass(slots=True, eq=False)
class ConfiguredAgentModels(AgentModels):
    """The models of agents, under the settings of one task. `main` is the model of the task a person started."""

    config: Config
    maker: PartsMaker
    main: Model
    resumed: bool = False
    _chosen: dict[str, AgentModel] = field(default_factory=dict)
    _parts: dict[tuple[str, str], ModelParts] = field(default_factory=dict)
    _opened: dict[str, tuple[Provider, str]] = field(default_factory=dict)
    _opening: asyncio.Lock = field(default_factory=asyncio.Lock)
    _reported: set[str] = field(default_factory=set)

    # Which model

    def choose(self, mode: Mode) -> AgentModel:
        if mode.model and mode.slug not in self._chosen:
            self._chosen[mode.slug] = self._choose(mode)
        return self._chosen.get(mode.slug, AgentModel())

    def _choose(self, mode: Mode) -> AgentModel:
        try:
            name = self._named(mode.model)
            if name not in ("", self.main.full_name):
                self._check(name, untrusted=mode.untrusted)
                check_model(name, self.config)
        except JoeyError as error:
            return AgentModel(refused=f"The agent {mode.slug} has the model {mode.model!r}, which is not used: {error}")
        return AgentModel(name)

    def _named(self, words: str) -> str:
        """The full name of a model; empty for that of the task. UsageError for words that name none."""
        word = words.removesuffix("[1m]")
        if word.lower() in ("inherit", "default"):
            return ""
        if word.lower() in ("main", "fast", "fallback"):
            return self._of_role(word.lower())
        if (setting := _SETTINGS.get(word.lower())) and (chosen := self.config.value(setting)):
            return str(chosen)
        if newest := next(_newest(catalogue(self.config), word.lower()), None):
            return newest
        maker = next((provider for pattern, provider in _MAKERS if pattern.match(word)), None)
        name = f"{maker}/{word}" if maker and "/" not in word else word
        split_name(name)
        return name

    def _of_role(self, role: str) -> str:
        if role == "main":
            return self.main.full_name
        setting = "fast_model" if role == "fast" else "fallback_models"
        value = self.config.value(setting)
        if not value:
            raise UsageError(f"there is no {role} model; the setting `{setting}` names one")
        return str(value if role == "fast" else value[0])

    def _check(self, name: str, *, untrusted: bool) -> None:
        """Raises UsageError for a model that must not be used here."""
        known = priced(catalogue(self.config), name)
        facts, ours = known.facts(name), self.main.prices.of(self.main.full_name)
        if facts.ends is not None and facts.ends <= date.today():  # noqa: DTZ011 - the user's day
            raise UsageError(f"{name} was switched off on {facts.ends:%Y-%m-%d}")
        limited = any(self.config.value(each) is not None for each in _COST_LIMITS)
        if limited and facts.price is None and ours is not None:
            raise UsageError(f"the price of {name} is not known, and there is a cost limit")
        if not untrusted:
            return
        if name.rpartition("/")[0] != self.main.full_name.rpartition("/")[0]:
            why = f"{name} is of another provider than {self.main.full_name}"
        elif name.startswith(f"{LOCAL}/") and name.partition("/")[2] not in CATALOGUE:
            why = f"{name} is a file"
        elif facts.price is None or ours is None:
            why = f"it is not known whether {name} costs more than {self.main.full_name}"
        elif not facts.price.is_at_most(ours):
            why = f"{name} costs more than {self.main.full_name}"
        else:
            return
        raise UsageError(f"{why}, and this folder is not trusted (`joey tools --trust` trusts it)")

    def is_news(self, words: str) -> bool:
        known, self._reported = words in self._reported, self._reported | {words}
        return not known

    # A subtask with it

    async def applied(self, config: TaskConfig, name: str) -> TaskConfig:
        if name == config.model.full_name:
            return config
        async with self._opening:
            key = name, config.model.full_name
            if key not in self._parts:
                self._parts[key] = await asyncio.to_thread(self._made, name, config.model)
        return self._parts[key].applied(config)

    def _made(self, name: str, parent: Model) -> ModelParts:
        """In a thread: the model's server may be asked what it runs, and SDKs are loaded."""
        settings = self._settings_for(name)
        look_again(name, settings)
        if name not in self._opened:
            self._opened[name] = open_named(name, settings)
        provider, model = self._opened[name]
        parts = self.maker.parts((provider, model), name, settings, self.main.fast)
        own = replace(parts.model, replies=self._with_effort(parts.model))
        if own.protocol.in_text or parent.provider.abilities(parent.name).tools:
            spare = OpenedModel(parent.provider, parent.name, parent.full_name)
            both = FallbackProvider([OpenedModel(provider, model, name), spare], gives_up=True)
            own = replace(own, provider=both)
        return replace(parts, model=own)

    def _with_effort(self, model: Model) -> Replies:
        """How replies are requested; the models of the roles may have an effort of their own."""
        role = "fast" if model.full_name == self.config.value("fast_model") else "fallback"
        is_one = role == "fast" or model.full_name in self.config.value("fallback_models")
        effort = self.config.value(f"reasoning.{role}_effort") if is_one else None
        if effort is None:
            return model.replies
        nearest = model.provider.abilities(model.name).nearest_effort(effort)
        return replace(model.replies, reasoning=ReasoningOptions(nearest))

    def _settings_for(self, name: str) -> Config:
        """The settings without those that were made for the task's own model."""
        config, reset = self.config, set()
        if name.partition("/")[0] != self.main.full_name.partition("/")[0]:
            reset |= {*_OF_PROVIDER}
        if self.resumed and config.settings["protocol"].origin == "flag":  # it is what the task began with
            reset.add("protocol")
        if config.settings["reasoning.effort"].origin in ("flag", "environment"):
            reset.add("reasoning.effort")
        return config.without(reset)

    async def close(self) -> None:
        for provider, _ in self._opened.values():
            await provider.close()


def _newest(known: Catalogue, alias: str) -> Iterator[str]:
    """Anthropic's models of a name such as `haiku`, the newest first."""
    pattern = re.compile(rf"claude-{re.escape(alias)}-(\d+)(?:-(\d+))?")
    found = [(match, name) for name in known.names if (match := pattern.fullmatch(name))]
    found.sort(key=lambda each: (int(each[0][1]), int(each[0][2] or 0)), reverse=True)
    yield from (f"anthropic/{name}" for _, name in found)
