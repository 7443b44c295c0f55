"""Programs that run other programs, and how to find what they run.

`unwrap` answers for one simple command: what else it runs (as words, or as shell code to be taken apart in turn),
and whether it is transparent, that is, whether running it is no more than running that. `timeout 9 git log` is
`git log`; `sudo git log` is not.

An option not in the table may take a value, and then the words after it are not what they seem: that is a doubt.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from joey.policy.commands import Assignment
from joey.policy.rules import program
from joey.policy.words import Piece, Word

SHELLS = frozenset({"sh", "bash", "zsh", "dash", "ksh", "ash", "rbash", "mksh", "yash"})


@dataclass(slots=True)
class Unwrapped:
    """What a command runs besides itself."""

    commands: list[tuple[Word, ...]] = field(default_factory=list)
    code: list[str] = field(default_factory=list)
    """Shell code, to be taken apart like a line of its own."""
    at: int = 0
    """Where in the words of the outer command the inner one begins; 0 if it does not stand there."""
    transparent: bool = True
    assignments: list[Assignment] = field(default_factory=list)
    doubts: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Prefix:
    """A program that takes options, then `skip` words of its own, then a command."""

    values: str = ""
    """Options that take a value, as their next word or glued on."""
    flags: str = ""
    skip: int = 0
    transparent: bool = True


_TIMEOUT = _Prefix("-k -s --kill-after --signal", "-v --foreground --preserve-status --verbose", skip=1)

_PREFIXES: dict[str, _Prefix] = {
    "nohup": _Prefix(),
    "setsid": _Prefix(flags="-c -f -w --ctty --fork --wait"),
    "time": _Prefix(values="-f -o --format --output", flags="-p -v -a -l -h --portability --verbose --append"),
    "timeout": _TIMEOUT,
    "gtimeout": _TIMEOUT,
    "nice": _Prefix(values="-n --adjustment"),
    "ionice": _Prefix(values="-c -n --class --classdata", flags="-t --ignore"),
    "taskset": _Prefix(flags="-c -a --cpu-list", skip=1),
    "stdbuf": _Prefix(values="-i -o -e --input --output --error"),
    "command": _Prefix(flags="-p"),
    "builtin": _Prefix(),
    "exec": _Prefix(values="-a", flags="-c -l"),
    "coproc": _Prefix(),
    "unbuffer": _Prefix(flags="-p"),
    "chronic": _Prefix(flags="-v -e"),
    "caffeinate": _Prefix(values="-t -w", flags="-d -i -m -s -u"),
    "noglob": _Prefix(),
    "nocorrect": _Prefix(),
    "sudo": _Prefix(
        values="-u -g -h -p -C -r -t -T -U -D -R --user --group --host --prompt --chdir --role --type",
        flags="-A -b -E -H -i -k -K -n -P -s -S -v -l --login --shell --non-interactive --preserve-env --stdin",
        transparent=False,
    ),
    "doas": _Prefix(values="-u -C -a", flags="-n -s -L", transparent=False),
    "pkexec": _Prefix(values="--user", flags="--disable-internal-agent --keep-cwd", transparent=False),
    "runuser": _Prefix(values="-u -g -G", transparent=False),
    "chroot": _Prefix(values="--userspec --groups", flags="--skip-chdir", skip=1, transparent=False),
    "unshare": _Prefix(flags="-m -u -i -n -p -U -f -r --fork --map-root-user --net --pid", transparent=False),
    "nsenter": _Prefix(values="-t --target", flags="-a -m -u -i -n -p -U", transparent=False),
    "fakeroot": _Prefix(transparent=False),
    "busybox": _Prefix(transparent=False),
    "toybox": _Prefix(transparent=False),
    "strace": _Prefix(values="-e -o -p -s -u -E -P", flags="-f -ff -c -C -t -tt -T -v -y -q", transparent=False),
    "ltrace": _Prefix(values="-e -o -p -s -u", flags="-f -c -C -S -t", transparent=False),
    "xvfb-run": _Prefix(values="-e -f -n -p -s -w", flags="-a -l --auto-servernum", transparent=False),
    "dbus-run-session": _Prefix(flags="--"),
    "flock": _Prefix(values="-w -E --timeout", flags="-s -x -n -u -o -e --shared --exclusive --nonblock", skip=1),
}  # fmt: skip


def unwrap(words: Sequence[Word]) -> Unwrapped | None:
    """What a command runs besides itself, or None for a program that runs nothing we can see."""
    name = program(words[0].value or "") if words and words[0].value else ""
    if name in SHELLS:
        return _shell(words)
    if name in _SPECIAL:
        return _SPECIAL[name](words)
    if name in _PREFIXES:
        return _prefixed(words, _PREFIXES[name], name)
    return None


def _prefixed(words: Sequence[Word], spec: _Prefix, name: str) -> Unwrapped | None:
    if name == "command" and len(words) > 1 and re.match(r"-[vV]", words[1].value or ""):
        return None
    found = Unwrapped(transparent=spec.transparent)
    at = _after_options(words, spec.values.split(), spec.flags.split(), found) + spec.skip
    if name == "flock" and _code_after(words, "-c", found):
        return found
    at = _take_assignments(words, at, found) if name == "sudo" else at
    return _rest(words, at, found)


def _rest(words: Sequence[Word], at: int, found: Unwrapped) -> Unwrapped:
    if at < len(words):
        found.commands.append(tuple(words[at:]))
        found.at = at
    return found


def _after_options(words: Sequence[Word], values: list[str], flags: list[str], found: Unwrapped) -> int:
    """Where the words begin that are not options."""
    at = 1
    while at < len(words):
        word = words[at].value
        if word is None:
            if not words[at].prefix or words[at].prefix.startswith("-"):
                found.doubts.append(f"what `{words[0].source}` runs is only known when it runs")
            return at
        if word == "--":
            return at + 1
        if not word.startswith("-") or word == "-":
            return at
        if word in values:
            at += 2
        elif _known(word, values, flags):
            at += 1
        else:
            found.doubts.append(f"the option `{word}` of `{words[0].source}` is not known here")
            at += 1
    return at


def _known(word: str, values: list[str], flags: list[str]) -> bool:
    if word in flags or word.split("=", 1)[0] in (*values, *flags) or re.fullmatch(r"-\d+", word):
        return True
    glued = not word.startswith("--") and word[:2] in values
    return glued or (not word.startswith("--") and all(f"-{letter}" in flags for letter in word[1:]))


def _take_assignments(words: Sequence[Word], at: int, found: Unwrapped) -> int:
    while at < len(words):
        match = re.match(r"([A-Za-z_]\w*)=", words[at].prefix)
        if not match:
            break
        value = words[at].value
        found.assignments.append(
            Assignment(match[1], Word.literal(value[match.end() :]) if value is not None else None)
        )
        at += 1
    return at


def _code_after(words: Sequence[Word], option: str, found: Unwrapped) -> bool:
    """Takes the word after an option as shell code."""
    for at, word in enumerate(words[1:-1], 1):
        if word.value in (option, "--command", "--run"):
            _code(words[at + 1 : at + 2], found)
            return True
    return False


def _code(words: Sequence[Word], found: Unwrapped) -> None:
    if all(word.value is not None for word in words):
        found.code.append(" ".join(word.value or "" for word in words))
    else:
        found.doubts.append("it runs shell code that is only known when it runs")
        found.code.append(" ".join(word.text for word in words))


def _env(words: Sequence[Word]) -> Unwrapped | None:
    found = Unwrapped()
    for at, word in enumerate(words[1:], 1):
        split = re.match(r"-[a-zA-Z0]*S(.*)|--split-string(?:=(.*))?$", word.value or "", re.DOTALL)
        if split:
            text = split[1] or split[2]
            _code([Word.literal(text), *words[at + 1 :]] if text else words[at + 1 :], found)
            return found
    values = ["-u", "-C", "--unset", "--chdir", "--block-signal", "--default-signal"]
    at = _after_options(words, values, ["-i", "-0", "-v", "-", "--ignore-environment", "--null", "--debug"], found)
    if at < len(words) and words[at].value == "-":
        at += 1
    at = _take_assignments(words, at, found)
    if at >= len(words):
        return None
    if any((word.value or "").startswith(("-C", "--chdir")) for word in words[1:at]):
        found.doubts.append("`env` runs it in another folder")
    return _rest(words, at, found)


_LATER = Piece(None, quoted=False)


def _xargs(words: Sequence[Word]) -> Unwrapped:
    found = Unwrapped()
    values = (
        "-I -J -R -n -P -L -s -d -E -a --arg-file --delimiter --max-args --max-procs --max-lines --max-chars --replace"
    )
    flags = "-0 -r -t -x -i -o --null --no-run-if-empty --verbose --exit --open-tty"
    at = _after_options(words, values.split(), flags.split(), found)
    if at >= len(words):
        return found
    replaced = [words[i + 1].value or "" for i in range(1, at - 1) if words[i].value in ("-I", "-J", "--replace")]
    replaced += [word.value[2:] for word in words[1:at] if word.value and re.match(r"-I.", word.value)] + ["{}"]
    inner = [_filled_in(word, replaced) for word in words[at:]]
    found.commands.append((*inner, Word("(what it reads)", (_LATER,))))
    found.at = at
    return found


def _filled_in(word: Word, placeholders: Sequence[str]) -> Word:
    if any(each and each in word.text for each in placeholders):
        return Word(word.source, (_LATER,))
    return word


def _find(words: Sequence[Word]) -> Unwrapped | None:
    found = Unwrapped(transparent=False)
    at = 1
    while at < len(words):
        if words[at].value in ("-exec", "-execdir", "-ok", "-okdir"):
            end = next((i for i in range(at + 1, len(words)) if words[i].value in (";", "+")), len(words))
            inner = tuple(_filled_in(word, ["{}"]) for word in words[at + 1 : end])
            if inner:
                found.commands.append(inner)
            at = end
        elif words[at].splits and not words[at].globs:
            found.doubts.append("an option of `find` that runs something may be in a part only the shell knows")
        at += 1
    return found if found.commands or found.doubts else None


def _fd(words: Sequence[Word]) -> Unwrapped | None:
    for at, word in enumerate(words[1:], 1):
        if re.match(r"-[xX]|--exec", word.prefix):
            found = Unwrapped(transparent=False)
            if word.value not in ("-x", "-X", "--exec", "--exec-batch"):
                found.doubts.append(f"what `{word.source}` runs is not clear")
            found.commands.append((*(_filled_in(each, ["{"]) for each in words[at + 1 :]), Word("{}", (_LATER,))))
            return found
    return None


def _shell(words: Sequence[Word]) -> Unwrapped:
    """`bash -c CODE`, `bash FILE`, or a shell that reads what it runs."""
    found = Unwrapped()
    at = 1
    while at < len(words):
        word = words[at].value
        if word is None and not words[at].prefix:
            found.doubts.append("what the shell runs is only known when it runs")
            return found
        if word is None or not word.startswith(("-", "+")) or word in ("-", "--"):
            break
        if re.match(r"--(?:rcfile|init-file)", word):
            found.doubts.append(f"`{word}` names a file of commands to run")
            at += 1
        elif not word.startswith("--") and "c" in word:
            return _shell_code(words, at + 1, found)
        at += 2 if re.fullmatch(r"[-+][oO]", word) else 1
    at += at < len(words) and words[at].value in ("-", "--")
    told = any(word.value in ("--version", "--help") for word in words)
    if not told and (at >= len(words) or re.match(r"/dev/|/proc/", words[at].prefix)):
        found.doubts.append("the shell runs what it reads from its input")
    found.transparent = False
    return found


def _shell_code(words: Sequence[Word], at: int, found: Unwrapped) -> Unwrapped:
    while at < len(words) and re.match(r"[-+].", words[at].value or ""):
        at += 2 if re.fullmatch(r"[-+][oO]", words[at].value or "") else 1
    _code(words[at : at + 1], found)
    return found


def _eval(words: Sequence[Word]) -> Unwrapped:
    found = Unwrapped()
    _code(words[1:], found)
    return found


def _trap(words: Sequence[Word]) -> Unwrapped:
    found = Unwrapped()
    arguments = [word for word in words[1:] if word.value != "--"]
    if arguments and arguments[0].value not in ("-", "-p", "-l"):
        _code(arguments[:1], found)
    return found


def _alias(words: Sequence[Word]) -> Unwrapped:
    found = Unwrapped(transparent=False)
    for word in words[1:]:
        value = word.text.partition("=")[2]
        if value:
            found.code.append(value)
        if word.value is None:
            found.doubts.append("an alias is set to something only the shell knows")
    return found


def _watch(words: Sequence[Word]) -> Unwrapped:
    found = Unwrapped()
    flags = "-b -c -d -e -g -t -x --beep --color --differences --errexit --chgexit --no-title --exec"
    at = _after_options(words, ["-n", "--interval"], flags.split(), found)
    if at < len(words):
        _code(words[at:], found)
    return found


def _with_command_option(words: Sequence[Word]) -> Unwrapped | None:
    """`su -c CODE`, `script -c CODE`."""
    found = Unwrapped(transparent=False)
    return found if _code_after(words, "-c", found) else None


def _hyperfine(words: Sequence[Word]) -> Unwrapped:
    found = Unwrapped()
    found.code += [word.text for word in words[1:] if " " in word.text or not word.text.startswith("-")]
    if any(word.value is None for word in words):
        found.doubts.append("it runs something that is only known when it runs")
    return found


def _parallel(words: Sequence[Word]) -> Unwrapped:
    found = Unwrapped(transparent=False)
    found.doubts.append("`parallel` puts its commands together while it runs")
    found.code += [word.text for word in words[1:] if not word.text.startswith("-")]
    found.code.append(" ".join(word.text for word in words[1:] if not word.text.startswith("-")))
    return found


_SPECIAL: dict[str, Callable[[Sequence[Word]], Unwrapped | None]] = {
    "env": _env,
    "xargs": _xargs,
    "find": _find,
    "gfind": _find,
    "fd": _fd,
    "fdfind": _fd,
    "eval": _eval,
    "trap": _trap,
    "alias": _alias,
    "watch": _watch,
    "su": _with_command_option,
    "sg": _with_command_option,
    "script": _with_command_option,
    "nix-shell": _with_command_option,
    "hyperfine": _hyperfine,
    "parallel": _parallel,
}
