"""Print a completion script for your shell.

  bash   joey completion bash > ~/.local/share/bash-completion/completions/joey
  zsh    joey completion zsh > "${fpath[1]}/_joey"
  fish   joey completion fish > ~/.config/fish/completions/joey.fish

Or for this session alone: source <(joey completion bash). Run it again after an update.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator
from dataclasses import dataclass

from joey.config.keys import KEYS


@dataclass(frozen=True, slots=True)
class CompletedOption:
    """An option of a command: its names, what it does, and what it takes."""

    names: tuple[str, ...]
    about: str
    takes: bool
    choices: tuple[str, ...] = ()
    takes_task: bool = False
    """Whether its value is the id of a task."""


@dataclass(frozen=True, slots=True)
class CommandWords:
    """What can be typed behind a command."""

    name: str
    about: str
    options: tuple[CompletedOption, ...]
    words: tuple[str, ...]
    """The choices of its arguments, such as `list` and `get`."""
    task_at: int = 0
    """Which of its arguments is the id of a task, counted from 1; 0 for none."""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("shell", choices=tuple(_SCRIPTS), help="the shell")


def run(args: argparse.Namespace) -> int:
    print(_SCRIPTS[args.shell](tuple(every_command())))
    return 0


def every_command() -> Iterator[CommandWords]:
    """All commands, as their parsers have them."""
    from joey.cli import COMMANDS, command_parser

    for name, about in COMMANDS.items():
        parser = command_parser(name)
        actions = parser._actions  # noqa: SLF001 - argparse has no other way to ask
        options = tuple(_option(each) for each in actions if each.option_strings and each.help != argparse.SUPPRESS)
        words = [str(word) for each in actions if not each.option_strings and each.choices for word in each.choices]
        yield CommandWords(name, about, options, tuple(words), _TASK_AT.get(name, 0))


def _option(action: argparse.Action) -> CompletedOption:
    about = re.sub(r"\s+", " ", (action.help or "").replace("%%", "%")).strip()
    choices = action.choices or _SETTINGS.get(action.option_strings[-1], ())
    takes_task = action.metavar == "ID"
    return CompletedOption(tuple(action.option_strings), about, action.nargs != 0, tuple(map(str, choices)), takes_task)


_SETTINGS = {key.flag.name: key.kind.choices for key in KEYS if key.flag}
"""The values of settings, by their flag: such a flag checks them by itself."""
_TASK_AT = {"tasks": 2, "resume": 1}


def _bash(commands: tuple[CommandWords, ...]) -> str:
    cases = []
    for each in commands:
        options = " ".join(name for option in each.options for name in option.names)
        values = "\n".join(_bash_value(option) for option in each.options if option.takes)
        words = f"words='{' '.join([options, *each.words])}'"
        if each.task_at:
            words += f'; if ((COMP_CWORD > {each.task_at})); then words="$(_joey_tasks) {options}"; fi'
        cases.append(f"    {each.name})\n      case $before in\n{values}\n      esac\n      {words} ;;")
    names = " ".join(each.name for each in commands)
    return f"""\
# bash completion for joey; made by `joey completion bash`
_joey_tasks() {{
  local folder
  for folder in "${{XDG_STATE_HOME:-$HOME/.local/state}}"/joey/tasks/*/; do
    if [[ -d $folder ]]; then folder=${{folder%/}}; echo "${{folder##*/}}"; fi
  done
}}
_joey() {{
  local word=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD-1]}} command=interactive words=
  COMPREPLY=()
  if ((COMP_CWORD > 1)) && [[ ${{COMP_WORDS[1]}} != -* ]]; then command=${{COMP_WORDS[1]}}; fi
  case $command in
{chr(10).join(cases)}
    help) words='{names}' ;;
  esac
  if ((COMP_CWORD == 1)); then words="{names} help --help --version $words"; fi
  COMPREPLY=($(compgen -W "$words" -- "$word"))
  if [[ ${{#COMPREPLY[@]}} -eq 0 ]]; then COMPREPLY=($(compgen -f -- "$word")); fi
}}
complete -o filenames -F _joey joey"""


def _bash_value(option: CompletedOption) -> str:
    offered = f"-W '{' '.join(option.choices)}'" if option.choices else "-f"
    offered = '-W "$(_joey_tasks)"' if option.takes_task else offered
    return f'        {"|".join(option.names)}) COMPREPLY=($(compgen {offered} -- "$word")); return ;;'


def _zsh(commands: tuple[CommandWords, ...]) -> str:
    listed = "\n".join(f"    {_zsh_quoted(f'{each.name}:{each.about}')}" for each in commands)
    cases = "\n".join(
        f"    {each.name}) specs=({' '.join(_zsh_specs(each))}) ;;" for each in commands
    )  # fmt: skip
    return f"""\
#compdef joey
# zsh completion for joey; made by `joey completion zsh`
_joey_tasks() {{
  local -a ids
  ids=(${{XDG_STATE_HOME:-$HOME/.local/state}}/joey/tasks/*(N/:t))
  compadd -a ids
}}
_joey() {{
  local -a commands specs
  commands=(
{listed}
  )
  local command=interactive
  if ((CURRENT > 2)) && [[ $words[2] != -* ]]; then command=$words[2]; shift words; ((CURRENT--)); fi
  case $command in
{cases}
    help) _describe -t commands 'joey command' commands; return ;;
  esac
  if ((CURRENT == 2)) && [[ $command == interactive ]]; then _describe -t commands 'joey command' commands; fi
  _arguments $specs '*:file:_files'
}}
if [[ $funcstack[1] == _joey ]]; then _joey "$@"; else compdef _joey joey; fi"""


def _zsh_specs(command: CommandWords) -> Iterator[str]:
    for option in command.options:
        about = option.about.replace("[", "(").replace("]", ")").replace(":", " ")
        value = f":value:({' '.join(option.choices)})" if option.choices else ":value:_files" if option.takes else ""
        value = ":task:_joey_tasks" if option.takes_task else value
        for name in option.names:
            yield _zsh_quoted(f"{name}[{about}]{value}")
    if command.words:
        yield _zsh_quoted(f"1:argument:({' '.join(command.words)})")
    if command.task_at:
        yield f"'{command.task_at}:task:_joey_tasks'"


def _zsh_quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


_FISH_TASKS = """\
function __joey_tasks
  set -l state $HOME/.local/state
  if set -q XDG_STATE_HOME; and test -n "$XDG_STATE_HOME"; set state $XDG_STATE_HOME; end
  for folder in $state/joey/tasks/*/; basename $folder; end
end"""


def _fish(commands: tuple[CommandWords, ...]) -> str:
    lines = ["# fish completion for joey; made by `joey completion fish`", _FISH_TASKS]
    names = " ".join(each.name for each in commands)
    outside = f"not __fish_seen_subcommand_from {names}"
    for each in commands:
        lines.append(f"complete -c joey -f -n '{outside}' -a {each.name} -d {_fish_quoted(each.about)}")
        inside = outside if each.name == "interactive" else f"__fish_seen_subcommand_from {each.name}"
        lines += [f"complete -c joey -n '{inside}' {_fish_option(option)}" for option in each.options]
        if each.words:
            lines.append(f"complete -c joey -f -n '{inside}' -a {_fish_quoted(' '.join(each.words))}")
        if each.task_at:
            lines.append(f"complete -c joey -f -n '{inside}' -a '(__joey_tasks)'")
    return "\n".join(lines)


def _fish_option(option: CompletedOption) -> str:
    names = [f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}" for name in option.names]
    values = [f"-x -a {_fish_quoted(' '.join(option.choices))}"] if option.choices else ["-r"] if option.takes else []
    values = ["-x -a '(__joey_tasks)'"] if option.takes_task else values
    return " ".join([*names, *values, f"-d {_fish_quoted(option.about)}"])


def _fish_quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


_SCRIPTS = {"bash": _bash, "zsh": _zsh, "fish": _fish}
