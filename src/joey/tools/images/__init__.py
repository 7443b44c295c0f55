"""Who makes images, and what goes wrong with that. The SDK that asks them is loaded when needed: `openai_images`."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class ImageEndpoint:
    """Where images come from. Without a `base_url` that is OpenAI."""

    model: str
    base_url: str | None = None
    key: str | None = field(default=None, repr=False)
    timeout: float = 300.0


@dataclass(frozen=True, slots=True)
class Original:
    """An image to begin with."""

    name: str
    media_type: str
    data: bytes = field(repr=False)


class ImageError(Exception):
    """Words for the model on why there is no image."""
