"""`.joeyignore` and `.rooignore`: files the model may neither read nor write, in the syntax of .gitignore.

Letter case does not count, as in the system these files come from, nor does what `names` removes. A folder that is
ignored is ignored with all it holds. An ignore file that has any line hides itself too; an empty one hides nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from pathspec import GitIgnoreSpec

from joey.policy.names import fold_path, visible

NAMES = (".joeyignore", ".rooignore")
MAX_SIZE = 1_000_000
"""Characters of an ignore file that are read."""
_MAX_STARS = 6


@dataclass(frozen=True, slots=True)
class IgnoreRules:
    """The rules of a workspace. Each file stands for itself: one cannot take back what the other hides."""

    specs: tuple[tuple[str, GitIgnoreSpec], ...] = ()

    @classmethod
    def read(cls, files: Mapping[str, str]) -> IgnoreRules:
        """From the names of the ignore files and what is in them."""
        texts = {name: text for name, text in files.items() if text.strip()}
        return cls(tuple((name, _spec(text, name)) for name, text in texts.items()))

    def hiding(self, path: str, *, folder: bool = False) -> str | None:
        """The ignore file that hides a path (relative to the workspace, with `/`), or None. What may be a folder is
        also hidden by a line for folders (`secrets/`)."""
        if not self.specs:
            return None
        forms = dict.fromkeys((path.casefold(), "/".join(fold_path(path))))
        forms |= dict.fromkeys(f"{form}/" for form in tuple(forms) if folder and not form.endswith("/"))
        return next((name for name, spec in self.specs if any(_hides(spec, form) for form in forms)), None)


NOTHING_IGNORED = IgnoreRules()


def _spec(text: str, name: str) -> GitIgnoreSpec:
    lines = text[:MAX_SIZE].casefold().splitlines()
    return GitIgnoreSpec.from_lines([*(form for line in lines for form in _forms(line)), name])


def _forms(line: str) -> Iterator[str]:
    """A line as it is and, where that differs, as file names are folded. A line with so many stars that matching it
    could take minutes is cut at the first of them, which hides more; taking back is not widened that way."""
    for form in dict.fromkeys((line, visible(line).casefold())):
        if _stars(form) > _MAX_STARS:
            if not form.startswith("!"):
                yield form.partition("*")[0] + "*"
        else:
            yield form


def _stars(line: str) -> int:
    """The most stars, side by side ones counted once, in one name of the line."""
    return max(len(re.findall(r"\*+", name)) for name in line.split("/"))


def _hides(spec: GitIgnoreSpec, path: str) -> bool:
    # An ignored folder hides all it holds, whatever a later line takes back.
    folders = (path[: at + 1] for at, char in enumerate(path) if char == "/" and at)
    if any(_hides_folder(spec, folder) for folder in folders):
        return True
    return not path.endswith("/") and bool(spec.match_file(path))


def _hides_folder(spec: GitIgnoreSpec, folder: str) -> bool:
    """Whether it is the folder that is ignored. `build/**` is about what is in it, and can be taken back."""
    found = spec.check_file(folder)
    if not found.include or found.index is None:
        return False
    return not str(getattr(list(spec.patterns)[found.index], "pattern", "")).endswith("/**")
