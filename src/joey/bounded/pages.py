"""The text of an HTML page: what a person would read, with headings, lists, links and code as Markdown has them.

A page is read as it comes, element by element, without a tree. What is for machines (scripts, styles) and what
surrounds the text of most pages (navigation, footers) is left out. Python's own parser takes too long for some pages
that are made for that, so a page is read in a process with little time (`joey.bounded.process`).
"""

from __future__ import annotations

import re
import sys
from html.parser import HTMLParser
from urllib.parse import urljoin

from joey.bounded.process import hold_limits, run_bounded

_SECONDS = 10
_LEFT_OUT = frozenset(
    ("script", "style", "noscript", "template", "svg", "nav", "footer", "button", "iframe", "head", "aside")
)
_BLOCKS = frozenset(
    ("p", "div", "section", "article", "main", "ul", "ol", "table", "blockquote", "dl", "dt", "dd", "figure", "header")
)
_HEADINGS = {f"h{level}": "#" * level + " " for level in range(1, 7)}
_BEFORE = {
    **dict.fromkeys(_BLOCKS, "\n\n"),
    **{tag: f"\n\n{sign}" for tag, sign in _HEADINGS.items()},
    "li": "\n- ",
    "br": "\n",
    "tr": "\n",
    "td": " | ",
    "th": " | ",
    "hr": "\n\n---\n\n",
    "code": "`",
    "kbd": "`",
}
"""What stands before the text of an element."""
_MAX_LINK = 300


def readable_text(html: str, url: str) -> str:
    """The page in words. `url` is where its links start from. May block for seconds. Raises LimitError."""
    return run_bounded("joey.bounded.pages", [url], html.encode("utf-8", "replace")).decode("utf-8", "replace")


def text_of(html: str, url: str) -> str:
    """The same, in this process."""
    reader = _Reader(url)
    reader.feed(html)
    reader.close()
    return reader.text


class _Reader(HTMLParser):
    def __init__(self, url: str) -> None:
        super().__init__(convert_charrefs=True)
        self._url = url
        self._parts: list[str] = []
        self._left_out = ""
        """The element that is left out with all that is in it,"""
        self._inside = 0
        """and how many of its kind are open."""
        self._title = ""
        self._in_title = False
        self._in_pre = 0
        self._link = ""
        self._link_began = 0

    @property
    def text(self) -> str:
        text = "\n".join(line.rstrip(" \t") for line in "".join(self._parts).split("\n"))
        text = re.sub(r"\n{3,}", "\n\n", text).strip()
        title = " ".join(self._title.split())
        return f"{title}\n\n{text}" if title and not text.startswith(f"# {title}") else text

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "title":
            self._in_title = True
        elif tag == "body":
            self._left_out, self._inside = "", 0
        elif self._left_out or tag in _LEFT_OUT:
            self._left_out = self._left_out or tag
            self._inside += tag == self._left_out
        elif tag == "pre":
            self._in_pre += 1
            self._parts.append("\n\n```\n")
        elif tag == "a":
            href = dict(attrs).get("href") or ""
            self._link = href if not href.startswith(("#", "javascript:")) else ""
            self._link_began = len(self._parts)
        else:
            self._parts.append("" if self._in_pre and tag == "code" else _BEFORE.get(tag, ""))

    def handle_endtag(self, tag: str) -> None:
        if tag == "title":
            self._in_title = False
        elif self._left_out:
            self._inside -= tag == self._left_out
            self._left_out = self._left_out if self._inside > 0 else ""
        elif tag == "pre" and self._in_pre:
            self._in_pre -= 1
            self._parts.append("\n```\n\n")
        elif tag == "a" and self._link:
            self._end_link()
        elif tag in _BLOCKS or tag in _HEADINGS:
            self._parts.append("\n\n")
        elif tag in ("code", "kbd") and not self._in_pre:
            self._parts.append("`")

    def handle_data(self, data: str) -> None:
        if self._in_title:
            self._title += data
        elif not self._left_out:
            self._parts.append(data if self._in_pre else re.sub(r"\s+", " ", data))

    def _end_link(self) -> None:
        try:
            target = urljoin(self._url, self._link)
        except ValueError:
            target = ""
        words = "".join(self._parts[self._link_began :]).strip()
        if words and target.startswith(("http://", "https://")) and len(target) <= _MAX_LINK:
            self._parts.append(f" ({target})")
        self._link = ""


def main() -> None:
    hold_limits(_SECONDS)
    html = sys.stdin.buffer.read().decode("utf-8", "replace")
    sys.stdout.buffer.write(text_of(html, sys.argv[1]).encode("utf-8", "replace"))


if __name__ == "__main__":
    main()
