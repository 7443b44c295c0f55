"""Programs that tell about the machine: what is understood, and what is not."""

from __future__ import annotations

import pytest

from joey.policy.shell.programs.system import PROGRAMS
from table_kit import summary, used

FINE = [
    "date", "date +%Y-%m-%d", "date -u", "date -d '2 days ago' +%s", "date -Iseconds", "date --iso-8601=seconds",
    "uname", "uname -a", "arch", "arch --version", "whoami", "whoami --version", "id", "id -un", "groups",
    "groups root", "hostname", "hostname -f", "uptime", "uptime -p", "free -h", "free -m -t", "nproc", "nproc --all",
    "lscpu", "lscpu -J", "lsblk", "lsblk -o NAME,SIZE", "ps", "ps aux", "ps -ef", "ps -ax", "ps -aux",
    "ps -p 123 -o pid,etime,cmd", "ps -eo pid,%mem,args --sort=-%mem", "ps auxf", "ps -o pid= -p 1", "ps -u root",
    "pgrep -fl node", "pgrep python", "pidof node", "pidof -s node", "top -b -n 1", "top -bn1", "lsof -i :3000",
    "lsof -ti:3000", "lsof -nP -iTCP -sTCP:LISTEN", "ss -tulpn", "ss -ltn state established", "netstat -tulpn",
    "netstat -an", "printenv", "printenv HOME", "locale", "locale -a", "tty", "tty -s", "sleep 1", "sleep 0.5",
    "clear", "clear -x", "true", "true --x", "false", "false x", ":", ": --x", "kill 1234", "kill -9 1234 5678",
    "kill -TERM 1234", "kill -s SIGINT 1234", "kill -l",
]  # fmt: skip


@pytest.mark.parametrize("line", FINE)
def test_it_is_understood(line: str) -> None:
    use = used(PROGRAMS, line)
    assert [*use.problems, *use.inner] == []


UNKNOWN = [
    "date -f .env", "date --file=.env", "date -s 2020-01-01", "date --set=x", "date 010100002020", "date --dat=x",
    "uname x", "uname --foo", "arch x", "arch --foo", "whoami x", "whoami --foo", "id --foo", "id -Z --con=x",
    "groups --foo", "groups -x", "hostname evil", "hostname -F .env", "hostname -b x", "uptime x", "uptime --foo",
    "free -s 1 --foo", "free x", "nproc x", "nproc --foo", "lscpu -s /x", "lscpu x", "lsblk --foo",
    "lsblk --sysroot x", "ps e", "ps auxe", "ps eww", "ps -ex", "ps -aex", "ps -ef -x", "ps -e u", "ps -e x",
    "ps -e -u nosuch", "ps -o environ", "ps -eo pid,bogus", "ps -E", "ps o env", "ps -o pid -o environ", "ps aux*",
    "pgrep -F .env", "pgrep --pidfile=x", "pgrep a b", "pidof --foo", "pidof -o x", "top", "top -n 1", "top --foo -b",
    "lsof -D b.env", "lsof +D / x", "lsof -k x", "ss -K dst x", "ss -F .env", "ss -D dump", "ss --kill", "netstat -c",
    "netstat --foo", "printenv --foo", "printenv -x", "locale --foo", "locale -x", "tty x", "tty --foo",
    "sleep --foo", "sleep -x", "clear x", "clear -T x", "kill", "kill 1", "kill -9 -1", "kill 0", "kill %1",
    "kill -- -123", "kill -9", "kill joey", "kill -s", "kill -l 1 2", "kill -TERM 12 -1", "kill -x 12",
]  # fmt: skip


@pytest.mark.parametrize("line", UNKNOWN)
def test_it_is_not_understood(line: str) -> None:
    assert used(PROGRAMS, line).problems


def test_what_it_touches_is_seen() -> None:
    assert summary(used(PROGRAMS, "date -r .env")) == "list .env"
    assert summary(used(PROGRAMS, "lsblk /dev/sda")) == "list /dev/sda"
    assert summary(used(PROGRAMS, ": src/*")) == "list src/*"
