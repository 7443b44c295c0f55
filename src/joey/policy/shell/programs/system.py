"""Programs that tell about the machine, its processes and the time."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from joey.policy.shell.options import Program, Use, program
from joey.policy.shell.plain import Word
from joey.policy.shell.programs.text import only_text


def _date(use: Use) -> Iterator[str]:
    """A word that is no format sets the clock."""
    if any(not word.text.startswith("+") for word in use.operands):
        yield "`date` sets the clock"


def _kill(use: Use, words: Sequence[Word]) -> Iterator[str]:
    """Single processes by their number: no groups, not all of them, and not the first."""
    use.operands += words
    texts = [word.text for word in words]
    if texts[:1] == ["-l"] and len(texts) <= 2:
        return
    if texts[:1] == ["-s"]:
        texts = [f"-{text}" for text in texts[1:2]] + texts[2:]
    if texts and re.fullmatch(r"-(?:[0-9]{1,2}|(?:SIG)?[A-Z]+[0-9]*)", texts[0]):
        del texts[0]
    if not texts or any(not re.fullmatch(r"[0-9]+", text) or int(text) <= 1 for text in texts):
        yield "`kill` is given more than the numbers of single processes"


_PS_COLUMN = (
    r"(?:p?pid|pgid|sid|[er]?user|[er]?uid|group|cmd|comm|command|args|[%p]cpu|[%p]mem|etimes?|time|cputime|stat|state|s"
    r"|rss|rsz|vsz|size|tty?|start|lstart|stime|ni|nice|pri|psr|nlwp|wchan|ucmd|fname|lwp|tid)"
    r"(?::\d+)?(?:=[\w %-]*+)?"
)
_PS_COLUMNS = re.compile(rf"[+-]?{_PS_COLUMN}(?:[, ][+-]?{_PS_COLUMN})*")
_PS_WITH_ALL = frozenset("-e -A -f -F -H -j -l -L -T -w -o --format --forest --headers --no-headers --sort".split())  # noqa: SIM905


def _ps(use: Use) -> Iterator[str]:
    """`e` shows the environment of processes. It is an option of BSD's `ps`, whose options need no dash.

    Options with a dash that make no sense together are read as BSD's, too: `ps -ex` is `ps ex`.
    """
    names = {name for name, _ in use.options}
    if "-e" in names and (use.operands or not names <= _PS_WITH_ALL):
        yield "`-e` of `ps` shows the environment of processes beside some other options"
    for word in use.operands:
        if not re.fullmatch(r"[afjlmTuwx]+|\d+(?:,\d+)*", word.text):
            yield f"`{word.text}` of `ps` is not known to be harmless"
    for name, value in use.options:
        if name in ("-o", "--format", "--sort") and value is not None and not _PS_COLUMNS.fullmatch(value.text):
            yield f"`ps` shows more than is known to be harmless: `{value.text}`"


def _top(use: Use) -> Iterator[str]:
    if not (use.has("-b", "--batch") or use.has("-v", "-h")):
        yield "`top` takes keys, and some of them do more than look; use `top -b -n 1`"


def _lsof(use: Use) -> Iterator[str]:
    if any(word.text.startswith("+") for word in use.operands):
        yield "an option of `lsof` with `+` is not known to be harmless"


_TEXT = program(reader=only_text)

PROGRAMS: dict[str, Program] = {
    "date": program(
        "-d=t -I?t -R -r=l -u --date=t --debug --iso-8601?t --rfc-email --rfc-3339=t --reference=l --utc --universal "
        "--help --version",
        "t",
        check=_date,
    ),
    "uname": program(
        "-a -s -n -r -v -m -p -i -o --all --kernel-name --nodename --kernel-release --kernel-version --machine "
        "--processor --hardware-platform --operating-system --help --version"
    ),
    "arch": program("--help --version"),
    "whoami": program("--help --version"),
    "id": program("-a -g -G -n -r -u -z --group --groups --name --real --user --zero --help --version", "t*"),
    "groups": program("--help --version", "t*"),
    "hostname": program("-a -A -d -f -i -I -s -y"),
    "uptime": program("-p -s -h -V --pretty --since --help --version"),
    "free": program(
        "-b -k -m -g -h -l -t -w -v --bytes --kibi --mebi --gibi --tebi --kilo --mega --giga --human --si --lohi "
        "--total --wide --help --version"
    ),
    "nproc": program("--all --ignore=t --help --version"),
    "lscpu": program(
        "-a -b -B -c -J -e?t -p?t -x -y --all --online --offline --bytes --json --extended?t --parse?t --hex "
        "--physical --help --version"
    ),
    "lsblk": program("-a -f -J -l -m -p -o=t --all --fs --json --list --paths --output=t --help --version", "l*"),
    "ps": program(
        "-A -a -d -e -f -F -H -j -l -L -M -T -w -x -u=t -U=t -p=t -q=t -C=t -g=t -G=t -s=t -t=t -o=t --format=t "
        "--forest --headers --no-headers --no-heading --pid=t --ppid=t --sort=t --user=t --User=t --cols=t --width=t "
        "--cumulative --version",
        "t*",
        check=_ps,
    ),
    "pgrep": program(
        "-a -c -f -i -l -n -o -v -w -x -d=t -g=t -G=t -P=t -s=t -t=t -u=t -U=t --list-full --count --full "
        "--ignore-case --list-name --newest --oldest --inverse --exact --delimiter=t --parent=t --euid=t --uid=t "
        "--help --version",
        "t",
    ),
    "pidof": program("-s -c -x", "t*"),
    "top": program("-b -c -H -i -S -n=t -d=t -o=t -p=t -u=t -U=t -w?t -h -v", check=_top),
    "lsof": program("-a -b -l -n -N -P -t -U -R -i?t -s?t -p=t -c=t -u=t -g?t -d=t", "l*", check=_lsof),
    "ss": program(
        "-4 -6 -a -e -H -i -l -m -n -o -O -p -s -t -u -w -x -h -V --ipv4 --ipv6 --all --extended --no-header --info "
        "--listening --memory --numeric --options --oneline --processes --summary --tcp --udp --raw --unix --help "
        "--version",
        "t*",
    ),
    "netstat": program(
        "-4 -6 -a -e -g -i -l -n -o -p -r -s -t -u -w -x --all --extend --groups --interfaces --listening --numeric "
        "--programs --route --statistics --tcp --timers --udp --help --version"
    ),
    "printenv": program("-0 --null --help --version", "t*"),
    "locale": program("-a -m -c -k --all-locales --charmaps --category-name --keyword-name --help --version", "t*"),
    "tty": program("-s --silent --quiet --help --version"),
    "sleep": program("--help --version", "t*"),
    "clear": program("-x"),
    "true": _TEXT,
    "false": _TEXT,
    ":": _TEXT,
    "kill": program(reader=_kill),
}
