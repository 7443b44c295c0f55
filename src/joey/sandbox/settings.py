"""What the user wants of the sandbox, and what one sandbox is made for. Frozen data; nothing here looks at the disk."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, TypeAlias

Mode: TypeAlias = Literal["off", "auto", "require"]
"""`auto` takes the best there is, `require` refuses commands without a full sandbox. Each is stricter than the last."""
MODES: tuple[Mode, ...] = ("off", "auto", "require")
NetworkRule: TypeAlias = Literal["none", "approved", "on"]
Network: TypeAlias = Literal["none", "hosts", "on"]
"""What one sandbox has: nothing, the hosts of the list through a proxy, or what the machine has."""

MEGABYTE = 1024 * 1024


@dataclass(frozen=True, slots=True)
class ProcessLimits:
    """What one process may take (megabytes), and how many there may be. Generous: they stop accidents."""

    memory: int = 8192
    """Of data, not of addresses: Java and Go reserve far more addresses than they use."""
    processes: int = 4096
    file_size: int = 16384

    @property
    def resources(self) -> dict[str, int]:
        """By their names in the module `resource`."""
        return {
            "RLIMIT_DATA": self.memory * MEGABYTE,
            "RLIMIT_NPROC": self.processes,
            "RLIMIT_FSIZE": self.file_size * MEGABYTE,
            "RLIMIT_CORE": 0,
        }


@dataclass(frozen=True, slots=True)
class SandboxSettings:
    """The choices of the user, from the settings."""

    mode: Mode = "auto"
    network: NetworkRule = "approved"
    """Who may use the network: nobody, commands that a person approved, or every command."""
    hosts: tuple[str, ...] = ()
    """Hosts that commands may reach all the same, through a proxy: `pypi.org`, `*.example.com`."""
    writable: tuple[str, ...] = ()
    """Folders outside the workspace where commands may write."""
    hide: tuple[str, ...] = ()
    """More files and folders that commands do not see."""
    show: tuple[str, ...] = ()
    """What commands see although it is on Joey's own list of secrets."""
    limits: ProcessLimits = field(default_factory=ProcessLimits)

    def network_for(self, *, approved: bool) -> Network:
        """What a command may reach: one that a person approved, or one that a rule allowed."""
        if self.network == "on" or (self.network == "approved" and approved):
            return "on"
        return "hosts" if self.hosts else "none"


def nothing(_path: str | Path) -> bool:
    return False


@dataclass(frozen=True, slots=True)
class Walls:
    """What one sandbox lets through. Two commands with the same walls share a sandbox."""

    workspace: Path
    network: Network = "none"
    hosts: tuple[str, ...] = ()
    writable: tuple[Path, ...] = ()
    hide: tuple[str, ...] = ()
    show: tuple[str, ...] = ()
    limits: ProcessLimits = field(default_factory=ProcessLimits)
    own: tuple[Path, ...] = ()
    """Folders of Joey's own, which are hidden whatever the settings say: journals, settings, keys."""
    guarded: Callable[[str], bool] = field(default=nothing, compare=False)
    """Whether a file of the workspace may be read and not changed, because something runs it later."""
    ignored: Callable[[Path], bool] = field(default=nothing, compare=False)
    """Whether an ignore file hides a file of the workspace."""
