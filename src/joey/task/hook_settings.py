"""The hooks of a task, and how their commands run."""

from __future__ import annotations

from dataclasses import dataclass, field

from joey.hooks.consent import HookConsent
from joey.hooks.hook import Hook, HookEvent
from joey.sandbox import SandboxSettings
from joey.tools.shell.environment import NO_RULES, EnvironmentRules


@dataclass(frozen=True, slots=True)
class HookSettings:
    """What runs at which point. Without `consent` no hook of a project runs."""

    hooks: tuple[Hook, ...] = ()
    consent: HookConsent | None = None
    sandbox: SandboxSettings = field(default_factory=SandboxSettings)
    """What confines the hooks of a project."""
    environment: EnvironmentRules = NO_RULES

    def matching(self, event: HookEvent, names: tuple[str, ...]) -> list[Hook]:
        """The hooks to run, each command once."""
        found = (hook for hook in self.hooks if hook.event == event and self._may_run(hook) and hook.matches(names))
        return [*{(hook.command, hook.function, hook.origin): hook for hook in found}.values()]

    def _may_run(self, hook: Hook) -> bool:
        return hook.origin != "project" or (self.consent is not None and self.consent.may_run(hook))

    @property
    def unseen(self) -> tuple[Hook, ...]:
        """Hooks of the project that the user has not let run."""
        return tuple(hook for hook in self.hooks if not self._may_run(hook))

    def has(self, event: HookEvent) -> bool:
        return any(hook.event == event and self._may_run(hook) for hook in self.hooks)


NO_HOOKS = HookSettings()
