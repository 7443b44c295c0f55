"""Calls without any machinery: the functions described in plain words, and the reply read as Python calls.

This is how models without tool calling are asked by the leaderboard: `[name(argument=value), …]`, nothing else.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Mapping
from typing import Any

from bench.bfcl import Question

INSTRUCTIONS = """You are given a question and a list of functions. Answer by calling functions.
Reply with nothing but the calls, as a Python list: [name(argument=value, argument=value), name(argument=value)]
Make every call that is needed to answer the question. If no function is of use, or an argument is missing that cannot \
be left out, do not call one: say so in words.

Functions:"""


def prompted(question: Question) -> list[dict[str, Any]]:
    described = "\n\n".join(_described(tool["function"]) for tool in question.tools)
    return [{"role": "system", "content": f"{INSTRUCTIONS}\n\n{described}"}, *question.messages]


def _described(function: Mapping[str, Any]) -> str:
    parameters = function["parameters"]
    lines = [
        f"  {name} ({_kind(schema)}{'' if name in parameters.get('required', ()) else ', optional'}): "
        f"{schema.get('description', '')}"
        for name, schema in parameters["properties"].items()
    ]
    return "\n".join([f"{function['name']}: {function['description']}", *lines])


def _kind(schema: Mapping[str, Any]) -> str:
    kind = str(schema["type"])
    if "enum" in schema:
        return f"{kind}, one of {json.dumps(schema['enum'], ensure_ascii=False)}"
    return f"{kind} of {_kind(schema['items'])}" if kind == "array" and "type" in schema.get("items", {}) else kind


def read_prompted(text: str) -> list[tuple[str, str]]:
    """The calls, if the reply is a list of calls or one call, in a fence or not; none if it is anything else."""
    body = text.strip().strip("`").removeprefix("python").strip()
    try:
        tree = ast.parse(body if body.startswith("[") else f"[{body}]", mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    elements = tree.body.elts if isinstance(tree.body, ast.List) else []
    if not all(isinstance(each, ast.Call) for each in elements):
        return []
    return [(ast.unparse(each.func), _arguments(each)) for each in elements if isinstance(each, ast.Call)]


def _arguments(call: ast.Call) -> str:
    return json.dumps({each.arg: _value(each.value) for each in call.keywords if each.arg}, default=str)


def _value(node: ast.expr) -> Any:
    try:
        return ast.literal_eval(node)
    except ValueError:
        return ast.unparse(node)
