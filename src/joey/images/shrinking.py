"""Pictures made smaller, with Pillow, in a bounded child: `python -m joey.images.shrinking SIDE BYTES < picture`.

It prints the media type, a line end and the bytes of the smaller picture; nothing if it cannot be read.
"""

from __future__ import annotations

import io
import sys
import warnings

from PIL import Image, ImageOps, UnidentifiedImageError

from joey.bounded.process import hold_limits

_BROKEN = (OSError, SyntaxError, ValueError, EOFError, UnidentifiedImageError, Image.DecompressionBombError)
_KINDS = ("PNG", "JPEG", "GIF", "WEBP")
_PLAIN = ("RGB", "RGBA", "L", "LA")
_TRIES = (85, 70, 50)
_SECONDS = 5
_CARE = 1.5
_STRIP = 64


def shrink(data: bytes, longest_side: int, most_bytes: int) -> tuple[str, bytes] | None:
    """The media type and the bytes of a smaller picture; None if this is none that can be read.

    What is drawn (a screenshot, a diagram) stays png, where text stays sharp, as long as that is not large; what is
    photographed becomes jpeg. Of an animation the first frame is taken.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Pillow warns of oddities in files; the picture is there or it is not
            with Image.open(io.BytesIO(data), formats=_KINDS) as opened:
                is_photo = opened.format in ("JPEG", "MPO")
                picture = _small(opened, longest_side)
            return _encoded(picture, most_bytes, as_png=not is_photo)
    except _BROKEN:
        return None


def _small(opened: Image.Image, longest_side: int) -> Image.Image:
    """The first frame, made smaller, turned as its camera was held, in plain colours.

    Smaller comes first: a photograph is then not even unpacked in its whole size. Only palettes cannot be scaled.
    """
    is_plain = opened.mode in _PLAIN and "transparency" not in opened.info
    picture = _coarse(opened if is_plain else _plain(opened), longest_side)
    picture.thumbnail((longest_side, longest_side), Image.Resampling.LANCZOS)
    return _plain(ImageOps.exif_transpose(picture))


def _coarse(picture: Image.Image, longest_side: int) -> Image.Image:
    """A picture with transparency, if it is much too large, in a size that can be scaled with care.

    Strip by strip: Pillow makes a second copy of whatever it scales if that has transparency.
    """
    factor = int(max(picture.size) / (longest_side * _CARE))
    if picture.mode not in ("RGBA", "LA") or factor < 2:
        return picture
    width, height = picture.size
    coarse = Image.new(picture.mode, (-(-width // factor), -(-height // factor)))
    for top in range(0, height, factor * _STRIP):
        strip = picture.crop((0, top, width, min(height, top + factor * _STRIP)))
        coarse.paste(strip.reduce(factor), (0, top // factor))
    coarse.info.update(picture.info)
    return coarse


def _plain(picture: Image.Image) -> Image.Image:
    has_alpha = picture.mode in ("RGBA", "LA", "PA") or "transparency" in picture.info
    return picture.convert("RGBA" if has_alpha else "RGB")


def _encoded(picture: Image.Image, most_bytes: int, *, as_png: bool) -> tuple[str, bytes] | None:
    if as_png:
        png = _saved(picture, "PNG", optimize=False)
        if len(png) <= min(most_bytes, 1024 * 1024):
            return "image/png", png
    flat = picture
    if picture.mode == "RGBA":
        flat = Image.new("RGB", picture.size, "white")
        flat.paste(picture, mask=picture.getchannel("A"))
    tries = (_saved(flat, "JPEG", quality=quality) for quality in _TRIES)
    jpeg = next((data for data in tries if len(data) <= most_bytes), None)
    return ("image/jpeg", jpeg) if jpeg is not None else None


def _saved(picture: Image.Image, kind: str, **options: int) -> bytes:
    out = io.BytesIO()
    picture.save(out, kind, **options)
    return out.getvalue()


def main() -> None:
    hold_limits(_SECONDS)
    smaller = shrink(sys.stdin.buffer.read(), int(sys.argv[1]), int(sys.argv[2]))
    if smaller is not None:
        sys.stdout.buffer.write(smaller[0].encode() + b"\n" + smaller[1])


if __name__ == "__main__":
    main()
