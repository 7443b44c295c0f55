"""Listed hosts through the proxy. Names lead to servers on the loopback here: the resolver and what counts as public
are handed to the proxy, and nothing else is different."""

from __future__ import annotations

import asyncio
import http.server
import threading
from collections.abc import Iterator, Sequence

import pytest

from joey.sandbox import Sandbox, open_full
from joey.sandbox.proxy import REFUSED, Proxy, is_public
from sandbox_kit import Ran, World, need_bubblewrap

NAMES = {
    "good.example": ["127.0.0.1"],
    "files.good.example": ["127.0.0.1"],
    "bad.example": ["127.0.0.1"],
    "rebound.example": ["127.0.0.1", "10.0.0.7"],
    "moving.example": ["127.0.0.1"],
}


@pytest.fixture(scope="module")
def server() -> Iterator[int]:
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = f"hello {self.headers['Host']} {self.path}".encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_args: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as made:
        threading.Thread(target=made.serve_forever, daemon=True).start()
        yield made.server_port
        made.shutdown()


async def resolve(host: str, _port: int) -> Sequence[str]:
    if host not in NAMES:
        raise OSError("no such name")
    return NAMES[host]


@pytest.fixture(scope="module")
def sandbox(world: World, server: int) -> Iterator[Sandbox]:
    need_bubblewrap()
    hosts = ("good.example", "*.good.example", "rebound.example", "missing.example", "127.0.0.1", "2130706433")
    proxy = Proxy(hosts, frozenset({server}), resolve, lambda address: address == "127.0.0.1")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOME", str(world.home))
        made = world.loop.run(open_full(world.walls(network="hosts", hosts=hosts), proxy))
    yield made
    world.close_sandbox(made)


def curl(world: World, sandbox: Sandbox, *words: str) -> Ran:
    code = (
        "import sys, urllib.request, urllib.error\n"
        "try: print(urllib.request.urlopen(sys.argv[1], timeout=10).read().decode())\n"
        "except urllib.error.HTTPError as e: print(e.code, e.read().decode()); sys.exit(1)\n"
        "except Exception as e: print(e); sys.exit(2)"
    )
    return world.inside(f'python3 -c "{code}" {" ".join(words)}', sandbox=sandbox)


@pytest.mark.parametrize("host", ["good.example", "files.good.example", "GOOD.example"])
def test_a_listed_host_answers(world: World, sandbox: Sandbox, server: int, host: str) -> None:
    ran = curl(world, sandbox, f"http://{host}:{server}/a?b")
    assert ran.out == f"hello {host.lower()}:{server} /a?b\n"


@pytest.mark.parametrize(
    ("address", "why"),
    [
        ("http://bad.example:{port}/", "bad.example is not on the list"),
        ("http://good.example.bad.example:{port}/", "is not on the list"),
        ("http://notgood.example:{port}/", "is not on the list"),
        ("http://good.example:22/", "port 22 is not allowed"),
        ("http://rebound.example:{port}/", "leads into a private network"),
        ("http://127.0.0.2:{port}/", "is not a name"),
        ("http://2130706433:{port}/", "is not a name"),
        ("http://169.254.169.254/latest/meta-data/", "is not a name"),
        ("http://[::ffff:169.254.169.254]/", "is not a name"),
        ("http://missing.example:{port}/", "no such name"),
    ],
)
def test_others_are_refused_in_words(world: World, sandbox: Sandbox, server: int, address: str, why: str) -> None:
    ran = curl(world, sandbox, address.format(port=server))
    assert ran.code == 1 and why in ran.out, ran.out
    assert REFUSED in ran.out or "could not connect" in ran.out


@pytest.mark.parametrize(
    "request_line",
    [
        "GET / HTTP/1.1", "GET ftp://good.example/ HTTP/1.1", "CONNECT good.example HTTP/1.1",
        "CONNECT bad.example:{port} HTTP/1.1", "CONNECT 127.0.0.1:{port} HTTP/1.1", "CONNECT [::1]:{port} HTTP/1.1",
        "GET http://good.example@bad.example:{port}/ HTTP/1.1", "GET http://a:b@good.example:{port}/ HTTP/1.1",
        "get http://good.example:{port}/ HTTP/1.1", "GET http://good.example:{port}/ HTTP/2", "nonsense",
        "CONNECT localhost:{port} HTTP/1.1", "CONNECT good.example:{port}:80 HTTP/1.1",
    ],
)  # fmt: skip
def test_what_a_proxy_can_be_abused_with_is_refused(
    world: World, sandbox: Sandbox, server: int, request_line: str
) -> None:
    line = request_line.format(port=server)
    code = (
        "import socket, sys\ns = socket.create_connection(('127.0.0.1', 18080))\n"
        f"s.sendall(sys.argv[1].encode() + b'\\r\\nHost: good.example:{server}\\r\\n\\r\\n')\n"
        "print(s.makefile('rb').read().decode())"
    )
    ran = world.inside(f'python3 -c "{code}" "{line}"', sandbox=sandbox)
    assert ran.out.startswith(("HTTP/1.1 403", "HTTP/1.1 502")), ran.out
    assert "hello" not in ran.out


def test_around_the_proxy_there_is_no_way(world: World, sandbox: Sandbox, server: int) -> None:
    code = f"import socket; socket.create_connection(('127.0.0.1', {server}), timeout=5)"
    assert "refused" in world.inside(f'python3 -c "{code}"', sandbox=sandbox).out
    lookup = "import socket; socket.getaddrinfo('good.example', 80)"
    assert world.inside(f'python3 -c "{lookup}"', sandbox=sandbox).code != 0


def test_a_name_that_moves_while_it_is_looked_up_is_resolved_once() -> None:
    looked_up: list[str] = []

    async def moving(host: str, _port: int) -> Sequence[str]:
        looked_up.append(host)
        return ["203.0.113.7"] if len(looked_up) == 1 else ["127.0.0.1"]

    proxy = Proxy(("moving.example",), resolve=moving, public=lambda address: address == "203.0.113.7")
    assert asyncio.run(proxy.allowed("moving.example", 443)) == "203.0.113.7"
    assert looked_up == ["moving.example"]


@pytest.mark.parametrize(
    ("address", "public"),
    [
        ("1.1.1.1", True), ("2606:4700:4700::1111", True), ("127.0.0.1", False), ("127.8.8.8", False), ("::1", False),
        ("10.1.2.3", False), ("192.168.1.1", False), ("172.16.0.1", False), ("169.254.169.254", False),
        ("fe80::1%eth0", False), ("fd00::1", False), ("0.0.0.0", False), ("::", False), ("100.64.0.1", False),
        ("::ffff:127.0.0.1", False), ("::ffff:10.0.0.1", False), ("64:ff9b::7f00:1", False), ("2002:7f00:1::", False),
        ("::127.0.0.1", False), ("::10.0.0.1", False), ("64:ff9b::1.1.1.1", True),
        ("224.0.0.1", False), ("255.255.255.255", False), ("192.0.2.1", False), ("nonsense", False),
    ],
)  # fmt: skip
def test_public_addresses(address: str, public: bool) -> None:
    assert is_public(address) is public


def test_a_star_alone_lists_nobody() -> None:
    async def somewhere(_host: str, _port: int) -> Sequence[str]:
        return ["1.1.1.1"]

    with pytest.raises(Exception, match="not on the list"):
        asyncio.run(Proxy(("*",), resolve=somewhere).allowed("x.example", 443))
