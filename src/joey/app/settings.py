"""The settings in force, and the default model."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace

from joey.app.models import local_servers
from joey.config import Config, Setting
from joey.errors import UsageError
from joey.modes.files import load_modes
from joey.policy.settings import Approvals, ApprovalSource, layered
from joey.providers import LOCAL, MissingKeyError
from joey.providers.local.weights import DEFAULT as LOCAL_MODEL
from joey.providers.local.weights import known
from joey.sandbox import ProcessLimits, SandboxSettings
from joey.system.keyring import find_key
from joey.tools.shell.environment import EnvironmentRules

_USUAL_MODELS = {"ANTHROPIC_API_KEY": "anthropic/claude-sonnet-5-5", "OPENAI_API_KEY": "openai/gpt-6.1-sol"}


def approvals_in_force(config: Config, profile: str = "") -> Approvals:
    """What may be done without asking, and which source decided it; under another profile, if one is given."""
    sources = [
        ApprovalSource(
            layer.approvals,
            layer.origin,
            layer.trusted,
            {name.removeprefix("approvals."): value.where for name, value in layer.values.items()},
        )
        for layer in config.layers
    ]
    chosen = [ApprovalSource({"profile": profile}, "this session")] if profile else []
    approvals = layered([*sources, *chosen])
    return replace(approvals, settings=approvals.settings.changed(max_cost=config.value("limits.max_cost")))


def environment_rules(config: Config) -> EnvironmentRules:
    return EnvironmentRules(**config.part("environment"))


def sandbox_settings(config: Config) -> SandboxSettings:
    return SandboxSettings(**config.part("sandbox"), limits=ProcessLimits(**config.part("sandbox_limits")))


def notices(config: Config) -> tuple[str, ...]:
    """What a person should know about the settings before a task starts."""
    refused = approvals_in_force(config).refused
    held_back = {each.name for each in config.held_back}
    notice = config.unused_settings(name for name in (f"approvals.{each}" for each in refused) if name not in held_back)
    return tuple(each for each in (notice, *config.renamed, *_modes_held_back(config), _without_a_key(config)) if each)


def _modes_held_back(config: Config) -> tuple[str, ...]:
    workspace, user = config.project_file.parent.parent, config.user_file.parent
    return () if config.trusted else tuple(map(str, load_modes(workspace, user).held_back))


def _without_a_key(config: Config) -> str | None:
    """That a model on this machine is used although nobody chose it."""
    if config.value("model") or any(find_key(variable) for variable in _USUAL_MODELS):
        return None
    if _local_model_is_there():
        return f"no API key is set; using {default_model()} on this machine, a small model for small tasks"
    found = _found_model(os.environ)
    return f"no API key is set; using {found}, found on this machine; --model chooses another" if found else None


@contextmanager
def located_at(setting: Setting) -> Iterator[None]:
    """Errors about a value name the place where it is set."""
    try:
        yield
    except UsageError as error:
        raise UsageError(f"{setting.where}: {error}" if setting.where else str(error)) from None


def default_model(environment: Mapping[str, str] = os.environ) -> str:
    """The model to use when none is set: $JOEY_MODEL, the default of a provider with a key, an installed one, or one of
    a server that runs on this machine."""
    if environment.get("JOEY_MODEL"):
        return environment["JOEY_MODEL"]
    for variable, model in _USUAL_MODELS.items():
        if find_key(variable, environment):
            return model
    if _local_model_is_there():
        return f"{LOCAL}/{LOCAL_MODEL}"
    if found := _found_model(environment):
        return found
    raise MissingKeyError(
        "no model is configured. Choose one of:\n\n"
        "  an API key      export ANTHROPIC_API_KEY=…   or OPENAI_API_KEY, or another one listed by `joey models`\n"
        "  a local model   joey local install           no key, no account; or name one of a server: ollama/qwen3\n"
        "  the demo        joey demo                    one whole task offline, with a scripted model\n\n"
        "`joey doctor` checks what this machine has."
    )


def _found_model(environment: Mapping[str, str]) -> str | None:
    """The first model of a server that answers on this machine at its usual port; None if there is none."""
    servers = local_servers(environment)
    return next((f"{provider}/{name}" for provider, found in servers.items() for name in found.models), None)


def usable_models(environment: Mapping[str, str] = os.environ) -> list[str]:
    """The models that need nothing more: those usual for the keys that are set, and the installed one."""
    found = [model for variable, model in _USUAL_MODELS.items() if find_key(variable, environment)]
    return [*found, *([f"{LOCAL}/{LOCAL_MODEL}"] if _local_model_is_there() else [])]


def _local_model_is_there() -> bool:
    """Whether the coder model is installed, and the engine that runs it."""
    return known(LOCAL_MODEL).is_installed() and importlib.util.find_spec("xllamacpp") is not None
