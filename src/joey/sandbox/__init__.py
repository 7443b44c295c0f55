"""What a command may touch, as the operating system enforces it. A seat belt, not a jail."""

from joey.sandbox.holder import ConfinedProcess, SandboxError
from joey.sandbox.sandbox import HeldLevel, Level, Sandbox, open_full, open_partial, open_sandbox
from joey.sandbox.settings import Mode, Network, ProcessLimits, SandboxSettings, Walls

__all__ = [
    "ConfinedProcess",
    "HeldLevel",
    "Level",
    "Mode",
    "Network",
    "ProcessLimits",
    "Sandbox",
    "SandboxError",
    "SandboxSettings",
    "Walls",
    "open_full",
    "open_partial",
    "open_sandbox",
]
