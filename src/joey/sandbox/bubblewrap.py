"""The sandbox of namespaces: bubblewrap's arguments.

Always a user namespace of its own, for root too: what is root inside has no rights outside. All other namespaces but,
where it is allowed, the network; no capability; a session of its own; ended with Joey.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from joey.sandbox.mounts import PRIVATE, Layout, Mount
from joey.sandbox.settings import Network
from joey.system.folders import cache_folder

NAME = "bwrap"
_ALWAYS = ("--unshare-user", "--unshare-all", "--die-with-parent", "--new-session", "--as-pid-1", "--cap-drop", "ALL")


def program() -> str | None:
    return shutil.which(NAME, path=os.defpath + ":/usr/local/bin:/run/current-system/sw/bin") or shutil.which(NAME)


def arguments(layout: Layout, network: Network, filter_descriptor: int | None) -> list[str]:
    """Everything between the program and the command."""
    made = [*_ALWAYS, *(["--share-net"] if network == "on" else [])]
    made += ["--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", *_kernel_settings()]
    for each in PRIVATE:
        if Path(each).is_dir() and not Path(each).is_symlink():
            made += ["--perms", "1777" if each != "/run" else "0755", "--tmpfs", each]
    blanks = _Blanks()
    for mount in layout.mounts:
        made += _mounted(mount, blanks)
    for mount in layout.mounts:
        if mount.kind in ("closed", "passage") and mount.is_folder:
            made += ["--remount-ro", mount.place]
    if filter_descriptor is not None:
        made += ["--seccomp", str(filter_descriptor)]
    return made


def _kernel_settings() -> list[str]:
    """What of /proc is not a process, read-only: its files belong to root, and the kernel lets root write to them
    whatever namespace root is in."""
    if os.geteuid() != 0:
        return []
    entries = [each for each in Path("/proc").iterdir() if not each.name.isdigit() and not each.is_symlink()]
    writable = sorted(each for each in entries if each.is_dir() or each.stat().st_mode & 0o222)
    return [word for each in writable for word in ("--ro-bind", str(each), str(each))]


def _mounted(mount: Mount, blanks: _Blanks) -> Iterator[str]:
    source = f"/proc/self/fd/{mount.source}" if isinstance(mount.source, int) else mount.source or mount.place
    match mount.kind:
        case "read":
            yield from ("--ro-bind", source, mount.place)
        case "write":
            yield from ("--bind", source, mount.place)
        case "link":
            yield from ("--symlink", source, mount.place)
        case "closed" | "passage" | "empty" if mount.is_folder:
            mode = {"closed": "0000", "passage": "0555", "empty": "0555"}[mount.kind]
            yield from ("--perms", mode, "--tmpfs", mount.place)
        case "empty":
            yield from ("--ro-bind", str(blanks.empty), mount.place)
        case _:
            yield from ("--ro-bind", str(blanks.closed), mount.place)


class _Blanks:
    """Two empty files of Joey's, to lie over files that are hidden: one that can be read, one that cannot."""

    def __init__(self) -> None:
        self._folder = cache_folder() / "sandbox"

    @property
    def empty(self) -> Path:
        return self._made("empty", 0o444)

    @property
    def closed(self) -> Path:
        return self._made("closed", 0o000)

    def _made(self, name: str, mode: int) -> Path:
        path = self._folder / name
        if not path.exists():
            self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            path.touch(mode=mode)
            path.chmod(mode)
        return path
