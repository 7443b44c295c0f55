"""How large images may be for a model, and how many there may be."""

from __future__ import annotations

from dataclasses import dataclass

_MEGABYTE = 1024 * 1024


@dataclass(frozen=True, slots=True)
class ImageLimits:
    """What a model takes. Sizes in bytes are those of the base64 text, which is what is sent."""

    max_side: int = 1568
    """It looks at no more pixels than that; larger ones are scaled down by whoever gets them first."""
    refused_side: int = 8000
    """Larger ones are refused."""
    refused_bytes: int = 5 * _MEGABYTE
    max_images: int = 100
    """Images in one request; the oldest are left out."""
    max_bytes: int = 20 * _MEGABYTE
    """All images of one request together."""
