"""`.joeyignore` and `.rooignore`: files the model may neither read nor write, in the syntax of .gitignore.

Letter case does not count, as in the system these files come from, nor does what `names` removes. A folder that is
ignored is ignored with all it holds. An ignore file that has any line hides itself too; an empty one hides nothing.
"""

from __future__ import annotations

import posixpath
from collections.abc import Mapping
from dataclasses import dataclass

from pathspec import GitIgnoreSpec

from joey.bounded.patterns import git_patterns
from joey.policy.names import fold_path, visible

NAMES = (".joeyignore", ".rooignore")


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

    def may_hide_below(self, folder: str) -> bool:
        """Whether a line may be about a file below a folder, whether there is one or not. A line whose first name is
        written out, with a slash behind it, is about no other folder."""
        first = posixpath.normpath(folder.casefold()).split("/")[0]
        lines = ((name, each) for name, spec in self.specs for each in spec.patterns if each.include)
        return any(_may_be_below(str(each.pattern), first) for name, each in lines if each.pattern != name)


def _may_be_below(line: str, first: str) -> bool:
    if first in (".", "..", ""):  # the whole workspace, or more
        return True
    name, slash, rest = line.strip().lstrip("/").partition("/")
    anchored = bool(rest) or (line.strip().startswith("/") and not slash)
    return not anchored or any(char in name for char in "*?[\\!") or name == first


NOTHING_IGNORED = IgnoreRules()


def _spec(text: str, name: str) -> GitIgnoreSpec:
    lines = text.casefold().splitlines()
    forms = (form for line in lines for form in dict.fromkeys((line, visible(line).casefold())))
    return git_patterns([*forms, name])  # the last, so that no line takes it back


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
    return not str(spec.patterns[found.index].pattern).endswith("/**")
