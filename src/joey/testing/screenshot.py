"""The screen of a Textual app as SVG: small, the same for the same screen, and readable in a review.

Every row of the screen is one line of the file: its grounds, then its words in runs of one style. There are no fonts
to fetch, no generated names and no window around it. `rows` reads the words back.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable

from rich.cells import cell_len
from rich.color import Color
from rich.segment import Segment
from rich.style import Style
from rich.terminal_theme import TerminalTheme
from textual.app import App

_WIDTH, _HEIGHT, _SIZE = 8.4, 18, 14
_DARK = TerminalTheme((18, 18, 18), (224, 224, 224), [(0, 0, 0)] * 8, [(255, 255, 255)] * 8)
_NAMESPACE = 'xmlns="http://www.w3.org/2000/svg"'
_ROW = re.compile(r'<text y="[^"]*">(.*?)</text>')
_RUN = re.compile(r'<tspan x="([^"]*)"[^>]*>([^<]*)</tspan>')


def svg(app: App[None]) -> str:
    """The screen as it is now. Without colours it is drawn light on dark, as on a terminal that has none."""
    lines = [list(strip) for strip in app.screen._compositor.render_strips()]  # noqa: SLF001 - nothing public has them
    width, height = app.size
    classes: dict[str, str] = {}
    body = [_row(number, Segment.simplify(line), classes) for number, line in enumerate(lines)]
    rules = "".join(f".{name}{{{rule}}}" for rule, name in classes.items())
    ground = next((style.bgcolor for _, style, _ in lines[0] if style and style.bgcolor), None)
    size = f"{width * _WIDTH:g} {height * _HEIGHT:g}"
    return "\n".join(
        [
            f'<svg {_NAMESPACE} viewBox="0 0 {size}" font-size="{_SIZE}" font-family="monospace">',
            f"<style>text{{white-space:pre}}{rules}</style>",
            f'<rect width="100%" height="100%" fill="{_hex(ground, ground=True)}"/>',
            *(row for row in body if row),
            "</svg>\n",
        ]
    )


def rows(image: str) -> list[str]:
    """The words of an image, row by row."""
    found = []
    for row in _ROW.findall(image):
        line = ""
        for x, text in _RUN.findall(row):
            line += " " * (round(float(x) / _WIDTH) - cell_len(line)) + html.unescape(text)
        found.append(line)
    return found


def _row(number: int, segments: Iterable[Segment], classes: dict[str, str]) -> str:
    grounds, runs, column = [], [], 0
    for text, style, _ in segments:
        style = style or Style()
        cells = cell_len(text)
        x, width = f"{column * _WIDTH:g}", f"{cells * _WIDTH:g}"
        ink, ground = _colours(style)
        if ground:
            place = f'x="{x}" y="{number * _HEIGHT}" width="{width}" height="{_HEIGHT}"'
            grounds.append(f'<rect {place} fill="{ground}"/>')
        if text.strip():
            name = classes.setdefault(_rule(style, ink), f"s{len(classes)}")
            runs.append(f'<tspan x="{x}" textLength="{width}" class="{name}">{html.escape(text, quote=False)}</tspan>')
        column += cells
    words = f'<text y="{number * _HEIGHT + _SIZE}">{"".join(runs)}</text>' if runs else ""
    return "".join([*grounds, words])


def _colours(style: Style) -> tuple[str, str]:
    ink, ground = _hex(style.color), _hex(style.bgcolor, ground=True) if style.bgcolor else ""
    return (ground or _hex(None, ground=True), ink) if style.reverse else (ink, ground)


def _hex(colour: Color | None, *, ground: bool = False) -> str:
    usual = _DARK.background_color if ground else _DARK.foreground_color
    return (usual if colour is None or colour.is_default else colour.get_truecolor(_DARK)).hex


def _rule(style: Style, ink: str) -> str:
    rules = [f"fill:{ink}"]
    rules += ["font-weight:bold"] if style.bold else []
    rules += ["font-style:italic"] if style.italic else []
    rules += ["text-decoration:underline"] if style.underline else []
    rules += ["opacity:.6"] if style.dim else []
    return ";".join(rules)
