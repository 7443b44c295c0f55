"""The arguments of a call as JSON text, written while they grow.

The parsers say which argument grew and by what, in the order in which the model writes. Here that becomes pieces of one
JSON object: what was written is never taken back, and the object is closed only when the call is complete.

    nothing  --first text of an argument-->  {"path":"a          the string stays open while it grows
    open     --another argument-->           {"path":"a.py","text":"

What will be corrected when the call is complete (a number written as a string, a word of an enum) must not be written
early. So only strings of arguments that are strings by their schema grow live. Another argument of the call waits for
its end; inside a list or an object that has begun, everything waits from there on. At the end the arguments as they
were finally read are completed from what was written. If they do not agree with it, the answer is None, and the call
does not run: half of one call and half of another would be worse.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from joey.schema.kinds import kinds_of
from joey.schema.references import Schema, properties, resolve
from joey.wire import ArgumentPath, JsonObject, JsonValue

_HALF = re.compile("[\ud800-\udfff]")


def compact(value: JsonValue) -> str:
    """JSON without spaces. Half of a surrogate pair, which no encoding has, is escaped: its other half may follow."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return json.dumps(value, separators=(",", ":")) if _HALF.search(text) else text


class ArgumentWriter:
    """Writes the arguments of one call."""

    def __init__(self, schema: JsonObject) -> None:
        self._schema = schema
        self._root: dict[str, Any] = {}
        """What was written, with the open string as it is so far."""
        self._path: ArgumentPath = ()
        """Where the string that grows stands; empty if none does."""
        self._begun = False
        self._waits = False
        self._skipped: set[str | int] = set()

    def grow(self, path: ArgumentPath, text: str, *, literal: bool) -> str:
        """What the next piece adds; empty if it has to wait."""
        if not path or self._waits or path[0] in self._skipped:
            return ""
        if path == self._path:
            self._extend(text)
            return compact(text)[1:-1]
        if literal or not self._grows(path) or not self._follows(path):
            self._hold(path)
            return ""
        return self._enter(path, text)

    def finish(self, arguments: JsonObject) -> str | None:
        """The rest of the JSON; None if the arguments are not what was written of them."""
        if not self._begun:
            return compact(arguments)
        try:
            return "".join(self._rest(self._root, arguments, self._path))
        except _DisagreeError:
            return None

    # While it grows

    def _grows(self, path: ArgumentPath) -> bool:
        """Whether the schema says that this is a string and nothing else, and not one of a few."""
        schema: Schema = resolve(self._schema, self._schema)
        for step in path:
            schema = resolve(_child(schema, step), self._schema)
        if not isinstance(schema, Mapping) or "enum" in schema or "const" in schema:
            return False
        return tuple(kinds_of(schema, self._schema)) == ("string",)

    def _follows(self, path: ArgumentPath) -> bool:
        """Whether it can stand behind what was written: a new key, or the next item of an open list."""
        here: Any = self._root
        for depth, step in enumerate(path):
            if isinstance(step, int):
                last = len(here) - 1 if isinstance(here, list) else -2
                if step == last + 1:
                    return _is_new(path[depth + 1 :])
                if step != last:
                    return False
                here = here[step]
            else:
                if not isinstance(here, dict):
                    return False
                if step not in here:
                    return _is_new(path[depth + 1 :])
                if step != next(reversed(here)):
                    return False  # it is closed
                here = here[step]
        return False

    def _hold(self, path: ArgumentPath) -> None:
        if len(path) > 1 and path[0] in self._root:
            self._waits = True
        else:
            self._skipped.add(path[0])

    def _enter(self, path: ArgumentPath, text: str) -> str:
        """Close what is open, and open what leads to the new string."""
        out = ["" if self._begun else "{"]
        shared = 0
        if self._path:
            while shared < min(len(path), len(self._path)) - 1 and path[shared] == self._path[shared]:
                shared += 1
            out.append('"' + "".join(_closing(step) for step in reversed(self._path[shared + 1 :])))
        here: Any = self._root
        for step in path[:shared]:
            here = here[step]
        for depth in range(shared, len(path)):
            step = path[depth]
            out.append("," if here else "")
            out.append(f"{compact(step)}:" if isinstance(step, str) else "")
            inner: Any = "" if depth + 1 == len(path) else [] if isinstance(path[depth + 1], int) else {}
            out.append('"' if inner == "" else "[" if isinstance(inner, list) else "{")
            if isinstance(here, list):
                here.append(inner)
            else:
                here[step] = inner
            here = inner
        self._begun, self._path = True, path
        self._extend(text)
        return "".join(out) + compact(text)[1:-1]

    def _extend(self, text: str) -> None:
        here: Any = self._root
        for step in self._path[:-1]:
            here = here[step]
        here[self._path[-1]] += text

    # At the end

    def _rest(self, written: Any, final: JsonValue, path: ArgumentPath) -> Iterator[str]:
        """What is missing behind a value whose last part, at `path`, is open."""
        if not path:
            if not isinstance(final, str) or not final.startswith(written):
                raise _DisagreeError
            yield compact(final[len(written) :])[1:]
        elif isinstance(written, dict) and isinstance(final, dict):
            *closed, last = written
            if last not in final or any(key not in final or final[key] != written[key] for key in closed):
                raise _DisagreeError
            yield from self._rest(written[last], final[last], path[1:])
            yield from (f",{compact(key)}:{compact(final[key])}" for key in final if key not in written)
            yield "}"
        elif isinstance(written, list) and isinstance(final, list) and len(final) >= len(written):
            place = len(written) - 1
            if final[:place] != written[:place]:
                raise _DisagreeError
            yield from self._rest(written[place], final[place], path[1:])
            yield from (f",{compact(item)}" for item in final[place + 1 :])
            yield "]"
        else:
            raise _DisagreeError


class _DisagreeError(Exception):
    """The final arguments are not a continuation of what was written."""


def _is_new(rest: ArgumentPath) -> bool:
    """Whether what follows in a path begins everything it names: each list with its first item."""
    return all(step == 0 for step in rest if isinstance(step, int))


def _closing(step: str | int) -> str:
    """What closes the container that a step leads into a part of."""
    return "]" if isinstance(step, int) else "}"


def _child(schema: Schema, step: str | int) -> Schema:
    if not isinstance(schema, Mapping):
        return {}
    return properties(schema).get(step, {}) if isinstance(step, str) else schema.get("items", {})


class InputWriter:
    """Writes the input of a custom tool: the text of its one argument, as it is."""

    def __init__(self, argument: str) -> None:
        self._argument = argument
        self._written = ""

    def grow(self, path: ArgumentPath, text: str, *, literal: bool) -> str:
        if path != (self._argument,) or literal:
            return ""
        self._written += text
        return text

    def finish(self, arguments: JsonObject) -> str | None:
        final = arguments.get(self._argument, "")
        if not isinstance(final, str):
            final = compact(final)
        return final[len(self._written) :] if final.startswith(self._written) else None
