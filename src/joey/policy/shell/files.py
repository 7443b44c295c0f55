"""The files that a command touches, judged where it may run.

A rule for a program covers what the program does inside the workspace. Everything else holds as it does for tools: what
an ignore file hides is denied, what is outside, protected or holds credentials follows the settings.
"""

from __future__ import annotations

import glob
import os
import posixpath
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from joey.policy.links import FollowedLinks
from joey.policy.paths import TOO_LONG, Located, Workspace
from joey.policy.settings import Settings
from joey.policy.shell.options import Touch
from joey.policy.shell.plain import Word
from joey.policy.verdict import Decision, VerdictPart
from joey.system.filenames import quoted

_MAX_COPIED = 5_000
"""Files that a copy writes over, of which each is judged."""
_MAX_NAMED = 2_000
"""Words and parts of words that are looked at in case they are paths."""
PLAIN_NAME = re.compile(r"[\w.][\w.,+ /-]*")
"""Names of files that are nothing else to any program."""
_HARMLESS_TARGETS = frozenset({"/dev/null", "/dev/stdout", "/dev/stderr"})


@dataclass(frozen=True, slots=True)
class Files:
    """Judges the files of one command, which runs in one of the folders `bases`."""

    settings: Settings
    workspace: Workspace
    bases: tuple[str, ...]

    def touched(self, touch: Touch, word: Word) -> Iterator[VerdictPart]:
        """The strictest part that is not simply allowed: of several files, an ask must not hide that one is denied. And
        one that tells what the words do not say, such as where a link leads, if that is another one."""
        if word.text in _HARMLESS_TARGETS and touch in ("read", "write"):
            return
        found = (
            part for base in self.bases for path in self._paths(word, base) for part in self._at(touch, path, base)
        )
        strictest: VerdictPart | None = None
        unsaid: VerdictPart | None = None
        for part in found:
            strictest = part if strictest is None else strictest.stricter(part)
            unsaid = unsaid or (part if part.linked or part.rule else None)
            if strictest.decision == "deny":
                break
        if strictest is not None:
            yield strictest
        if unsaid is not None and unsaid is not strictest:
            yield unsaid

    def _at(self, touch: Touch, path: str, base: str) -> Iterator[VerdictPart]:
        if touch == "maybe" and not self.workspace.exists(self.workspace.join(base, path)):
            return
        located = self.workspace.locate(path, base)
        part = self._judged(touch, located)
        if part.decision != "allow":
            yield replace(part, linked=part.linked or located.led_away)

    def changed_below(self, touch: Touch, word: Word) -> Iterator[VerdictPart]:
        """Any file below a folder is written or removed, as by `find DIR -exec mv x {}` and `find DIR -delete`: what is
        protected or hidden counts."""
        for base in self.bases:
            for path in self._paths(word, base):
                located = self.workspace.locate(path, base)
                part = self._judged("remove" if touch == "remove" else "rewrite", located)
                below = self.workspace.below(located)
                if below.protected:
                    part = part.worse(self.settings.writes_protected, "protected files are in it")
                if below.hidden_by:
                    part = part.worse("ask", f"it holds files that {below.hidden_by} hides")
                if part.decision != "allow":
                    yield replace(part, linked=part.linked or located.led_away)
                    return

    def filled(self, sources: Sequence[Word], target: Word) -> Iterator[VerdictPart]:
        """A folder gets files whose names are those below `sources`, or are not known if there are none."""
        yield from self.touched("write", target)
        for base in self.bases:
            paths = self._all(sources, base)
            below = [self.workspace.below(self.workspace.locate(path, base)) for path in paths]
            for name in sorted({posixpath.basename(path.rstrip("/")) for path in paths} - {"", ".", ".."}):
                yield from self.touched("write", Word(posixpath.join(target.text, name)))
            yield from self._overwritten(paths, target.text, base)
            if not below:
                yield VerdictPart(target.text, "ask", "which files it writes is only known when it runs", kind="path")
            elif protected := next((each.protected for each in below if each.protected), None):
                reason = f"it writes what is protected ({protected})"
                yield VerdictPart(target.text, self.settings.writes_protected, reason, kind="path")

    def _overwritten(self, sources: Sequence[str], target: str, base: str) -> Iterator[VerdictPart]:
        """What is there already where files below `sources` are put, at the target or below it: it is written, and
        where it is a link, so is what that leads to."""
        for source in sources:
            start = self.workspace.join(base, source)
            name = posixpath.basename(posixpath.normpath(source))
            for place in dict.fromkeys((target, posixpath.join(target, name))):
                at = self.workspace.join(base, place)
                if posixpath.normpath(at) != posixpath.normpath(start) and self.workspace.is_folder(at):
                    yield from self._taken(start, place, base)

    def _taken(self, start: str, place: str, base: str) -> Iterator[VerdictPart]:
        left = _MAX_COPIED
        for folder, folders, files in os.walk(start):
            below = folder[len(start) :].lstrip("/")
            paths = [posixpath.join(place, below, name) for name in (*folders, *files)]
            taken = [path for path in paths if self._is_taken(self.workspace.join(base, path))]
            left -= len(taken)
            if left < 0:
                yield VerdictPart(place, "ask", "it writes over too many files to look at", kind="path")
                return
            for path in taken:
                yield from self.touched("write", Word(path))

    def _is_taken(self, path: str) -> bool:
        return self.workspace.is_link(path) or (self.workspace.exists(path) and not self.workspace.is_folder(path))

    def _all(self, words: Sequence[Word], base: str) -> list[str]:
        return [path for word in words for path in self._paths(word, base)]

    def named(self, words: Sequence[str]) -> Iterator[VerdictPart]:
        """Words that name what an ignore file hides, whatever the program does with them (`--file=.env`, `@.env`)."""
        if not self.workspace.ignore.specs:
            return
        left = _MAX_NAMED
        for word in words:
            for name in dict.fromkeys((word, *re.split(r"[=:@,]", word))):
                for base in self.bases if name and not name.startswith("-") else ():
                    left -= 1
                    if left < 0:
                        yield VerdictPart(word[:80], "ask", "it has too many words to see which are paths", kind="path")
                        return
                    located = self.workspace.locate(name, base)
                    if located.problem == TOO_LONG and self.workspace.exists(self.workspace.join(base, name)):
                        yield VerdictPart(name[:80], "ask", TOO_LONG, kind="path")
                        return
                    if located.hidden_by and self._is_file(name, located):
                        yield VerdictPart(
                            name, "deny", f"it is listed in {located.hidden_by}", located.hidden_by, "path"
                        )
                        return

    def led_away(self, words: Sequence[str]) -> Iterator[VerdictPart]:
        """Words that name something in the workspace from where links lead away, whatever is done with them."""
        for word in words[:_MAX_NAMED]:
            parts = dict.fromkeys((word, *re.split(r"[=:@,]", word, maxsplit=_MAX_NAMED)))
            names = [name for name in parts if name and "\0" not in name]
            for base, name in ((base, name) for base in self.bases for name in names):
                if not self.workspace.exists(self.workspace.join(base, name)):
                    continue
                located = self.workspace.locate(name, base)
                if located.led_away:
                    reason = f"links lead from there to {quoted(located.resolved)}"
                    yield VerdictPart(name, "ask", reason, kind="path", linked=True)
                    return

    def _is_file(self, name: str, located: Located) -> bool:
        """Whether a word names a file: text that happens to match an ignore file's line does not."""
        return "/" in name or "." in name or self.workspace.exists(located.resolved)

    def redirected(self, target: Word, *, writes: bool) -> Iterator[VerdictPart]:
        """A redirection is an act of its own, which no rule for the program covers."""
        if not writes:
            yield from self.touched("read", target)
            return
        if target.text in _HARMLESS_TARGETS:
            return
        for base in self.bases:
            located = self.workspace.locate(target.text, base)
            part = write_part(located, self.settings)
            if part.decision != "allow":
                yield replace(part, linked=located.led_away)
                return

    def odd_name(self, word: Word) -> str | None:
        """A name that a pattern stands for and a program may take for something else: an option, a variable."""
        for base in self.bases:
            for path in self._paths(word, base)[1:]:
                if not PLAIN_NAME.fullmatch(name := posixpath.relpath(path, base)):
                    return name
        return None

    def _paths(self, word: Word, base: str) -> list[str]:
        if not word.glob:
            return [word.text]
        matches = self.workspace.expand(self.workspace.join(glob.escape(base), word.text))
        return [word.text, *matches]

    def _judged(self, touch: Touch, located: Located) -> VerdictPart:
        match touch:
            case "write" | "fill" | "maybe":
                return self._written(located)
            case "remove":
                part = self._written(located)
                if part.decision == "allow" and self.workspace.holds_protected(located):
                    return part.worse(self.settings.writes_protected, "it reaches the whole workspace")
                if part.decision == "allow" and (guarded := self.workspace.guarded_below(located)) is not None:
                    return part.worse(self.settings.writes_protected, f"protected files are in it ({quoted(guarded)})")
                hidden = self.workspace.below(located).hidden_by if self.workspace.ignore.specs else None
                return part.worse("ask", f"it holds files that {hidden} hides") if hidden else part
            case "run":
                return self._worked_in(located, "its code").stricter(self._read(located))
            case "folder":
                return self._worked_in(located, "the folder")
            case "list":
                return self._read(located, names_only=True)
            case "names":
                out = replace(self.workspace.links_in(located), hidden=None)
                return self._followed(self._read(located, names_only=True), located, out)
            case "rewrite":
                return self._rewritten(located)
            case "read":
                return self._read(located)
            case "tree" | "follow":
                return self._read_below(located, links=touch == "follow")

    def _written(self, located: Located) -> VerdictPart:
        covered: Decision = "allow" if self.settings.writes == "ask" else self.settings.writes
        return write_part(located, self.settings, inside=covered)

    def _read(self, located: Located, *, names_only: bool = False) -> VerdictPart:
        if located.problem:
            return VerdictPart(located.path, "ask", located.problem, kind="path")
        if located.hidden_by and not names_only:
            return VerdictPart(located.path, "deny", f"it is listed in {located.hidden_by}", located.hidden_by, "path")
        if located.secret and self.settings.reads_outside != "allow":
            return VerdictPart(located.path, "ask", "credentials are kept there", kind="path")
        if not located.inside:
            reason = f"it is outside the workspace ({quoted(located.resolved)})"
            return VerdictPart(located.path, self.settings.reads_outside, reason, kind="path")
        return VerdictPart(located.path, "allow", "it is inside the workspace", kind="path")

    def _read_below(self, located: Located, *, links: bool) -> VerdictPart:
        part = self._read(located)
        hidden = self.workspace.below(located).hidden_by if self.workspace.ignore.specs else None
        if hidden:
            part = part.worse("ask", f"it holds files that {hidden} hides")
        return self._followed(part, located, self.workspace.links_in(located)) if links else part

    def _rewritten(self, located: Located) -> VerdictPart:
        """A folder in which a program changes what it finds, also through links."""
        return self._followed(self._written(located), located, self.workspace.links_in(located), writes=True)

    def _followed(
        self, part: VerdictPart, located: Located, found: FollowedLinks, *, writes: bool = False
    ) -> VerdictPart:
        """A folder in which a program follows these links. A folder outside of the workspace says itself that they lead
        out of it."""
        out = self.settings.writes_outside if writes else self.settings.reads_outside
        looks: list[tuple[str | None, Decision, str, bool]] = [
            (found.protected if writes else None, self.settings.writes_protected, "to a protected file", True),
            (found.hidden, "ask", "that leads to files which are hidden", True),
            (found.out, out, "that leads out of the workspace", located.inside),
        ]
        for link, decision, where, linked in looks:
            if link is not None and decision != "allow":
                worse = part.worse(decision, f"`{link}` in it is a link {where}")
                part = replace(worse, linked=part.linked or linked)
        return part

    def _worked_in(self, located: Located, what: str) -> VerdictPart:
        if located.problem or not located.inside:
            anywhere = self.settings.writes_outside == "allow" and not located.problem
            reason = located.problem or f"{what} is outside the workspace"
            return VerdictPart(located.path, "allow" if anywhere else "ask", reason, kind="path")
        return self._read(located, names_only=True)


def inside_reason(doing: str, decision: Decision) -> str:
    """Why a file inside the workspace is treated as it is."""
    if decision == "allow":
        return "it is inside the workspace"
    return f"{doing} files of the workspace {'requires approval' if decision == 'ask' else 'is not allowed'}"


def write_part(located: Located, settings: Settings, *, inside: Decision | None = None) -> VerdictPart:
    """The decision about changing a file; `inside` for one inside the workspace, if not as the settings have it."""
    subject = located.path
    if located.problem:
        return VerdictPart(subject, "deny" if inside is None else "ask", located.problem, kind="path")
    if located.hidden_by:
        return VerdictPart(subject, "deny", f"it is listed in {located.hidden_by}", located.hidden_by, "path")
    decision = settings.writes if inside is None else inside
    setting = "" if located.protected and settings.writes_protected != "allow" else "writes"
    part = VerdictPart(subject, decision, inside_reason("changing", decision), kind="path", setting=setting)
    if not located.inside:
        part = VerdictPart(
            subject, settings.writes_outside, f"it is outside the workspace ({quoted(located.resolved)})", kind="path"
        )
    if located.protected:
        why = f"it is protected ({located.protected})"
        part = part.worse(settings.writes_protected, why)
        if located.inside and part.decision == settings.writes_protected != "allow":
            part = replace(part, reason=why)  # it would be asked about in any case, but not for this reason
    return part
