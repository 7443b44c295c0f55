"""Images of any kind and size, made for a test."""

from __future__ import annotations

import base64
import io
import random
from typing import Any

from PIL import Image

from joey.messages import ImageBlock


def made(
    width: int, height: int, kind: str = "PNG", *, noise: bool = False, mode: str = "RGB", **options: Any
) -> bytes:
    """A plain image, or one that no format can make small."""
    image = Image.new(mode, (width, height), 120)
    if noise:
        channels = len(image.getbands())
        image = Image.frombytes(mode, (width, height), random.Random(1).randbytes(width * height * channels))
    out = io.BytesIO()
    image.save(out, kind, **options)
    return out.getvalue()


def block(data: bytes, media_type: str = "image/png") -> ImageBlock:
    return ImageBlock(media_type, base64.b64encode(data).decode())


def size(image: ImageBlock) -> tuple[int, int]:
    with Image.open(io.BytesIO(base64.b64decode(image.data))) as opened:
        return opened.size
