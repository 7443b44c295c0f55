"""`joey web` as people run it: a process that prints a link, and saves its tasks when it ends."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path

import httpx2
import pytest

from joey.errors import UsageError
from joey.journal.store import TaskStore
from joey.testing.script import Faults, reply
from joey.testing.server import LocalServer
from joey.web.server import listen
from joey_process import JoeyProcess, done


async def test_it_prints_a_link_and_leaves_tasks_that_can_be_resumed(tmp_path: Path) -> None:
    joey = JoeyProcess(tmp_path)
    async with LocalServer([reply("word " * 500, faults=Faults(pause=0.05)), done()]) as model:
        flags = ("--model", "anthropic/claude-sonnet-5-5", "--base-url", model.anthropic_url)
        process = await joey.start("web", "--port", "0", *flags)
        assert process.stdout is not None
        line = (await process.stdout.readline()).decode()
        found = re.fullmatch(r"Joey is at (http://localhost:\d+)/\?token=([\w-]{32})\n", line)
        assert found is not None, line
        async with httpx2.AsyncClient(base_url=found[1], timeout=30) as client:
            assert (await client.get("/")).status_code == 401
            page = await client.get(f"/?token={found[2]}")
            assert page.status_code == 200 and "<title>Joey</title>" in page.text
            assert (await client.get("/api/v1/tasks")).status_code == 200  # the cookie of the link is enough to read
            client.headers["authorization"] = f"Bearer {found[2]}"
            started = await client.post("/api/v1/tasks", json={"text": "talk"}, headers={"origin": found[1]})
            assert started.status_code == 201, started.text
        process.terminate()
        assert await asyncio.wait_for(process.wait(), 30) == 0
    entry = TaskStore(joey.home / ".local/state/joey/tasks").find("last")
    assert entry.status == "cancelled"
    assert sorted(path.name for path in entry.path.iterdir()) == ["journal.jsonl"]
    exported = await joey("tasks", "export", entry.task_id, "task.html", "--html")
    assert exported.code == 0
    text = (joey.workspace / "task.html").read_text()
    assert text.startswith("<!doctype html>") and "word word" in text and "Content-Security-Policy" in text
    assert "src=" not in text.split("<script>")[0] and "<link" not in text


async def test_a_short_token_and_a_port_that_is_taken_are_errors_in_words(tmp_path: Path) -> None:
    joey = JoeyProcess(tmp_path)
    async with LocalServer([]) as taken:
        port = taken.url.rpartition(":")[2]
        ran = await joey("web", "--port", port)
    assert ran.code == 2 and "name another with --host or --port" in ran.err
    joey.variables["JOEY_WEB_TOKEN"] = "short"
    ran = await joey("web")
    assert ran.code == 2 and "too short" in ran.err and "Traceback" not in ran.err


def test_an_address_of_another_machine_is_an_error_in_words() -> None:
    with pytest.raises(UsageError, match=r"cannot listen on 192\.0\.2\.1: .*; name another with --host or --port"):
        listen("192.0.2.1", None, 8329)


def test_the_page_is_small_and_loads_nothing_from_elsewhere() -> None:
    from joey.web.export import FOLDER

    files = [path for path in FOLDER.iterdir() if path.is_file()]
    assert sum(path.stat().st_size for path in files) < 160_000
    for path in files:
        text = path.read_text().replace("http://www.w3.org/2000/svg", "")
        assert not re.search(r"""(?:src|href|url\(|from|import\()\s*[=("']*\s*https?://""", text), path
        assert "innerHTML" not in text and "insertAdjacentHTML" not in text and "document.write" not in text
