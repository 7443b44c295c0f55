"""Who may talk to the server, and what a link cannot do."""

from __future__ import annotations

import httpx2
import pytest
from starlette.responses import PlainTextResponse

from joey.web.guard import Access, PageGuard, cookie_name
from web_kit import TOKEN

HOST = "127.0.0.1:8329"
COOKIE = {"cookie": f"{cookie_name(HOST)}={Access(TOKEN).cookie}"}
BEARER = {"authorization": f"Bearer {TOKEN}"}
FRAME = {"sec-fetch-site": "same-site", "sec-fetch-mode": "navigate", "sec-fetch-dest": "iframe"}
OURS = {"origin": f"http://{HOST}", "content-type": "application/json"}


async def ask(method: str, path: str, headers: dict[str, str], access: Access | None = None) -> httpx2.Response:
    guard = PageGuard(PlainTextResponse("inside"), access or Access(TOKEN))
    transport = httpx2.ASGITransport(app=guard)
    async with httpx2.AsyncClient(transport=transport, base_url=f"http://{HOST}") as client:
        return await client.request(method, path, headers={"host": HOST, **headers})


@pytest.mark.parametrize(
    ("method", "path", "headers", "status"),
    [
        ("GET", "/api/v1/tasks", {}, 401),
        ("GET", "/", {}, 401),
        ("GET", "/?token=wrong", {}, 401),
        ("GET", f"/?token={TOKEN}", {}, 200),
        ("GET", f"/api/v1/tasks?token={TOKEN}", {}, 401),
        ("POST", f"/?token={TOKEN}", OURS, 401),
        ("GET", "/api/v1/tasks", {"cookie": f"{cookie_name(HOST)}=wrong"}, 401),
        ("GET", "/api/v1/tasks", {"cookie": "joey_9=1; ,;=;", **BEARER}, 200),
        ("GET", "/api/v1/tasks", {"authorization": "Bearer wrong"}, 401),
        ("GET", "/api/v1/tasks", COOKIE, 200),
        ("GET", "/api/v1/tasks", BEARER, 200),
        ("POST", "/api/v1/tasks", BEARER, 200),
        ("POST", "/api/v1/tasks", {**BEARER, **OURS}, 200),
        # Another server of this machine was sent the cookie, and says what it wants:
        ("POST", "/api/v1/tasks", {**COOKIE, **OURS}, 401),
        ("DELETE", "/api/v1/tasks/x", {**COOKIE, **OURS}, 401),
        # A form or an image of another site, a link, a page that was rebound to this machine:
        ("POST", "/api/v1/tasks", COOKIE, 403),
        ("POST", "/api/v1/tasks", {**COOKIE, "origin": f"http://{HOST}", "content-type": "text/plain"}, 403),
        ("POST", "/api/v1/tasks", {**COOKIE, **OURS, "origin": "https://evil.example"}, 403),
        ("POST", "/api/v1/tasks", {**COOKIE, **OURS, "origin": "null"}, 403),
        ("POST", "/api/v1/tasks", {**BEARER, **OURS, "origin": "https://evil.example"}, 403),
        ("DELETE", "/api/v1/tasks/x", COOKIE, 403),
        ("GET", "/api/v1/tasks", {**COOKIE, "origin": "https://evil.example"}, 403),
        ("GET", "/api/v1/tasks", {**COOKIE, "sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors"}, 403),
        ("GET", "/api/v1/tasks", {**COOKIE, "sec-fetch-site": "same-origin", "sec-fetch-mode": "cors"}, 200),
        # Another port of this machine, whose page the same browser shows:
        ("GET", "/api/v1/tasks", {**COOKIE, "sec-fetch-site": "same-site", "sec-fetch-mode": "no-cors"}, 403),
        ("GET", "/api/v1/tasks/x/export", {**COOKIE, "sec-fetch-site": "same-site", "sec-fetch-mode": "navigate"}, 403),
        ("GET", "/", {**COOKIE, **FRAME}, 403),
        ("GET", "/", {**COOKIE, **FRAME, "sec-fetch-dest": "document"}, 200),
        ("GET", "/api/v1/tasks", {**COOKIE, "host": "evil.example"}, 421),
        ("GET", f"/?token={TOKEN}", {"host": "evil.example:8329"}, 421),
        ("GET", "/api/v1/tasks", {**BEARER, "host": "192.168.1.5:8329"}, 421),
        ("GET", "/api/v1/tasks", {**BEARER, "host": "localhost:8329"}, 200),
        ("GET", "/api/v1/tasks", {**BEARER, "host": "[::1]:8329"}, 200),
        ("GET", "/api/v1/tasks", {**BEARER, "host": ""}, 421),
    ],
)
async def test_only_our_own_page_and_those_with_the_token_come_in(
    method: str, path: str, headers: dict[str, str], status: int
) -> None:
    answer = await ask(method, path, headers)
    assert answer.status_code == status, answer.text
    assert (answer.text == "inside") == (status == 200)


@pytest.mark.parametrize(
    ("access", "host", "status"),
    [
        (Access(TOKEN, "0.0.0.0"), "192.168.1.5:8329", 200),
        (Access(TOKEN, "0.0.0.0"), "rebound.example:8329", 421),
        (Access(TOKEN, "0.0.0.0", ("box.lan",)), "box.lan:8329", 200),
        (Access(TOKEN, "192.168.1.5"), "192.168.1.5:8329", 200),
    ],
)
async def test_on_an_open_address_names_have_to_be_known(access: Access, host: str, status: int) -> None:
    assert (await ask("GET", "/api/v1/tasks", {**BEARER, "host": host}, access)).status_code == status


async def test_the_link_gives_a_cookie_that_scripts_and_other_sites_cannot_use() -> None:
    answer = await ask("GET", f"/?token={TOKEN}", {})
    cookie = answer.headers["set-cookie"]
    assert "HttpOnly" in cookie and "SameSite=Strict" in cookie and TOKEN not in cookie
    assert "set-cookie" not in (await ask("GET", "/", COOKIE)).headers


async def test_every_answer_has_a_policy_without_inline_scripts() -> None:
    for headers in ({}, COOKIE):
        policy = (await ask("GET", "/", headers)).headers["content-security-policy"]
        assert "default-src 'none'" in policy and "script-src 'self';" in policy
        assert "unsafe" not in policy and "frame-ancestors 'none'" in policy and "http" not in policy
