"""A word of a command line: what of it is known before it runs.

A word is a row of pieces. A piece is literal text (quoted or not), or something the shell puts in at run time
(`$x`, `$(…)`, a glob). From these follow the three things the policy asks: the value, if it is certain; the text it
surely begins with; and whether it may become several words.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property

from tree_sitter import Node

_BRACES = re.compile(r"\{[^{}]*(?:,|\.\.)")
_GLOB = re.compile(r"[*?]|\[[^\]]*\]")
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_STRING_ESCAPE = re.compile(r'\\([$`"\\\n])')
_ANSI = re.compile(
    r"\\(?:(?P<simple>[abeEfnrtv\\'\"?])|(?P<octal>[0-7]{1,3})|x(?P<x>[0-9A-Fa-f]{1,2})"
    r"|u(?P<u>[0-9A-Fa-f]{1,4})|U(?P<U>[0-9A-Fa-f]{1,8})|c(?P<c>.))",
    re.DOTALL,
)
_SIMPLE = dict(zip("abeEfnrtv\\'\"?", "\a\b\x1b\x1b\f\n\r\t\v\\'\"?", strict=True))


@dataclass(frozen=True, slots=True)
class Piece:
    """`text` is None when only the shell will know it; `name` is then the variable it comes from, if it is one."""

    text: str | None
    quoted: bool
    name: str | None = None


@dataclass(frozen=True)
class Word:
    source: str
    pieces: tuple[Piece, ...]

    @classmethod
    def literal(cls, text: str) -> Word:
        return cls(text, (Piece(text, quoted=True),))

    @cached_property
    def value(self) -> str | None:
        """The word as the program will see it, or None if that is not certain."""
        if self.dynamic or self.globs or self.braces:
            return None
        return "".join(piece.text or "" for piece in self.pieces)

    @cached_property
    def prefix(self) -> str:
        """The text with which it surely begins."""
        known = ""
        for piece in self.pieces:
            if piece.text is None:
                break
            known += piece.text
        if self.braces or self.globs:
            known = re.split(r"[*?\[{]", known, maxsplit=1)[0]
        return known

    @cached_property
    def text(self) -> str:
        """The literal parts, with a star for what is not known: good for looking, not for deciding."""
        return "".join("*" if piece.text is None else piece.text for piece in self.pieces)

    @cached_property
    def dynamic(self) -> bool:
        return any(piece.text is None for piece in self.pieces)

    @cached_property
    def splits(self) -> bool:
        """Whether the shell may make several words of it (or none)."""
        return self.braces or any(piece.text is None and not piece.quoted for piece in self.pieces)

    @cached_property
    def _bare(self) -> str:
        return "".join("\0" if piece.quoted or piece.text is None else piece.text for piece in self.pieces)

    @cached_property
    def globs(self) -> bool:
        return bool(_GLOB.search(self._bare))

    @cached_property
    def braces(self) -> bool:
        return bool(_BRACES.search(self._bare))

    @cached_property
    def alternatives(self) -> tuple[str, ...]:
        """The words its braces stand for, as far as they are written out; itself if it has none."""
        text = "".join(piece.text or "" for piece in self.pieces)
        return tuple(_expand_braces(text)) if self.braces else (text,)

    @cached_property
    def tilde(self) -> bool:
        return self._bare.startswith("~")

    @property
    def names(self) -> frozenset[str]:
        """The variables it is made of."""
        return frozenset(piece.name for piece in self.pieces if piece.name)


_INNERMOST = re.compile(r"\{([^{}]*,[^{}]*)\}")
_MOST_ALTERNATIVES = 64


def _expand_braces(text: str) -> list[str]:
    """Every word that `a{b,c}` stands for. Ranges stay as they are: their letters and digits are no paths."""
    match = _INNERMOST.search(text)
    if not match:
        return [text]
    found: list[str] = []
    for choice in match[1].split(","):
        found += _expand_braces(text[: match.start()] + choice + text[match.end() :])
        if len(found) > _MOST_ALTERNATIVES:
            break
    return found


def read_word(node: Node) -> Word:
    return Word(_text(node), tuple(_pieces(node, quoted=False)))


def _text(node: Node) -> str:
    return (node.text or b"").decode("utf-8", "replace")


def _pieces(node: Node, *, quoted: bool) -> list[Piece]:
    kind, text = node.type, _text(node)
    if kind in ("concatenation", "command_name"):
        return [piece for child in node.children for piece in _pieces(child, quoted=quoted)]
    if kind == "raw_string":
        return [Piece(text[1:-1], quoted=True)]
    if kind == "ansi_c_string":
        return [Piece(_ansi(text[2:-1]), quoted=True)]
    if kind == "translated_string":
        return [piece for child in node.named_children for piece in _pieces(child, quoted=True)]
    if kind == "string":
        return _string_pieces(node)
    if kind == "simple_expansion":
        return [Piece(None, quoted, text.lstrip("$"))]
    if kind == "expansion":
        return [Piece(None, quoted, re.sub(r"^\$\{[#!]?|[^A-Za-z0-9_].*$", "", text, flags=re.DOTALL) or None)]
    if kind == "brace_expression":
        return [Piece(text, quoted=False)]
    if node.named_child_count or kind.endswith("_substitution") or kind == "arithmetic_expansion":
        return [Piece(None, quoted)]
    return _bare_pieces(text)


def _bare_pieces(text: str) -> list[Piece]:
    """Unquoted text; what follows a backslash is as good as quoted."""
    pieces: list[Piece] = []
    at = 0
    for match in _ESCAPE.finditer(text):
        if match.start() > at:
            pieces.append(Piece(text[at : match.start()], quoted=False))
        pieces.append(Piece("" if match[1] == "\n" else match[1], quoted=True))
        at = match.end()
    return [*pieces, Piece(text[at:], quoted=False)]


def _string_pieces(node: Node) -> list[Piece]:
    """What stands between double quotes: the grammar leaves some literal text out, so take it from the gaps."""
    source, begin = node.text or b"", node.start_byte
    pieces: list[Piece] = []
    at = 1
    for child in node.named_children:
        if child.type == "string_content":
            continue
        pieces.append(_string_text(source[at : child.start_byte - begin]))
        pieces += _pieces(child, quoted=True)
        at = child.end_byte - begin
    return [*pieces, _string_text(source[at : len(source) - 1])]


def _string_text(data: bytes) -> Piece:
    text = data.decode("utf-8", "replace")
    return Piece(_STRING_ESCAPE.sub(lambda match: "" if match[1] == "\n" else match[1], text), quoted=True)


def _ansi(text: str) -> str:
    def decode(match: re.Match[str]) -> str:
        if match["simple"]:
            return _SIMPLE[match["simple"]]
        if match["c"]:
            return chr(ord(match["c"]) & 0x1F)
        code = int(match["octal"], 8) & 0xFF if match["octal"] else int(match["x"] or match["u"] or match["U"], 16)
        return chr(code) if code <= 0x10FFFF else "\ufffd"

    # The shell ends the string at an escaped NUL.
    return _ANSI.sub(decode, text).split("\0", 1)[0]
