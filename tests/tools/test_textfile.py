from __future__ import annotations

import codecs
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from joey.tools.base import ToolContext
from joey.tools.seen_files import changed_since_seen, note_seen
from joey.tools.textfile import NotTextError, TextFile, UnencodableError, read_text


@pytest.mark.property
@given(st.binary(max_size=60) | st.text(max_size=40).map(lambda text: text.encode("utf-8", "ignore")))
def test_bytes_come_back_as_they_were(data: bytes) -> None:
    try:
        file = read_text(data)
    except NotTextError:
        assert b"\0" in data
    else:
        assert file.encode(file.text) == data


@pytest.mark.parametrize(
    ("data", "name", "text"),
    [
        (b"plain", "UTF-8", "plain"),
        (b"", "UTF-8", ""),
        (codecs.BOM_UTF8 + b"a\r\n", "UTF-8 with BOM", "a\r\n"),
        (codecs.BOM_UTF16_LE + "é\n".encode("utf-16-le"), "UTF-16 LE with BOM", "é\n"),
        (codecs.BOM_UTF16_BE + "é\n".encode("utf-16-be"), "UTF-16 BE with BOM", "é\n"),
        (codecs.BOM_UTF32_LE + "é\n".encode("utf-32-le"), "UTF-32 LE with BOM", "é\n"),
        ("naïve “quoted”".encode("cp1252"), "Windows-1252", "naïve “quoted”"),
        (b"caf\xe9 \x81", "Latin-1", "café \x81"),
    ],
)
def test_the_encoding_is_named_and_the_mark_is_no_text(data: bytes, name: str, text: str) -> None:
    file = read_text(data)
    assert (file.encoding_name, file.text) == (name, text)
    assert file.encode(text + "!") == data + "!".encode(file.encoding)


def test_binary_is_refused() -> None:
    with pytest.raises(NotTextError, match="NUL"):
        read_text(b"\x7fELF\0\0")


def test_a_byte_order_mark_is_not_doubled() -> None:
    file = read_text(codecs.BOM_UTF8 + b"a")
    assert file.encode("\ufeffb") == codecs.BOM_UTF8 + b"b"


def test_a_character_the_encoding_lacks_is_named() -> None:
    with pytest.raises(UnencodableError, match=r"Latin-1.*U\+65E5"):
        TextFile("a", "latin-1").encode("日")


def test_a_file_changed_by_somebody_else_is_noticed(tmp_path: Path) -> None:
    context = ToolContext(tmp_path, tmp_path)
    path = tmp_path / "a.txt"
    assert not changed_since_seen(context, path, b"old")
    note_seen(context, path, b"old")
    assert not changed_since_seen(context, path, b"old")
    assert changed_since_seen(context, path, b"new")
    note_seen(context, path, None)
    assert not changed_since_seen(context, path, b"new")
