"""`.joeyignore` and `.rooignore`: files the model may neither read nor write, in the syntax of .gitignore.

Letter case does not count, as in the system these files come from. A folder that is ignored is ignored with all it
holds. An ignore file that says anything hides itself too; an empty one hides nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pathspec import GitIgnoreSpec

NAMES = (".joeyignore", ".rooignore")


@dataclass(frozen=True, slots=True)
class IgnoreRules:
    """The rules of a workspace. Each file stands for itself: one cannot take back what the other says."""

    specs: tuple[tuple[str, GitIgnoreSpec], ...] = ()

    @classmethod
    def read(cls, files: Mapping[str, str]) -> IgnoreRules:
        """From the names of the ignore files and what is in them."""
        texts = {name: text for name, text in files.items() if text.strip()}
        return cls(tuple((name, _spec(text, name)) for name, text in texts.items()))

    def hiding(self, path: str) -> str | None:
        """The ignore file that hides a path (relative to the workspace, with `/`), or None."""
        folded = path.casefold()
        for name, spec in self.specs:
            if _hides(spec, folded):
                return name
        return None


NOTHING_IGNORED = IgnoreRules()


def _spec(text: str, name: str) -> GitIgnoreSpec:
    return GitIgnoreSpec.from_lines([*text.casefold().splitlines(), name])


def _hides(spec: GitIgnoreSpec, path: str) -> bool:
    # An ignored folder hides all it holds, whatever a later line takes back.
    folders = (path[: at + 1] for at, char in enumerate(path) if char == "/" and at)
    return any(_hides_folder(spec, folder) for folder in folders) or bool(spec.match_file(path))


def _hides_folder(spec: GitIgnoreSpec, folder: str) -> bool:
    """Whether it is the folder that is ignored. `build/**` is about what is in it, and can be taken back."""
    found = spec.check_file(folder)
    if not found.include or found.index is None:
        return False
    return not str(getattr(list(spec.patterns)[found.index], "pattern", "")).endswith("/**")
