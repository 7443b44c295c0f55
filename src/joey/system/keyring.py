"""Providers' keys: from the environment, else from the system's keyring. Never from a file of Joey's, never shown.

The keyring is asked through the system's own program, `security` on macOS and `secret-tool` (libsecret) elsewhere,
for the service `joey` and the name of the variable, such as ANTHROPIC_API_KEY. Where there is neither, only the
environment counts.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field

SERVICE = "joey"
_TIMEOUT = 10.0
"""Seconds: a keyring that is locked may ask its user first."""


@dataclass(frozen=True, slots=True)
class FoundKey:
    where: str
    value: str = field(repr=False)


def find_key(variable: str, environment: Mapping[str, str] = os.environ) -> FoundKey | None:
    """The key that goes by this variable, or None."""
    if environment.get(variable):
        return FoundKey("the environment", environment[variable])
    value = _from_keyring(variable, environment)
    return FoundKey("the keyring", value) if value else None


def keyring_program(environment: Mapping[str, str] = os.environ) -> str | None:
    """The system's program that gives out secrets."""
    return shutil.which("security" if sys.platform == "darwin" else "secret-tool", path=environment.get("PATH"))


def how_to_store(variable: str) -> str:
    """The command that puts a key into the keyring."""
    if sys.platform == "darwin":
        return f"security add-generic-password -s {SERVICE} -a {variable} -w"
    return f"secret-tool store --label='Joey {variable}' service {SERVICE} key {variable}"


def store_key(variable: str, value: str, environment: Mapping[str, str] = os.environ) -> bool:
    """Put a key into the keyring. False: there is none, it refused, or it takes keys only in its arguments, where other
    users of the machine could read them (macOS)."""
    if sys.platform == "darwin":
        return False
    arguments = ["store", f"--label=Joey {variable}", "service", SERVICE, "key", variable]
    return _run(arguments, environment, value) is not None


def delete_key(variable: str, environment: Mapping[str, str] = os.environ) -> bool:
    """Take a key out of the keyring. False: it was not there."""
    mac = ["delete-generic-password", "-s", SERVICE, "-a", variable]
    arguments = mac if sys.platform == "darwin" else ["clear", "service", SERVICE, "key", variable]
    return _run(arguments, environment) is not None


def _from_keyring(variable: str, environment: Mapping[str, str]) -> str | None:
    mac = ["find-generic-password", "-s", SERVICE, "-a", variable, "-w"]
    arguments = mac if sys.platform == "darwin" else ["lookup", "service", SERVICE, "key", variable]
    return (_run(arguments, environment) or "").strip() or None


def _run(arguments: list[str], environment: Mapping[str, str], given: str = "") -> str | None:
    """What the keyring answered; None if there is none, or it refused."""
    program = keyring_program(environment)
    if program is None:
        return None
    try:
        done = subprocess.run(  # noqa: S603 - the program of the system, with names of ours
            [program, *arguments],
            capture_output=True,
            text=True,
            timeout=_TIMEOUT,
            check=False,
            input=given,
        )
    except (OSError, subprocess.TimeoutExpired, UnicodeDecodeError):
        return None
    return done.stdout if done.returncode == 0 else None
