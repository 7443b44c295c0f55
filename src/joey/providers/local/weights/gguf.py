"""What a GGUF file says of itself, read from its beginning; the weights are not touched.

A file is: the word GGUF, a version, the number of tensors and of facts; the facts (key, type, value), of which the
vocabulary is much the longest; then each tensor's name, shape, type and place; then, aligned, the tensors. All
numbers are little-endian. What is needed to plan (`read_facts`) usually stands before the vocabulary and is cheap;
whether the file is whole (`why_unreadable`) is known only after all of it, so that is checked when loading failed.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from joey.errors import JoeyError

_VERSIONS = (2, 3)
_SCALARS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
_STRING, _ARRAY = 8, 9
_KINDS_OF_TOKENS = "tokenizer.ggml.token_type"
_TOKENS = "tokenizer.ggml.tokens"
_CONTROL = 3
_ENDS = tuple(f"tokenizer.ggml.{name}_token_id" for name in ("eos", "eot", "eom"))
_MAX_TEXT = 64 * 1024 * 1024
_MAX_DIMENSIONS = 8
_ALIGNMENT = 32
_PLAIN = {0: (1, 4), 1: (1, 2), 30: (1, 2)}  # F32, F16, BF16
_QUANTS = {2: (32, 18), 3: (32, 20), 6: (32, 22), 7: (32, 24), 8: (32, 34)}  # Q4_0 … Q8_0
_K_QUANTS = {10: (256, 84), 11: (256, 110), 12: (256, 144), 13: (256, 176), 14: (256, 210)}  # Q2_K … Q6_K
_BLOCKS = {**_PLAIN, **_QUANTS, **_K_QUANTS}
"""A tensor's type: how many values a block has, and how many bytes."""


class GgufError(JoeyError):
    """This is not a file of weights that can be loaded; the text says why."""


@dataclass(frozen=True, slots=True)
class Facts:
    """What is needed to plan how a model is run."""

    name: str
    context: int | None
    """The longest conversation it was made for, in tokens."""
    cache_per_token: int | None
    """Bytes of memory that each token of the conversation takes."""


def read_facts(path: Path) -> Facts:
    """The model's name, its context, and what a token costs in memory."""
    with _opened(path) as file:
        _, count = _head(file, path)
        facts: dict[str, Any] = {}
        for key, value in _facts(file, count, path):
            facts[key] = value
            if key.startswith("tokenizer."):
                break  # the rest is vocabulary, and long
    return _planned(facts)


def silent_tokens(path: Path) -> tuple[int, ...]:
    """The tokens that stand for no text, but for those that end a reply."""
    facts = _all_facts(path, _KINDS_OF_TOKENS)
    kinds = facts.get(_KINDS_OF_TOKENS) or ()
    ends = {facts.get(name) for name in _ENDS}
    return tuple(token for token, kind in enumerate(kinds) if kind == _CONTROL and token not in ends)


def control_words(path: Path) -> tuple[str, ...]:
    """The tokens that begin and end messages, and the like, as they are written: `<|im_start|>`. Where a text with one
    of them is read as a prompt, it is the token itself."""
    facts = _all_facts(path, _KINDS_OF_TOKENS, _TOKENS)
    kinds, words = facts.get(_KINDS_OF_TOKENS) or (), facts.get(_TOKENS) or ()
    control = {word for word, kind in zip(words, kinds, strict=False) if kind == _CONTROL and isinstance(word, str)}
    return tuple(sorted(word for word in control if len(word) > 1))


def chat_template(path: Path) -> str:
    """The chat template in the file; empty if it has none."""
    template = _all_facts(path).get("tokenizer.chat_template")
    return template if isinstance(template, str) else ""


def _all_facts(path: Path, *lists: str) -> dict[str, Any]:
    with _opened(path) as file:
        _, count = _head(file, path)
        return dict(_facts(file, count, path, lists))


def why_unreadable(path: Path) -> str | None:
    """What is wrong with the file as far as its own words tell; None if it looks whole."""
    try:
        with _opened(path) as file:
            tensors, count = _head(file, path)
            facts = dict(_facts(file, count, path))
            ends = [_tensor_end(file, path) for _ in range(tensors)]
            start = file.tell()
    except GgufError as error:
        return str(error)
    given = facts.get("general.alignment")
    alignment = given if isinstance(given, int) and given > 0 else _ALIGNMENT
    needed = -(-start // alignment) * alignment + max(ends, default=0)
    there = path.stat().st_size
    return None if there >= needed else f"{path} is cut short: it has {there:,} bytes of {needed:,}"


def _opened(path: Path) -> BinaryIO:
    try:
        return path.open("rb")
    except OSError as error:
        raise GgufError(f"cannot read {path}: {error.strerror}") from None


def _head(file: BinaryIO, path: Path) -> tuple[int, int]:
    """How many tensors and how many facts there are."""
    if file.read(4) != b"GGUF":
        raise GgufError(f"{path} is not a GGUF file")
    (version,) = _numbers(file, "I", path)
    if version not in _VERSIONS:
        raise GgufError(f"{path} is a GGUF file of version {version}; versions {_VERSIONS} can be read")
    tensors, facts = _numbers(file, "QQ", path)
    return tensors, facts


def _facts(file: BinaryIO, count: int, path: Path, lists: tuple[str, ...] = ()) -> Iterator[tuple[str, Any]]:
    """The facts in their order. Lists are long, and only those that are named are kept."""
    for _ in range(count):
        key = _text(file, path)
        (kind,) = _numbers(file, "I", path)
        yield key, _value(file, kind, path, keeps_lists=key in lists)


def _value(file: BinaryIO, kind: int, path: Path, *, keeps_lists: bool) -> Any:
    if kind == _STRING:
        return _text(file, path)
    if kind == _ARRAY:
        return _list(file, path) if keeps_lists else _skip_list(file, path)
    if kind not in _SCALARS:
        raise GgufError(f"{path} is damaged: it has a value of the unknown type {kind}")
    return _numbers(file, _SCALARS[kind], path)[0]


def _list(file: BinaryIO, path: Path) -> tuple[Any, ...]:
    start = file.tell()
    kind, length = _numbers(file, "IQ", path)
    if kind == _STRING:
        return tuple(_text(file, path) for _ in range(length))
    if kind in _SCALARS and length < _MAX_TEXT:
        return _numbers(file, f"{length}{_SCALARS[kind]}", path)
    file.seek(start)
    _skip_list(file, path)
    return ()


def _skip_list(file: BinaryIO, path: Path) -> None:
    kind, length = _numbers(file, "IQ", path)
    if kind == _STRING:
        for _ in range(length):
            _text(file, path)
    elif kind in _SCALARS and length < _MAX_TEXT:
        file.seek(struct.calcsize(f"<{_SCALARS[kind]}") * length, os.SEEK_CUR)
    else:
        raise GgufError(f"{path} is damaged: it has a list of {length:,} values of type {kind}")


def _text(file: BinaryIO, path: Path) -> str:
    (length,) = _numbers(file, "Q", path)
    if length > _MAX_TEXT:
        raise GgufError(f"{path} is damaged: it has a text of {length:,} bytes")
    return _bytes(file, length, path).decode("utf-8", "replace")


def _tensor_end(file: BinaryIO, path: Path) -> int:
    """Where the next tensor ends, counted from the beginning of the first; for an unknown type, where it begins."""
    _text(file, path)
    (dimensions,) = _numbers(file, "I", path)
    if dimensions > _MAX_DIMENSIONS:
        raise GgufError(f"{path} is damaged: it has a tensor of {dimensions:,} dimensions")
    *shape, kind, offset = _numbers(file, "Q" * dimensions + "IQ", path)
    values = 1
    for length in shape:
        values *= length
    per_block, size = _BLOCKS.get(kind, (1, 0))
    return int(offset + values // per_block * size)


def _numbers(file: BinaryIO, layout: str, path: Path) -> tuple[Any, ...]:
    layout = f"<{layout}"
    return struct.unpack(layout, _bytes(file, struct.calcsize(layout), path))


def _bytes(file: BinaryIO, length: int, path: Path) -> bytes:
    data = file.read(length)
    if len(data) < length:
        raise GgufError(f"{path} is cut short: it ends before its weights begin")
    return data


def _planned(facts: dict[str, Any]) -> Facts:
    kind = facts.get("general.architecture", "")

    def number(name: str) -> int | None:
        value = facts.get(f"{kind}.{name}")
        return value if isinstance(value, int) else None

    heads, layers, width = number("attention.head_count"), number("block_count"), number("embedding_length")
    cache = None
    if heads and layers and width:
        keys_and_values = 2 * (number("attention.head_count_kv") or heads) * (width // heads)
        cache = layers * keys_and_values * 2  # of two bytes each
    return Facts(str(facts.get("general.name") or ""), number("context_length"), cache)
