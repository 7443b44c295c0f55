"""Random inputs, made quickly: pieces that matter to the readers, in any order, and good inputs with accidents."""

from __future__ import annotations

import json
import random
import shlex
from collections.abc import Sequence
from typing import Any

JSON_MARKS = (
    *'{}[]",:\\', "\\u00", "\\ud83d", "\\ude00", '"a"', '": ', ", ", "true", "null", "fals", "1", "-", "0", ".5", "e+",
    "1e5", " ", "\n", "a", "é", "\ud83c", "\x01", "'", "'b'", "//", "/*", "*/", "None", "True", "```", "```json\n",
    "\u2028",
)  # fmt: skip
WORDS = (
    "", "a", "path", "content", "Paris", "x = 1\n", "</content>", "]]>", "&amp;", "\\", '"', "é日", "null", "007",
    "\r\n", "🦘",
)  # fmt: skip
SHELL_MARKS = (
    *"abx01 \t\n;|&<>()$`'\"\\*?[]{}~!#=+-@/.,:%^", "&&", "||", ">>", "2>&1", "2>/dev/null", "$(", "${x}", "\\\n",
    "''", '""', "if ", "do ", " -n ", "a=b ", "x=", "@{1}", "{}", " # ", "=~", ":~", "é", "rm ", "git log", "cat a ",
    "echo ", " -exec ", "xargs ", "sudo ", "<<EOF\n", "\nEOF\n", "\0", "\u00a0", "\u202e",
)  # fmt: skip
FRAMES = (
    "<user_message>", "</user_message>", "</environment_details>", "<feedback>", "</feedback>", "<answer>",
    "</answer>", '<mentioned name="@/a">', "</mentioned>", "<input>", "</input>", '<command name="x">', "</command>",
    "</skill>", "<tool_result>", "</tool_result>", "&lt;", "[x] Result:", "[", "[Tool Result]", "[Tool Use: x]", "\\",
    "<", "\n", "\r", "\u2028", " ", "\t", "</ user_message >", "<\u200b/user_message>", "</USER_MESSAGE>", "&", '"',
    "<\\", "\\\\", "é",
)  # fmt: skip


def pieces(rng: random.Random, marks: Sequence[str], most: int = 16) -> str:
    return "".join(rng.choices(marks, k=rng.randint(0, most)))


def cuts(rng: random.Random, text: str) -> list[int]:
    return [rng.randint(0, len(text)) for _ in range(rng.randint(1, 4))]


def damaged(rng: random.Random, text: str, marks: Sequence[str]) -> str:
    """With a few accidents: a piece lost, doubled, or replaced by a mark."""
    for _ in range(rng.randint(0, 3)):
        start = rng.randint(0, len(text))
        end = min(len(text), start + rng.choice((0, 1, 2, 8)))
        text = text[:start] + rng.choice(("", text[start:end] * 2, rng.choice(marks))) + text[end:]
    return text


def json_value(rng: random.Random, depth: int = 3) -> Any:
    kind = rng.randint(0, 7 if depth else 5)
    if kind < 2:
        return pieces(rng, WORDS, 4)
    if kind < 6:
        return (None, True, rng.randint(-(10**9), 10**9), rng.uniform(-1e6, 1e6))[kind - 2]
    if kind == 6:
        return [json_value(rng, depth - 1) for _ in range(rng.randint(0, 3))]
    return json_object(rng, depth - 1)


def json_object(rng: random.Random, depth: int = 2) -> dict[str, Any]:
    return {rng.choice(WORDS): json_value(rng, depth) for _ in range(rng.randint(0, 3))}


def json_text(rng: random.Random) -> str:
    value = json_object(rng) if rng.random() < 0.7 else json_value(rng)
    return json.dumps(value, ensure_ascii=rng.random() < 0.5, indent=rng.choice((None, None, 2)))


_KEYWORDS = ("type", "items", "properties", "anyOf", "$ref", "enum", "prefixItems", "required", "allOf", "a", "const")
_LEAVES = ("string", "object", "array", "null", "#", "#/items", "number", "integer", "boolean", None, True, False)


def any_schema(rng: random.Random, depth: int = 3) -> Any:
    """What a server may call a schema."""
    kind = rng.randint(0, 4)
    if not depth or kind == 0:
        return rng.choice(_LEAVES)
    if kind == 1:
        return [any_schema(rng, depth - 1) for _ in range(rng.randint(0, 3))]
    return {rng.choice(_KEYWORDS): any_schema(rng, depth - 1) for _ in range(rng.randint(0, 4))}


_SCALARS = ("string", "integer", "number", "boolean", "null")


def schema(rng: random.Random, depth: int = 3) -> dict[str, Any]:
    """A schema that means something."""
    kind = rng.randint(0, 4 if depth else 1)
    if kind < 2:
        types: Any = rng.choice(_SCALARS) if kind else rng.sample(_SCALARS, rng.randint(1, 3))
        return {"type": types, **({"format": rng.choice(("uri", "date", "regex"))} if rng.random() < 0.2 else {})}
    if kind == 2:
        return {"type": "array", "items": schema(rng, depth - 1)}
    if kind == 3:
        return {"anyOf": [schema(rng, depth - 1) for _ in range(rng.randint(1, 3))]}
    names = rng.sample("abcd", rng.randint(0, 3))
    found: dict[str, Any] = {"type": "object", "properties": {name: schema(rng, depth - 1) for name in names}}
    if rng.random() < 0.5:
        found["required"] = rng.sample("abcd", rng.randint(0, 2))
    if rng.random() < 0.3:
        found["additionalProperties"] = rng.choice((True, False, {"type": "string"}))
    return found


_DENIED = (
    "denied", '"denied"', "'denied'", "den''ied", "den\\ied", 'd"en"ied', "$'denied'", "\\denied", "den\\\nied",
    "/usr/bin/denied", "./denied",
)  # fmt: skip
_SIMPLE = ("{} x", "{}", "X=1 {} y", ">f {}", "{} >f 2>&1", "{} \"a b\" 'c'", "{} # note", "{} <<< a", "2>f {} a")
_AROUND = (
    "echo a; {}", "true && {}", "{} | cat", "cat f | {}", "echo $({})", 'echo "$({})"', "echo ${x:-$({})}", "x=$({})",
    "({})", "{ {}\n}", "if true; then {}\nfi", "for i in 1 2; do {}\ndone", "while {}\ndo break; done",
    "case a in a) {}\n;; esac", "f() { {}\n}; f", "cat <({})", "cat <<EOF\n$({})\nEOF", "echo hi # note\n{}",
    "[[ -n $({}) ]]", "! {}", "time {}", "echo $'it\\'s'; {}", "cat <<A <<B\nx\nA\ny\nB\n{}", 'echo \\"; {}',
    "echo '\\'; {}", "echo a\\\\; {}", "echo a >&2; {}", "echo {a,$({})}", "true || {}", "{} && true", "{}; echo b",
    "env {}", "xargs {}", "timeout 5 {}", "nice -n 5 {}", "find . -exec {} \\;", "echo a |& {}", "{} &",
)  # fmt: skip
_QUOTED = ("bash -c {}", "env bash -c {}", "eval {}", "timeout 5 sh -c {}", "trap {} EXIT", "find . -exec sh -c {} \\;")


def line_with_denied(rng: random.Random) -> str:
    """A line in which the program `denied` would run."""
    line = rng.choice(_SIMPLE).replace("{}", rng.choice(_DENIED))
    for _ in range(rng.randint(0, 3)):
        if rng.random() < 0.2:
            line = rng.choice(_QUOTED).replace("{}", shlex.quote(line))
        else:
            line = rng.choice(_AROUND).replace("{}", line)
    return line
