"""Images made smaller, with Pillow, in a bounded child: `python -m joey.images.shrinking SIDE BYTES < image`.

It prints the media type, a line end and the bytes of the smaller image; nothing if it cannot be read.
"""

from __future__ import annotations

import io
import math
import sys
import warnings

from PIL import Image, ImageOps, UnidentifiedImageError

from joey.bounded.process import hold_limits

_BROKEN = (OSError, SyntaxError, ValueError, EOFError, UnidentifiedImageError, Image.DecompressionBombError)
_KINDS = ("PNG", "JPEG", "GIF", "WEBP")
_PLAIN = ("RGB", "RGBA", "L", "LA")
_TRIES = (85, 70, 50)
_SECONDS = 2
_BYTES_PER_SECOND = 10 * 1024 * 1024
"""For each of these it has a second more: what is long takes longer to unpack."""
_CARE = 1.5
_STRIP = 64


def shrink(data: bytes, max_side: int, max_bytes: int) -> tuple[str, bytes] | None:
    """The media type and the bytes of a smaller image; None if this is none that can be read.

    What is drawn (a screenshot, a diagram) stays png, where text stays sharp, as long as that is not large; what is
    photographed becomes jpeg. Of an animation the first frame is taken.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Pillow warns of oddities in files; the image is there or it is not
            with Image.open(io.BytesIO(data), formats=_KINDS) as opened:
                is_photo = opened.format in ("JPEG", "MPO")
                image = _small(opened, max_side)
            return _encoded(image, max_bytes, as_png=not is_photo)
    except _BROKEN:
        return None


def _small(opened: Image.Image, max_side: int) -> Image.Image:
    """The first frame, made smaller, turned as its camera was held, in plain colours.

    Smaller comes first: a photograph is then not even unpacked in its whole size. Only palettes cannot be scaled.
    """
    scale = min(1.0, max_side / max(opened.size))
    opened.draft(None, (math.ceil(opened.width * scale), math.ceil(opened.height * scale)))
    is_plain = opened.mode in _PLAIN and "transparency" not in opened.info
    image = _coarse(opened if is_plain else _plain(opened), max_side)
    image.thumbnail((max_side, max_side), Image.Resampling.LANCZOS)
    return _plain(ImageOps.exif_transpose(image))


def _coarse(image: Image.Image, max_side: int) -> Image.Image:
    """An image with transparency, if it is much too large, in a size that can be scaled with care.

    Strip by strip: Pillow makes a second copy of whatever it scales if that has transparency.
    """
    factor = int(max(image.size) / (max_side * _CARE))
    if image.mode not in ("RGBA", "LA") or factor < 2:
        return image
    width, height = image.size
    coarse = Image.new(image.mode, (-(-width // factor), -(-height // factor)))
    for top in range(0, height, factor * _STRIP):
        strip = image.crop((0, top, width, min(height, top + factor * _STRIP)))
        coarse.paste(strip.reduce(factor), (0, top // factor))
    coarse.info.update(image.info)
    return coarse


def _plain(image: Image.Image) -> Image.Image:
    has_alpha = image.mode in ("RGBA", "LA", "PA") or "transparency" in image.info
    return image.convert("RGBA" if has_alpha else "RGB")


def _encoded(image: Image.Image, max_bytes: int, *, as_png: bool) -> tuple[str, bytes] | None:
    if as_png:
        png = _saved(image, "PNG", optimize=False)
        if len(png) <= min(max_bytes, 1024 * 1024):
            return "image/png", png
    flat = image
    if image.mode == "RGBA":
        flat = Image.new("RGB", image.size, "white")
        flat.paste(image, mask=image.getchannel("A"))
    tries = (_saved(flat, "JPEG", quality=quality) for quality in _TRIES)
    jpeg = next((data for data in tries if len(data) <= max_bytes), None)
    return ("image/jpeg", jpeg) if jpeg is not None else None


def _saved(image: Image.Image, kind: str, **options: int) -> bytes:
    out = io.BytesIO()
    image.save(out, kind, **options)
    return out.getvalue()


def main() -> None:
    data = sys.stdin.buffer.read()
    hold_limits(_SECONDS + len(data) // _BYTES_PER_SECOND)
    smaller = shrink(data, int(sys.argv[1]), int(sys.argv[2]))
    if smaller is not None:
        sys.stdout.buffer.write(smaller[0].encode() + b"\n" + smaller[1])


if __name__ == "__main__":
    main()
