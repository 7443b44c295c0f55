"""How git is made to run other programs: by its options, its settings, and some of its commands."""

from __future__ import annotations

import re
from collections.abc import Sequence

from joey.policy.danger import Danger, known
from joey.policy.words import Word


def git_dangers(words: Sequence[Word]) -> list[Danger]:
    found: list[Danger] = []
    at = 1
    while at < len(words) and words[at].prefix.startswith("-"):
        option = words[at].prefix.split("=", 1)[0]
        if option.startswith(("-c", "--exec-path", "--config-env")):
            name = "-c" if option.startswith("-c") else option
            found.append(
                Danger((name,), f"`{name}` can make git run any program", known(words[at : at + 2]), commands=True)
            )
        elif option.startswith(("--git-dir", "--work-tree")):
            found.append(Danger((option,), f"`{option}` makes git take its settings from elsewhere"))
        at += 2 if words[at].value in ("-C", "-c", "--git-dir", "--work-tree", "--namespace", "--config-env") else 1
    rest = words[at:]
    if rest and rest[0].value is None:
        return [*found, Danger((), "which git command runs is only known when it runs")]
    return found + (_git_command(rest) if rest else [])


_GIT_OPTIONS: dict[str, tuple[str, ...]] = {
    "grep": ("-O", "--open-files-in-pager"),
    "rebase": ("-x", "--exec"),
    "bisect": ("run", "visualize", "view"),
    "submodule": ("foreach",),
    "difftool": ("-x", "--extcmd", "-t", "--tool"),
    "mergetool": ("-t", "--tool"),
    "clone": ("-c", "--config", "-u", "--upload-pack", "--template"),
    "init": ("--template",),
    "fetch": ("--upload-pack",),
    "pull": ("--upload-pack",),
    "ls-remote": ("--upload-pack", "--exec"),
    "push": ("--receive-pack", "--exec"),
    "archive": ("--exec",),
    "apply": ("--unsafe-paths",),
    "filter-branch": ("*",),
    "for-each-repo": ("*",),
    "daemon": ("*",),
    "credential": ("*",),
    "send-email": ("*",),
    "instaweb": ("*",),
    "diff": ("--ext-diff",),
    "log": ("--ext-diff",),
    "show": ("--ext-diff",),
    "help": ("-w", "--web", "-i", "--info"),
}


def _git_command(words: Sequence[Word]) -> list[Danger]:
    command = (words[0].value or "").casefold()
    whole = known(words)
    if command == "config":
        return _git_config(words, whole)
    for option in _GIT_OPTIONS.get(command, ()):
        if option == "*" or any(_is_git_option(word, option) for word in words[1:]):
            shown = command if option == "*" else f"{command} {option}"
            named = (command if option == "*" else option,)
            return [Danger(named, f"`git {shown}` runs other programs", whole, commands=True)]
    if any("ext::" in word.text for word in words[1:]):
        return [Danger((), "an `ext::` address makes git run a program", whole, commands=True)]
    if command in _GIT_OPTIONS and any(word.splits and not word.prefix and not word.globs for word in words[1:]):
        return [Danger((), f"an option that makes `git {command}` run code may be in what only the shell knows")]
    return []


def _is_git_option(word: Word, option: str) -> bool:
    text = word.prefix
    if option.startswith("--"):
        given = text.split("=", 1)[0]
        return given == option or (len(given) > 4 and option.startswith(given))
    if option.startswith("-"):
        return re.match(r"-[A-Za-z]", text) is not None and option[1] in text.split("=", 1)[0][1:]
    return text == option


def _git_config(words: Sequence[Word], whole: str) -> list[Danger]:
    reading = any(
        (word.value or "") in ("--get", "--get-all", "--list", "-l", "--get-regexp", "list", "get") for word in words
    )
    settings = [word for word in words[1:] if not word.prefix.startswith("-")]
    if reading or len(settings) < 2:
        return []
    harmless = re.match(r"user\.(name|email|signingkey)$", settings[0].value or "")
    return (
        []
        if harmless
        else [Danger(("config",), "a git setting can name programs that git then runs", whole, commands=True)]
    )
