"""What events look like on a terminal: functions from events to things rich can print. Nothing here prints or waits.

`Picture` is a reply while it comes: its text, and a panel for each call in which the arguments grow. `picture_of` is
for events that stand alone.
"""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.panel import Panel
from rich.syntax import Syntax
from rich.text import Text

from joey.events import (
    ApprovalAnswered,
    ApprovalRequested,
    CompletionAnswered,
    CompletionRequested,
    ContinueAnswered,
    Event,
    QuestionAnswered,
    TextDelta,
    ToolCallDelta,
    ToolCallFinished,
    ToolCallMalformed,
    ToolCallStarted,
    ToolRunFinished,
    ToolRunProgressed,
    ToolRunStarted,
    TurnFinished,
)
from joey.messages import Shown, ShownDiff, ToolResult
from joey.terminal.lines import line_for, shown_as_text

_LANGUAGES = {"js": "javascript", "json": "json", "py": "python", "md": "markdown", "ts": "typescript", "sh": "bash"}
_READING = ("read_file", "list_files", "search_files", "read_command_output")
_LINES_READ = 10
_MARKS = {"growing": ("…", "yellow"), "whole": ("✓", "green"), "broken": ("✗", "red")}


class _CallPicture:
    """One call so far."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.state = "growing"
        self.arguments: dict[str, str] = {}

    def render(self, most_lines: int | None) -> RenderableType:
        mark, style = _MARKS[self.state]
        body = Group(*(self._argument(name, value, most_lines) for name, value in self.arguments.items()))
        return Panel(body, title=Text(f"{mark} {self.name}"), title_align="left", border_style=style)

    def _argument(self, name: str, value: str, most_lines: int | None) -> RenderableType:
        if "\n" not in value:
            return Text.assemble((f"{name}: ", "bold"), value)
        lines = value.removesuffix("\n").split("\n")
        shown = lines if most_lines is None else lines[-most_lines:]
        above = f" ({len(lines) - len(shown)} lines above)" if len(shown) < len(lines) else ""
        return Group(Text(f"{name}:{above}", style="bold"), _code("\n".join(shown), self._language(name)))

    def _language(self, argument: str) -> str:
        if argument == "diff":
            return "text"  # SEARCH/REPLACE blocks, which no highlighter knows
        path = self.arguments.get("path") or self.arguments.get("file_path") or ""
        return _LANGUAGES.get(path.rpartition(".")[2], "text")


class Picture:
    """What the events of one reply look like so far."""

    def __init__(self) -> None:
        self._text = ""
        self._calls: dict[str, _CallPicture] = {}

    @property
    def is_empty(self) -> bool:
        return not self._text.strip() and not self._calls

    def add(self, event: Event) -> None:
        match event:
            case TextDelta(text):
                self._text += text
            case ToolCallStarted(call_id, name):
                self._calls[call_id] = _CallPicture(name)
            case ToolCallDelta(call_id, path, text) if path and call_id in self._calls:
                arguments = self._calls[call_id].arguments
                name = ".".join(map(str, path))
                arguments[name] = arguments.get(name, "") + text
            case ToolCallFinished(call_id) if call_id in self._calls:
                self._calls[call_id].state = "whole"
            case ToolCallMalformed(call_id) if call_id in self._calls:
                self._calls[call_id].state = "broken"
            case _:
                pass

    def render(self, most_lines: int | None = None) -> RenderableType:
        """The reply; with `most_lines`, only so many last lines of a long argument, so that its growing end is seen."""
        said = [Text(self._text.strip())] if self._text.strip() else []
        return Group(*said, *(call.render(most_lines) for call in self._calls.values()))


def picture_of(event: Event) -> RenderableType | None:
    """An event that stands alone. None for those that are seen elsewhere (in the picture of the reply, or where the
    user typed the answer) and for those that only count something."""
    match event:
        case ToolRunProgressed(_, text):
            return _indented(Text(text.removesuffix("\n"), style="cyan"))
        case ToolRunFinished(_, name, result):
            return None if name == "attempt_completion" else _result(name, result)
        case ApprovalRequested(_, _, name, _, reason, shown):
            return Group(*map(_shown, shown), Text.assemble((f"? {name} needs leave: ", "bold yellow"), reason))
        case TextDelta() | ToolRunStarted() | TurnFinished() | CompletionRequested():
            return None
        case ApprovalAnswered() | QuestionAnswered() | CompletionAnswered() | ContinueAnswered():
            return None
        case _:
            line = line_for(event)
            return None if line is None else Text(line, style="dim")


def _result(name: str, result: ToolResult) -> RenderableType:
    """What a tool answered, as far as a person wants to see it: the first line, or some of what was read."""
    lines = result.text.splitlines() or ["(nothing)"]
    shown = lines[: _LINES_READ if name in _READING and not result.is_error else 1]
    more = " …" if len(shown) < len(lines) else ""
    return _indented(Text("↳ " + "\n  ".join(shown) + more, style="red" if result.is_error else "green"))


def _shown(shown: Shown) -> RenderableType:
    if not isinstance(shown, ShownDiff):
        return _indented(Text(shown_as_text(shown)))
    if is_new_file(shown.diff):
        return _indented(Text(f"{shown.path} would be a new file of {added_lines(shown.diff)} lines, as above."))
    return _indented(_code(shown.diff.rstrip("\n"), "diff"))


def is_new_file(diff: str) -> bool:
    """Whether a diff only writes what was not there: then it says no more than the call itself."""
    return diff.startswith("--- /dev/null")


def added_lines(diff: str) -> int:
    return sum(line.startswith("+") and not line.startswith("+++") for line in diff.splitlines())


def _code(text: str, language: str) -> RenderableType:
    return Syntax(text, language, theme="ansi_dark", background_color="default", word_wrap=True)


def _indented(what: RenderableType) -> RenderableType:
    return Padding(what, (0, 0, 0, 2))
