"""Images of a few kilobytes that unpack to gigabytes, or take forever: each is left out with the reason."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest

from bounds_kit import refused
from image_kit import made


def png(width: int, height: int, rows: int | None = None, colour: int = 6) -> bytes:
    """A blank PNG with any number of rows in it, written row by row."""
    packer = zlib.compressobj(9)
    row = b"\0" + bytes(width * {0: 1, 2: 3, 6: 4}[colour])
    packed = b"".join(packer.compress(row) for _ in range(height if rows is None else rows)) + packer.flush()
    header = struct.pack(">IIBBBBB", width, height, 8, colour, 0, 0, 0)
    chunks = ((b"IHDR", header), (b"IDAT", packed), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data)) for kind, data in chunks
    )


def scans_without_end() -> bytes:
    """A progressive JPEG whose last scan comes 5,000 times over."""
    data = made(3000, 3000, "JPEG", progressive=True)
    last = data[data.rindex(b"\xff\xda") : -2]
    return data[:-2] + last * 5_000 + data[-2:]


HOSTILE: list[tuple[str, Callable[[], bytes], str]] = [
    ("10,900 x 10,900 pixels, all there", lambda: png(10_900, 10_900, colour=2), "MB of memory"),
    ("more pixels than are opened", lambda: png(60_000, 60_000, rows=1), "too many pixels"),
    ("as large as a GIF can be", lambda: b"GIF89a\xff\xff\xff\xff\x80\0\0" + bytes(50), "too many pixels"),
    ("scans without end", scans_without_end, "it has too many scans to be made smaller here (5,0"),
    ("a JPEG of padding", lambda: b"\xff" * 15_000_000, "no png, jpeg, gif or webp"),
    ("a JPEG of empty segments", lambda: b"\xff\xd8" + b"\xff\xe0\0\2" * 3_000_000, "no png, jpeg, gif or webp"),
]


@pytest.mark.parametrize(("make", "words"), [pytest.param(*rest, id=name) for name, *rest in HOSTILE])
def test_a_hostile_image_is_left_out_with_the_reason(make: Callable[[], bytes], words: str, tmp_path: Path) -> None:
    (tmp_path / "image").write_bytes(make())
    refused("image", tmp_path, words)


@pytest.mark.parametrize(
    "photograph",
    [
        pytest.param(lambda: made(4_000, 3_000, "JPEG", progressive=True), id="12 megapixels, progressive"),
        pytest.param(lambda: made(6_000, 8_000, "JPEG", progressive=True), id="48 megapixels, progressive"),
        pytest.param(lambda: made(8_000, 6_000, "JPEG"), id="48 megapixels"),
        pytest.param(lambda: made(7_900, 7_900, "JPEG"), id="62 megapixels"),
    ],
)
def test_a_photograph_is_made_smaller(photograph: Callable[[], bytes], tmp_path: Path) -> None:
    (tmp_path / "image").write_bytes(photograph())
    refused("image", tmp_path, "ImageBlock(media_type='image/jpeg'")


def test_a_large_screenshot_is_made_smaller(tmp_path: Path) -> None:
    (tmp_path / "image").write_bytes(png(6_016, 3_384))
    refused("image", tmp_path, "ImageBlock(media_type='image/png'")
