"""The same model and the same questions through Joey's gateway, llama.cpp's own server and LiteLLM: who gets the call?

    python -m bench.calls MODEL.gguf --questions 100 --results calls.jsonl [--litellm PYTHON] [--ways joey,llama.cpp]

The questions are those of the Berkeley Function Calling Leaderboard (`make .venv/bfcl`): one function, several to
choose from, several calls at once. One llama.cpp server runs the model for all ways, at temperature 0. `llama.cpp`
sends the tools to it, as any client would: the chat template describes them, and the server reads the calls. `litellm`
is its proxy in front of that server, run by a Python that has `litellm[proxy]`. `joey` is the gateway in front of it:
the tools are taught, the reply is held to a grammar.

A reply is right if its calls are those of the answer, each argument one of the accepted values, as the leaderboard
compares them. Each result is a line of the file; a run that was ended goes on where it was.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import secrets
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import jsonschema

from bench.table import Table
from joey.gateway import Gateway, Upstream
from joey.gateway.in_process import AsyncGatewayTransport
from joey.protocols import get
from joey.providers import Abilities
from joey.providers.local.engine import Engine, EnginePlan
from joey.providers.plain_chat import PlainChatProvider

DATA = Path(__file__).parents[1] / ".venv" / "bfcl"
CATEGORIES = {"single": "simple_python", "multiple": "multiple", "parallel": "parallel"}
WAYS = ("joey", "llama.cpp", "litellm")
WINDOW = 4096
MAX_TOKENS = 512
_MASTER_KEY = f"sk-{secrets.token_hex(32)}"
_TYPES = {"dict": "object", "tuple": "array", "float": "number", "any": "string"}


@dataclass(frozen=True, slots=True)
class Question:
    """A question, the tools for it, and the calls that answer it: for each argument what is accepted."""

    id: str
    category: str
    messages: Sequence[Any]
    tools: Sequence[Any]
    answer: Sequence[tuple[str, Mapping[str, Sequence[Any]]]]


@dataclass(frozen=True, slots=True)
class Judged:
    """What came of a reply. Well formed: there are calls, each of a tool that is there, with arguments of its types."""

    made: bool
    well_formed: bool
    right: bool


def questions(count: int) -> Iterator[Question]:
    """So many of each category, the categories in turn."""
    each = [list(_questions(name, file, count)) for name, file in CATEGORIES.items()]
    for row in zip(*each, strict=True):
        yield from row


def _questions(category: str, file: str, count: int) -> Iterator[Question]:
    answers = {row["id"]: row["ground_truth"] for row in _rows(DATA / f"{file}.answers.jsonl")}
    for row in list(_rows(DATA / f"{file}.questions.jsonl"))[:count]:
        tools = [{"type": "function", "function": _function(each)} for each in row["function"]]
        answer = [(_name(name), given) for call in answers[row["id"]] for name, given in call.items()]
        yield Question(row["id"], category, row["question"][0], tools, answer)


def _rows(path: Path) -> Iterator[Any]:
    with path.open(encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def _name(name: str) -> str:
    return name.replace(".", "_")


def _function(given: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "name": _name(given["name"]),
        "description": given["description"],
        "parameters": _schema(given["parameters"]),
    }


def _schema(given: Any) -> Any:
    """The schema with the types of JSON Schema."""
    if isinstance(given, dict):
        return {
            key: _TYPES.get(value, value) if key == "type" and isinstance(value, str) else _schema(value)
            for key, value in given.items()
        }
    return [_schema(each) for each in given] if isinstance(given, list) else given


# Judging


def judge(question: Question, calls: Sequence[tuple[str, str]]) -> Judged:
    schemas = {tool["function"]["name"]: tool["function"]["parameters"] for tool in question.tools}
    read = [(name, _arguments(written)) for name, written in calls]
    well_formed = bool(read) and all(
        name in schemas and jsonschema.Draft202012Validator(schemas[name]).is_valid(arguments)
        for name, arguments in read
    )
    return Judged(bool(read), well_formed, _is_right(question, read))


def _arguments(written: str) -> Any:
    try:
        return json.loads(written)
    except ValueError:
        return None


def _is_right(question: Question, calls: Sequence[tuple[str, Any]]) -> bool:
    """Whether each call of the answer was made, and no other."""
    left = list(calls)
    for name, accepted in question.answer:
        found = next((call for call in left if call[0] == name and _accepts(accepted, call[1])), None)
        if found is None:
            return False
        left.remove(found)
    return not left


def _accepts(accepted: Mapping[str, Sequence[Any]], arguments: Any) -> bool:
    if not isinstance(arguments, dict) or any(name not in accepted for name in arguments):
        return False
    return all(
        any(_same(choice, arguments[name]) for choice in choices) if name in arguments else "" in choices
        for name, choices in accepted.items()
    )


def _same(right: Any, given: Any) -> bool:
    """As the leaderboard compares: texts without spaces, case and punctuation; objects list choices for members."""
    if isinstance(right, str) and isinstance(given, str):
        return _plain(right) == _plain(given)
    if isinstance(right, bool) or isinstance(given, bool):
        return right is given
    if isinstance(right, dict) and isinstance(given, dict):
        return _accepts(right, given) if all(isinstance(each, list) for each in right.values()) else right == given
    if isinstance(right, list) and isinstance(given, list):
        return len(right) == len(given) and all(map(_same, right, given))
    return bool(right == given)


def _plain(text: str) -> str:
    return "".join(letter for letter in text.lower() if letter not in " ,./-_*^'\"")


# The ways


@asynccontextmanager
async def _client(way: str, address: str, key: str, litellm: str | None) -> AsyncIterator[httpx2.AsyncClient]:
    headers = {"authorization": f"Bearer {key}"}
    if way == "llama.cpp":
        made = httpx2.AsyncClient(base_url=address, headers=headers, timeout=1800, trust_env=False)
    elif way == "joey":
        abilities = Abilities(tools=False, context_window=WINDOW)
        provider = PlainChatProvider(f"{address}/v1", api_key=key, abilities=abilities, grammar="llama.cpp")
        transport = AsyncGatewayTransport(Gateway([Upstream(provider, "m", get("json_mix"), "m", 1)]).application())
        made = httpx2.AsyncClient(transport=transport, base_url="http://localhost", timeout=1800)
    else:
        assert litellm is not None, "the way litellm needs --litellm PYTHON"
        with _proxy(litellm, address, key) as proxy:
            made = httpx2.AsyncClient(base_url=proxy, headers={"authorization": f"Bearer {_MASTER_KEY}"}, timeout=1800)
            async with made:
                yield made
        return
    async with made:
        yield made


@contextlib.contextmanager
def _proxy(python: str, address: str, key: str, port: int = 18_765) -> Iterator[str]:
    """LiteLLM's proxy in front of the server."""
    parameters = {"model": "openai/m", "api_base": f"{address}/v1", "api_key": key}
    config = {"model_list": [{"model_name": "m", "litellm_params": parameters}]}
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "config.json"
        file.write_text(json.dumps(config), encoding="utf-8")
        command = [str(Path(python).parent / "litellm"), "--config", str(file), "--port", str(port)]
        quiet: Any = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        # It would fetch a list of prices from the internet.
        variables = {**os.environ, "LITELLM_LOCAL_MODEL_COST_MAP": "True", "LITELLM_MASTER_KEY": _MASTER_KEY}
        with subprocess.Popen([*command, "--host", "127.0.0.1"], env=variables, **quiet) as process:
            try:
                _wait_for(f"http://127.0.0.1:{port}/health/liveliness")
                yield f"http://127.0.0.1:{port}"
            finally:
                process.terminate()


def _wait_for(url: str) -> None:
    for _ in range(300):
        with contextlib.suppress(httpx2.HTTPError):
            if httpx2.get(url, trust_env=False).is_success:
                return
        time.sleep(1)
    raise SystemExit(f"nothing answers at {url}")


async def _ask(client: httpx2.AsyncClient, question: Question) -> tuple[list[tuple[str, str]], str]:
    """The calls of the reply, and what came instead."""
    body = {
        "model": "m",
        "messages": question.messages,
        "tools": question.tools,
        "temperature": 0,
        "max_tokens": MAX_TOKENS,
    }
    answer = await client.post("/v1/chat/completions", json=body)
    if not answer.is_success:
        return [], f"{answer.status_code} {answer.text[:200]}"
    message = answer.json()["choices"][0]["message"]
    found = message.get("tool_calls") or []
    written = "" if found else f"no call: {message.get('content')}"[:300]
    return [(call["function"]["name"], call["function"]["arguments"]) for call in found], written


async def _measure(args: argparse.Namespace, address: str, key: str) -> None:
    done = {(row["way"], row["id"]) for row in _rows(args.results)} if args.results.exists() else set()
    until = time.monotonic() + args.minutes * 60
    async with contextlib.AsyncExitStack() as stack:
        clients = {way: await stack.enter_async_context(_client(way, address, key, args.litellm)) for way in args.ways}
        for question in questions(args.questions):
            if time.monotonic() > until:
                return
            for way, client in clients.items():
                if (way, question.id) not in done:
                    await _one(way, client, question, args.results)


async def _one(way: str, client: httpx2.AsyncClient, question: Question, results: Path) -> None:
    start = time.monotonic()
    calls, problem = await _ask(client, question)
    judged = judge(question, calls)
    row = {
        "way": way,
        "id": question.id,
        "category": question.category,
        "made": judged.made,
        "well_formed": judged.well_formed,
        "right": judged.right,
        "seconds": round(time.monotonic() - start, 1),
        "calls": calls,
        "problem": problem,
    }
    with results.open("a", encoding="utf-8") as file:
        file.write(json.dumps(row, ensure_ascii=False) + "\n")


def table(results: Path) -> Table:
    """Only questions that went all ways count, so that the ways can be compared."""
    rows = list(_rows(results))
    ways = [way for way in WAYS if any(row["way"] == way for row in rows)]
    all_ways = {
        row["id"] for row in rows if all((way, row["id"]) in {(r["way"], r["id"]) for r in rows} for way in ways)
    }
    made = Table("calls of one model, of each hundred questions", ["", "questions", *_COLUMNS.values(), "seconds each"])
    for category in CATEGORIES:
        for way in ways:
            found = [row for row in rows if (row["way"], row["category"]) == (way, category) and row["id"] in all_ways]
            if found:
                shares = [f"{100 * sum(row[name] for row in found) / len(found):.0f}" for name in _COLUMNS]
                seconds = sum(row["seconds"] for row in found) / len(found)
                made.add(f"{category}, {way}", str(len(found)), *shares, f"{seconds:.1f}")
    return made


_COLUMNS = {"made": "a call", "well_formed": "well formed", "right": "right"}


def main(argv: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="bench.calls")
    parser.add_argument("model", type=Path)
    parser.add_argument("--questions", type=int, default=100)
    parser.add_argument("--minutes", type=float, default=1e6)
    parser.add_argument("--results", type=Path, default=Path("calls.jsonl"))
    parser.add_argument("--litellm", metavar="PYTHON")
    parser.add_argument("--ways", type=lambda text: text.split(","), default=list(WAYS[:2]))
    args = parser.parse_args(argv)
    engine = Engine(EnginePlan(args.model, WINDOW))
    asyncio.run(_measure(args, engine.load(), engine.key))
    print(table(args.results))
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
