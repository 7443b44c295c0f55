"""A call's arguments, and an answer, against the JSON Schemas a server gave.

The schemas are somebody else's: they may be wrong, and their references may point anywhere. Nothing is ever fetched,
and a schema that cannot be used is said to be so.

They may also be made to take forever: references to references double the work at every step, patterns have no end,
messages repeat the value they are about. So a schema has at most MAX_PARTS, one check takes at most _MAX_STEPS keywords
and _MAX_CHARACTERS of messages, and patterns are those of `joey.bounded.regexes`. A check that takes more is given up,
which passes: the server checks for itself.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from typing import Any, TypeAlias

from jsonschema import Draft202012Validator, ValidationError
from jsonschema.exceptions import SchemaError, best_match
from jsonschema.validators import extend
from referencing import Registry

from joey.bounded.regexes import finds, is_cheap
from joey.schema.references import follow
from joey.tools.registry import dotted
from joey.wire import JsonObject, JsonValue

MAX_PARTS = 5_000
MAX_CHARACTERS = 256 * 1024
MAX_ALTERNATIVES = 1_000
_MAX_STEPS = 50_000
_MAX_MESSAGES = 10 * 1024 * 1024
_MAX_UNIQUE = 1_000
_MAX_SLOW_PATTERNS = 3
_PROBLEMS = 10

Keyword: TypeAlias = Callable[[Any, Any, Any, Any], Iterable[ValidationError] | None]


class UnusableSchemaError(ValueError):
    """What is wrong with a schema."""


class _TooMuchWorkError(Exception):
    """The check is given up."""


class SchemaChecker:
    """Checks values against one schema. Raises UnusableSchemaError if it is none."""

    def __init__(self, schema: JsonObject) -> None:
        problem = _what_is_wrong(_written(schema))
        if problem is not None:
            raise UnusableSchemaError(problem)
        # A registry of its own: the default one would fetch what a reference names from the network.
        self._validator = _Bounded(_one_dialect(schema), registry=Registry())

    def problems(self, value: JsonValue) -> list[str]:
        """What does not fit, each with its place. What cannot be checked passes."""
        token = _work.set(_Work())
        try:
            return [_in_words(each) for each in islice(self._validator.iter_errors(value), _PROBLEMS)]
        except Exception:  # noqa: BLE001 - a reference that leads nowhere, a pattern that is none: the schema's fault
            return []  # the server checks for itself
        finally:
            _work.reset(token)


def _written(schema: JsonObject) -> str:
    try:
        return json.dumps(schema)
    except (RecursionError, ValueError):
        raise UnusableSchemaError("it is nested too deep") from None


@lru_cache(maxsize=1024)
def _what_is_wrong(written: str) -> str | None:
    """Why this is no schema. Remembered: lists of tools are made again and again, and this takes its time."""
    if len(written) > MAX_CHARACTERS:
        return f"it has more than {MAX_CHARACTERS // 1024} KB"
    schema = json.loads(written)
    if parts(schema) > MAX_PARTS:
        return f"it has more than {MAX_PARTS:,} parts"
    try:
        Draft202012Validator.check_schema(schema)
        return _Unions(schema).problem(schema)
    except SchemaError as error:
        place = ".".join(map(str, error.absolute_path)) or "the schema"
        return f"{place}: {error.message[:300]}"
    except RecursionError:
        return "it is nested too deep"


def parts(value: JsonValue) -> int:
    """How many values there are in a value, itself included."""
    count, waiting = 0, [value]
    while waiting:
        each = waiting.pop()
        count += 1
        if isinstance(each, Mapping):
            waiting += each.values()
        elif isinstance(each, list):
            waiting += each
    return count


class _Unions:
    """How many alternatives the unions of a schema come down to: whoever reads it looks at each of them.

    References make them many: a union of two references to a union of two references has four. One that leads back to
    itself by nothing but unions and references has no end, and says nothing.
    """

    def __init__(self, root: JsonValue) -> None:
        self._root = root
        self._known: dict[int, int | None] = {}
        self._inside = 0

    def problem(self, schema: JsonValue) -> str | None:
        waiting = [schema]
        while waiting:
            each = waiting.pop()
            if isinstance(each, list):
                waiting += each
            elif isinstance(each, Mapping):
                waiting += each.values()
                alternatives = self._count(each)
                if not 0 < alternatives <= MAX_ALTERNATIVES:
                    what = (
                        "hold themselves" if not alternatives else f"have more than {MAX_ALTERNATIVES:,} alternatives"
                    )
                    return f"its unions {what}"
        return None

    def _count(self, schema: JsonValue) -> int:
        """0: it has no end. A mere reference to itself has one: nobody follows it."""
        if not isinstance(schema, Mapping):
            return 1
        if id(schema) in self._known:
            known = self._known[id(schema)]
            return known if known is not None else int(not self._inside)
        self._known[id(schema)] = None
        count = 1
        if isinstance(schema.get("$ref"), str):
            count *= self._count(follow(schema["$ref"], self._root))
        for key in ("anyOf", "oneOf", "allOf"):
            listed = schema.get(key)
            self._inside += key != "allOf"
            members = [self._count(each) for each in listed] if isinstance(listed, list) else []
            self._inside -= key != "allOf"
            joined = math.prod(members) if key == "allOf" else sum(members)
            count = min(count * (joined if all(members) else 0), MAX_ALTERNATIVES + 1) if members else count
        self._known[id(schema)] = count
        return count


def _one_dialect(schema: JsonValue) -> Any:
    """The schema without the names of other dialects in it, whose keywords would be those of the library again."""
    if isinstance(schema, Mapping):
        return {
            key: _one_dialect(value) for key, value in schema.items() if key != "$schema" or not isinstance(value, str)
        }
    return [_one_dialect(each) for each in schema] if isinstance(schema, list) else schema


# Keywords that count


@dataclass(slots=True)
class _Work:
    """What one check has taken."""

    steps: int = 0
    characters: int = 0
    slow_patterns: int = 0

    def step(self) -> None:
        self.steps += 1
        if self.steps > _MAX_STEPS:
            raise _TooMuchWorkError

    def slow_pattern(self) -> None:
        self.slow_patterns += 1
        if self.slow_patterns > _MAX_SLOW_PATTERNS:
            raise _TooMuchWorkError

    def message(self, text: str) -> None:
        self.characters += len(text)
        if self.characters > _MAX_MESSAGES:
            raise _TooMuchWorkError


_work: ContextVar[_Work] = ContextVar("work")


def _counted(keyword: Keyword) -> Keyword:
    def checked(validator: Any, wanted: Any, value: Any, schema: Any) -> Iterator[ValidationError]:
        work = _work.get()
        work.step()
        for error in keyword(validator, wanted, value, schema) or ():
            work.message(error.message)
            yield error

    return checked


def _finds(pattern: str, text: str) -> bool:
    if not is_cheap(pattern, len(text)):
        _work.get().slow_pattern()
    return finds(pattern, text)


def _pattern(_validator: Any, wanted: Any, value: Any, _schema: Any) -> Iterator[ValidationError]:
    if isinstance(value, str) and not _finds(wanted, value):
        yield ValidationError(f"{value!r} does not match {wanted!r}")


def _pattern_properties(validator: Any, wanted: Any, value: Any, _schema: Any) -> Iterator[ValidationError]:
    for pattern, inner in wanted.items() if isinstance(value, dict) else ():
        for name, each in value.items():
            if _finds(pattern, name):
                yield from validator.descend(each, inner, path=name, schema_path=pattern)


def _additional_properties(validator: Any, wanted: Any, value: Any, schema: Any) -> Iterator[ValidationError]:
    if not isinstance(value, dict):
        return
    known, patterns = schema.get("properties", {}), schema.get("patternProperties", {})
    extras = [name for name in value if name not in known and not any(_finds(each, name) for each in patterns)]
    if isinstance(wanted, dict):
        for name in extras:
            yield from validator.descend(value[name], wanted, path=name)
    elif not wanted and extras:
        named = ", ".join(map(repr, sorted(extras)))
        are = "was" if len(extras) == 1 else "were"
        yield ValidationError(f"Additional properties are not allowed ({named} {are} unexpected)")


def _unique(validator: Any, wanted: Any, value: Any, schema: Any) -> Iterator[ValidationError]:
    if isinstance(value, list) and len(value) > _MAX_UNIQUE:
        raise _TooMuchWorkError
    yield from _KEYWORDS["uniqueItems"](validator, wanted, value, schema) or ()


def _unevaluated(*_: Any) -> None:
    """The library looks for patterns itself here, all over the schema."""
    raise _TooMuchWorkError


_KEYWORDS: Mapping[str, Keyword] = Draft202012Validator.VALIDATORS
_OURS: dict[str, Keyword] = {
    "pattern": _pattern,
    "patternProperties": _pattern_properties,
    "additionalProperties": _additional_properties,
    "uniqueItems": _unique,
    "unevaluatedProperties": _unevaluated,
}
_Bounded: Any = extend(  # type: ignore[no-untyped-call]
    Draft202012Validator, {name: _counted(each) for name, each in {**_KEYWORDS, **_OURS}.items()}
)


# In words


def _in_words(error: ValidationError) -> str:
    if error.context:
        error = best_match([error]) or error
    place = dotted(error.absolute_path)
    message = error.message if len(error.message) <= 300 else f"{error.message[:297]}…"
    return f'"{place}": {message}' if place else message
