"""Places where credentials are kept: whatever is read there is asked about, however harmless the command.

Names below the home folder, whoever's it is (`system/secret_places.py`), and a few places of the system. As in
`protected`, a folder counts with all it holds and letter case does not count.
"""

from __future__ import annotations

import fnmatch
import re

from joey.system.secret_places import EMPTIED, ONLY_POLICY, SECRET

_SYSTEM = (
    "/etc/shadow*", "/etc/gshadow*", "/etc/sudoers*", "/etc/ssh/*_key", "/etc/ssl/private*", "/etc/krb5.keytab",
    "/etc/letsencrypt*", "/etc/kubernetes*", "/etc/rancher*", "/etc/wireguard*", "/etc/openvpn*", "/etc/docker*",
    "/etc/networkmanager/system-connections*", "/etc/security/opasswd", "/etc/environment", "/proc/*/environ",
    "/proc/*/mem", "/proc/*/cmdline", "/proc/*/maps", "/proc/*/task/*", "/proc/kcore", "/proc/keys", "/dev/mem",
    "/run/secrets*", "/var/run/secrets*", "/run/user/*", "/run/credentials*", "/var/lib/docker*", "/var/lib/kubelet*",
    "/var/lib/sss*", "/var/spool/cron*", "/var/backups*",
)  # fmt: skip
"""Of the system, as whole paths in which `*` stands for anything."""


_BELOW_HOME = re.compile(
    "(?:"
    + "|".join(re.escape(each.casefold()).replace(r"\*", "[^/]*") for each in (*SECRET, *EMPTIED, *ONLY_POLICY))
    + ")(?:/|$)"
)
_OF_SYSTEM = re.compile("|".join(map(fnmatch.translate, _SYSTEM)))


def is_credential(below_home: str) -> bool:
    """Whether a folded path, relative to a home folder, leads to credentials."""
    return _BELOW_HOME.match(below_home) is not None


def is_system_credential(path: str) -> bool:
    """Whether a folded absolute path leads to credentials of the system."""
    return _OF_SYSTEM.match(path) is not None


def holds_credentials(path: str) -> bool:
    """Whether a folded absolute path outside the workspace leads to credentials, of the system or of any user."""
    if is_system_credential(path):
        return True
    return any(is_credential(path[at + 1 :]) for at, char in enumerate(path) if char == "/")
