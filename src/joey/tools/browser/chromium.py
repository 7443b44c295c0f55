"""Is there a browser to drive? Asked at the start of every task, so nothing is loaded or run to find out."""

from __future__ import annotations

import importlib.util
import os
import shutil
from pathlib import Path

from joey.system.installation import add_extra

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "microsoft-edge", "brave")
_PLACES = (
    "/snap/bin/chromium",
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
    "/Applications/Microsoft Edge.app/Contents/MacOS/Microsoft Edge",
)


def find_chromium(chosen: str | None = None) -> str | None:
    """The program to start: the one the user chose, by path or name, or else the first that is there."""
    if chosen:
        return shutil.which(str(Path(chosen).expanduser()))
    found = next(filter(None, map(shutil.which, NAMES)), None)
    return found or next((place for place in _PLACES if os.access(place, os.X_OK)), None)


def has_playwright() -> bool:
    return importlib.util.find_spec("playwright") is not None


def why_no_browser(chosen: str | None = None) -> str | None:
    """What is missing, and what to do; None if a browser can be started."""
    if not has_playwright():
        return f"Playwright is not installed: {add_extra('browser')}"
    if find_chromium(chosen) is not None:
        return None
    if chosen:
        return f"the setting browser.program names {chosen}, which is no program that can be run"
    return f"no Chromium was found (looked for {', '.join(NAMES)}): install one, or name it in browser.program"
