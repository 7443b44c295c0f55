"""Which grammars of the dialects the engines of inference servers take: llama.cpp, xgrammar, llguidance.

python scripts/grammar_engines.py                     those that can be imported
python scripts/grammar_engines.py --model FILE.gguf   llama.cpp too, which needs a model to load

For each dialect the grammars of the choices `auto`, `required` and `none`, and of a reply that begins inside reasoning,
are given to the engine. xgrammar and llguidance also say whether they admit a call as Joey writes it. llguidance is
given what its own converter makes of GBNF, whose lexer never goes back: it refuses some calls that the grammar admits.

None of the engines is a dependency of Joey. xgrammar imports torch and transformers at its start and uses neither for
grammars.
"""

from __future__ import annotations

import argparse
import importlib
import json
import sys
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from dialect_cases import tools_of
from joey import protocols
from joey.messages import ToolUseBlock
from joey.protocols.dialects.protocol import DialectProtocol
from joey.toolspec import ToolChoice

TOOLS = list(tools_of({"tools": "std"}))
CALLS: dict[str, dict[str, Any]] = {
    "get_weather": {"city": "Paris", "days": 2},
    "write_file": {"path": "a.txt", "content": "a\n<b>\n"},
    "ping": {},
}
INDENTED = "granite3"
"""Its template indents calls; its grammar has them on one line."""


def dialects() -> Iterator[DialectProtocol]:
    for name in protocols.dialect_names():
        protocol = protocols.get(name)
        assert isinstance(protocol, DialectProtocol)
        yield protocol


def grammars(protocol: DialectProtocol) -> dict[str, str]:
    found = {mode: protocol.grammar(TOOLS, ToolChoice(mode)) for mode in ("required", "auto", "none")}
    think = protocol.dialect.frame.think
    if think is not None:
        inside = protocol.with_options(prompt_tail=think[0])
        found["inside reasoning"] = inside.grammar(TOOLS, ToolChoice("required"))
    return found


def written(protocol: DialectProtocol) -> list[str]:
    calls = [ToolUseBlock("call00001", name, arguments) for name, arguments in CALLS.items()]
    return [] if protocol.name == INDENTED else [protocol.encode_call(call, TOOLS).text for call in calls]


# The engines: each takes a grammar and texts, raises if it refuses the grammar, and counts the texts that it admits.


def xgrammar() -> Callable[[str, list[str]], int]:
    engine = importlib.import_module("xgrammar")
    testing = importlib.import_module("xgrammar.testing")

    def admits(grammar: str, texts: list[str]) -> int:
        made = engine.Grammar.from_ebnf(grammar)
        return sum(bool(testing._is_grammar_accept_string(made, text)) for text in texts)

    return admits


def llguidance() -> Callable[[str, list[str]], int]:
    engine = importlib.import_module("llguidance")
    convert = importlib.import_module("llguidance.gbnf_to_lark").any_to_lark
    tokens = engine.LLTokenizer("byte")

    def admits(grammar: str, texts: list[str]) -> int:
        made = engine.LLMatcher.grammar_from_lark(convert(grammar))
        if fault := engine.LLMatcher.validate_grammar(made):
            raise ValueError(fault)
        return sum(_consumes(engine.LLMatcher(tokens, made), text.encode()) for text in texts)

    return admits


def _consumes(matcher: Any, data: bytes) -> bool:
    return bool(matcher.try_consume_tokens(list(data)) == len(data) and matcher.is_accepting())


def llama_cpp(model: Path) -> Callable[[str, list[str]], int]:
    engine = importlib.import_module("xllamacpp")
    params = engine.CommonParams()
    params.model.path, params.n_ctx, params.n_parallel, params.verbosity = str(model), 512, 1, -1
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
    params.warmup = False
    server = engine.Server(params)

    def admits(grammar: str, texts: list[str]) -> int:
        del texts
        body = json.dumps({"prompt": "x", "n_predict": 1, "grammar": grammar, "cache_prompt": True}).encode()
        headers = {"Content-Type": "application/json"}
        request = urllib.request.Request(f"{server.listening_address}/completion", body, headers)
        try:
            with urllib.request.urlopen(request, timeout=120) as answer:
                answer.read()
        except urllib.error.HTTPError as error:
            raise ValueError(error.read().decode()[:300]) from None
        return 0

    return admits


def check(name: str, admits: Callable[[str, list[str]], int]) -> int:
    taken = total = admitted = calls = 0
    for protocol in dialects():
        texts = written(protocol)
        for choice, grammar in grammars(protocol).items():
            total += 1
            try:
                here = texts if choice == "required" else []
                admitted += admits(grammar, here)
                taken, calls = taken + 1, calls + len(here)
            except Exception as error:  # noqa: BLE001 - each engine has its own
                print(f"  {name}: {protocol.name}, {choice}: {error}")
    also = f", {admitted} of {calls} written calls admitted" if admitted else ""
    print(f"{name}: {taken} of {total} grammars taken{also}")
    return int(taken < total)


def main(arguments: list[str]) -> int:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--model", type=Path, help="a GGUF file for llama.cpp")
    model = options.parse_args(arguments).model
    failed = 0
    engines: dict[str, Callable[[], Callable[[str, list[str]], int]]] = {"xgrammar": xgrammar, "llguidance": llguidance}
    if model is not None:
        engines["llama.cpp"] = lambda: llama_cpp(model)
    for name, engine in engines.items():
        try:
            admits = engine()
        except ImportError as error:
            print(f"{name}: skipped, {error}")
            continue
        failed |= check(name, admits)
    return failed


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
