"""The files of the page. They are read once; together they are small, and they load nothing from anywhere else."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path

FOLDER = Path(__file__).parent / "page"
TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
    ".webmanifest": "application/manifest+json",
}
INDEX = "index.html"


@dataclass(frozen=True, slots=True)
class Asset:
    content: bytes
    media_type: str


@cache
def assets() -> dict[str, Asset]:
    """The files by name."""
    return {
        path.name: Asset(path.read_bytes(), TYPES[path.suffix])
        for path in sorted(FOLDER.iterdir())
        if path.suffix in TYPES
    }
