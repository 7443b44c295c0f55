"""A call's arguments, and an answer, against the JSON Schemas a server gave.

The schemas are somebody else's: they may be wrong, and their references may point anywhere. Nothing is ever fetched,
and a schema that cannot be used is said to be so.
"""

from __future__ import annotations

from typing import Any

from jsonschema import Draft202012Validator, ValidationError
from jsonschema.exceptions import SchemaError, best_match
from referencing import Registry

from joey.wire import JsonObject, JsonValue


class UnusableSchemaError(ValueError):
    """What is wrong with a schema."""


class SchemaChecker:
    """Checks values against one schema. Raises UnusableSchemaError if it is none."""

    def __init__(self, schema: JsonObject) -> None:
        try:
            Draft202012Validator.check_schema(schema)
        except SchemaError as error:
            place = ".".join(map(str, error.absolute_path)) or "the schema"
            raise UnusableSchemaError(f"{place}: {error.message[:300]}") from None
        except RecursionError:
            raise UnusableSchemaError("it is nested too deep") from None
        # A registry of its own: the default one would fetch what a reference names from the network.
        self._validator = Draft202012Validator(schema, registry=Registry())

    def problems(self, value: JsonValue) -> list[str]:
        """What does not fit, each with its place. What cannot be checked passes."""
        try:
            errors = list(self._validator.iter_errors(value))
        except Exception:  # noqa: BLE001 - a reference that leads nowhere, a pattern that is none: the schema's fault
            return []  # the server checks for itself
        return [_in_words(each) for each in errors[:10]]


def _in_words(error: ValidationError) -> str:
    if error.context:
        error = best_match([error]) or error
    place = _dotted(error.absolute_path)
    message = error.message if len(error.message) <= 300 else f"{error.message[:297]}…"
    return f'"{place}": {message}' if place else message


def _dotted(place: Any) -> str:
    text = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in place)
    return text.removeprefix(".")
