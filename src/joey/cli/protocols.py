"""List the protocols and the dialects of open models, show one, or find out which one a model writes.

joey protocols                       all of them: Joey's own, and the dialects with the models that write them
joey protocols show kimi_k2          one: its grammar, its markers, what it is known by, an example, its declaration
joey protocols detect FILE           which dialect it is, with the evidence. FILE is a chat template
                                     (chat_template.jinja), a tokenizer_config.json, a GGUF file, what a server
                                     answered to /props or /v1/models, or a reply of the model; - reads stdin
joey protocols detect --model NAME   the same by a model's name
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from joey.errors import UsageError

if TYPE_CHECKING:
    from joey.protocols.detect import Detected
    from joey.protocols.dialects.protocol import DialectProtocol


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "action", nargs="?", default="list", choices=("list", "show", "detect"), help="what to do (list)"
    )
    parser.add_argument("name", nargs="?", metavar="NAME|FILE", help="the dialect to show, or the file to look at")
    parser.add_argument("--model", metavar="NAME", default="", help="with detect: the model's name")
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(args: argparse.Namespace) -> int:
    if args.action == "list":
        return _list(args.json)
    if args.action == "show":
        if not args.name:
            raise UsageError("name the dialect to show: joey protocols show kimi_k2")
        return _show(args.name, args.json)
    if not args.name and not args.model:
        raise UsageError("name a file, or a model with --model NAME")
    return _detect(args.name, args.model, args.json)


def _dialects() -> dict[str, DialectProtocol]:
    from joey.protocols.dialects.protocol import PROTOCOLS

    return PROTOCOLS


# List and show


def _list(as_json: bool) -> int:
    from joey import protocols

    dialects = _dialects()
    if as_json:
        rows = [
            {"name": name, "engine": each.dialect.engine, "models": each.dialect.models}
            for name, each in dialects.items()
        ]
        print(
            json.dumps({"protocols": [*protocols.names(), "yaml_xml"], "dialects": rows}, ensure_ascii=False, indent=2)
        )
        return 0
    print(f"Joey's own: {', '.join(protocols.names())}, yaml_xml\n\nDialects of open models:")
    width = max(map(len, dialects))
    for name, each in dialects.items():
        print(f"  {name:{width}}  {each.dialect.engine:10}  {each.dialect.models}")
    return 0


def _show(name: str, as_json: bool) -> int:
    from joey import protocols
    from joey.protocols.dialects.protocol import DialectProtocol

    protocol = protocols.get(name)
    if not isinstance(protocol, DialectProtocol):
        raise UsageError(f"{name} is one of Joey's own protocols; see docs/protocols/{name}.md")
    shown = _described(protocol)
    if as_json:
        print(json.dumps(shown, ensure_ascii=False, indent=2))
        return 0
    for key, value in shown.items():
        print(f"{key}:\n{_indented(value)}" if "\n" in value else f"{key}: {value}")
    return 0


def _indented(text: str) -> str:
    return "\n".join(f"    {line}" for line in text.splitlines())


def _described(protocol: DialectProtocol) -> dict[str, str]:
    from joey.messages import ToolUseBlock
    from joey.protocols import detect
    from joey.protocols.dialects.spec import Channels
    from joey.toolspec import ToolSpec

    properties = {"city": {"type": "string"}, "days": {"type": "integer"}}
    tool = ToolSpec(
        "get_weather", "Weather of a city.", {"type": "object", "properties": properties, "required": ["city"]}
    )
    ping = ToolSpec("ping", "Is it there?")
    calls = [
        ToolUseBlock("call00000", "get_weather", {"city": "Köln", "days": 2}),
        ToolUseBlock("call00001", "ping", {}),
    ]
    frame, grammar = protocol.dialect.frame, protocol.dialect.calls
    stops = grammar.ends if isinstance(grammar, Channels) else frame.stops
    think = " … ".join(frame.think) if frame.think else "none"
    return {
        "dialect": protocol.name,
        "models": protocol.dialect.models,
        "grammar": protocol.dialect.engine,
        "reasoning": think.replace("\n", "\\n"),
        "ends a turn": " ".join(stops) or "none known",
        "known by": "  ".join(sign.replace("\n", "\\n") for sign in detect.signs_of(protocol.name)),
        "model names": "  ".join(detect.names_of(protocol.name)) or "none",
        "two calls": protocol.encode_calls(calls, (tool, ping)).text,
        "declaration": protocol.describe((tool, ping)),
    }


# Detect


def _detect(name: str | None, model: str, as_json: bool) -> int:
    from joey.protocols import detect

    template, reply, models = _evidence_in(name) if name else ("", "", [])
    found = detect.detect(template=template, model=model or (models[0] if models else ""), reply=reply)
    if as_json:
        print(json.dumps([_as_json(each) for each in found], ensure_ascii=False, indent=2))
    elif not found:
        print("no dialect was recognized: it declares or calls no tools in a way that is known", file=sys.stderr)
    else:
        for each in found[:5]:
            evidence = "  ".join(part.replace("\n", "\\n") for part in each.evidence)
            print(f"{each.name:20} {each.score:7.2f}  {_dialects()[each.name].dialect.models}\n    {evidence}")
    return 0 if found else 1


def _as_json(found: Detected) -> dict[str, Any]:
    return {"dialect": found.name, "score": found.score, "evidence": list(found.evidence)}


def _evidence_in(name: str) -> tuple[str, str, list[str]]:
    """A file as a template, or as a reply, and the names of models in it."""
    if name.endswith(".gguf"):
        return _gguf(Path(name))
    try:
        text = sys.stdin.read() if name == "-" else Path(name).read_text(encoding="utf-8-sig", errors="replace")
    except OSError as error:
        raise UsageError(f"cannot read {name}: {error.strerror}") from None
    try:
        data = json.loads(text)
    except ValueError:
        return (text, "", []) if "{%" in text or "{{" in text else ("", text, [])
    return _in_json(data, text)


def _in_json(data: Any, text: str) -> tuple[str, str, list[str]]:
    if not isinstance(data, dict):
        return "", text, []
    template = data.get("chat_template") or ""
    if isinstance(template, list):  # several, by name: the one for tools says the most
        named = {each.get("name"): each.get("template", "") for each in template if isinstance(each, dict)}
        template = named.get("tool_use") or next(iter(named.values()), "")
    models = [str(each["id"]) for each in data.get("data") or () if isinstance(each, dict) and "id" in each]
    models += [str(data[key]) for key in ("model_alias", "model_path", "name_or_path") if data.get(key)]
    return (str(template), "", models) if template or models else ("", text, [])


def _gguf(path: Path) -> tuple[str, str, list[str]]:
    from joey.providers.local.weights.gguf import chat_template, read_facts

    return chat_template(path), "", [read_facts(path).name or path.stem]
