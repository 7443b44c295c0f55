"""Flags over environment over project over user over defaults.

A single value replaces the one below it. Lists (rules, names of tools) add up, so that a flag adds a rule and does
not forget the user's. Approvals are layered by the policy itself, which knows what a profile means; here they are
only kept apart by where they came from.

A project's file in a folder that the user has not trusted is read with care (see `keys`): what it may not decide is
held back and told, limits can only become tighter, and approvals only stricter.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, TypeAlias

from joey.config.files import Value, check_value, parse_text, read_settings_file
from joey.config.keys import BY_NAME, KEYS, MODELS, PRICES, UPSTREAMS, Key
from joey.config.secrets import ADVICE, secret_in
from joey.errors import UsageError
from joey.system.folders import project_folder

Origin: TypeAlias = Literal["default", "user", "project", "environment", "flag"]
FILE = "config.toml"


@dataclass(frozen=True, slots=True)
class Setting:
    """A value in force: whose it is, and where exactly it was said (more than one place for lists)."""

    name: str
    value: Any
    origin: Origin = "default"
    where: str = ""


@dataclass(frozen=True, slots=True)
class HeldBack:
    """A value of the project's file that is not used, because the folder is not trusted."""

    name: str
    where: str


@dataclass(frozen=True, slots=True)
class Layer:
    """What one place says."""

    origin: Origin
    values: Mapping[str, Value]
    trusted: bool = True

    @property
    def approvals(self) -> dict[str, Any]:
        """The table of approvals, as the policy reads it."""
        return {
            name.removeprefix("approvals."): value.value
            for name, value in self.values.items()
            if name.startswith("approvals.")
        }


@dataclass(frozen=True, slots=True)
class Config:
    """The settings in force in a workspace."""

    settings: Mapping[str, Setting]
    layers: tuple[Layer, ...] = ()
    held_back: tuple[HeldBack, ...] = ()
    user_file: Path = field(default_factory=Path)
    project_file: Path = field(default_factory=Path)
    trusted: bool = False

    def value(self, name: str) -> Any:
        return self.settings[name].value

    def part(self, name: str) -> dict[str, Any]:
        """The values for one part of the program, by the names of its fields (see `Key.sets`)."""
        fields = {key.sets.partition(".")[2]: key.name for key in KEYS if key.sets.startswith(f"{name}.")}
        return {field: self.value(setting) for field, setting in fields.items()}

    def without(self, names: Iterable[str]) -> Config:
        """The same, as if nobody had set these."""
        reset = {name: Setting(name, BY_NAME[name].default) for name in names}
        return replace(self, settings=MappingProxyType({**self.settings, **reset}))

    @property
    def renamed(self) -> tuple[str, ...]:
        """Settings that are written with a name or value of an earlier version, for a person to read."""
        values = (value for layer in self.layers for value in layer.values.values())
        return tuple(f"{value.where}: {value.note}" for value in values if value.note)

    @property
    def prices(self) -> dict[str, Any]:
        """The user's own prices, by model."""
        return self._table(PRICES)

    @property
    def models(self) -> dict[str, Any]:
        """What the user knows of models, by model."""
        return self._table(MODELS)

    @property
    def upstreams(self) -> dict[str, Any]:
        """The models that the gateway serves, by the name that clients use."""
        return self._table(UPSTREAMS)

    def _table(self, table: str) -> dict[str, Any]:
        start = f"{table}."
        return {name.removeprefix(start): each.value for name, each in self.settings.items() if name.startswith(start)}

    def base_url_for(self, model: str) -> str | None:
        """The server for a model. One that was named for another provider's model gets neither text nor key of this."""
        found = self.settings["base_url"]
        named = None
        for layer in self.layers:
            named = layer.values["model"].value if "model" in layer.values and self._holds(layer, "model") else named
            if layer.origin == found.origin:
                break
        other = named is not None and named.partition("/")[0] != model.partition("/")[0]
        return None if other or found.value is None else str(found.value)

    def _holds(self, layer: Layer, name: str) -> bool:
        return layer.trusted or BY_NAME[name].in_project == "free"

    def unused_settings(self, refused: Iterable[str] = ()) -> str | None:
        """Settings of the project's file that are not used, for a person to read; `refused` adds the policy's."""
        held_back = [each.name for each in self.held_back]
        own = [name for name in held_back if name in BY_NAME and BY_NAME[name].in_project in ("never", "tighter")]
        others = [name for name in (*held_back, *refused) if name not in own]
        how = f"run `joey tools --trust` in {self.project_file.parent.parent} to trust it"
        reasons = ((others, f"not used because this folder is not trusted; {how}"), (own, "only your own file may"))
        notes = [f"{self.project_file} sets {', '.join(names)}: {why}" for names, why in reasons if names]
        return "; ".join(notes) or None


def read_config(
    workspace: Path,
    user: Path,
    *,
    trusted: bool,
    flags: Mapping[str, Any] | None = None,
    environment: Mapping[str, str] = os.environ,
) -> Config:
    """The settings for a workspace, a user's folder, an environment and flags (full names; None and () say nothing).

    A flag that is a `Value` knows where it comes from; others are taken to be of the command line."""
    user_file, project_file = user / FILE, project_folder(workspace) / FILE
    layers = (
        Layer("user", read_settings_file(user_file)),
        Layer("project", read_settings_file(project_file), trusted=trusted),
        Layer("environment", _from_environment(environment)),
        Layer("flag", _from_flags(flags or {})),
    )
    settings = {key.name: Setting(key.name, key.default) for key in KEYS if not key.name.startswith("approvals.")}
    held_back: list[HeldBack] = []
    for layer in layers:
        for name, value in layer.values.items():
            _lay(settings, layer, name, value, held_back)
    return Config(MappingProxyType(settings), layers, tuple(held_back), user_file, project_file, trusted)


def _lay(settings: dict[str, Setting], layer: Layer, name: str, value: Value, held_back: list[HeldBack]) -> None:
    key = BY_NAME.get(name)
    in_project = key.in_project if key else "trusted"
    if (not layer.trusted and in_project == "trusted") or (layer.origin == "project" and in_project == "never"):
        held_back.append(HeldBack(name, value.where))
        return
    if name.startswith("approvals."):
        return
    below = settings.get(name)
    loosens = key is not None and below is not None and in_project in ("stricter", "tighter")
    loosens = loosens and key.loosens(value.value, below.value)  # type: ignore[union-attr]
    if loosens and (not layer.trusted or (layer.origin == "project" and in_project == "tighter")):
        held_back.append(HeldBack(name, value.where))
        return
    settings[name] = _over(below, key, Setting(name, value.value, layer.origin, value.where))


def _over(below: Setting | None, key: Key | None, above: Setting) -> Setting:
    if key is None or not key.adds_up or below is None or not below.value:
        return above
    return Setting(above.name, (*below.value, *above.value), above.origin, f"{below.where}, {above.where}")


def _from_environment(environment: Mapping[str, str]) -> dict[str, Value]:
    values = {}
    for key in KEYS:
        text = environment.get(key.variable, "").strip() if key.variable else ""
        if not text:
            continue
        if secret_in("", text):
            raise UsageError(f"${key.variable} looks like a secret. {ADVICE}")
        try:
            values[key.name] = Value(check_value(key, parse_text(key, text)), f"${key.variable}")
        except UsageError as error:
            raise UsageError(f"${key.variable}: {error}") from None
    return values


def _from_flags(flags: Mapping[str, Any]) -> dict[str, Value]:
    given = {name: value for name, value in flags.items() if value is not None and value != ()}
    return {
        name: value if isinstance(value, Value) else Value(value, _flag(BY_NAME[name])) for name, value in given.items()
    }


def _flag(key: Key) -> str:
    return key.flag.name if key.flag else key.name
