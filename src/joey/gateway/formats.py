"""A reply that must be JSON: as a grammar, as an instruction, and cut out of what a model wrote around it."""

from __future__ import annotations

import json
import re

from joey.gateway.arguments import compact
from joey.gateway.request import ReplyFormat
from joey.protocols.grammar.gbnf import GrammarRules
from joey.protocols.grammar.json_values import JsonRules

_FENCE = re.compile(r"```[A-Za-z0-9_-]*[ \t]*\r?\n(.*?)\n?[ \t]*```", re.DOTALL)


def format_grammar(wanted: ReplyFormat) -> str:
    """What the whole reply may be, in GBNF."""
    rules = GrammarRules()
    return rules.text(JsonRules(rules, wanted.schema).value(wanted.schema))


def format_instruction(wanted: ReplyFormat) -> str:
    """For the system prompt: a grammar alone does not tell the model what is wanted."""
    return (
        "The text of your reply is one JSON value and nothing else: no words before or after it, no code fence. "
        f"It matches this JSON Schema: {compact(wanted.schema)}"
    )


def fence_around(text: str) -> str | None:
    """What stands in a code fence that is the whole text; None if it is not."""
    found = _FENCE.fullmatch(text.strip())
    return found[1] if found else None


def json_in(text: str) -> str | None:
    """The JSON value that a reply consists of, without a code fence or words around it; None if there is none."""
    fenced = _FENCE.search(text)
    for candidate in (text, fenced[1] if fenced else "", text[text.find("{") :] if "{" in text else ""):
        try:
            value, end = json.JSONDecoder().raw_decode(candidate.strip())
        except (ValueError, RecursionError):
            continue
        if isinstance(value, (dict, list)) or end == len(candidate.strip()):
            return candidate.strip()[:end]
    return None


def what_is_wrong(found: str | None, wanted: ReplyFormat | None) -> str:
    """What to tell a model whose reply is not in its format; nothing if it is, or if the schema cannot be checked.

    May block for the few seconds that a check may take."""
    if found is None:
        return "The reply is not one JSON value"
    if wanted is None:
        return ""
    from joey.mcp.checking import SchemaChecker, UnusableSchemaError  # loads a validator: only where no grammar holds

    try:
        problems = SchemaChecker(wanted.schema).problems(json.loads(found))
    except UnusableSchemaError:
        return ""
    return f"The JSON does not match the schema: {problems[0]}" if problems else ""
