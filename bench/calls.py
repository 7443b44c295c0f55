"""The same model and the same questions by several ways to call tools: which way gets the call?

    python -m bench.calls --minutes 30       continue for half an hour (`make calls MINUTES=30`)
    python -m bench.calls --table            what was measured so far

The questions are those of the Berkeley Function Calling Leaderboard, scored by its rules (`bench/bfcl.py`). One
llama.cpp server runs the model for all ways, at temperature 0:

    native      llama.cpp's own: the tools are sent to it, its template describes them, it reads the calls
    litellm     LiteLLM's proxy in front of that
    hermes      Joey's gateway in front of it, in the dialect that the model was trained on, with a grammar
    json_mix    the gateway with a protocol that is taught, with a grammar
    xml         another one
    prompt      no tools at all: the functions in plain words, the reply read as Python calls

Each result is a line of `bench/calls.jsonl`, with the day and the commit of the code that matters, so that runs add up
and no question is asked twice. A question goes all ways before the next, and the categories take turns: a part is
balanced. Reading the prompt is most of the cost, so ways with the same prompt follow each other, and the server finds
what it has read of it. Several questions are asked at once, which is where a processor is at its best; so the seconds
of one are long. What the model wrote is in `build/calls.jsonl`.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import secrets
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx2

from bench.bfcl import CATEGORIES, Question, judge, questions, rows
from bench.litellm import LITELLM, proxy
from bench.prompted import prompted, read_prompted
from joey.gateway import Gateway, Upstream
from joey.gateway.in_process import AsyncGatewayTransport
from joey.protocols import get
from joey.providers import Abilities
from joey.providers.local.engine import Engine, EnginePlan
from joey.providers.local.weights import model_file
from joey.providers.plain_chat import PlainChatProvider

ROOT = Path(__file__).parents[1]
RESULTS = Path(__file__).with_name("calls.jsonl")
REPLIES = ROOT / "build" / "calls.jsonl"
WAYS = {
    "native": "llama.cpp's own template",
    "litellm": "LiteLLM in front of it",
    "hermes": "Joey's gateway, `hermes` with grammar",
    "json_mix": "Joey's gateway, `json_mix` with grammar",
    "xml": "Joey's gateway, `xml` with grammar",
    "prompt": "prompt only, read as Python calls",
}
SYSTEM = "You are Qwen, created by Alibaba Cloud. You are a helpful assistant."
"""What the model's template says by itself. Sent in all ways, so that prompts begin alike."""
WINDOW = 4096
MAX_TOKENS = 512
SLOTS = 4
"""Questions at once."""
CODE = ("bench/bfcl.py", "bench/calls.py", "bench/prompted.py", *(
    f"src/joey/{each}" for each in ("gateway", "protocols", "schema", "providers")
))  # fmt: skip


@dataclass(frozen=True, slots=True)
class Row:
    """What came of a question that went one way."""

    id: str
    way: str
    made: bool
    well_formed: bool
    right: bool
    seconds: float
    day: str
    commit: str

    @property
    def category(self) -> str:
        return self.id.partition("_")[0]


def recorded(path: Path = RESULTS) -> list[Row]:
    return [Row(**each) for each in rows(path)] if path.exists() else []


# Asking


@asynccontextmanager
async def client(way: str, address: str, key: str) -> AsyncIterator[httpx2.AsyncClient]:
    """A client of Chat Completions for this way."""
    if way in ("native", "prompt"):
        made = _direct(address, key)
    elif way == "litellm":
        master = f"sk-{secrets.token_hex(32)}"
        with proxy(address, key, master) as proxied:
            async with _direct(proxied, master) as made:
                yield made
        return
    else:
        provider = PlainChatProvider(
            f"{address}/v1",
            api_key=key,
            abilities=Abilities(tools=False, context_window=WINDOW),
            grammar="llama.cpp",
        )
        transport = AsyncGatewayTransport(Gateway([Upstream(provider, "m", get(way), "m", SLOTS)]).application())
        made = httpx2.AsyncClient(transport=transport, base_url="http://localhost", timeout=1800)
    async with made:
        yield made


def _direct(address: str, key: str) -> httpx2.AsyncClient:
    headers = {"authorization": f"Bearer {key}"}
    return httpx2.AsyncClient(base_url=address, headers=headers, timeout=1800, trust_env=False)


def request(way: str, question: Question) -> dict[str, Any]:
    body = {"model": "m", "temperature": 0, "max_tokens": MAX_TOKENS}
    if way == "prompt":
        return {**body, "messages": prompted(question)}
    messages = [{"role": "system", "content": SYSTEM}, *question.messages]
    return {**body, "messages": messages, "tools": question.tools}


def calls_of(way: str, message: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The calls of a reply: names, and arguments as JSON."""
    if way == "prompt":
        return read_prompted(message.get("content") or "")
    return [(call["function"]["name"], call["function"]["arguments"]) for call in message.get("tool_calls") or ()]


async def ask(way: str, by: httpx2.AsyncClient, question: Question) -> tuple[list[tuple[str, str]], Any]:
    """The calls of the reply, and the reply. A server that refuses has made no call."""
    answer = await by.post("/v1/chat/completions", json=request(way, question))
    if not answer.is_success:
        return [], f"{answer.status_code} {answer.text[:200]}"
    message = answer.json()["choices"][0]["message"]
    return calls_of(way, message), message


# Measuring


async def measure(
    ways: Sequence[str], chosen: Iterable[Question], until: float, address: str, key: str, at_once: int = 1
) -> None:
    done = {(row.way, row.id) for row in recorded(RESULTS)}
    day, commit = datetime.now(UTC).date().isoformat(), _commit()
    async with contextlib.AsyncExitStack() as stack:
        clients = {way: await stack.enter_async_context(client(way, address, key)) for way in ways}
        waiting = iter(chosen)

        async def worker() -> None:
            for question in waiting:
                for way, by in clients.items():
                    if time.monotonic() > until:
                        return
                    if (way, question.id) not in done:
                        await _one(way, by, question, day, commit)

        async with asyncio.TaskGroup() as workers:
            for _ in range(at_once):
                workers.create_task(worker())


async def _one(way: str, by: httpx2.AsyncClient, question: Question, day: str, commit: str) -> None:
    start = time.monotonic()
    calls, reply = await ask(way, by, question)
    seconds = round(time.monotonic() - start, 1)
    judged = judge(question, calls)
    row = Row(question.id, way, judged.made, judged.well_formed, judged.right, seconds, day, commit)
    _append(RESULTS, asdict(row))
    _append(REPLIES, {"id": question.id, "way": way, "right": judged.right, "calls": calls, "reply": reply})
    print(f"{question.id}, {way}: {'right' if judged.right else 'wrong'}, {seconds} s", file=sys.stderr, flush=True)


def _append(path: Path, row: Mapping[str, Any]) -> None:
    path.parent.mkdir(exist_ok=True)
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(row, ensure_ascii=False) + "\n")


def _commit() -> str:
    """The last one that changed what is measured."""
    command = ["git", "log", "-1", "--format=%h", "--", *CODE]
    return subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout.strip()


# The table

HEAD = ("way", *CATEGORIES, "a call", "well formed", "seconds each")


def table(found: Sequence[Row]) -> list[tuple[str, ...]]:
    """For each way, how many were answered rightly, of how many. Calls count where they are wanted."""
    by_way = {way: [row for row in found if row.way == way] for way in WAYS}
    return [(WAYS[way], *_cells(its)) for way, its in by_way.items() if its]


def _cells(found: Sequence[Row]) -> tuple[str, ...]:
    wanted = [row for row in found if row.category != "irrelevance"]
    return (
        *(_share([row.right for row in found if row.category == category]) for category in CATEGORIES),
        _share([row.made for row in wanted]),
        _share([row.well_formed for row in wanted]),
        f"{sum(row.seconds for row in found) / len(found):.0f}",
    )


def _share(found: Sequence[bool]) -> str:
    return f"{sum(found)} of {len(found)} ({100 * sum(found) / len(found):.0f} %)" if found else "–"


def markdown(found: Sequence[Row]) -> str:
    return "\n".join(f"| {' | '.join(row)} |" for row in (HEAD, ("---",) * len(HEAD), *table(found)))


def main(argv: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="bench.calls", description=__doc__)
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("--questions", type=int, default=150, help="of each category (150)")
    parser.add_argument("--model", default="coder-1.5b", help="a model of `joey local`, or a file (coder-1.5b)")
    parser.add_argument("--threads", type=int, help="for the model; as many as there are cores, one on a busy machine")
    parser.add_argument("--ways", default=",".join(WAYS), help=", ".join(WAYS))
    parser.add_argument("--table", action="store_true", help="ask nothing")
    args = parser.parse_args(argv)
    if not args.table:
        ways = [way for way in args.ways.split(",") if way != "litellm" or LITELLM.exists()]
        engine = Engine(EnginePlan(model_file(args.model), WINDOW, args.threads, SLOTS))
        until = time.monotonic() + args.minutes * 60
        asyncio.run(measure(ways, questions(args.questions), until, engine.load(), engine.key, SLOTS))
    print(markdown(recorded()))
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
