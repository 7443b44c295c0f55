"""Large pastes, shown as a chip in the input and sent whole.

    paste of 120 lines  -->  [Pasted text #1, 120 lines]  in the input  --send-->  the 120 lines

The chip is plain text that stands for what was pasted: it can be moved, and it is gone when it is deleted. Backspace
behind it removes all of it.
"""

from __future__ import annotations

_MAX_LINES = 10
_MAX_CHARACTERS = 1_000


class Pasted:
    """What was pasted in this sitting, by its chip."""

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}

    def chip_for(self, text: str) -> str | None:
        """The chip that stands for a text; None: it is short, and goes into the input as it is."""
        text = text.replace("\r\n", "\n").replace("\r", "\n")
        lines = text.rstrip("\n").count("\n") + 1
        if lines <= _MAX_LINES and len(text) <= _MAX_CHARACTERS:
            return None
        size = f"{lines} lines" if lines > 1 else f"{len(text):,} characters"
        chip = f"[Pasted text #{len(self._texts) + 1}, {size}]"
        self._texts[chip] = text
        return chip

    def whole(self, text: str) -> str:
        """The text with everything that chips in it stand for. What was pasted is not looked through for chips."""
        found = [(text.find(chip), chip) for chip in self._texts if chip in text]
        if not found:
            return text
        at, chip = min(found)
        return text[:at] + self._texts[chip] + self.whole(text[at + len(chip) :])

    def chip_at_end(self, text: str) -> str:
        """The chip that a text ends with; empty if there is none."""
        return next((chip for chip in self._texts if text.endswith(chip)), "")
