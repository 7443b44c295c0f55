"""Frozen dataclasses to JSON and back, with the wire tag derived from the class name.

`encode(TextDelta("hi"))` is `{"type": "text_delta", "text": "hi"}`. A field that is None or at its default is written
all the same: a reader should not need to know our defaults. `Codec(Union)` reads only the members of one closed union,
so that an unknown tag is an error with the list of the known ones and never a silent dict.

The annotations of the classes are the schema. Understood: str, int, float, bool, None, unions of these, Literal,
tuple[X, ...], dataclasses and unions of dataclasses, and JSON values (`JsonValue`, `JsonObject`), which are passed
through untouched.

Text that is `sendable` can be sent and saved: halves of surrogate pairs, which no encoding has, are replaced. Python
reads bytes that are no text as such halves: in names of files, in piped input, in variables of the environment and in
the output of programs. Models and servers write them as escapes in JSON. A request that holds one could not be sent at
all, and neither could any later one of its task. So everything passes here before it is recorded (`TaskLog`), when a
journal is read (one of an earlier version may hold some), and before a request goes out (`Preparation`).
"""

from __future__ import annotations

import dataclasses
import re
import types
import typing
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass, replace
from operator import is_
from typing import Any, Literal, TypeAlias, TypeVar, Union, get_args, get_origin

from joey.errors import WireError

# Exact recursion buys nothing at the places where these are used, and costs a cast at each of them.
ArgumentPath: TypeAlias = tuple[str | int, ...]
"""Where a value is within the arguments of a call: names of properties and places in lists."""
JsonValue: TypeAlias = Any
JsonObject: TypeAlias = Mapping[str, Any]

_WORD_BOUNDARY = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


def tag(cls: type) -> str:
    """The name of a class on the wire: `ToolCallStarted` is `tool_call_started`, `TextBlock` is `text`.

    A class that was renamed keeps the name it was saved under in `TAG`.
    """
    return cls.__dict__.get("TAG") or _WORD_BOUNDARY.sub("_", cls.__name__.removesuffix("Block")).lower()


def encode(value: Any) -> JsonValue:
    """A frozen dataclass (or a tuple, mapping or scalar that holds some) as plain JSON data."""
    cls = type(value)
    if cls in _SCALARS:
        return value
    form = _FORMS.get(cls) or _form(cls)
    if form is not None:
        encoded = {"type": form[0]}
        for name in form[1]:
            encoded[name] = encode(getattr(value, name))
        return encoded
    if isinstance(value, Mapping):
        return {key: encode(item) for key, item in value.items()}
    if isinstance(value, (tuple, list)):
        return [encode(item) for item in value]
    return value


# The tag and the fields of each class, looked up once: events are many.
_FORMS: dict[type, tuple[str, tuple[str, ...]]] = {}
_SCALARS = frozenset({str, int, float, bool, types.NoneType})


def _form(cls: type) -> tuple[str, tuple[str, ...]] | None:
    if not dataclasses.is_dataclass(cls):
        return None
    form = _FORMS[cls] = (tag(cls), tuple(field.name for field in dataclasses.fields(cls)))
    return form


class Codec:
    """Reads the members of one closed union of dataclasses from JSON."""

    def __init__(self, union: Any) -> None:
        members = get_args(union) or (union,)
        self._by_tag: dict[str, type] = {tag(cls): cls for cls in members}

    @property
    def classes(self) -> tuple[type, ...]:
        return tuple(self._by_tag.values())

    def decode(self, data: JsonValue, unknown: list[str] | None = None) -> Any:
        """The object that the data describes. With `unknown`, fields that its class does not have are named there and
        left out; otherwise they are an error."""
        if not isinstance(data, Mapping):
            raise WireError(f"expected a JSON object with a 'type', got {_describe(data)}")
        name = data.get("type")
        cls = self._by_tag.get(name) if isinstance(name, str) else None
        if cls is None:
            known = ", ".join(sorted(self._by_tag))
            raise WireError(f"unknown type {name!r}; known: {known}")
        return _decode_dataclass(cls, data, unknown)


def _decode_dataclass(cls: type, data: JsonObject, unknown: list[str] | None) -> Any:
    values: dict[str, Any] = {}
    readers = _readers(cls)
    for field in dataclasses.fields(cls):
        if field.name in data:
            try:
                values[field.name] = readers[field.name](data[field.name], unknown)
            except WireError as error:
                raise WireError(f"{tag(cls)}.{field.name}: {error}") from None
        elif field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING:
            raise WireError(f"{tag(cls)} needs a {field.name!r}")
    if extra := set(data) - set(readers) - {"type"}:
        problem = f"{tag(cls)} has no field {min(extra)!r}; it has: {', '.join(readers)}"
        if unknown is None:
            raise WireError(problem)
        unknown.append(problem)
    return cls(**values)


_Reader: TypeAlias = Callable[[Any, list[str] | None], Any]
"""From a JSON value; fields that are not known go to the list, if there is one."""
_READERS: dict[type, dict[str, _Reader]] = {}


def _readers(cls: type) -> dict[str, _Reader]:
    if cls not in _READERS:
        hints = typing.get_type_hints(cls)
        _READERS[cls] = {f.name: _reader(hints[f.name]) for f in dataclasses.fields(cls)}
    return _READERS[cls]


def _reader(annotation: Any) -> _Reader:
    origin, args = get_origin(annotation), get_args(annotation)
    if annotation is Any:
        return lambda value, _: value
    if origin in (Union, types.UnionType):
        return _union_reader(args)
    if origin is tuple:
        item = _reader(args[0])
        return lambda value, unknown: tuple(item(each, unknown) for each in _expect(value, list, tuple))
    if origin is Literal:
        return lambda value, _: _expect_one_of(value, args)
    if origin is not None and issubclass(origin, Mapping):
        return lambda value, _: _expect(value, dict)
    if dataclasses.is_dataclass(annotation):
        codec = Codec(annotation)
        return codec.decode
    if annotation is float:
        return lambda value, _: _expect(value, float, int)
    return lambda value, _: _expect(value, annotation)


def _union_reader(members: tuple[Any, ...]) -> _Reader:
    blocks = [member for member in members if dataclasses.is_dataclass(member)]
    scalars = tuple(member for member in members if isinstance(member, type) and member not in blocks)
    codec = Codec(Union[tuple(blocks)]) if blocks else None  # noqa: UP007 - built at run time

    def read(value: Any, unknown: list[str] | None) -> Any:
        if codec is not None and isinstance(value, Mapping):
            return codec.decode(value, unknown)
        return _expect(value, *scalars)

    return read


def _expect(value: Any, *classes: type) -> Any:
    # bool is an int in Python and not in JSON.
    if isinstance(value, classes) and (not isinstance(value, bool) or bool in classes):
        return value
    names = " or ".join(_NAMES.get(cls, cls.__name__) for cls in classes)
    raise WireError(f"expected {names}, got {_describe(value)}")


def _expect_one_of(value: Any, allowed: tuple[Any, ...]) -> Any:
    if value in allowed:
        return value
    raise WireError(f"expected one of {', '.join(map(repr, allowed))}, got {_describe(value)}")


_NAMES: dict[type, str] = {
    str: "a string",
    int: "an integer",
    float: "a number",
    bool: "a boolean",
    types.NoneType: "null",
    list: "an array",
    tuple: "an array",
    dict: "an object",
}


def _describe(value: Any) -> str:
    text = repr(value)
    kind = _NAMES.get(type(value), type(value).__name__)
    return f"{kind} ({text if len(text) <= 40 else text[:37] + '...'})"


T = TypeVar("T")

_HALF = re.compile("[\ud800-\udfff]")


def sendable(value: T) -> T:
    """The value with every text in it sendable; the same object where nothing had to be replaced.

    Looks into dataclasses, mappings, lists and tuples. Two halves that make a pair become the character they stand for,
    any other half becomes a replacement character.
    """
    result: T = _sendable(value)
    return result


def is_sendable(text: str) -> bool:
    return text.isascii() or not _HALF.search(text)


def _sendable(value: Any) -> Any:
    if isinstance(value, str):
        return value if is_sendable(value) else _without_halves(value)
    if isinstance(value, (tuple, list)):
        items = [_sendable(item) for item in value]
        return value if all(map(is_, items, value)) else type(value)(items)
    if isinstance(value, Mapping):
        keys, items = [*map(_sendable, value.keys())], [*map(_sendable, value.values())]
        same = all(map(is_, keys, value.keys())) and all(map(is_, items, value.values()))
        return value if same else dict(zip(keys, items, strict=True))
    if is_dataclass(value) and not isinstance(value, type):
        parts = {field.name: getattr(value, field.name) for field in fields(value)}
        clean = _sendable(parts)
        return value if clean is parts else replace(value, **clean)
    return value


def _without_halves(text: str) -> str:
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
