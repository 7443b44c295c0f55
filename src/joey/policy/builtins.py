"""What is known about common programs and variables, as tables: who is harmless, who is not, who runs its arguments.

These decide only between allowing and asking. A program that is in no table needs a rule like any other.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from joey.policy.commands import Assignment
from joey.policy.rules import Rules
from joey.policy.words import Word

NEUTRAL = frozenset(
    {":", "true", "false", "test", "[", "[[", "cd", "pushd", "popd", "pwd", "exit", "return", "break", "continue"}
    | {"shift", "wait", "set", "export", "local", "declare", "typeset", "readonly", "unset", "read"}
)
"""Parts of the shell that do nothing by themselves. They need no rule beside a command that has one."""

EVALUATES_NAMES = frozenset(
    {"test", "[", "[[", "let", "printf", "read", "unset", "declare", "typeset", "local", "export", "readonly"}
    | {"mapfile", "readarray", "getopts", "wait"}
)
"""Parts of the shell that evaluate an array index in an argument, and so run a substitution in it, quoted or not."""

LISTS_ONLY = frozenset(
    {"ls", "dir", "cd", "pushd", "echo", "printf", "test", "[", "[[", "mkdir", "which", "pwd", "basename", "dirname"}
)
"""Programs that tell at most the name of a file, so that an ignore file does not matter to them."""

INERT = frozenset(
    """
    : [ [[ ack ag apropos apt apt-get awk b2sum base64 basename bat bc black brew bunzip2 bzip2 cal cargo cat cd
    chgrp chmod chown cksum clang clang-format clear cmake cmp colordiff column comm cp csplit curl cut
    date dc declare delta df diff dig dir dirname du echo egrep eslint eval exit expand export expr false
    fgrep file find flake8 fmt fold free g++ gawk gcc gh git go gradle grep groups gsed gunzip gzip head
    help hexdump hg host hostname id info install isort java javac jest jobs join jq kill killall less let ln
    local locale locate look ls make man mawk md5sum mkdir mocha more mv mvn mypy nl node nproc od paste
    perl php pip pip3 ping pkill pre-commit prettier printenv printf ps pushd pwd pyright pytest
    python python3 read readlink readonly realpath return rev rg rm rmdir ruby ruff rustc rustfmt sed seq set
    sha1sum sha256sum shellcheck shift sleep sort split stat strings sum svn sync tac tail tar tee terraform
    test top touch tox tr tree true tsc tsort tty type typeset uname unexpand uniq unset unzip uptime vitest
    wait wc wget whatis whereis which who whoami xxd xz yes yq zcat zip
    """.split()  # noqa: SIM905 - as a list it would fill pages
)
"""Programs that do not run the words they are given. One that is not here, and is given a denied program's name,
may be about to run it."""

REDEFINES = frozenset(
    {"eval", "source", ".", "builtin", "command", "alias", "unalias", "trap", "enable", "unset", "hash"}
)
"""Parts of the shell after which a name may no longer mean what the line has defined."""

LISTENERS = frozenset(
    {"ssh", "mysql", "psql", "sqlite3", "docker", "podman", "kubectl", "at", "batch", "ed", "ex", "vim", "vi", "gdb"}
    | {"telnet", "nc", "ftp", "sftp", "screen", "tmux", "expect", "fish", "csh", "tcsh", "pwsh", "powershell"}
)
"""Programs that may run what they read from their input."""

INFORMERS = frozenset({"ls", "file", "stat", "which", "type", "man", "test", "[", "[[", "echo", "printf", "grep", "rg"})
"""Programs that tell about a program when they are given its path, and do nothing with it."""

SUBCOMMANDS = frozenset(
    {"docker", "podman", "kubectl", "helm", "uv", "conda", "systemctl", "aws", "gcloud", "az", "nix", "npm", "yarn"}
    | {"pnpm", "poetry", "gem", "composer", "dotnet"}
)
"""Programs whose first argument is a command of their own, whatever it is called."""

_HARMLESS_VARIABLE = re.compile(
    r"(?:CI|DEBUG|VERBOSE|LOG_?LEVEL|NO_COLOR|FORCE_COLOR|CLICOLOR\w*|COLUMNS|LINES|TERM|TZ|LANG|LANGUAGE|LC_\w+|PORT"
    r"|HOST|NODE_ENV|APP_ENV|RAILS_ENV|RACK_ENV|MIX_ENV|FLASK_\w+|DJANGO_SETTINGS_MODULE|ENVIRONMENT"
    r"|RUST_BACKTRACE|RUST_LOG|PYTHONUNBUFFERED|PYTHONDONTWRITEBYTECODE|PYTHONHASHSEED|PYTHONWARNINGS|PYTHONUTF8"
    r"|GOOS|GOARCH|CGO_ENABLED|GIT_TERMINAL_PROMPT|GIT_OPTIONAL_LOCKS|GIT_(?:AUTHOR|COMMITTER)_(?:NAME|EMAIL|DATE)"
    r"|SOURCE_DATE_EPOCH|CARGO_TERM_COLOR|PY_COLORS|PYTEST_ADDOPTS|JOBS|CMAKE_BUILD_TYPE|DOTNET_\w+_OPTOUT)"
)
_DANGEROUS_VARIABLE = re.compile(
    r"(?:PATH|LD_\w+|DYLD_\w+|BASH_ENV|ENV|SHELLOPTS|BASHOPTS|BASH_\w+|PROMPT_COMMAND|PS[0-4]|IFS|CDPATH|HOME|SHELL"
    r"|EDITOR|VISUAL|\w*PAGER|BROWSER|LESS\w*|GIT_\w+|PYTHON(?:STARTUP|HOME|INSPECT|BREAKPOINT)|PERL5\w+|RUBY(?:OPT|LIB)"
    r"|NODE_(?:OPTIONS|PATH)|\w*JAVA\w*OPTIONS|CLASSPATH|MAKEFLAGS|MAKEFILES|GNUMAKEFLAGS|TAR_OPTIONS|RSYNC_RSH"
    r"|\w*ASKPASS|npm_config_\w+|NPM_CONFIG_\w+|CC|CXX|LD|AR|RUSTC\w*|CARGO_\w*(?:RUNNER|LINKER|WRAPPER)\w*|GOFLAGS"
    r"|FPATH|ZDOTDIR|WGETRC|CURL_HOME|INPUTRC|XDG_\w+|DOCKER_HOST|KUBECONFIG|FCEDIT|HISTFILE|TERMINFO|GCONV_PATH"
    r"|MALLOC_\w+|OPENSSL_\w+|SSH_\w+|SVN_\w+|HGEDITOR|SYSTEMD_\w+)"
)


def harmless_variable(assignment: Assignment) -> bool:
    """Whether setting it for a command changes at most how that command speaks."""
    value = assignment.value.value if assignment.value is not None else None
    if assignment.name in ("PYTHONPATH", "GIT_PAGER", "PAGER"):
        inside = value is not None and not value.startswith(("/", "~")) and ".." not in value
        return value == "cat" if assignment.name != "PYTHONPATH" else inside
    return _HARMLESS_VARIABLE.fullmatch(assignment.name) is not None


def dangerous_variable(assignment: Assignment) -> bool:
    """Whether setting it can make other programs run, or run differently."""
    return not harmless_variable(assignment) and _DANGEROUS_VARIABLE.fullmatch(assignment.name) is not None


_SPAWNS = re.compile(
    r"system|exec|spawn|popen|subprocess|child_process|fork|eval|__import__|importlib|getattr|globals|builtins|compile"
    r"|ctypes|chr\s*\(|\\x|\\u|base64|b64|decode|fromCharCode|require|Function|`|shell|\$\(|qx|open\s*\(|pty|os\.|IO\.",
)


def may_start_programs(code: str) -> bool:
    """Whether code in some language looks as if it could run a program, or hides what it does."""
    return _SPAWNS.search(code) is not None


def mentioned(code: str, rules: Rules) -> str | None:
    """The deny rule that fits some words in a piece of code, whatever its language."""
    plain = re.sub(r"\\[a-z]", " ", code)  # `\\n` in a string is not the beginning of a name
    words = [Word.literal(word) for text in dict.fromkeys((code, plain)) for word in re.findall(r"[\w./+-]+", text)]
    found = (rules.denying(words[at:]) for at in range(len(words)))
    return next((rule.text for rule in found if rule is not None), None)


def holds_substitution(words: Sequence[Word]) -> bool:
    return any(re.search(r"\$\(|`|\$\{", piece.text or "") for word in words for piece in word.pieces)
