"""Calls and results in a dialect's own words, for the history.

What was written is read back as it was, with the dialect's own markers in its strings. JSON and function syntax have
escapes. A tagged value has none: one that holds a marker, or that would be read as something else than it is, stands in
a CDATA block, which `tagged` reads. A string between tokens that holds the token is written with quotes instead.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence

from joey.messages import ToolUseBlock
from joey.protocols.dialects import nested
from joey.protocols.dialects.frame import marks_of
from joey.protocols.dialects.spec import Channels, Dialect, Function, Tagged
from joey.protocols.dialects.styles import Style
from joey.protocols.dialects.tagged import CDATA, CDATA_END, CDATA_SPLIT
from joey.protocols.dialects.values import any_value, parameter_kinds, typed
from joey.schema.kinds import kind_of
from joey.toolspec import ToolSpec
from joey.wire import JsonObject, JsonValue

_FIELD = re.compile(r"%([NJAI01PKVSTRQ])")
_TOKEN = re.compile(r"</?[^<>\s=]{3,}[>=]?|\[/?[A-Z_]{4,}\]|\]<\]\w+\[>\[")
"""A tag or a special token in a form; short pieces and plain words are no markup."""
_PLAIN_KEY = re.compile(r"[A-Za-z_]\w*")
_KIMI_ID = re.compile(r"functions\.[\w.-]+:\d+")


def fill(form: str, fields: Mapping[str, str]) -> str:
    """A form with its fields filled in, at once: what is filled in is not looked at again."""
    return _FIELD.sub(lambda match: fields.get(match[1], match[0]), form)


def write_calls(dialect: Dialect, style: Style, calls: Sequence[ToolUseBlock], tools: Sequence[ToolSpec]) -> str:
    """The calls of one turn."""
    schemas = {tool.name: tool.schema for tool in tools}
    written = [_call(dialect, style, call, number, schemas.get(call.name, {})) for number, call in enumerate(calls)]
    if style.indent is not None:
        items = json.loads(f"[{','.join(written)}]")
        return style.before.removesuffix("[") + json.dumps(items, ensure_ascii=style.ascii, indent=style.indent)
    return style.before + style.join.join(written) + style.after


def write_results(dialect: Dialect, style: Style, results: Sequence[tuple[str, ToolUseBlock, int]]) -> str:
    """The results of one turn, each with the call that it answers and the number of that in its turn.

    What a file or a page says cannot pass for markup: a marker in it is broken by a backslash."""
    broken = re.compile("|".join(map(re.escape, _result_marks(dialect, style))))
    written = []
    for text, call, number in results:
        safe = broken.sub(lambda match: f"{match[0][0]}\\{match[0][1:]}", text)
        fields = {**_names(style, call, number), "R": safe, "Q": json.dumps(safe, ensure_ascii=False)}
        written.append(fill(style.result, fields))
    return style.results_before + style.result_join.join(written) + style.results_after


def _result_marks(dialect: Dialect, style: Style) -> list[str]:
    """What would end a result, begin another message, or call a tool."""
    frame, calls = dialect.frame, dialect.calls
    marks = {*frame.section[0], *frame.section[1], *frame.stops, *(frame.think or ())}
    written = (style.results_before, style.results_after, style.result, style.result_join)
    forms = (*written, style.before, style.after, style.call, style.argument)
    marks |= {piece for form in forms for piece in _FIELD.split(form)}
    if isinstance(calls, Channels):
        marks |= {*calls.start_anywhere, *calls.ends, *calls.message}
    tokens = {token for mark in marks for token in _TOKEN.findall(mark)}
    tokens |= {opener.strip() for opener in marks_of(dialect).call_openers}
    return sorted(tokens, key=len, reverse=True)


def call_id(style: Style, call: ToolUseBlock) -> str:
    """The id of a call as the dialect wants it."""
    plain = re.sub(r"[^A-Za-z0-9]", "", call.id)
    if style.ids == "nine":
        return plain[-9:].rjust(9, "0")
    if style.ids == "functions" and not _KIMI_ID.fullmatch(call.id):
        number = re.search(r"(\d+)\D*$", call.id)
        return f"functions.{call.name}:{int(number[1]) if number else 0}"
    return call.id or "0"


def _names(style: Style, call: ToolUseBlock, number: int) -> dict[str, str]:
    return {
        "N": call.name,
        "J": json.dumps(call.name, ensure_ascii=False),
        "I": call_id(style, call),
        "0": str(number),
        "1": str(number + 1),
    }


def _call(dialect: Dialect, style: Style, call: ToolUseBlock, number: int, schema: JsonObject) -> str:
    arguments = dict(sorted(call.arguments.items())) if style.sort else call.arguments
    fields = _names(style, call, number)
    grammar = dialect.calls.body if isinstance(dialect.calls, Channels) else dialect.calls
    if isinstance(grammar, Function):
        fields["P"] = (
            ",".join(_pairs(grammar, style, arguments))
            if grammar.raw_quotes
            else ", ".join(_pairs(grammar, style, arguments))
        )
    elif isinstance(grammar, Tagged):
        fields["P"] = style.argument_join.join(_elements(dialect, grammar, style, arguments, schema)) or style.empty
    else:
        fields["A"] = json.dumps(arguments, ensure_ascii=style.ascii)
    return fill(style.call, fields)


# Tagged


def _elements(
    dialect: Dialect, grammar: Tagged, style: Style, arguments: JsonObject, schema: JsonObject
) -> Iterator[str]:
    for key, value in arguments.items():
        text = _value(dialect, grammar, style, value, parameter_kinds(schema, key), schema, key)
        kind = {"integer": "number"}.get(kind_of(value), kind_of(value))
        fields = {
            "K": grammar.written_key(key),
            "V": text,
            "S": "true" if isinstance(value, str) else "false",
            "T": kind,
        }
        yield fill(style.argument, fields)


def _value(
    dialect: Dialect,
    grammar: Tagged,
    style: Style,
    value: JsonValue,
    kinds: tuple[str, ...],
    schema: JsonObject,
    key: str,
) -> str:
    if grammar.nested:
        return _nested(grammar, value, kinds, schema, key)
    text = value if isinstance(value, str) else _plain(style, value)
    if grammar.cdata:
        return _wrapped(text) if set("<&\n") & set(text) or text.startswith(CDATA) else text
    if grammar.typing == "attribute":
        return _wrapped(text) if _is_unsafe(dialect, grammar, text) else text
    misread = isinstance(value, str) and typed(text, kinds, grammar.reading, python=grammar.python) != value
    return _wrapped(text) if misread or _is_unsafe(dialect, grammar, text) else text


def _plain(style: Style, value: JsonValue) -> str:
    """A value that is no string."""
    scalar = value is None or isinstance(value, bool)
    if style.values == "python" or (style.values == "python_scalars" and scalar):
        return repr(value)
    return json.dumps(value, ensure_ascii=False)


def _nested(grammar: Tagged, value: JsonValue, kinds: tuple[str, ...], schema: JsonObject, key: str) -> str:
    prefix = grammar.key[0][:-1]
    if isinstance(value, (dict, list)):
        text = "".join(nested.written(value, prefix))
        node = nested.tree(text, prefix)
        properties = schema.get("properties") or {}
        if node is not None and nested.value_of(node, properties.get(key), schema, grammar.reading) == value:
            return text
        return _wrapped(json.dumps(value, ensure_ascii=False))
    text = nested.leaf(value)
    same = (typed(text, kinds, grammar.reading) if kinds else any_value(text)) == value
    return (
        text
        if same and prefix not in text and not text.startswith(CDATA)
        else _wrapped(text if isinstance(value, str) else json.dumps(value))
    )


def _wrapped(text: str) -> str:
    return f"{CDATA}{text.replace(CDATA_END, CDATA_SPLIT)}{CDATA_END}"


def _is_unsafe(dialect: Dialect, grammar: Tagged, text: str) -> bool:
    """Whether a value, as it stands, may be taken for markup."""
    frame = dialect.frame
    marks = (*grammar.value_end, *grammar.open, *grammar.close, *grammar.key, *grammar.wrap[0], *grammar.wrap[1])
    marks += (*frame.section[0], *frame.section[1])
    return text.startswith(CDATA) or text.endswith("\r") or any(mark in text for mark in marks)


# Function syntax


def _pairs(grammar: Function, style: Style, arguments: JsonObject) -> Iterator[str]:
    for key, value in arguments.items():
        yield f"{_key(key)}{grammar.equals}{_literal(grammar, style, value)}"


def _key(key: str) -> str:
    return key if _PLAIN_KEY.fullmatch(key) else json.dumps(key, ensure_ascii=False)


def _literal(grammar: Function, style: Style, value: JsonValue) -> str:
    if grammar.escaped:
        text = value if isinstance(value, str) else _plain(style, value)
        return (
            json.dumps(text, ensure_ascii=False)
            if grammar.quotes[0] in text
            else f"{grammar.quotes[0]}{text}{grammar.quotes[0]}"
        )
    if grammar.raw_quotes:
        return _between_tokens(grammar, value)
    if grammar.literals == "json" or (isinstance(value, dict) and grammar.json_objects):
        return json.dumps(value, ensure_ascii=False)
    return repr(value)


def _between_tokens(grammar: Function, value: JsonValue) -> str:
    quote = grammar.quotes[0]
    if isinstance(value, str):
        marks = (quote, *grammar.open, *grammar.close)
        return (
            json.dumps(value, ensure_ascii=False) if any(mark in value for mark in marks) else f"{quote}{value}{quote}"
        )
    if isinstance(value, dict):
        pairs = (f"{_key(key)}:{_between_tokens(grammar, item)}" for key, item in value.items())
        return f"{{{','.join(pairs)}}}"
    if isinstance(value, list):
        return f"[{','.join(_between_tokens(grammar, item) for item in value)}]"
    return json.dumps(value)
