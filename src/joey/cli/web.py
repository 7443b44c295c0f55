"""A page for the tasks of this machine: watch, answer and start them in the browser, also from a phone.

It prints a link with a token; whoever has the link can do what you can do in the terminal. By default only this machine
can open it. Tasks of terminals and editors are on the page as well, live, and can be answered from both places.

--host opens it to a network. The connection is not encrypted: use it in a network you trust, or through a tunnel
(`ssh -L 8329:localhost:8329 HOST`) or a proxy with HTTPS, whose name is given with --allow-host. $JOEY_WEB_TOKEN sets
the token, so that the link stays the same.

examples:
  joey web
  joey web --port 9000 --approve edits
  joey web --host 0.0.0.0
"""

from __future__ import annotations

import argparse
import asyncio
import os
import secrets
import sys

from joey.cli.flags import add_setting_flags, add_workspace_flag, settings_in, workspace_in
from joey.errors import UsageError

USUAL_PORT = 8329
MIN_TOKEN = 16


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--host", default="127.0.0.1", metavar="ADDRESS", help="address to listen on (default: 127.0.0.1)"
    )
    parser.add_argument("--port", type=int, metavar="N", help=f"port (default: {USUAL_PORT}, or a free one)")
    parser.add_argument(
        "--allow-host",
        action="append",
        default=[],
        metavar="NAME",
        help="a further name of this machine; can be repeated",
    )
    add_workspace_flag(parser)
    add_setting_flags(parser)


def run(args: argparse.Namespace) -> int:
    from importlib.util import find_spec

    from joey.system.installation import add_extra

    if find_spec("starlette") is None or find_spec("uvicorn") is None:
        raise UsageError(f"the page needs a web server that is not installed: {add_extra('serve')}")
    from joey.cli.web_fleet import connect_fleet
    from joey.web.guard import Access
    from joey.web.server import listen, serve

    access = Access(_token(), args.host, tuple(each.lower() for each in args.allow_host))
    folder, listening = workspace_in(args), listen(args.host, args.port, USUAL_PORT)
    port = listening.getsockname()[1]
    asyncio.run(serve(folder, access, listening, settings_in(args), connect_fleet, lambda: _announce(access, port)))
    return 0


def _token() -> str:
    given = os.environ.get("JOEY_WEB_TOKEN", "")
    if given and len(given) < MIN_TOKEN:
        raise UsageError(f"$JOEY_WEB_TOKEN is too short to be a secret; use {MIN_TOKEN} characters or more")
    return given or secrets.token_urlsafe(24)


def _announce(access: object, port: int) -> None:
    from urllib.parse import quote

    from joey.web.guard import Access, is_loopback

    assert isinstance(access, Access)
    host = "localhost" if is_loopback(access.host) else _reachable(access.host)
    print(f"Joey is at http://{host}:{port}/?token={quote(access.token, safe='')}", flush=True)
    if not is_loopback(access.host):
        note = "note: others in this network can read what is sent; the link lets them run commands as you"
        print(note, file=sys.stderr)
    print("Ctrl-C stops it. Tasks that run here are saved and can be resumed.", file=sys.stderr)


def _reachable(host: str) -> str:
    """An address for the link: where all are listened on, the one by which this machine is found."""
    import socket

    if host not in ("0.0.0.0", "::"):  # noqa: S104 - compared, not bound
        return f"[{host}]" if ":" in host else host
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))  # nothing is sent: the system only chooses the address it would use
            return str(probe.getsockname()[0])
        except OSError:
            return socket.gethostname()
