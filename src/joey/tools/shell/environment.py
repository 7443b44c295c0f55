"""The environment a command runs in: the user's, without what a command has no business with.

Three kinds of variables are withheld, and the model is informed of their names, so that it does not look for them:

- Secrets. A name with a part such as KEY, TOKEN or PASSWORD; a value that looks like one (a provider's key, an address
  with a password, a long string without meaning); and every value that repeats a withheld secret under another name.
- Doors: sockets of agents, buses, displays, editors and terminals. Whoever holds one acts as the user elsewhere.
  A value that is the path of a socket is a door whatever its name is.
- What makes a command line do something else than it says: start-up files of the shell, exported functions, libraries
  that are loaded first, options from variables. The policy judges the line, so the line is all that may count. For the
  same reason PATH and LD_LIBRARY_PATH lose their relative entries, through which a workspace's own files would be
  taken for programs.

The names that every program needs (HOME, LANG, …) are listed and never withheld. `keep` returns secrets and doors, not
the third kind; `withhold` adds names and is stronger than `keep`. Both take patterns: `AWS_*`.

Joey's own environment has the keys, and Linux lets every process of the same user read it (`/proc/PID/environ`) and the
memory behind it. A process that is not dumpable is excepted from that, so Joey's own is made so (`hide_own_process`).
Root may read it all the same: there only the sandbox helps, in which other processes are not seen.
"""

from __future__ import annotations

import contextlib
import os
import re
import stat
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fnmatch import translate
from functools import cache, lru_cache
from types import MappingProxyType

from joey.config.secrets import secret_in

_NEEDED = frozenset((
    "HOME", "USER", "LOGNAME", "USERNAME", "SHELL", "SHLVL", "PWD", "OLDPWD", "PATH", "LD_LIBRARY_PATH", "LANG",
    "LANGUAGE", "TZ", "TERM", "COLORTERM", "TMPDIR", "TEMP", "TMP", "HOSTNAME", "HOSTTYPE", "MACHTYPE", "OSTYPE",
    "MAIL", "EDITOR", "VISUAL", "LINES", "COLUMNS", "LS_COLORS", "NO_COLOR", "FORCE_COLOR", "CI", "_",
    "XDG_SESSION_TYPE", "XDG_SESSION_CLASS", "XDG_SESSION_ID", "XDG_SESSION_DESKTOP", "DESKTOP_SESSION",
    "GITHUB_SHA", "CI_COMMIT_SHA", "GIT_COMMIT",
))  # fmt: skip
_NEEDED_PATTERNS = ("LC_*",)

_SECRET_PARTS = frozenset((
    "KEY", "KEYS", "PASS", "PWD", "PW", "AUTH", "AUTHORIZATION", "CRED", "CREDS", "SESSION", "SESSIONS", "BEARER",
    "JWT", "PAT", "PIN", "OTP", "TOTP", "MFA", "DSN", "SAS", "HMAC", "SALT", "NONCE", "PRIVATE", "SIGNATURE",
    "SIGNING", "ENCRYPTION", "WEBHOOK", "LOGIN", "OAUTH", "NETRC", "KUBECONFIG", "PGPASSFILE", "MNEMONIC", "MNEMONICS",
    "SEEDPHRASE",
))  # fmt: skip
_WORDS_IN_PASS = ("BYPASS", "COMPASS", "SURPASS", "TRESPASS", "OVERPASS", "UNDERPASS")
"""Other parts that end so hold a password: DBPASS."""
_SECRET_ENDINGS = (
    "TOKEN", "TOKENS", "SECRET", "SECRETS", "PASSWORD", "PASSWORDS", "PASSWD", "PASSPHRASE", "PASSCODE", "CREDENTIAL",
    "CREDENTIALS", "COOKIE", "COOKIES", "APIKEY", "APIKEYS", "ACCESSKEY", "SECRETKEY", "PRIVATEKEY", "SSHKEY", "SESSID",
    "CONNECTIONSTRING",
)  # fmt: skip
"""Words long enough to be recognised at the end of a part, too: PGPASSWORD, NPM_AUTHTOKEN. Not TOKENIZERS."""
_SECRET_NAMES = (
    "*CONNECTION_STRING*",
    "*CONN_STR*",
    "DATABASE_URL*",
    "*_DATABASE_URL",
    "*MONGO*_UR[IL]",
    "*REDIS*_URL",
)

_DOORS = (
    "*_SOCK", "*_SOCKET", "*_SOCKET_*", "SSH_AGENT_*", "SSH_ASKPASS*", "SUDO_ASKPASS", "GIT_ASKPASS", "GPG_AGENT_INFO",
    "GNOME_KEYRING_*", "DBUS_*", "SESSION_MANAGER", "DISPLAY", "WAYLAND_*", "XAUTHORITY", "ICEAUTHORITY",
    "XDG_RUNTIME_DIR", "DOCKER_HOST", "CONTAINER_HOST", "TMUX", "TMUX_PANE", "STY", "KITTY_LISTEN_ON", "ZELLIJ*",
    "NVIM", "NVIM_LISTEN_ADDRESS", "VIM_SERVERNAME", "VSCODE_*", "CURSOR_*", "BROWSER_WS_*", "LISTEN_FDS",
    "LISTEN_FDNAMES", "LISTEN_PID", "NOTIFY_SOCKET", "PULSE_SERVER", "PIPEWIRE_*", "AT_SPI_*", "IBUS_*",
)  # fmt: skip

_STEERS = (
    "BASH_ENV", "ENV", "CDPATH", "PROMPT_COMMAND*", "PS0", "PS1", "PS2", "PS3", "PS4", "SHELLOPTS", "BASHOPTS",
    "BASH_FUNC_*", "BASH_XTRACEFD", "BASH_COMPAT", "BASH_LOADABLES_PATH", "POSIXLY_CORRECT", "GLOBIGNORE", "EXECIGNORE",
    "FIGNORE", "IFS", "TIMEFORMAT", "INPUTRC", "HISTFILE", "HISTCONTROL", "HISTIGNORE", "HISTSIZE", "HISTFILESIZE",
    "HISTTIMEFORMAT", "MAILCHECK", "MAILPATH", "ZDOTDIR", "LD_PRELOAD", "LD_AUDIT", "LD_DEBUG*", "LD_PROFILE*",
    "DYLD_INSERT_*", "GCONV_PATH", "LOCPATH", "NLSPATH", "GETCONF_DIR", "MALLOC_TRACE", "RESOLV_HOST_CONF",
    "HOSTALIASES", "LESSOPEN", "LESSCLOSE", "LESSKEY*", "LESS", "GREP_OPTIONS", "GREP_COLOR", "RIPGREP_CONFIG_PATH",
    "TAR_OPTIONS", "ZIPOPT", "FZF_*", "BAT_*", "MANPAGER", "MANOPT", "GIT_*", "RSYNC_RSH", "CVS_RSH",
)  # fmt: skip
"""GIT_*: a repository, a configuration, a program in place of one of git's own. Joey sets those that are needed."""
_STEERS_NOT = ("GIT_AUTHOR_*", "GIT_COMMITTER_*", "GIT_COMMIT", "GIT_BRANCH", "GIT_TAG")

_DEFAULT_PATH = "/usr/local/bin:/usr/bin:/bin"
_OPAQUE = re.compile(
    r"(?<![A-Za-z0-9])(?=[A-Za-z]*\d)(?=\d*[A-Za-z])[A-Za-z0-9]{20,}(?![A-Za-z0-9])"  # letters and digits mixed
    r"|(?<![A-Za-z0-9+/])[A-Za-z0-9+/]{22,}={1,2}(?![\w=])"  # base64
    r"|\A(?=[^a-z]*[a-z])(?=[^A-Z]*[A-Z])(?=\D*\d)[\w-]{32,}\Z"  # base64 for addresses
    r"|[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"  # what some services give out as a key
)
_GIVEN = re.compile(
    r"(?i)(?:password|passwd|passphrase|passwort|secret|token|(?:api|access|private)[-_.]?key|credentials?"
    r"|(?:-D|[^A-Za-z]|\A)(?:pass|pwd))[ \t]*=[ \t]*[^\s;&,'\"]"
)
"""A secret among options (`-Dpassword=…` in JAVA_OPTS) or settings (`Server=…;Password=…`)."""
_SHORTEST_SECRET = 8
"""A repeated value that is shorter (`PASSWORD=test`) would be found everywhere."""
_NAMED = 40


@dataclass(frozen=True, slots=True)
class EnvironmentRules:
    """The user's own additions, as names or patterns."""

    keep: tuple[str, ...] = ()
    withhold: tuple[str, ...] = ()


NO_RULES = EnvironmentRules()


@dataclass(frozen=True, slots=True)
class CommandEnvironment:
    """The variables of a command, and the names of those that it does not get."""

    variables: Mapping[str, str]
    withheld: tuple[str, ...] = ()

    def notice(self) -> str:
        """What the model is informed of; empty if nothing was withheld."""
        names = [name for name in self.withheld if re.fullmatch(r"\w+", name, re.ASCII)]
        if not names:
            return ""
        more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
        return (
            f"Not in the environment of commands, because they may hold or reach secrets: "
            f"{', '.join(names[:_NAMED])}{more}. Do not look for them. If the task needs one, ask the user to name it "
            "in the setting environment.keep."
        )


def command_environment(
    environ: Mapping[str, str], keep: Iterable[str] = (), withhold: Iterable[str] = ()
) -> CommandEnvironment:
    """What of this environment commands get. `keep` and `withhold` are names or patterns."""
    return _sorted_out(tuple(environ.items()), tuple(keep), tuple(withhold))


@lru_cache(maxsize=4)  # it rarely changes between two commands, and is asked for by each
def _sorted_out(
    items: tuple[tuple[str, str], ...], keep: tuple[str, ...], withhold: tuple[str, ...]
) -> CommandEnvironment:
    environ = dict(items)
    steering = {name for name in environ if _matches(name, _STEERS) and not _matches(name, _STEERS_NOT)}
    sensitive = {name for name, value in environ.items() if _is_secret(name, value) or _is_door(name, value)}
    secrets = [environ[name] for name in sensitive if len(environ[name]) >= _SHORTEST_SECRET]
    repeated = {name for name, value in environ.items() if any(secret in value for secret in secrets)}
    kept = {name for name in environ if _matches(name, keep) or _is_needed(name)}
    also = {name for name in environ if _matches(name, withhold)}
    withheld = ((sensitive | repeated) - kept) | steering | also
    variables = {name: value for name, value in environ.items() if name not in withheld}
    return CommandEnvironment(MappingProxyType(variables | _search_paths(environ)), tuple(sorted(withheld - steering)))


def _matches(name: str, patterns: tuple[str, ...]) -> bool:
    return _compiled(patterns).fullmatch(name.upper()) is not None


@cache
def _compiled(patterns: tuple[str, ...]) -> re.Pattern[str]:
    """One pattern for all: every command asks for every variable."""
    return re.compile("|".join(translate(pattern.upper()) for pattern in patterns) or r"(?!)")


def _is_needed(name: str) -> bool:
    return name in _NEEDED or _matches(name, _NEEDED_PATTERNS)


def _is_secret(name: str, value: str) -> bool:
    if _is_needed(name):
        return False
    if _named_like_a_secret(name) or secret_in("", value) or _GIVEN.search(value) or _is_seed(name, value):
        return True
    return not _is_paths(value) and _OPAQUE.search(value) is not None


def _is_seed(name: str, value: str) -> bool:
    """The seed of a wallet, not that of a random generator, which is a number."""
    return "SEED" in re.split(r"[^A-Z0-9]+", name.upper()) and not re.fullmatch(r"\d{0,10}|random|auto", value)


def _named_like_a_secret(name: str) -> bool:
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).upper()
    parts = [part.rstrip("0123456789") for part in re.split(r"[^A-Z0-9]+", words)]
    return (
        any(part in _SECRET_PARTS or part.endswith(_SECRET_ENDINGS) or _ends_in_pass(part) for part in parts)
        or words.replace("_", "").endswith(_SECRET_ENDINGS)
        or _matches(name, _SECRET_NAMES)
    )


def _ends_in_pass(part: str) -> bool:
    return part.endswith("PASS") and part not in _WORDS_IN_PASS


def _is_door(name: str, value: str) -> bool:
    return not _is_needed(name) and (_matches(name, _DOORS) or value.startswith("unix:") or _is_socket(value))


def _is_socket(value: str) -> bool:
    """Whether a value is the path of a socket, alone or before a comma (as tmux writes it)."""
    path = value.partition(",")[0]
    try:
        return path.startswith("/") and stat.S_ISSOCK(os.stat(path).st_mode)  # noqa: PTH116 - a path of any kind
    except (OSError, ValueError):
        return False


def _is_paths(value: str) -> bool:
    return all(each.startswith(("/", "~")) for each in value.split(":"))


def _search_paths(environ: Mapping[str, str]) -> dict[str, str]:
    """PATH and LD_LIBRARY_PATH without relative entries. PATH is always set: some shells have `.` in their default."""
    libraries = _absolute(environ.get("LD_LIBRARY_PATH", ""))
    # An empty value is one relative entry to some loaders; a folder that is not there is none to any.
    given = {"LD_LIBRARY_PATH": libraries or "/nonexistent"} if "LD_LIBRARY_PATH" in environ else {}
    return {"PATH": _absolute(environ.get("PATH", "")) or _DEFAULT_PATH, **given}


def _absolute(paths: str) -> str:
    return ":".join(each for each in paths.split(":") if each.startswith("/"))


_PR_SET_DUMPABLE = 4


@cache
def hide_own_process() -> None:
    """Let no other process of the user read our environment and memory. Programs that we start are as ever."""
    if sys.platform != "linux":
        return
    import ctypes  # noqa: PLC0415 - only who runs commands pays for it

    with contextlib.suppress(OSError, AttributeError):  # another C library: then it stays as it is
        ctypes.CDLL(None).prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)
