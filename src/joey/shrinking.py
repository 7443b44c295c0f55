"""Pictures made smaller, with Pillow. Loaded only when one is too large (see `joey.pictures`)."""

from __future__ import annotations

import io
import warnings

from PIL import Image, ImageOps, UnidentifiedImageError

_BROKEN = (OSError, SyntaxError, ValueError, EOFError, UnidentifiedImageError, Image.DecompressionBombError)
_TRIES = (85, 70, 50)


def shrink(data: bytes, longest_side: int, most_bytes: int) -> tuple[str, bytes] | None:
    """The media type and the bytes of a smaller picture; None if this is none that can be read.

    What is drawn (a screenshot, a diagram) stays png, where text stays sharp, as long as that is not large; what is
    photographed becomes jpeg. Of an animation the first frame is taken.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Pillow warns of oddities in files; the picture is there or it is not
            with Image.open(io.BytesIO(data)) as opened:
                is_photo = opened.format == "JPEG"
                picture = _upright(opened)
            picture.thumbnail((longest_side, longest_side), Image.Resampling.LANCZOS)
            return _encoded(picture, most_bytes, as_png=not is_photo)
    except _BROKEN:
        return None


def _upright(opened: Image.Image) -> Image.Image:
    """The first frame, turned as its camera was held, in plain colours."""
    turned = ImageOps.exif_transpose(opened)
    has_alpha = turned.mode in ("RGBA", "LA", "PA") or "transparency" in turned.info
    return turned.convert("RGBA" if has_alpha else "RGB")


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
