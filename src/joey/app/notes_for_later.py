"""`# words`: a line for AGENTS.md, which every later task reads.

Every front end adds one with `add_note`: the user sees the change before it is made, and the file is changed only if it
still is what the change was made for. A link that leads out of the folder is not followed: a project chooses what its
AGENTS.md is.
"""

from __future__ import annotations

import difflib
import os
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

from joey.bounded.files import read_regular
from joey.config.secrets import secret_in
from joey.errors import UsageError

_NAMES = ("AGENTS.md", "AGENT.md")
_MAX_WORDS = 1_000


@dataclass(frozen=True, slots=True)
class NotePlan:
    """A file as it is, and as it would be with one line more."""

    path: Path
    before: str | None
    """None: there is no such file yet."""
    after: str

    @property
    def question(self) -> str:
        return f"Add this to {self.path.name}?"

    @property
    def diff(self) -> str:
        """What changes, as a unified diff."""
        old, new = (self.before or "").splitlines(keepends=True), self.after.splitlines(keepends=True)
        return "".join(difflib.unified_diff(old, new, self.path.name, self.path.name, n=2))

    def write(self) -> None:
        """Add the line. UsageError if the file is another one by now, or cannot be written."""
        if _text(self.path) != self.before:
            raise UsageError(f"{self.path.name} was changed meanwhile; type the line again")
        temporary = self.path.with_name(f".{self.path.name}.{os.getpid()}.tmp")
        try:
            mode = self.path.stat().st_mode & 0o777 if self.before is not None else 0o644
            temporary.write_text(self.after, encoding="utf-8", newline="")
            temporary.chmod(mode)
            temporary.replace(self.path)
        except OSError as error:
            temporary.unlink(missing_ok=True)
            raise UsageError(f"{self.path.name} cannot be written: {error.strerror}") from None


def note_in(typed: str) -> str | None:
    """The words of a message that begins with a single `#`; None for any other: `## Title`, `#12`, several lines."""
    if not typed.startswith("#") or typed.startswith("##") or "\n" in typed:
        return None
    words = typed.removeprefix("#").strip()
    return words if words and not words[0].isdigit() and not words.startswith("!") else None


async def add_note(folder: Path, words: str, confirm: Callable[[NotePlan], Awaitable[bool]]) -> str:
    """Add a line, if the user wants the change that it makes; what came of it, in words. UsageError if it cannot be."""
    plan = plan_note(folder, words)
    if not await confirm(plan):
        return "Nothing was added."
    plan.write()
    return f"Added to {plan.path.name}; tasks read it when they are opened."


def plan_note(folder: Path, words: str) -> NotePlan:
    """What adding these words to the file of this folder would change. UsageError if that cannot be."""
    if len(words) > _MAX_WORDS:
        raise UsageError(f"a line for AGENTS.md has at most {_MAX_WORDS:,} characters; this one has {len(words):,}")
    if secret_in("", words):
        raise UsageError("that looks like a key, and AGENTS.md is shared and sent to models; it was not added")
    path = next((folder / name for name in _NAMES if os.path.lexists(folder / name)), folder / _NAMES[0])
    if path.is_symlink() and not path.resolve().is_relative_to(folder.resolve()):
        raise UsageError(f"{path.name} is a link that leads out of this folder; nothing is added there")
    path = path.resolve()
    before = _text(path)
    return NotePlan(path, before, _with_line(before or "", f"- {words.removeprefix('- ')}"))


def _with_line(text: str, line: str) -> str:
    """The text with one more item at its end, apart from what is no item."""
    end = "\r\n" if "\r\n" in text else "\n"
    if text and not text.endswith("\n"):
        text += end
    last = text.rstrip().rpartition("\n")[2].lstrip()
    gap = end if text.strip() and not last.startswith(("- ", "* ")) and not text.endswith(end * 2) else ""
    return f"{text}{gap}{line}{end}"


def _text(path: Path) -> str | None:
    try:
        return read_regular(path).decode("utf-8")
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is no text"
        raise UsageError(f"{path.name} cannot be read: {reason}") from None
