"""Images as a model takes them: of a kind it knows, and no larger than it looks at.

What an image is and how large is read from its first bytes, whatever its name or label says. One that a model would
refuse, or would scale down itself, is made smaller here, once, before it enters the conversation: a photograph of
twelve megapixels says no more to the model than one of two, and is sent again with every request. That takes Pillow
(the extra `images`). Without it, what the model would take is passed on as it is, and in place of the rest stands a
note that says why.
"""

from __future__ import annotations

import base64
import binascii
import importlib.util
import re
from collections.abc import Iterable
from typing import NamedTuple, TypeVar

from joey.bounded.process import LimitError, run_bounded
from joey.images.limits import ImageLimits
from joey.messages import ImageBlock, TextBlock
from joey.system.installation import add_extra

KINDS = ("image/png", "image/jpeg", "image/gif", "image/webp")
_STARTS = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
)
ENDINGS = {"image/png": ".png", "image/jpeg": ".jpg", "image/gif": ".gif", "image/webp": ".webp"}
_MEGABYTE = 1024 * 1024
_MAX_PIXELS = 120_000_000
"""An image with more is not even opened: unpacked, it would fill the memory."""
_MAX_SCANNED = 700_000_000
"""Pixels times scans of a JPEG. A progressive one has some ten scans, and each goes over the whole image."""
_SCAN = b"\xff\xda"

_MAX_SEGMENTS = 10_000
_PADDING = re.compile(rb"\xff+")

T = TypeVar("T")


class ImageHeader(NamedTuple):
    media_type: str
    width: int
    height: int


def image_type(data: bytes) -> str | None:
    """The media type, if this is an image of a kind that models are shown."""
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "image/webp"
    return next((media_type for start, media_type in _STARTS if data.startswith(start)), None)


def can_shrink() -> bool:
    """Whether Pillow is there."""
    return importlib.util.find_spec("PIL") is not None


# Reading the first bytes


def header_of(data: bytes) -> ImageHeader | None:
    """What the image is and how large; None if it is no image that models take, or a broken one."""
    media_type = image_type(data)
    try:
        size = _SIZES[media_type](data) if media_type else None
    except IndexError:
        return None
    return ImageHeader(media_type, *size) if media_type and size and all(size) else None


def _png_size(data: bytes) -> tuple[int, int] | None:
    return (_big(data[16:20]), _big(data[20:24])) if data[12:16] == b"IHDR" and len(data) >= 24 else None


def _gif_size(data: bytes) -> tuple[int, int]:
    return _little(data[6:8]), _little(data[8:10])


def _jpeg_size(data: bytes) -> tuple[int, int] | None:
    at = 2
    for _ in range(_MAX_SEGMENTS):
        padding = _PADDING.match(data, at)
        if padding is None or padding.end() + 9 > len(data):
            return None
        at = padding.end() - 1
        marker = data[at + 1]
        if marker == 0x01 or 0xD0 <= marker <= 0xD8:  # markers without a length
            at += 2
        elif 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):
            return _big(data[at + 7 : at + 9]), _big(data[at + 5 : at + 7])
        else:
            at += 2 + max(2, _big(data[at + 2 : at + 4]))
    return None


def _webp_size(data: bytes) -> tuple[int, int] | None:
    kind = data[12:16]
    if kind == b"VP8X":
        return 1 + _little(data[24:27]), 1 + _little(data[27:30])
    if kind == b"VP8L":
        bits = _little(data[21:25])
        return 1 + (bits & 0x3FFF), 1 + (bits >> 14 & 0x3FFF)
    return (_little(data[26:28]) & 0x3FFF, _little(data[28:30]) & 0x3FFF) if kind == b"VP8 " else None


def _big(data: bytes) -> int:
    return int.from_bytes(data, "big")


def _little(data: bytes) -> int:
    return int.from_bytes(data, "little")


_SIZES = {"image/png": _png_size, "image/gif": _gif_size, "image/jpeg": _jpeg_size, "image/webp": _webp_size}


# Fitting


def resize_images(blocks: Iterable[T], limits: ImageLimits) -> tuple[T | ImageBlock | TextBlock, ...]:
    """The blocks with every image as the model takes it, or a note in its place. It takes its time."""
    return tuple(resize_image(block, limits) if isinstance(block, ImageBlock) else block for block in blocks)


def resize_image(image: ImageBlock, limits: ImageLimits, *, shrinks: bool | None = None) -> ImageBlock | TextBlock:
    """The image as the model takes it, or a note. `shrinks`: whether it can be made smaller; looked up if None."""
    try:
        data = base64.b64decode(image.data, validate=True)
    except (binascii.Error, ValueError):
        return _left_out(f"an image ({image.media_type})", "its data is damaged")
    header = header_of(data)
    if header is None:
        return _left_out(f"an image ({image.media_type})", "it is no png, jpeg, gif or webp that can be read")
    what = f"an image ({header.media_type}, {header.width}x{header.height}, {_size(len(data))})"
    if max(header.width, header.height) <= limits.max_side and len(image.data) <= limits.refused_bytes:
        return image if image.media_type == header.media_type else ImageBlock(header.media_type, image.data)
    if header.width * header.height > _MAX_PIXELS:
        return _left_out(what, "it has too many pixels to be made smaller here")
    if header.media_type == "image/jpeg" and header.width * header.height * data.count(_SCAN) > _MAX_SCANNED:
        return _left_out(what, f"it has too many scans to be made smaller here ({data.count(_SCAN):,})")
    if can_shrink() if shrinks is None else shrinks:
        return _shrunk(data, what, limits)
    if max(header.width, header.height) <= limits.refused_side and len(image.data) <= limits.refused_bytes:
        return ImageBlock(header.media_type, image.data)
    limit = f"{limits.refused_side} pixels each way and {_size(limits.refused_bytes * 3 // 4)}"
    return _left_out(what, f"the model takes up to {limit}. `{add_extra('images')}` makes images smaller")


def _left_out(what: str, why: str) -> TextBlock:
    return TextBlock(f"[Left out here: {what}, because {why}.]")


def _shrunk(data: bytes, what: str, limits: ImageLimits) -> ImageBlock | TextBlock:
    """In a process of its own: a few kilobytes can unpack to gigabytes, or take forever."""
    arguments = [str(limits.max_side), str(limits.refused_bytes * 3 // 4)]
    try:
        media_type, _, smaller = run_bounded("joey.images.shrinking", arguments, data).partition(b"\n")
    except LimitError as problem:
        return _left_out(what, f"it could not be made smaller: {problem}")
    if not smaller:
        return _left_out(what, "it is damaged, and could not be made smaller")
    return ImageBlock(media_type.decode(), base64.b64encode(smaller).decode("ascii"))


def _size(count: int) -> str:
    return f"{count / 1024:.0f} KB" if count < _MEGABYTE else f"{count / _MEGABYTE:.1f} MB"
