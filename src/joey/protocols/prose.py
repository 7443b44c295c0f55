"""Which part of streamed Markdown is code, and so only talks about tags.

A model that explains a tool, or cites a file, writes its tags in a fenced block or in backticks. `Prose` reads text as
it comes and says where the next `<` stands that is not inside code (`next_tag`), or whether a marker that comes next is
only quoted (`quotes_marker`). It holds nothing back and looks at each character once.

* A fence is a line that begins (after spaces, tabs and `>`) with three or more backticks or tildes. It ends at a line
  that holds nothing but at least as many of the same character, or with the text. What follows the opening backticks
  on their line must hold no backtick: "```x``` is inline code".
* Inline code runs from a run of backticks to the next run of the same length, or to the end of the line. Markdown
  lets it run over lines and calls it plain text if it is never closed; that cannot be known while streaming, and
  an unmatched backtick must not swallow a call on the next line. A marker that was found in it shows that
  something is quoted: then it runs on to its closing run.
* A line that begins with `>` is a quotation. It quotes markers, but `next_tag` takes no notice of it.

Deliberately not handled: indented code (models indent calls), backslash escapes, HTML comments.
"""

from __future__ import annotations

import re

_INDENTATION = " \t>"
_INDENT = re.compile(f"[{_INDENTATION}]*")
_BLANK = re.compile(r"[ \t\r]*")
_LINE_STARTS = frozenset(" \t>`~")
_MARK = re.compile(r"[\n`<]")
_LINE_END_OR_TICK = re.compile(r"[\n`]")


class Prose:
    """Reads text piece by piece."""

    __slots__ = (
        "_calm", "_closing", "_code", "_fence", "_fence_length", "_info", "_line_start", "_quotation", "_run",
        "_run_length", "_runs_on",
    )  # fmt: skip

    def __init__(self) -> None:
        self._line_start = True  # only indentation so far on this line
        self._fence = ""  # the character of the open fence
        self._fence_length = 0
        self._info = False  # on the line that opened the fence
        self._closing = False  # after what may be the closing line of the fence
        self._code = 0  # the length of the run that opened inline code
        self._run = ""  # a run of backticks or tildes that may go on in the next piece
        self._run_length = 0
        self._quotation = False  # this line begins with `>`
        self._runs_on = False  # a marker stands in the inline code
        self._calm = False  # text without `<`, backticks and newlines changes nothing

    def passes(self, text: str) -> bool:
        """Read a piece without `<` the quick way, if nothing in it or before it may begin or end code. Else False."""
        if "`" in text:
            return False
        if self._calm and "\n" not in text:
            return True
        if self._run or self._closing or "~" in text:
            return False
        newline = text.rfind("\n")
        if newline >= 0:
            self._end_line()
        last = text[newline + 1 :]
        self._quotation = self._quotation or (self._line_start and last.lstrip(" \t").startswith(">"))
        self._line_start = self._line_start and not last.strip(_INDENTATION)
        self._calm = not self._line_start
        return True

    def read(self, text: str) -> None:
        """Read a piece of text in which no marker means anything."""
        if not self.passes(text):
            at = 0
            while at < len(text):
                at = self.next_tag(text, at) + 1

    def quotes_marker(self, *, runs_on: bool = True, opens: bool = True) -> bool:
        """Whether a marker that comes next stands in code or in a quotation. What could still become code has ended
        with it. `runs_on`: inline code with such a marker in it runs on over lines. `opens`: one that opens something
        may stand on the line that closes a fence; one that closes what is quoted in it shows that it goes on."""
        if self._run:
            self._end_run()
        if self._closing:
            self._fence, self._closing = "" if opens else self._fence, False
        self._runs_on = self._runs_on or bool(self._code and runs_on)
        return bool(self._fence or self._code or self._quotation)

    def next_tag(self, text: str, at: int) -> int:
        """Where the next `<` outside code stands, or the length of the text. Reads up to there and no further.

        To go on behind a `<` that turned out to be plain text, ask again from the place after it.
        """
        end = len(text)
        while at < end:
            if self._line_start or self._run or self._closing:
                at = self._read_line_start(text, at)
                continue
            at = self._skip(text, at)
            if at == end or text[at] == "<":
                break
            if text[at] == "`":
                self._run = "`"
            else:
                self._end_line()
                at += 1
        self._calm = not (self._line_start or self._run or self._closing)
        return at

    def _end_line(self) -> None:
        self._line_start, self._info, self._quotation = True, False, False
        if not self._runs_on:
            self._code = 0

    def _read_line_start(self, text: str, at: int) -> int:
        """What decides about fences: the beginning of a line, runs of backticks and tildes, what follows them."""
        if self._run:
            return self._read_run(text, at)
        if self._closing:
            return self._read_blank(text, at)
        if text[at] not in _LINE_STARTS:
            self._line_start = False
            return at
        return self._read_indent(text, at)

    def _read_run(self, text: str, at: int) -> int:
        begin = at
        while at < len(text) and text[at] == self._run:
            at += 1
        self._run_length += at - begin
        if at < len(text):
            self._end_run()
        return at

    def _read_indent(self, text: str, at: int) -> int:
        found = _INDENT.match(text, at)
        begin, at = at, found.end() if found else at
        self._quotation = self._quotation or ">" in text[begin:at]
        if at < len(text):
            if text[at] in "`~":
                self._run = text[at]
            else:
                self._line_start = False
        return at

    def _read_blank(self, text: str, at: int) -> int:
        found = _BLANK.match(text, at)
        at = found.end() if found else at
        if at < len(text):
            if text[at] == "\n":
                self._fence = ""
            self._closing = False
        return at

    def _skip(self, text: str, at: int) -> int:
        """The next character that matters here."""
        if self._fence and not self._info:
            place = text.find("\n", at)
            return len(text) if place < 0 else place
        found = (_LINE_END_OR_TICK if self._fence or self._code else _MARK).search(text, at)
        return found.start() if found else len(text)

    def _end_run(self) -> None:
        run, length, opens_line = self._run, self._run_length, self._line_start
        self._run, self._run_length, self._line_start = "", 0, False
        if self._fence and self._info:
            if run == self._fence == "`":
                self._fence, self._info = "", False
                self._code = 0 if length == self._fence_length else self._fence_length
        elif self._fence:
            self._closing = opens_line and run == self._fence and length >= self._fence_length
        elif self._code:
            if run == "`" and length == self._code:
                self._code, self._runs_on = 0, False
        elif opens_line and length >= 3:
            self._fence, self._fence_length, self._info = run, length, True
        elif run == "`":
            self._code = length
