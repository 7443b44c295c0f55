"""The verdict on a command line: every simple command in it, every file it is known to touch.

The steps for one simple command: the rules decide; then everything else can only make it stricter. What could not be
understood turns an allow into a question. The only way around a question is leave for everything (`*`) without a deny
list: then there is nothing that hiding could get around.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Iterator, Sequence

from joey.policy import builtins
from joey.policy.commands import HERE, Assignment, Line, Places, Redirect, Simple, parse
from joey.policy.danger import Danger
from joey.policy.dangers import dangers
from joey.policy.paths import Located, Workspace
from joey.policy.rules import SYSTEM_FOLDERS, Rule, Rules, program
from joey.policy.settings import Settings
from joey.policy.verdict import Decision, Part
from joey.policy.words import Word
from joey.policy.wrappers import SHELLS, Unwrapped, unwrap
from joey.policy.writes import written

_DEEPEST = 6
_HARMLESS_TARGETS = frozenset({"/dev/null", "/dev/stdout", "/dev/stderr", "/dev/tty", "/dev/zero"})
_NEUTRAL = "does nothing by itself"


def judge_line(text: str, settings: Settings, workspace: Workspace, cwd: str) -> list[Part]:
    """Every part of a command line with its decision. No parts for a line that does nothing."""
    if not text.strip():
        return []
    judge = _Judge(settings, workspace, cwd)
    line = parse(text)
    parts = [*judge.line(line, HERE, 0, None), *judge.as_a_whole(text, line)]
    commands = [part for part in parts if part.kind == "command"]
    if all(part.rule is None and part.reason == _NEUTRAL for part in commands) and not judge.any_allowed:
        parts.append(Part(text, settings.commands, "no rule names a command in it"))
    return parts


class _Judge:
    def __init__(self, settings: Settings, workspace: Workspace, cwd: str) -> None:
        self._settings = settings
        self._workspace = workspace
        self._cwd = cwd
        self._rules = Rules.read(settings.allow, settings.deny)
        self.any_allowed = any(rule.any for rule in self._rules.allow)
        self.anything = self.any_allowed and not self._rules.deny
        """Whether every command is allowed and none denied."""

    def line(self, line: Line, places: Places, depth: int, cover: Rule | None) -> list[Part]:
        parts = [part for command in line.commands for part in self._command(command, line, places, depth, cover)]
        parts += [part for redirect in line.redirects for part in self._redirect(redirect, places)]
        doubtful: Decision = "allow" if self.anything and self._settings.commands == "allow" else "ask"
        parts += [Part("this line", doubtful, doubt) for doubt in line.doubts]
        for assignment in line.assignments:
            if builtins.dangerous_variable(assignment) and not self.anything:
                parts.append(Part(f"{assignment.name}=…", "ask", f"setting {assignment.name} can change what runs"))
        return parts

    def as_a_whole(self, text: str, line: Line) -> Iterator[Part]:
        """What one command of a line writes or prints, another one may run."""
        if self.anything:
            return
        names = {program(name) for name in line.names}
        fed = names & builtins.LISTENERS and ("<<" in text or "|" in text)
        made = {posixpath.normpath(word.text) for word in _made(line)}
        ran = {posixpath.normpath(word.text) for command in line.commands for word in _file_run(command)}
        rule = builtins.mentioned(text, self._rules) if (made and ran) or fed else None
        if rule is not None:
            yield Part("this line", "ask", f"it may run text that mentions what the rule `{rule}` denies")
        if made & ran:
            yield Part("this line", "ask", "it runs a file that it has written itself")

    def _command(self, command: Simple, line: Line, places: Places, depth: int, cover: Rule | None) -> Iterator[Part]:
        if not command.source:  # the grammar made it up to complete the line
            return
        where = _from(places, command.places)
        part, rule = self._by_rules(command, line, where, cover)
        unwrapped = unwrap(command.words)
        if unwrapped is not None and unwrapped.transparent and part.rule is None and part.decision != "allow":
            runs = bool(unwrapped.commands or unwrapped.code or unwrapped.doubts)
            part = Part(part.subject, "allow", _NEUTRAL, None, "command", part.words) if runs or depth else part
        for doubt in self._doubts(command, rule, unwrapped):
            part = part.worse("ask", doubt)
        yield part
        yield from self._files(command, where)
        if unwrapped is not None:
            yield from self._inner(command, unwrapped, line, where, depth, rule)

    # The rules

    def _by_rules(self, command: Simple, line: Line, where: Places, cover: Rule | None) -> tuple[Part, Rule | None]:
        """The part for a command, and the allow rule under which it stands."""
        words = command.words
        subject = command.source or " ".join(word.source for word in words)
        shown = tuple(word.value if word.value is not None else word.source for word in words)
        decision, reason, rule = self._decide(command, line, where, cover)
        allow = rule if decision == "allow" else None
        return Part(subject, decision, reason, rule.text if rule else None, "command", shown), allow

    def _decide(
        self, command: Simple, line: Line, where: Places, cover: Rule | None
    ) -> tuple[Decision, str, Rule | None]:
        words = command.words
        deny, allow = self._rules.denying(words), self._longer(self._allowing(words, where), cover)
        if deny is not None and (allow is None or deny.length >= allow.length):
            return "deny", f"denied by the rule `{deny.text}`", deny
        suspect = self._rules.suspect(words)
        if allow is not None and suspect is not None and suspect.length >= allow.length and suspect is not deny:
            return "ask", f"the deny rule `{suspect.text}` may fit it", suspect
        if allow is not None:
            return "allow", f"allowed by the rule `{allow.text}`", allow
        name = words[0].value
        if name is None:
            return "ask", "which program runs is only known when it runs", None
        if (command.function and line.names.isdisjoint(builtins.REDEFINES)) or self._neutral(name, words, where):
            return "allow", _NEUTRAL, None
        return self._settings.commands, "no rule names it", None

    def _longer(self, first: Rule | None, second: Rule | None) -> Rule | None:
        rules = [rule for rule in (first, second) if rule is not None]
        return max(rules, key=lambda rule: rule.length, default=None)

    def _allowing(self, words: Sequence[Word], where: Places) -> Rule | None:
        rule = self._rules.allowing(words)
        name = words[0].value or ""
        if rule is None or (rule.any and self.anything):
            return rule
        if not words[0].value or (rule.any and not name.isascii()):
            return None
        # `./tool` is another file in another folder.
        moved = "/" in name and not name.startswith(("/", "~")) and where != HERE
        return None if moved else rule

    def _neutral(self, name: str, words: Sequence[Word], where: Places) -> bool:
        if name == "command" and len(words) > 1 and words[1].value in ("-v", "-V"):
            return True
        if name not in builtins.NEUTRAL:
            return False
        if name in ("cd", "pushd"):
            targets = [word for word in words[1:] if not word.prefix.startswith("-")]
            return len(targets) == 1 and not all(self._outside(targets[0], base) for base in self._bases(where))
        if name == "set":
            return all(
                word.value is not None and word.value.lstrip("-+eEuxo") in ("", "pipefail") for word in words[1:]
            )
        return True

    def _outside(self, word: Word, base: str | None) -> bool:
        if word.value is None or (base is None and not word.value.startswith("/")):
            return True
        located = self._workspace.locate(self._expanded(word, word.value), base)
        return not located.inside or located.problem is not None

    # What could not be understood

    def _doubts(self, command: Simple, rule: Rule | None, unwrapped: Unwrapped | None) -> Iterator[str]:
        if self.anything:
            return
        words, name = command.words, program(command.name or "")
        yield from unwrapped.doubts if unwrapped is not None else ()
        yield from self._variable_doubts(
            (*command.assignments, *(unwrapped.assignments if unwrapped else ())), name, rule
        )
        yield from (doubt for danger in dangers(words) if (doubt := self._danger_doubt(danger, words, rule)))
        if name in ("declare", "typeset", "local") and any(re.match(r"-\w*n", word.prefix) for word in words):
            yield "it gives a variable a second name"
        if name in builtins.EVALUATES_NAMES and builtins.holds_substitution(words):
            yield f"`{name}` evaluates what it is given, and that holds a substitution"
        if name in ("printf", "read") and any(
            builtins.dangerous_variable(Assignment(word.text, None)) for word in words
        ):
            yield f"`{name}` sets a variable that changes what runs"
        understood = unwrapped is not None and not unwrapped.doubts
        if not understood and (hit := self._denied_word(words, name)):
            yield f"it is given the name of a denied program (`{hit}`) and may run it"

    def _denied_word(self, words: Sequence[Word], name: str) -> str | None:
        """A denied program among the arguments of a program that may run its arguments."""
        first = 2 if name in builtins.SUBCOMMANDS else 1
        for at in range(first, len(words)):
            value = words[at].value
            if value is None or name in builtins.INFORMERS or (name in builtins.INERT and not value.startswith("/")):
                continue
            if self._rules.denying(words[at:]) or (" " in value and builtins.mentioned(value, self._rules)):
                return value
        return None

    def _variable_doubts(self, assignments: Iterable[Assignment], name: str, rule: Rule | None) -> Iterator[str]:
        if name in builtins.NEUTRAL:
            return
        for assignment in assignments:
            if builtins.dangerous_variable(assignment):
                yield f"setting {assignment.name} can change what runs"
            elif not builtins.harmless_variable(assignment) and not (rule and rule.any):
                yield f"no rule says that {assignment.name} may be set for it"

    def _danger_doubt(self, danger: Danger, words: Sequence[Word], rule: Rule | None) -> str | None:
        denied = builtins.mentioned(danger.code, self._rules)
        if denied:
            return f"{danger.why}, and that mentions what the rule `{denied}` denies"
        if rule is None:
            return danger.why
        if rule.any:
            return danger.why if self._rules.deny and _unclear(danger) else None
        named = any(name in rule.words for name in danger.names if name)
        exact = len(rule.words) == len(words) and len(words) > 1
        return None if named or exact else f"{danger.why}, and the rule `{rule.text}` does not say that it may"

    # What it runs in turn

    def _inner(
        self, command: Simple, unwrapped: Unwrapped, line: Line, where: Places, depth: int, rule: Rule | None
    ) -> Iterator[Part]:
        if depth >= _DEEPEST:
            yield Part(command.source, "ask", "it is wrapped too deeply")
            return
        covers = rule is not None and unwrapped.at and rule.length > unwrapped.at
        for words in unwrapped.commands:
            inner = Simple(words, (), HERE, " ".join(word.source for word in words))
            yield from self._command(inner, line, where, depth + 1, rule if covers else None)
        for code in unwrapped.code:
            yield from self.line(parse(code), where, depth + 1, None)

    # The files it names

    def _files(self, command: Simple, where: Places) -> Iterator[Part]:
        targets = written(command.words)
        removes = program(command.name or "") in ("rm", "mv", "shred", "rmdir", "srm", "rd")
        for word in targets:
            yield from self._written(word, where, removes=removes)
        yield from self._named(command, where)

    def _redirect(self, redirect: Redirect, places: Places) -> Iterator[Part]:
        target, where = redirect.target, _from(places, redirect.places)
        value = target.value or ""
        if redirect.operator in (">&", "<&") and (value.isdigit() or value in ("-", "") or value.rstrip("-").isdigit()):
            return
        if value in _HARMLESS_TARGETS:
            return
        if redirect.writes or target.prefix.startswith(("/dev/tcp", "/dev/udp")):
            yield from self._written(target, where, removes=False)
        else:
            yield from self._named(Simple((Word.literal("cat"), target), source=target.source), where)

    def _written(self, word: Word, where: Places, *, removes: bool) -> Iterator[Part]:
        if self._settings.writes == "deny":
            yield Part(word.source, "deny", "files may not be changed", kind="path")
            return
        paths = self._possible(word, where)
        bases = self._bases(where)
        if paths is None or (None in bases and not all(path.startswith("/") for path in paths)):
            if not self._writes_anywhere() and not self.anything:
                yield Part(word.source, "ask", "which file it changes is only known when it runs", kind="path")
            return
        for path in paths:
            found = [self._workspace.locate(path, base) for base in bases]
            yield from (part for located in found[:4] if (part := self._write_part(located, removes=removes)))

    def _writes_anywhere(self) -> bool:
        return self._settings.writes_outside == "allow" and self._settings.writes_protected == "allow"

    def _write_part(self, located: Located, *, removes: bool) -> Part | None:
        if located.path in _HARMLESS_TARGETS:
            return None
        part = write_part(located, self._settings, by_command=True)
        if removes and part.decision == "allow" and self._workspace.holds_protected(located):
            part = part.worse(self._settings.writes_protected, "it is, or holds, the workspace itself")
        return part if part.decision != "allow" else None

    def _named(self, command: Simple, where: Places) -> Iterator[Part]:
        """Files a command names that an ignore file hides, or in which credentials are kept."""
        if program(command.name or "") in builtins.LISTS_ONLY:
            return
        for word in command.words[1:]:
            for path in self._possible(word, where) or ():
                yield from self._hidden(path, where)

    def _hidden(self, path: str, where: Places) -> Iterator[Part]:
        for name in dict.fromkeys((path, path.rpartition("=")[2].lstrip("@"))):
            if not name or (name.startswith("-") and name == path):
                continue
            for base in self._bases(where):
                located = self._workspace.locate(name, base)
                if located.hidden_by and self._looks_like_file(name, located):
                    yield Part(name, "deny", f"it is listed in {located.hidden_by}", located.hidden_by, "path")
                    return
                if located.secret and self._settings.reads_outside != "allow":
                    yield Part(name, "ask", "credentials are kept there", kind="path")
                    return

    def _looks_like_file(self, name: str, located: Located) -> bool:
        return "/" in name or "." in name or self._workspace.exists(located.resolved)

    def _possible(self, word: Word, where: Places) -> list[str] | None:
        """The paths a word may stand for, or None if that cannot be told."""
        if word.dynamic:
            return None
        texts = [self._expanded(word, text) for text in word.alternatives]
        if not word.globs:
            return texts
        if any(".." in text.split("/") for text in texts if "*" in text):
            return None
        bases = [base for base in self._bases(where) if base is not None]
        patterns = [self._workspace.join(base, text) for text in texts for base in bases]
        return [*texts, *(path for pattern in patterns for path in self._workspace.expand(pattern))]

    def _expanded(self, word: Word, text: str) -> str:
        """A quoted `~` is only a name."""
        return text if word.tilde or not text.startswith("~") else "./" + text

    def _bases(self, where: Places) -> list[str | None]:
        bases: list[str | None] = []
        for place in where:
            base: str | None = self._cwd
            for step in place if place is not None else ():
                base = self._workspace.join(base or "", step)
            bases.append(base if place is not None else None)
        return bases


def inside_reason(doing: str, decision: Decision) -> str:
    """Why a file inside the workspace is treated as it is."""
    if decision == "allow":
        return "it is inside the workspace"
    return f"{doing} files {'needs leave' if decision == 'ask' else 'is not allowed'}, also inside the workspace"


def write_part(located: Located, settings: Settings, *, by_command: bool = False) -> Part:
    """The decision about changing a file. A command that is allowed may change what is inside the workspace."""
    subject = located.path
    if located.problem:
        return Part(subject, "deny" if not by_command else "ask", located.problem, kind="path")
    if located.hidden_by:
        return Part(subject, "deny", f"it is listed in {located.hidden_by}", located.hidden_by, "path")
    inside: Decision = "allow" if by_command and settings.writes == "ask" else settings.writes
    part = Part(subject, inside, inside_reason("changing", inside), kind="path")
    if not located.inside:
        part = Part(subject, settings.writes_outside, f"it is outside the workspace ({located.resolved})", kind="path")
    if located.protected:
        part = part.worse(settings.writes_protected, f"it is protected ({located.protected})")
    return part


_PUTS_TEXT = frozenset({"tee", "cp", "mv", "dd", "curl", "wget", "install", "ln", "sed"})
_RUNS_FILES = SHELLS | {"source", ".", "python", "python3", "perl", "ruby", "node", "php", "lua"}


def _made(line: Line) -> Iterator[Word]:
    """The files that a line writes with text of its own, or copies."""
    yield from (redirect.target for redirect in line.redirects if redirect.writes)
    for command in line.commands:
        if program(command.name or "") in _PUTS_TEXT:
            yield from written(command.words)


def _file_run(command: Simple) -> Iterator[Word]:
    """The file that a command runs: itself, if called by a path, or the script it is given."""
    name = command.name or ""
    if "/" in name and posixpath.dirname(name) not in SYSTEM_FOLDERS:
        yield command.words[0]
    elif program(name) in ("make", "npm", "xargs"):
        yield Word.literal("Makefile" if program(name) == "make" else "package.json")
    elif program(name) in _RUNS_FILES:
        yield from [word for word in command.words[1:] if not word.prefix.startswith("-")][:1]


def _unclear(danger: Danger) -> bool:
    return danger.commands or not danger.code or builtins.may_start_programs(danger.code)


def _from(outer: Places, inner: Places) -> Places:
    """The places of a command in a piece of code that itself runs in some place."""
    if outer == HERE:
        return inner
    return frozenset((*a, *b) if a is not None and b is not None else None for a in outer for b in inner)
