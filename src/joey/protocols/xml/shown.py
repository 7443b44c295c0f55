"""What the deltas of a growing parameter show of it: all that is sure to be part of the value, and nothing else.

Three kinds of text are withheld until they are known to belong to the value: the white space that may turn out to be
at its end and be trimmed, what may be its closing tag, and everything after that while it is in doubt. More of the
value confirms them; its end drops them. Nothing is joined twice, so a megabyte of spaces costs no more than of letters.
"""

from __future__ import annotations

from joey.protocols.buffer import Pieces
from joey.protocols.xml.tags import WHITE_SPACE, Parameter
from joey.wire import ArgumentPath


class ShownValue:
    """A string, shown as it grows."""

    __slots__ = ("_at_start", "_edge", "_verbatim", "_withheld", "path")

    def __init__(self, parameter: Parameter) -> None:
        self.path: ArgumentPath = (parameter.name,)
        self._verbatim = parameter.verbatim
        self._edge = "\n" if parameter.verbatim else WHITE_SPACE
        self._at_start = True  # nothing of the value so far but white space that is trimmed
        self._withheld: list[str] = []

    def grow(self, text: str) -> str:
        """More of the value has come, and with it all that was withheld. Returns what can be shown now."""
        if not self._withheld and not self._at_start and text[-1] not in self._edge:
            return text
        return self._but_one_newline(text) if self._verbatim else self._but_white_space(text)

    def withhold(self, text: str) -> None:
        """This may be part of the value."""
        self._withheld.append(text)

    def confirm(self) -> str:
        """All that was withheld is part of the value. Returns what can be shown of it."""
        text = "".join(self._withheld)
        self._withheld.clear()
        return self.grow(text) if text else ""

    @property
    def unclear(self) -> str:
        return "".join(self._withheld)

    def _but_one_newline(self, text: str) -> str:
        text = self.unclear + text
        self._withheld.clear()
        if self._at_start:
            self._at_start = False
            text = text.removeprefix("\n")
        if text.endswith("\n"):
            self._withheld.append("\n")
            return text[:-1]
        return text

    def _but_white_space(self, text: str) -> str:
        kept = text.rstrip(WHITE_SPACE)
        if not kept:
            if self._withheld or not self._at_start:
                self._withheld.append(text)
            return ""
        shown = self.unclear + kept
        self._withheld.clear()
        if len(kept) < len(text):
            self._withheld.append(text[len(kept) :])
        if self._at_start:
            self._at_start = False
            shown = shown.lstrip(WHITE_SPACE)
        return shown


class CollectedValue(ShownValue):
    """Anything but a string: nothing of it can be shown before it is complete and read."""

    __slots__ = ("_collected",)

    def __init__(self, parameter: Parameter) -> None:
        super().__init__(parameter)
        self._collected = Pieces()

    def grow(self, text: str) -> str:
        self._collected.add(self.unclear + text)
        self._withheld.clear()
        return ""

    def text(self) -> str:
        return self._collected.text()
