"""Programs that fetch from the network and look up names there, in uses that send no file and change nothing."""

from __future__ import annotations

import re
from collections.abc import Iterator

from joey.policy.shell.options import Program, Use, program
from joey.policy.shell.programs.text import jq_filter_problems

# Web pages

_CURL = """
    -s -S -L -f -I -i -v -k -4 -6 -N -V -m=t -H=t -A=t -X=t -o=w -w=t -r=t -e=t
    --silent --show-error --location --fail --fail-with-body --head --include --verbose --insecure --ipv4 --ipv6
    --no-buffer --compressed --http1.1 --http2 --no-progress-meter --tlsv1.2 --tlsv1.3 --retry-connrefused
    --retry-all-errors --version --max-time=t --connect-timeout=t --retry=t --retry-delay=t --retry-max-time=t
    --max-redirs=t --limit-rate=t --header=t --user-agent=t --request=t --output=w --write-out=t --range=t --referer=t
    --url=u
"""
_LOCAL = re.compile(r"(?:https?://)?(?:localhost|127\.0\.0\.1)(?:[:/?#].*)?")


def _curl(use: Use) -> Iterator[str]:
    addresses = [*use.operands, *(value for name, value in use.options if name == "--url" and value is not None)]
    if use.has("-k", "--insecure") and not all(_LOCAL.fullmatch(word.text) for word in addresses):
        yield "`curl` does not check who answers"
    for name, value in use.options:
        if value is None:
            continue
        if name in ("-X", "--request") and value.text not in ("GET", "HEAD", "OPTIONS"):
            yield f"`curl` makes a request that may change something: {value.text}"
        if name in ("-H", "--header", "-w", "--write-out") and (value.text.startswith("@") or "%output" in value.text):
            yield f"`{name}` of `curl` reads or writes a file"


_WGET = """
    -q -v -nv -S -4 -6 -V -h -O=w -T=t -t=t -U=t
    --quiet --verbose --no-verbose --server-response --spider --inet4-only --inet6-only --version --help --show-progress
    --no-cache --no-cookies --no-netrc --no-hsts --https-only --retry-connrefused --output-document=w --timeout=t
    --dns-timeout=t --connect-timeout=t --read-timeout=t --tries=t --waitretry=t --user-agent=t --header=t --progress=t
    --max-redirect=t --limit-rate=t --compression=t
"""


def _wget(use: Use) -> Iterator[str]:
    """The name of the file is taken from the address, or from the answer, unless it is given."""
    if not use.has("-O", "--output-document", "--spider", "--version", "--help", "-V", "-h"):
        yield "the file that `wget` writes is only known when it runs; use `wget -O FILE`"


# Names


def _ping(use: Use) -> Iterator[str]:
    if not use.has("-c", "-w"):
        yield "`ping` does not end; use `ping -c 3`"


_DIG_DISPLAY = re.compile(
    r"\+(?:(?:no)?(?:all|additional|answer|authority|class|cmd|comments|crypto|dnssec|identify|multiline|qr|question|recurse"
    r"|rrcomments|search|short|stats|tcp|trace|ttlid|ttlunits|yaml)|(?:time|tries|retry|ndots)=\d+)"
)


def _dig(use: Use) -> Iterator[str]:
    for word in use.operands:
        if word.text.startswith("+") and not _DIG_DISPLAY.fullmatch(word.text):
            yield f"`{word.text}` of `dig` is not known to be harmless"


def _nslookup(use: Use) -> Iterator[str]:
    if not use.operands or use.operands[0].text == "-":
        yield "`nslookup` takes commands from standard input"


# GitHub


def _gh(use: Use) -> Iterator[str]:
    """Repositories of other hosts, and filters that read the environment, are not known."""
    for word in use.operands:
        if not re.fullmatch(r"(?:https://github\.com/)?[\w.#][\w./#-]*", word.text):
            yield f"`{word.text}` is not simply a number, a branch or an address on github.com"
    for name, value in use.options:
        if value is not None and name in ("-R", "--repo") and not re.fullmatch(r"[\w.-]+/[\w.-]+", value.text):
            yield f"`{value.text}` is not simply the name of a repository"
        if value is not None and name in ("-q", "--jq"):
            yield from jq_filter_problems(value.text)


_GH_JSON = "--json=t --jq=t -q=t --help"
_GH_ITEMS = (
    f"{_GH_JSON} -R=t --repo=t -a=t -A=t -l=t -L=t -S=t -s=t --app=t --assignee=t --author=t --label=t --limit=t "
    "--search=t --state=t"
)


def _gh_command(options: str, operands: str = "") -> Program:
    return program(f"{options} -R=t --repo=t --help", operands, check=_gh)


_GH = {
    "pr": {
        "list": _gh_command(f"{_GH_ITEMS} -B=t -d -H=t --base=t --draft --head=t"),
        "view": _gh_command(f"{_GH_JSON} -c --comments", "t"),
        "status": _gh_command(f"{_GH_JSON} -c --conflict-status"),
        "checks": _gh_command(f"{_GH_JSON} -i=t --interval=t --required --watch --fail-fast", "t"),
        "diff": _gh_command("--color=t --name-only --patch", "t"),
    },
    "issue": {
        "list": _gh_command(f"{_GH_ITEMS} -m=t --mention=t --milestone=t"),
        "view": _gh_command(f"{_GH_JSON} -c --comments", "t"),
        "status": _gh_command(_GH_JSON),
    },
    "run": {
        "list": _gh_command(
            f"{_GH_JSON} -b=t -L=t -u=t -w=t -s=t --branch=t --limit=t --user=t --workflow=t --status=t"
        ),
        "view": _gh_command(f"{_GH_JSON} -j=t -v --exit-status --job=t --log --log-failed --verbose", "t"),
    },
    "repo": {"view": program(f"{_GH_JSON} -b=t --branch=t", "t", check=_gh)},
    "release": {
        "list": _gh_command("-L=t --limit=t --exclude-drafts --exclude-pre-releases"),
        "view": _gh_command(_GH_JSON, "t"),
    },
    "workflow": {"list": _gh_command("-a -L=t --all --limit=t"), "view": _gh_command("-r=t -y --ref=t --yaml", "t")},
    "label": {"list": _gh_command(f"{_GH_JSON} -L=t -S=t --limit=t --search=t --order=t --sort=t")},
}


PROGRAMS: dict[str, Program] = {
    "curl": program(_CURL, "u*", check=_curl),
    "wget": program(_WGET, "u*", check=_wget),
    "ping": program("-4 -6 -D -n -O -q -v -c=t -i=t -W=t -w=t -s=t -t=t -V -h", "t", check=_ping),
    "dig": program("-4 -6 -r -u -v -h -c=t -p=t -q=t -t=t -x=t", "t*", check=_dig),
    "host": program("-4 -6 -a -C -r -s -T -v -V -c=t -p=t -R=t -t=t -W=t", "t t"),
    "nslookup": program("-type=t -query=t -timeout=t -port=t", "t t", words=True, check=_nslookup),
    "gh": program("--version --help", subcommands={name: program("", subcommands=each) for name, each in _GH.items()}),
}
