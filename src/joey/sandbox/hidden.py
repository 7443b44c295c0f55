"""Which places a command does not see, and which caches it gets of its own.

The names are in `system/secret_places.py`, which the policy reads as well. What is hidden is empty and cannot be
opened, so that a program says "Permission denied" and not that there are no keys. A few files are read by everyday
programs that stop when they cannot: those are simply empty.
"""

from __future__ import annotations

import contextlib
import os
import pwd
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from joey.system.secret_places import EMPTIED, ONLY_SANDBOX, SECRET

SECRETS = (*SECRET, *ONLY_SANDBOX)
OF_THE_SYSTEM = (
    "/etc/shadow", "/etc/shadow-", "/etc/gshadow", "/etc/gshadow-", "/etc/sudoers", "/etc/sudoers.d",
    "/etc/ssl/private", "/etc/krb5.keytab", "/var/spool/cron", "/var/spool/at", "/var/mail", "/var/lib/docker",
)  # fmt: skip
"""For root, whom file permissions do not stop."""
CACHES = (
    ".cache", ".npm", ".cargo/registry", ".cargo/git", ".gradle/caches", ".gradle/wrapper", ".m2/repository",
    "go/pkg/mod", ".local/share/pnpm/store", ".yarn/berry/cache", ".bun/install/cache", ".nuget/packages",
    ".ivy2/cache", ".deno",
)  # fmt: skip
"""Written to by builds. Commands get folders of Joey's in their place, one set a workspace."""
READABLE_CACHES = ("ms-playwright", "puppeteer", "huggingface/hub", "torch", "pre-commit", "uv/python", "bazelisk")
"""Parts of ~/.cache that were fetched once and are large: commands read those of the user."""
SOCKETS = ("SSH_AUTH_SOCK", "GPG_AGENT_INFO", "GNOME_KEYRING_CONTROL", "XAUTHORITY")
"""Variables that name a socket or a key of the session."""


def homes(environment: Mapping[str, str] = os.environ) -> tuple[Path, ...]:
    """The home folder as the environment has it and as the system has it; for root everybody's."""
    found = [Path(environment["HOME"])] if Path(environment.get("HOME", "")).is_absolute() else []
    with contextlib.suppress(KeyError):
        found.append(Path(pwd.getpwuid(os.getuid()).pw_dir))
    if os.geteuid() == 0:
        found += _folders(Path("/home"))
    resolved = (each.resolve() for each in found if each.is_dir())
    return tuple(dict.fromkeys(each for each in resolved if each != Path("/")))


def _folders(folder: Path) -> list[Path]:
    try:
        return [each for each in folder.iterdir() if each.is_dir()]
    except OSError:
        return []


def hidden_places(
    own: Iterable[Path], hide: Iterable[str], show: Iterable[str], environment: Mapping[str, str] = os.environ
) -> tuple[tuple[Path, ...], tuple[Path, ...]]:
    """What exists of the places to hide, links followed: those that cannot be opened, and those that are empty."""
    users = homes(environment)
    shown = {Path(place).resolve() for text in show for place in _named(text, users)}
    closed = [
        *own,
        *(place for home in users for name in SECRETS for place in _matching(home, name)),
        *(place for text in hide for place in _named(text, users)),
        *_sockets(environment),
        *(map(Path, OF_THE_SYSTEM) if os.geteuid() == 0 else ()),
        *(Path("/etc/ssh").glob("ssh_host_*_key") if os.geteuid() == 0 else ()),
    ]
    emptied = [home / name for home in users for name in EMPTIED]
    always = {place.resolve() for place in own}
    keep = [each for each in _existing(closed) if each not in shown or each in always]
    return tuple(keep), tuple(each for each in _existing(emptied) if each not in shown)


def _matching(home: Path, name: str) -> Iterator[Path]:
    """What a name of the list stands for in a home folder."""
    return home.glob(name) if "*" in name else iter((home / name,))


def _named(text: str, users: Iterable[Path]) -> Iterator[Path]:
    """A place as a person writes it: absolute, or from the home folder."""
    if text.startswith("~/") or not text.startswith("/"):
        yield from (home / text.removeprefix("~/") for home in users)
    else:
        yield Path(text)


def _sockets(environment: Mapping[str, str]) -> Iterator[Path]:
    for name in SOCKETS:
        value = environment.get(name, "")
        if value.startswith("/"):
            yield Path(value)


def _existing(places: Iterable[Path]) -> Iterator[Path]:
    seen = set()
    for place in places:
        try:
            resolved = place.resolve(strict=True)
        except OSError:
            continue
        if resolved not in seen and resolved != Path("/"):
            seen.add(resolved)
            yield resolved
