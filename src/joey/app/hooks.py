"""The hooks of a workspace: the user's, the program's, and those of a project that the user trusts."""

from __future__ import annotations

from joey.app.settings import environment_rules, sandbox_settings
from joey.app.sources import Sources
from joey.config import Config
from joey.hooks.hook import HOOK_EVENTS, Hook, HookConsent, HookOrigin, HooksFound, read_claude_files, read_event
from joey.task.settings import HookSettings


def hooks_of(config: Config, sources: Sources) -> HooksFound:
    """The hooks in the settings files, and what of them cannot be used. Nothing of a folder that is not trusted."""
    found = HooksFound()
    timeout = config.value("hooks.timeout")
    for layer in (each for each in config.layers if each.trusted):
        origin: HookOrigin = "project" if layer.origin == "project" else "user"
        for event in HOOK_EVENTS:
            if value := layer.values.get(f"hooks.{event}"):
                found += read_event(event, value.value, value.where, origin, timeout)
    if config.trusted and config.value("hooks.claude_files"):
        found += read_claude_files(sources.project, timeout)
    return found


def hook_consent(sources: Sources) -> HookConsent:
    """Which hooks of this project the user has let run."""
    return HookConsent(sources.user / "accepted_hooks.json", sources.project)


def hook_settings(config: Config, sources: Sources, given: tuple[Hook, ...] = ()) -> HookSettings:
    """The hooks of a task, and how their commands run."""
    hooks = (*hooks_of(config, sources).hooks, *given)
    return HookSettings(hooks, hook_consent(sources), sandbox_settings(config), environment_rules(config))


def list_hooks(config: Config, sources: Sources) -> list[str]:
    """Every hook in a line, with whose it is and whether it runs; then what cannot be used."""
    found, consent = hooks_of(config, sources), hook_consent(sources)
    return [*(_line(hook, runs=consent.may_run(hook)) for hook in found.hooks), *found.flaws]


def _line(hook: Hook, *, runs: bool) -> str:
    state = "" if runs else "  not accepted yet: `joey hooks --accept`"
    return f"{hook.event:<17} {hook.matcher or '*':<14} {hook.command}  ({hook.origin}: {hook.where}){state}"


def accept_hooks(config: Config, sources: Sources) -> tuple[Hook, ...]:
    """Let the project's hooks run from now on; returns those that are new."""
    consent = hook_consent(sources)
    new = tuple(hook for hook in hooks_of(config, sources).hooks if not consent.may_run(hook))
    if new:
        consent.accept(new)
    return new
