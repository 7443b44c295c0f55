"""The verdict on a command line.

A rule can allow only a plain line (`plain`). For each command in it: deny rules first; then an allow rule must name the
program; then the program's table must understand every option and operand, or the rule must spell them out; then every
file it touches is judged. Whatever a command runs in turn is judged the same way. Nothing else is looked at, and what
is not understood asks.

Two settings need no understanding: `*` without deny rules, and commands that are confined by a full sandbox. Where
there are deny rules beside them, hiding could get around those, so only what is understood goes unasked.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from joey.policy.ignore import NAMES
from joey.policy.paths import Workspace
from joey.policy.settings import Settings
from joey.policy.shell.emitted import emitted_problems
from joey.policy.shell.facts import (
    Before,
    changes_files,
    edits_files,
    fact_problems,
    fixes_files,
    makes_repository,
    name_problems,
    shown_problems,
    tool_of,
)
from joey.policy.shell.files import PLAIN_NAME, Files
from joey.policy.shell.nested import NestedRepositories, may_meet_others, may_name_others
from joey.policy.shell.options import Program, Touch, Use, read_use
from joey.policy.shell.outputs import configured_by, output_problems
from joey.policy.shell.plain import Command, NotPlainError, Word, read_plain
from joey.policy.shell.programs import BUILTINS, NEUTRAL, PROGRAMS, table_of
from joey.policy.shell.programs.wrappers import listed_below, with_input
from joey.policy.shell.rules import BLANK, CommandRules, Rule, by_name
from joey.policy.shell.syntax import commands_seen
from joey.policy.shell.variables import variable_problem
from joey.policy.verdict import Decision, VerdictPart
from joey.system.filenames import quoted

_MAX_DEPTH = 5
_MAX_COMMANDS, _MAX_FOLDERS, _MAX_LINE = 100, 32, 32 * 1024
_MAX_PLACES = 3_000
"""How much of a line is judged: commands, folders that one of them may run in, characters, and words for files, each in
every folder where it may be one. Beyond that it asks."""
_NO_RULE = "no rule names it"
_NEUTRAL = "it does nothing by itself"


def judge_line(text: str, settings: Settings, workspace: Workspace, cwd: str) -> list[VerdictPart]:
    """Every part of a command line with its decision. No parts for a line that does nothing."""
    if not text.strip(BLANK):
        return []
    judge, here = _Judge(settings, workspace.snapshot()), frozenset({cwd})
    rule = judge.exactly(text.strip(BLANK), here)
    commands = read_line(text)
    if rule is not None:
        parts = judge.not_plain(text, commands, here) if isinstance(commands, str) else judge.line(commands, here, 0)
        return [_part(text, (), "allow", "exactly this line was allowed", rule), *not_in_the_words(parts)]
    if isinstance(commands, str):
        return judge.not_plain(text, commands, here)
    return judge.line(commands, here, 0) or [VerdictPart(text, settings.commands, "there is no command in it")]


@lru_cache(maxsize=16)
def read_line(text: str) -> tuple[Command, ...] | str:
    """The commands of a plain line, or what makes it another. Nothing but the text decides, so a line that is judged,
    asked about and allowed is read once."""
    if len(text) > _MAX_LINE:
        return f"it has more than {_MAX_LINE:,} characters"
    try:
        return read_plain(text)
    except NotPlainError as problem:
        return str(problem)


def not_in_the_words(parts: Iterable[VerdictPart]) -> Iterator[VerdictPart]:
    """What was not allowed with a command although its words were: files that an ignore file hides, and places where
    links lead, which may be others than when the words were read."""
    return (part for part in parts if part.kind == "path" and (part.linked or part.rule in NAMES))


def exact_lines(text: str, cwd: str | None, parts: Sequence[VerdictPart]) -> tuple[str, ...]:
    """What must be allowed, byte for byte, so that this line is not asked about again: each command of a plain line, or
    else the whole line. A pipe is one thing: a command that reads what another prints may do anything with it. So is a
    line of which a rule allows a part without the network: the whole has it now, and is to have it again."""
    where = _moved(cwd or ".")
    commands = read_line(text)
    if isinstance(commands, str) or any(command.name == "cd" or command.joint == "|" for command in commands):
        return (f"{where}{text.strip(BLANK)}",)
    if any(part.kind == "command" and part.rule and part.decision == "allow" and not part.network for part in parts):
        return (f"{where}{text.strip(BLANK)}",)
    only_commands = all(part.kind == "command" or part.decision == "allow" for part in parts)
    allowed = {part.subject for part in parts if part.decision == "allow" and part.kind == "command"}
    sources = [command.source for command in commands if not only_commands or command.source not in allowed]
    return tuple(f"{where}{source}" for source in dict.fromkeys(sources or [text.strip(BLANK)]))


def _moved(folder: str) -> str:
    return f"cd {folder} && " if folder != "." else ""


@dataclass(frozen=True, slots=True)
class _Where:
    """The folders in which the next command may run, and those that the line has been in."""

    here: frozenset[str]
    reached: frozenset[str]


@dataclass(frozen=True, slots=True)
class _Run:
    """One command that is to be judged, wherever it came from."""

    words: tuple[Word, ...]
    source: str
    here: frozenset[str]
    depth: int = 0
    variables: tuple[tuple[str, str], ...] = ()
    fed_by: Command | None = None
    """The command whose output it reads."""
    has_input: bool = False
    """Whether it is given something to read, by a pipe or from a file."""
    cover: Rule | None = None
    """The rest of the rule for the command that runs it: `timeout 60 pytest` names pytest, too."""

    @property
    def name(self) -> str:
        return self.words[0].text

    @property
    def texts(self) -> list[str]:
        return [word.text for word in self.words]


class _Judge:
    def __init__(self, settings: Settings, workspace: Workspace) -> None:
        self._settings = settings
        self._workspace = workspace
        self._rules = CommandRules.read(settings.allow, settings.deny)
        self._anything = self._rules.any_allowed and not self._rules.deny
        self._confined = settings.confined and not self._rules.deny
        self._arrived: set[str] = set()
        """Folders that commands of the line put files into. What is below them, links among it, is not there yet."""
        self._written: set[str] = set()
        """Everything that commands of the line write."""
        self._unpacked: set[str] = set()
        """What may be any file in folders that commands of the line copied, moved or unpacked, as a pattern."""
        self._moved_links: set[str] = set()
        """Where commands of the line put links: they lead somewhere else from there."""
        self._nested = NestedRepositories(self._workspace)
        self._renamed = False
        """Whether other folders may be submodules by now: commands of the line changed what git knows, or files, or one
        that runs at the same time does."""
        self._committed = False
        """Whether a command of the line may have put files into the repository."""
        self._places_left = _MAX_PLACES
        self._removed = False
        """Whether a command of the line may have removed files, or one that runs at the same time."""

    def exactly(self, source: str, here: frozenset[str]) -> Rule | None:
        """The rule that allows just this text, run in just this folder."""
        if len(here) != 1:
            return None
        return self._rules.exactly(_moved(posixpath.relpath(next(iter(here)), self._workspace.root)) + source)

    # A line that is not plain

    def not_plain(self, text: str, construct: str, here: frozenset[str]) -> list[VerdictPart]:
        self._renamed = True
        found = [(seen, self._denied(seen.words)) for seen in commands_seen(text)]
        decision, reason = self._whole(f"it can only be allowed as a whole: {construct}")
        parts = [VerdictPart(text, decision, reason)]
        for seen, deny in found:
            words = tuple(word if word is not None else "…" for word in seen.words)
            part = VerdictPart(seen.source, decision, "it is part of a line that is not plain", None, "command", words)
            if deny:
                part = replace(part, decision="deny", reason=f"denied by the rule `{deny.text}`", rule=deny.text)
            parts.append(part)
            if seen.words[0] not in _ONLY_NAMES:
                known = [word for word in seen.words[1:] if word]
                parts += self._files(here).named(known)
                parts += self._unconfined(self._files(here).led_away(known)) if decision == "ask" else ()
        return parts

    def _whole(self, reason: str) -> tuple[Decision, str]:
        """The decision on a line of which nothing is understood."""
        if self._anything and self._settings.commands == "allow":
            return "allow", "every command is allowed"
        if self._confined:
            return "allow", "it runs in the sandbox"
        return ("deny" if self._settings.commands == "deny" else "ask"), reason

    def _denied(self, words: Sequence[str | None]) -> Rule | None:
        """The deny rule for a command in such a line, or for the command that it runs."""
        known = [word or "" for word in words]
        last = len(known) if known and known[0] in _RUNS_WORDS else 1
        for at in range(min(last, len(known))):
            deny, allow = self._rules.denying(known[at:]), self._rules.allowing(known[at:])
            if known[at] and deny is not None and (allow is None or deny.length >= allow.length):
                return deny
        return None

    # A plain line

    def line(
        self, commands: Sequence[Command], start: frozenset[str], depth: int, *, has_input: bool = False
    ) -> list[VerdictPart]:
        """The parts of a plain line; `has_input`: whether all of it is given something to read."""
        parts: list[VerdictPart] = []
        where = _Where(start, start)
        before: Command | None = None
        for number, command in enumerate(commands, 1):
            if number > _MAX_COMMANDS or len(where.here | where.reached) > _MAX_FOLDERS:
                return [*parts, self._too_much(command)]
            if command.joint in (";", "||"):
                where = _Where(where.here | where.reached, where.reached)
            fed_by = before if _reads_pipe(command) else None
            self._removed |= _meanwhile(commands, number - 1, _removes)
            self._renamed |= _meanwhile(commands, number - 1, _may_rename)
            parts += self._command(command, where.here, depth, fed_by, has_input=has_input)
            if command.name == "cd" and command.joint != "|" and not command.piped_on:
                moved = self._after_cd(command, where)
                # Behind `||` it is skipped if what stands before it works, and the line goes on where it was.
                where = _Where(moved.here | where.here, moved.reached) if command.joint == "||" else moved
            before = command
        return self._needs_a_rule(parts, depth)

    def _too_much(self, command: Command) -> VerdictPart:
        decision: Decision = "deny" if self._settings.commands == "deny" else "ask"
        return VerdictPart(command.source, decision, "the line is too long to be judged from here on", None, "command")

    def _needs_a_rule(self, parts: list[VerdictPart], depth: int) -> list[VerdictPart]:
        """A line of nothing but neutral commands is as any other command that no rule names: the first one asks."""
        commands = [part for part in parts if part.kind == "command"]
        if depth or self._anything or self._confined or not commands:
            return parts
        if any(part.reason != _NEUTRAL for part in commands):
            return parts
        first, decision = commands[0].subject, self._settings.commands
        asks = [part.kind == "command" and part.subject == first for part in parts]
        return [
            replace(part, decision=decision, reason=_NO_RULE) if of_first else part
            for part, of_first in zip(parts, asks, strict=True)
        ]

    def _after_cd(self, command: Command, where: _Where) -> _Where:
        targets = [word.text for word in command.words[1:]] or ["~"]
        after = frozenset(self._workspace.join(base, target) for base in where.here for target in targets)
        return _Where(after, where.reached | where.here | after)

    def _command(
        self, command: Command, here: frozenset[str], depth: int, fed_by: Command | None, *, has_input: bool
    ) -> Iterator[VerdictPart]:
        given = has_input or command.joint == "|" or _opens_input(command)
        run = _Run(command.words, command.source, here, depth, command.assignments, fed_by, given)
        rule = self.exactly(command.source, here)
        if rule is not None and given and not _opens_input(command):
            yield from self._with_input(command, run, rule)
        elif rule is not None:
            yield _part(command.source, command.words, "allow", "exactly this command was allowed", rule)
            yield from not_in_the_words(self._without_rule(command, run))
        else:
            yield from self._without_rule(command, run)

    def _with_input(self, command: Command, run: _Run, exact: Rule) -> Iterator[VerdictPart]:
        """A command that was allowed exactly, and reads what no word of it says. That is covered if a rule for its
        program would cover it: a shell, a database or another machine would obey what it is given."""
        named = replace(exact, words=(command.name,), exact=False)
        parts = list(self._without_rule(command, replace(run, cover=named)))
        if all(part.decision == "allow" for part in parts):
            yield _part(command.source, command.words, "allow", "exactly this command was allowed", exact)
            return
        for part in parts:
            why = f"exactly `{exact.words[0]}` was allowed, and not what it reads here: {part.reason}"
            own = part.decision == "ask" and part.rule == exact.text and part.subject == command.source
            decision = self._settings.commands if self._settings.commands != "allow" else "ask"
            yield replace(part, decision=decision, reason=why, rule=None, network=False) if own else part

    def _without_rule(self, command: Command, run: _Run) -> Iterator[VerdictPart]:
        for part in self._judged(run):
            known = part.reason == _NO_RULE and part.subject == command.source
            yield replace(part, reason=self._nearly_allowed(command) or _NO_RULE) if known else part
        files = self._files(run.here)
        for redirect in command.redirects:
            self._written |= {self._absolute(base, redirect.target) for base in run.here if redirect.writes}
            yield from self._unconfined(self._not_there_yet(redirect.target, run.here))
            yield from self._unconfined(files.redirected(redirect.target, writes=redirect.writes))

    def _nearly_allowed(self, command: Command) -> str:
        """How a command differs from one that was allowed exactly; empty if there is none like it."""
        for rule in self._rules.allow:
            allowed = read_line(rule.words[0]) if rule.exact else ""
            if not isinstance(allowed, str) and allowed[-1].words == command.words:
                differs = "this is written in another way"
                if allowed[-1].redirects != command.redirects:
                    differs = "this one is redirected in another way"
                elif allowed[-1].source == command.source:
                    differs = "this one runs in another folder"
                return f"exactly `{rule.words[0]}` was allowed, and {differs}"
        return ""

    def _judged(self, run: _Run) -> Iterator[VerdictPart]:
        if run.depth > _MAX_DEPTH:
            yield VerdictPart(run.source, "ask", "it is wrapped too deeply", None, "command")
            return
        decision, reason, rule = self._by_rules(run.texts, run.cover)
        table = self._table(run.name, rule)
        use = read_use(table, run.words[1:], run.name) if table is not None else None
        if reason == _NO_RULE and self._needs_no_rule(run.name, table, use):
            decision, reason = "allow", _NEUTRAL
        if use is None or use.problems or (table is not None and table.project_code):
            yield from self._files(run.here).named(run.texts[1:])
            if rule is None:  # somebody is asked, or was, and must see where it leads
                yield from self._unconfined(self._files(run.here).led_away(run.texts[1:]))
        part = _part(run.source, run.words, decision, reason, rule)
        for problem in self._problems(run, rule, table, use):
            part = part.worse("ask", problem)
        yield part
        if decision != "deny" and _may_fix(run, table, use):
            yield from self._edited(run)
        self._renamed |= use is None
        if use is not None and decision != "deny":
            yield from self._effects(use, run, rule)

    def _edited(self, run: _Run) -> Iterator[VerdictPart]:
        """What follows where a command changes files that its words do not name."""
        if self._settings.writes == "deny":
            yield VerdictPart(run.source, "deny", "files may not be changed", None, "path")

    # Rules

    def _by_rules(self, texts: Sequence[str], cover: Rule | None) -> tuple[Decision, str, Rule | None]:
        deny, allow = self._rules.denying(texts), self._rules.allowing(texts) or cover
        if deny is not None and (allow is None or deny.length >= allow.length):
            return "deny", f"denied by the rule `{deny.text}`", deny
        suspect = self._rules.suspecting(texts)
        if suspect is not None and suspect is not deny and (allow is None or suspect.length >= allow.length):
            return "ask", f"the deny rule `{suspect.text}` may match it", None
        if allow is not None:
            return "allow", f"allowed by the rule `{allow.text}`", allow
        if self._settings.confined:
            return "allow", "it runs in the sandbox", None
        return self._settings.commands, _NO_RULE, None

    def _needs_no_rule(self, name: str, table: Program | None, use: Use | None) -> bool:
        if table is None or use is None:
            return False
        return bool(use.inner or use.code) if table.wrapper else name in NEUTRAL

    # What is understood

    def _table(self, name: str, rule: Rule | None) -> Program | None:
        """The table of a program that was called by its name, or by a path which a rule names."""
        name = by_name(name)
        if "/" not in name:
            return table_of(name)
        if rule is None or rule.any:
            return None
        table = table_of(posixpath.basename(name))
        return table if table is not None and table.project_code else None

    def _problems(self, run: _Run, rule: Rule | None, table: Program | None, use: Use | None) -> Iterator[str]:
        if self._confined and use is not None:
            yield from shown_problems(use, self._workspace, self._folders(use, run), self._before)
        if self._anything or self._confined:
            return
        yield from self._matched(run)
        for name, value in (*run.variables, *(use.assignments if use is not None else ())):
            if problem := variable_problem(name, value, project_code=table is not None and table.project_code):
                yield problem
            elif name == "PYTHONPATH" and not self._all_inside(value.split(":"), run.here):
                yield "PYTHONPATH leads out of the workspace"
        installs = use is not None and use.path[:1] == ("pip",) and by_name(run.name).startswith("python")
        if installs and rule is not None and not {"pip", "*"} & set(rule.words):
            yield "a rule for Python does not say that packages may be installed; allow `python -m pip`"
        if use is not None and use.appends_input and _names_from_find(run.fed_by, use) is None:
            yield "which words it adds to the command is only known when it runs"
        if table is None or use is None:
            yield from self._unknown(run, rule)
            return
        if rule is None or not _spells_out(rule, run.texts):
            yield from use.problems
            yield from name_problems(use, self._workspace, self._folders(use, run))
        yield from self._replaced(run.name, table)
        yield from self._facts(run, use)

    def _matched(self, run: _Run) -> Iterator[str]:
        """Why a pattern that may stand for any name (`*.py`) may stand for more than files."""
        files = self._files(run.here)
        for word in (word for word in run.words if word.may_be_anything):
            if (odd := files.odd_name(word)) is not None:
                yield f"`{word.text}` stands for {quoted(odd)}, which may be taken for an option; write `./{word.text}`"
            elif self._arrived & run.here or not all(map(_is_plain, self._written)):
                yield f"which names `{word.text}` stands for is only known when the line has run so far"

    @property
    def _before(self) -> Before:
        return Before(self._committed, self._removed)

    def _all_inside(self, folders: Iterable[str], here: frozenset[str]) -> bool:
        return all(self._workspace.locate(folder, base).inside for folder in folders for base in here)

    def _facts(self, run: _Run, use: Use) -> Iterator[str]:
        (name, tool), folders = tool_of(by_name(run.name), use), self._folders(use, run)
        yield from fact_problems(name, tool, self._workspace, folders, self._before)
        yield from output_problems(name, tool, self._workspace, folders)
        yield from emitted_problems(name, tool, self._workspace, folders)
        if configured_by(name, tool, (*self._written, *self._unpacked)):
            yield "where its configuration makes it write is only known when the line has run so far"
        if name == "git" and (self._renamed or may_meet_others(tool)) and (problem := self._nested.problem):
            yield problem
        if name == "git" and any(makes_repository(self._written, self._workspace, folder) for folder in folders):
            yield "which repository it uses is only known when the line has run so far"

    def _unknown(self, run: _Run, rule: Rule | None) -> Iterator[str]:
        if rule is None or rule.any:
            if rule is not None or self._settings.confined:
                yield f"`{run.name}` is not a program Joey knows, and there are deny rules; allow it by its name"
            return
        if run.has_input and not rule.open_end:
            yield f"what `{run.name}` does with its input is not known"
        if rule.open_end or len(rule.words) == len(run.words):
            return
        if "/" in run.name and run.here == {self._workspace.root} and self._workspace.locate(run.name).inside:
            return  # a script of the project, named by the rule: its arguments are its own business
        words = " ".join(rule.words)
        yield f"Joey does not know the options of `{run.name}`: the rule covers `{words}` alone, `{words} *` anything"

    def _replaced(self, name: str, table: Program) -> Iterator[str]:
        """A program's name must lead out of the workspace, or a file in it could pass for the program."""
        if "/" in name or name in BUILTINS or table.project_code or table.wrapper:
            return
        found = self._workspace.which(name)
        if found is not None and self._workspace.locate(found).inside:
            yield f"`{name}` is a file of the workspace here ({found})"

    # What it touches and runs

    def _effects(self, use: Use, run: _Run, rule: Rule | None) -> Iterator[VerdictPart]:
        inner = self._folders(use, run)
        if edits_files(*tool_of(by_name(run.name), use)):
            yield from self._edited(run)
        files = self._files(frozenset({self._workspace.root}) if use.from_top else run.here | inner)
        trees = [word for touch, word in use.files if touch in ("tree", "follow")]
        fills = any(touch == "fill" for touch, _ in use.files)
        everything: list[tuple[Touch, Word]] = [("rewrite", Word(self._workspace.root))] if use.rewrites_all else []
        for touch, word in (*use.files, *everything):
            self._places_left -= len(run.here | inner)
            if self._places_left < 0:
                yield VerdictPart(run.source, "ask", "it names too many files to judge each", kind="path")
                break
            whole = touch in ("follow", "names", "rewrite", "fill") or (touch == "tree" and fills)
            yield from self._unconfined(self._not_there_yet(word, run.here | inner, whole=whole))
            if touch == "folder":
                found = self._files(run.here).touched(touch, word)
            elif word.below and touch in ("write", "fill", "maybe", "rewrite", "remove"):
                found = files.changed_below(touch, word)
            else:
                found = files.filled(trees, word) if touch == "fill" else files.touched(touch, word)
            yield from self._unconfined(found)
        changed = [word for touch, word in (*use.files, *everything) if touch in ("write", "rewrite", "fill", "remove")]
        self._written |= {self._absolute(base, word) for base in run.here | inner for word in changed}
        self._arrived |= (arriving := self._arriving(use, run.here | inner))
        if not trees or any(self._may_be_folder(base, word) for word in trees for base in run.here | inner):
            self._unpacked |= {f"{folder}/*" for folder in arriving}
        if any(self._is_link(base, word) for word in trees for base in run.here | inner):
            self._moved_links |= arriving
        if by_name(run.name) == "git":
            self._arrived |= {posixpath.normpath(self._workspace.root)} if changes_files(use) else set()
            self._committed |= edits_files("git", use)
        self._removed |= _removes(by_name(run.name), use)
        self._renamed |= _may_rename(by_name(run.name), use)
        starts = _names_from_find(run.fed_by, use) if use.appends_input else None
        for words in use.inner:
            source = " ".join(word.text for word in words)
            cover = _rest_of(rule, run.texts, [word.text for word in words])
            given = words if starts is None else with_input(use, starts)
            yield from self._judged(_Run(given, source, inner, run.depth + 1, has_input=run.has_input, cover=cover))
        for code in use.code:
            yield from self._code(code, inner, run.depth + 1, has_input=run.has_input)

    def _arriving(self, use: Use, here: frozenset[str]) -> set[str]:
        """Where whole folders are copied, moved, linked or unpacked to."""
        whole = any(touch in ("tree", "follow") for touch, _ in use.files)
        targets = [word for touch, word in use.files if touch == "fill" or (whole and touch == "write")]
        return {self._absolute(base, word) for base in here for word in targets}

    def _not_there_yet(self, word: Word, here: frozenset[str], *, whole: bool = False) -> Iterator[VerdictPart]:
        """What the line has put somewhere before; `whole`: not only a file below such a place, but all of a folder."""
        paths = {self._absolute(base, word) for base in here}
        below = any(path.startswith(f"{folder}/") for path in paths for folder in self._arrived)
        around = whole and any(f"{folder}/".startswith(f"{path}/") for path in paths for folder in self._arrived)
        matched = word.glob and any(self._may_match(path) for path in paths)
        if below or around or matched or not self._moved_links.isdisjoint(paths):
            yield VerdictPart(word.text, "ask", "what is there is only known when the line has run so far", kind="path")

    def _may_match(self, pattern: str) -> bool:
        """Whether a pattern may stand for a link that the line has moved, or for what is in a folder that it has."""
        start, _, rest = re.split(r"([*?])", pattern, maxsplit=1)
        places = self._moved_links | (self._arrived if "/" in rest else set())
        return any(place.startswith(start.rpartition("/")[0] + "/") for place in places)

    def _may_be_folder(self, base: str, word: Word) -> bool:
        path = self._absolute(base, word)
        return word.glob or self._workspace.is_folder(path) or not self._workspace.exists(path)

    def _is_link(self, base: str, word: Word) -> bool:
        return word.glob or self._workspace.is_link(self._absolute(base, word))

    def _absolute(self, base: str, word: Word) -> str:
        return posixpath.normpath(self._workspace.join(base, word.text))

    def _folders(self, use: Use, run: _Run) -> frozenset[str]:
        """Where the program works: in the folder that an option names (`git -C`), or else where it was started."""
        moved = [word.text for touch, word in use.files if touch == "folder"]
        return frozenset(self._workspace.join(base, folder) for base in run.here for folder in moved) or run.here

    def _files(self, here: frozenset[str]) -> Files:
        return Files(self._settings, self._workspace, tuple(sorted(here)))

    def _unconfined(self, parts: Iterable[VerdictPart]) -> Iterator[VerdictPart]:
        """In the sandbox the walls hold what would otherwise be asked about."""
        return (part for part in parts if part.decision == "deny" or not self._settings.confined)

    def _code(self, code: str, here: frozenset[str], depth: int, *, has_input: bool) -> list[VerdictPart]:
        if depth > _MAX_DEPTH:
            return [VerdictPart(code, "ask", "it is wrapped too deeply", None, "command")]
        try:
            return self.line(read_plain(code), here, depth, has_input=has_input)
        except NotPlainError as problem:
            return self.not_plain(code, str(problem), here)


def _is_plain(path: str) -> bool:
    return PLAIN_NAME.fullmatch(posixpath.basename(path)) is not None


def _may_fix(run: _Run, table: Program | None, use: Use | None) -> bool:
    """Whether a command is told to rewrite files. What `git` and `ruff` rewrite is in their tables."""
    name = by_name(run.name) if use is None else tool_of(by_name(run.name), use)[0]
    runs_code = table is None or table.project_code or table.subcommands is not None
    return runs_code and name not in ("git", "ruff") and fixes_files(name, run.texts[1:])


def _removes(name: str, use: Use) -> bool:
    """Whether a command may remove files."""
    return any(touch == "remove" for touch, _ in use.files) or (name == "git" and changes_files(use))


def _may_rename(name: str, use: Use) -> bool:
    """Whether a command may make a folder a submodule, or put a repository where one was."""
    if name == "git":
        return may_name_others(use)
    return any(touch not in _ONLY_READS for touch, _ in use.files)


_ONLY_READS = frozenset({"read", "list", "names", "tree", "follow", "run", "folder"})


def _meanwhile(commands: Sequence[Command], at: int, may: Callable[[str, Use], bool]) -> bool:
    """Whether one of the commands that this one is piped into, which run at the same time, may do something."""
    while commands[at].piped_on and (at := at + 1) < len(commands):
        name = by_name(commands[at].name)
        table = table_of(name)
        use = read_use(table, commands[at].words[1:], name) if table is not None else None
        if use is None or use.inner or use.code or may(name, use):
            return True
    return False


_RUNS_WORDS = frozenset(
    {"sudo", "doas", "env", "xargs", "time", "timeout", "nice", "nohup", "command", "exec", "builtin"}
)


def _reads_pipe(command: Command) -> bool:
    """Whether its input is what the command before it prints, and not a file."""
    return command.joint == "|" and not _opens_input(command)


def _opens_input(command: Command) -> bool:
    """Whether its own words say what it reads."""
    return not all(redirect.writes for redirect in command.redirects)


_ONLY_NAMES = frozenset({"ls", "dir", "cd", "echo", "printf", "test", "[", "[[", "mkdir"})
"""Commands that show at most the name of a file, which an ignore file does not hide."""


def _names_from_find(fed_by: Command | None, use: Use) -> Sequence[Word] | None:
    """The folders below which `find … -print0` lists files for `xargs -0`. None: what arrives is not known."""
    if fed_by is None or fed_by.name != "find" or not use.has("-0", "--null"):
        return None
    return listed_below("find", read_use(PROGRAMS["find"], fed_by.words[1:], "find"))


def _rest_of(rule: Rule | None, outer: Sequence[str], inner: Sequence[str]) -> Rule | None:
    """What a rule for a command leaves for the one at its end, if it names that as well."""
    at = len(outer) - len(inner)
    if rule is None or rule.any or len(rule.words) <= at or list(outer[at:]) != list(inner):
        return None
    return replace(rule, words=rule.words[at:])


def _spells_out(rule: Rule, texts: Sequence[str]) -> bool:
    """Whether the rule itself names what the table does not know."""
    if rule.any:
        return False
    if len(rule.words) < 2:  # the name alone: what the program does without words is in its table
        return False
    return len(rule.words) == len(texts) or (rule.open_end and _beyond_the_table(rule))


def _beyond_the_table(rule: Rule) -> bool:
    table = table_of(by_name(rule.words[0]))
    return table is not None and bool(read_use(table, [Word(word) for word in rule.words[1:]], rule.words[0]).problems)


def _part(source: str, words: Sequence[Word], decision: Decision, reason: str, rule: Rule | None) -> VerdictPart:
    texts, network = tuple(word.text for word in words), rule is not None and rule.network
    return VerdictPart(source, decision, reason, rule.text if rule else None, "command", texts, network)
