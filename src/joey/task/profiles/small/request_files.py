"""Which files a request leaves to be written: those with an old name in them, broken ones, a test that is missing."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from joey.system.filenames import quoted
from joey.task.profiles.small.demands import (
    is_everywhere,
    is_repair,
    moved_definitions,
    tests_are_the_task,
    wants_tests_too,
)
from joey.task.profiles.small.exact import lost_setting, missing_heading, missing_words
from joey.task.profiles.small.problems import (
    collateral,
    import_for,
    is_test,
    lacks_new_test,
    lost_definition,
    missing_colour,
    missing_imports,
    problem_in,
    weakened,
)
from joey.task.profiles.small.python_source import python_source
from joey.task.profiles.small.wrong_calls import wrong_calls

if TYPE_CHECKING:
    from joey.task.profiles.small.beside import FileBeside

_CODE = (".py", ".js", ".ts", ".sh", ".rb", ".go", ".rs", ".java", ".c", ".cpp")
_DATA = (".txt", ".csv", ".tsv", ".log", ".md")
_MAX_OTHERS = 40
_MAX_WHOLE = 6_000
"""Characters of a file that is written again as a whole; in longer ones parts are replaced."""


@dataclass(frozen=True, slots=True)
class RequestFiles:
    """The files that were shown with a request, as they were and as they are, and those that were written for it."""

    request: str
    shown: Sequence[FileBeside]
    written: Collection[str]
    text_of: Callable[[str], str | None]
    renames: Sequence[tuple[str, str]] = ()
    changes: str = ""
    """The sentences that want something written."""
    others: Collection[str] = ()
    """The rest of the files there are: what mentions a changed name may be among them."""

    @property
    def have_changed(self) -> bool:
        """Whether any file is new or other than it was, whatever did it."""
        shown = {each.path for each in self.shown}
        new = any(path not in shown for path in self.written)
        return new or any(self.text_of(each.path) != each.text for each in self.shown)

    @property
    def suspects(self) -> list[str]:
        """The shown files that may have to be changed. What a program does wrong is put right in its code, not in the
        texts and tables that it reads, unless these are named."""
        with_code = any(each.path.endswith(_CODE) and not is_test(each.path) for each in self.shown)
        spared = _DATA if with_code and is_repair(self.request) else ()
        return [each.path for each in self.shown if each.named or not each.path.endswith(spared)]

    def untouched(self, words: str) -> list[str]:
        """Files that are to be changed by these words, and were not."""
        files = [each for each in self.shown if each.named and re.search(rf"(?<![\w/]){re.escape(each.path)}", words)]
        tests = tests_are_the_task(self.request)
        rest = [each for each in files if tests or not is_test(each.path)]
        return [each.path for each in rest if self.text_of(each.path) == each.text]

    def with_old_name(self) -> Iterator[tuple[str, str, str]]:
        """Files in which a name still stands that is to be another: the one that defines it first. Where the request
        names files and does not say everywhere, only these are meant; what else imports the name is found as broken."""
        named = any(each.named for each in self.shown) and not is_everywhere(self.request)
        for old, new in self.renames:
            files = [each for each in self.shown if each.named or not named]
            for each in sorted(files, key=lambda file: f" {old}(" not in file.text and f"class {old}" not in file.text):
                now = self.text_of(each.path)
                if now and re.search(rf"\b{old}\b", now):
                    yield each.path, old, new

    def missing_test(self) -> str | None:
        """The file for tests that the request wants without naming one, if there are none yet."""
        modules = [path for path in self.written if path.endswith(".py") and not is_test(path)]
        if not modules or not wants_tests_too(self.request):
            return None
        files = [*self.written, *(each.path for each in self.shown)]
        if any(is_test(path) or "unittest" in (self.text_of(path) or "") for path in files):
            return None
        folder, _, name = modules[-1].rpartition("/")
        return f"{folder}/test_{name}" if folder else f"test_{name}"

    def split(self, *paths: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Those of the files that may be written: whole ones, and long ones of which parts are replaced. Tests only if
        they are the task."""
        texts = {path: text for path in dict.fromkeys(paths) if (text := self.text_of(path)) is not None}
        tests = {path for path in texts if is_test(path)}
        if not tests_are_the_task(self.request) and len(tests) < len(texts):
            texts = {path: text for path, text in texts.items() if path not in tests}
        whole = tuple(path for path, text in texts.items() if len(text) <= _MAX_WHOLE)
        return whole, tuple(path for path in texts if path not in whole)

    def broken(self) -> Iterator[tuple[str, str]]:
        """Files that have to be put right, each with what is wrong."""
        before = self._before
        now = {**before, **self._texts}
        for path, text in self._texts.items():
            if line := import_for(path, text, now):
                yield path, f"{problem_in(path, text)}. Its first line has to be: {line}"
            elif problem := problem_in(path, text) or self._spoilt(path, before.get(path, ""), text):
                yield path, problem
        yield from self._between_files()
        if words := self._missing_words():
            yield next(reversed(self._texts)), words

    def wrong(self) -> Iterator[str]:
        """What cannot be right as it is, in words for the user."""
        for path, text in self._texts.items():
            before = self._renamed(self._before.get(path, ""))
            was_wrong = problem_in(path, before) is not None and not is_repair(self.request)
            found = None if was_wrong else problem_in(path, text)
            if found := found or weakened(path, before, text) or self._lacks(path, before, text):
                yield found.partition("\n")[0]
            elif lost := lost_definition(path, before, text, self.request):
                yield f"{quoted(path)} no longer has {lost}."
        yield from (problem for _, problem in self._between_files())
        if words := self._missing_words():
            yield words

    @property
    def now(self) -> dict[str, str]:
        """The files that were shown or written, as they are."""
        paths = (*(each.path for each in self.shown), *self.written)
        return {path: text for path in paths if (text := self.text_of(path)) is not None}

    @property
    def _texts(self) -> dict[str, str]:
        return {path: text for path in self.written if (text := self.text_of(path)) is not None}

    @property
    def _before(self) -> dict[str, str]:
        return {each.path: each.text for each in self.shown}

    @property
    def _unshown(self) -> dict[str, str]:
        """The code that was not shown, as far as it may be looked at."""
        paths = [path for path in self.others if path.endswith(".py") and path not in self._before]
        found = {path: self.text_of(path) for path in paths[:_MAX_OTHERS] if path not in self.written}
        return {path: text for path, text in found.items() if text is not None}

    def mentions(self) -> Iterator[str]:
        """Where a name still stands that is to be another, of the files that were not shown, in words for the user."""
        for old, _ in self.renames:
            for path in [path for path in self.others if path not in self._before][:_MAX_OTHERS]:
                lines = (self.text_of(path) or "").splitlines()
                at = next((at for at, line in enumerate(lines, 1) if re.search(rf"\b{old}\b", line)), None)
                if at is not None:
                    yield f"{old} is still used in {quoted(path)}, line {at}."

    def _missing_words(self) -> str | None:
        """Words that are to be written; code may put them together out of others."""
        is_code = any(path.endswith(_CODE) for path in self.written)
        return None if is_code else missing_words(self._texts, self.changes)

    def _between_files(self) -> Iterator[tuple[str, str]]:
        """What does not go together any more: imports and calls, and what is not where it was to be moved."""
        texts = self._texts
        if texts:
            yield from self._unmoved()
        before = {**self._unshown, **self._before} if texts else self._before
        known = {problem for _, _, problem in missing_imports(before)}
        for importer, source, problem in missing_imports({**before, **texts}):
            if problem not in known and texts:
                yield (source if importer in texts and source not in texts else importer), problem
        known = {problem for _, problem in wrong_calls(before)}
        yield from (each for each in wrong_calls({**before, **texts}) if each[1] not in known)

    def _unmoved(self) -> Iterator[tuple[str, str]]:
        for name, source, target in moved_definitions(self.request):
            if self.text_of(target) is not None and not self._defines(target, name):
                yield target, f"{quoted(target)} does not define {name}, which was to be moved there."
            elif self._defines(source, name):
                module = target.removesuffix(".py").replace("/", ".")
                how = f"Take its definition out, and write: from {module} import {name}"
                yield source, f"{quoted(source)} still defines {name}, which was to be moved.\n{how}"

    def _defines(self, path: str, name: str) -> bool:
        source = python_source(self.text_of(path) or "")
        return source is not None and name in source.definitions | source.stored

    def _renamed(self, text: str) -> str:
        for old, new in self.renames:
            text = re.sub(rf"\b{old}\b", new, text)
        return text

    def _spoilt(self, path: str, before: str, text: str) -> str | None:
        before = self._renamed(before)
        spoilt = weakened(path, before, text) or collateral(path, before, text, self.request)
        return spoilt or self._lacks(path, before, text)

    def _lacks(self, path: str, before: str, text: str) -> str | None:
        """What the request says of this file, and it does not have."""
        found = missing_colour(path, text, self.request) or missing_heading(path, text, self.request)
        if not found and tests_are_the_task(self.request):
            found = lacks_new_test(path, before, text)
        return found or lost_setting(path, before, text, self.request)
