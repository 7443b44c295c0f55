from __future__ import annotations

import contextlib
import struct
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from joey.providers.local.weights import Facts, GgufError, control_words, read_facts, silent_tokens, why_unreadable

U32, I32, F32, STRING, ARRAY, U64 = 4, 5, 6, 8, 9, 10


def text(words: str) -> bytes:
    return struct.pack("<Q", len(words.encode())) + words.encode()


def fact(key: str, kind: int, value: Any) -> bytes:
    head = text(key) + struct.pack("<I", kind)
    if kind == STRING:
        return head + text(value)
    if kind == ARRAY:
        return head + struct.pack("<IQ", STRING, len(value)) + b"".join(map(text, value))
    return head + struct.pack({U32: "<I", F32: "<f", U64: "<Q"}[kind], value)


def tensor(name: str, shape: tuple[int, ...], kind: int, offset: int) -> bytes:
    return text(name) + struct.pack(f"<I{len(shape)}QIQ", len(shape), *shape, kind, offset)


ABOUT = (
    fact("general.architecture", STRING, "llama"),
    fact("general.name", STRING, "Tiny"),
    fact("llama.context_length", U32, 2048),
    fact("llama.block_count", U32, 10),
    fact("llama.embedding_length", U32, 64),
    fact("llama.attention.head_count", U32, 4),
    fact("llama.attention.head_count_kv", U32, 2),
)


def kinds(*values: int, kind: int = I32) -> bytes:
    """What sort of token each one is."""
    numbers = struct.pack(f"<{len(values)}i", *values)
    return text("tokenizer.ggml.token_type") + struct.pack("<IIQ", ARRAY, kind, len(values)) + numbers


WORDS = fact("tokenizer.ggml.tokens", ARRAY, ["a", "b", "é"])


def gguf(*facts: bytes, tensors: tuple[bytes, ...] = (), version: int = 3) -> bytes:
    return b"GGUF" + struct.pack("<IQQ", version, len(tensors), len(facts)) + b"".join((*facts, *tensors))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "model.gguf"


def test_the_window_and_the_memory_of_a_token_are_read(file: Path) -> None:
    file.write_bytes(gguf(*ABOUT, WORDS))
    # ten layers, keys and values, two heads of sixteen numbers, two bytes each
    assert read_facts(file) == Facts("Tiny", 2048, 10 * 2 * 2 * 16 * 2)


def test_what_a_file_does_not_say_is_not_invented(file: Path) -> None:
    file.write_bytes(gguf(fact("general.architecture", STRING, "new"), fact("new.context_length", F32, 1.5)))
    assert read_facts(file) == Facts("", None, None)


def test_the_vocabulary_is_not_read_to_plan(file: Path) -> None:
    file.write_bytes(gguf(*ABOUT, fact("tokenizer.ggml.model", STRING, "bpe"), text("broken from here on")))
    assert read_facts(file).context == 2048


def test_tokens_without_text_are_named_but_not_those_that_end_a_reply(file: Path) -> None:
    end = fact("tokenizer.ggml.eos_token_id", U32, 3)
    file.write_bytes(gguf(*ABOUT, WORDS, kinds(1, 3, 1, 3, 4, 3, 6), end))
    assert silent_tokens(file) == (1, 5)


@pytest.mark.parametrize("facts", [(), (fact("tokenizer.ggml.token_type", ARRAY, ["a"]),)])
def test_a_file_that_does_not_say_what_its_tokens_are_has_no_silent_ones(file: Path, facts: tuple[bytes, ...]) -> None:
    file.write_bytes(gguf(*ABOUT, *facts, WORDS))
    assert silent_tokens(file) == ()


@pytest.mark.parametrize(
    ("data", "complaint"),
    [
        (b"hello", "is not a GGUF file"),
        (b"", "is not a GGUF file"),
        (gguf(version=9), "of version 9"),
        (gguf(*ABOUT)[:60], "is cut short: it ends before its weights begin"),
        (gguf(text("x") + struct.pack("<I", 99)), "unknown type 99"),
        (gguf(struct.pack("<Q", 1 << 60)), "a text of 1,152,921,504,606,846,976 bytes"),
    ],
)
def test_what_is_no_model_is_refused_with_the_reason(file: Path, data: bytes, complaint: str) -> None:
    file.write_bytes(data)
    with pytest.raises(GgufError, match=complaint):
        read_facts(file)
    assert complaint in (why_unreadable(file) or "")


def test_a_file_that_is_not_there_is_an_error_in_words(tmp_path: Path) -> None:
    with pytest.raises(GgufError, match=r"cannot read .*: No such file"):
        read_facts(tmp_path / "gone.gguf")


@pytest.mark.parametrize(
    ("data", "complaint"),
    [
        (gguf(text("x") + struct.pack("<IIQ", ARRAY, ARRAY, 1)), "a list of 1 values of type 9"),
        (gguf(text("x") + struct.pack("<IIQ", ARRAY, U64, 1 << 62)), "a list of 4,611,686,018,427,387,904 values"),
        (gguf(tensors=(text("x") + struct.pack("<I", 1 << 31),)), "a tensor of 2,147,483,648 dimensions"),
        (gguf(fact("general.alignment", U32, 0), tensors=(tensor("a", (8,), 0, 0),)), "is cut short"),
    ],
)
def test_numbers_out_of_all_measure_are_damage_and_not_believed(file: Path, data: bytes, complaint: str) -> None:
    file.write_bytes(data)
    assert complaint in (why_unreadable(file) or "")


@pytest.mark.parametrize("missing", [0, 1, 143])
def test_missing_weights_are_counted_to_the_byte(file: Path, missing: int) -> None:
    header = gguf(*ABOUT, WORDS, tensors=(tensor("a", (8,), 0, 0), tensor("b", (256, 2), 12, 32)))
    start = -(-len(header) // 32) * 32
    whole = start + 32 + 2 * 144
    file.write_bytes(header.ljust(whole, b"\0")[: whole - missing])
    expected = f"it has {whole - missing:,} bytes of {whole:,}"
    assert why_unreadable(file) is None if not missing else expected in (why_unreadable(file) or "")


@pytest.mark.property
@given(data=st.binary(max_size=200), cut=st.integers(0, 400))
def test_no_bytes_are_anything_but_facts_or_a_complaint(tmp_path_factory: Any, data: bytes, cut: int) -> None:
    file = tmp_path_factory.mktemp("gguf") / "any.gguf"
    file.write_bytes(gguf(*ABOUT, WORDS)[:cut] + data)
    why_unreadable(file)
    with contextlib.suppress(GgufError):
        read_facts(file)


def test_the_words_that_begin_and_end_messages_are_the_model_s_own(file: Path) -> None:
    words = fact("tokenizer.ggml.tokens", ARRAY, ["a", "<|im_end|>", "<tool_call>", "<|im_start|>", "\n"])
    file.write_bytes(gguf(*ABOUT, words, kinds(1, 3, 4, 3, 3)))
    assert control_words(file) == ("<|im_end|>", "<|im_start|>")


@pytest.mark.parametrize("facts", [(), (WORDS,), (kinds(3, 3),)])
def test_a_file_without_a_vocabulary_has_no_such_words(file: Path, facts: tuple[bytes, ...]) -> None:
    file.write_bytes(gguf(*ABOUT, *facts))
    assert control_words(file) == ()
