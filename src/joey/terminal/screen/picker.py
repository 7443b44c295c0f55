"""Choosing from a list: a task to resume (those of this folder first, each with its date, title and folder), or a model
that can be used at once. Typing searches."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import ClassVar, TypeAlias

from rich.text import Text
from textual import events
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from joey.app.model_choices import ModelChoice
from joey.app.services import TaskLine
from joey.system.visible import one_line
from joey.terminal.screen.confirm import Dialog
from joey.terminal.screen.line import Line

Zone: TypeAlias = Callable[[float], time.struct_time]
"""What makes a date of a time: that of the clock on the wall, or of another zone."""
_MAX_SHOWN = 200


def matching(tasks: Sequence[TaskLine], words: str) -> list[TaskLine]:
    """The tasks that have every word in their title, folder or id."""
    wanted = words.casefold().split()
    texts = [(f"{task.text} {task.folder or ''} {task.task_id}".casefold(), task) for task in tasks]
    return [task for text, task in texts if all(word in text for word in wanted)]


def task_line(task: TaskLine, here: str, zone: Zone = time.localtime) -> Text:
    """A task in one line. Its folder is named if it is another one."""
    when = time.strftime("%Y-%m-%d %H:%M", zone(task.changed))
    line = Text(no_wrap=True, overflow="ellipsis").append(f"{when}  ", "dim").append(f"{task.status:<9} ")
    line.append(one_line(task.title or task.text) or "(no text)", "bold")
    folder = str(task.folder or "")
    return line.append(f"  {one_line(folder)}" if folder and folder != here else "", "dim")


class Picker(Dialog[str | None]):
    """The id of what was chosen; None if nothing was."""

    heading: ClassVar[str]
    things: ClassVar[str]
    placeholder: ClassVar[str]
    verb: ClassVar[str]
    """What Enter does."""

    def matches(self, words: str) -> list[tuple[Text, str]]:
        """What is listed for these words: the line, and the id."""
        raise NotImplementedError

    def compose(self) -> ComposeResult:
        with Vertical(id="picker"):
            yield Static(self.heading, id="picker-title")
            yield Line(placeholder=self.placeholder, id="picker-search")
            yield OptionList(id="picker-tasks")
            yield Static(f"type to search · ↑↓ choose · Enter {self.verb} · Esc goes back", id="picker-keys")

    def on_mount(self) -> None:
        self._count = len(self.matches(""))
        self._show("")
        words = self.query_one(Input)
        words.cursor_blink = False  # no timer for it
        words.focus()

    def on_input_changed(self, event: Input.Changed) -> None:
        self._show(event.value)

    def _show(self, words: str) -> None:
        found = self.matches(words)
        listed = self.query_one(OptionList)
        listed.clear_options()
        listed.add_options([Option(line, each) for line, each in found[:_MAX_SHOWN]])
        listed.highlighted = 0 if found else None
        shown = f"{len(found)} of {self._count} {self.things}"
        self.query_one("#picker-title", Static).update(Text.assemble((self.heading, "bold"), (f"  {shown}", "dim")))

    def on_key(self, event: events.Key) -> None:
        listed = self.query_one(OptionList)
        match event.key:
            case "escape":
                self.dismiss(None)
            case "up":
                listed.action_cursor_up()
            case "down":
                listed.action_cursor_down()
            case _:
                return
        event.stop()
        event.prevent_default()

    def on_input_submitted(self) -> None:
        listed = self.query_one(OptionList)
        if listed.highlighted is not None:
            self.dismiss(listed.get_option_at_index(listed.highlighted).id)

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        self.dismiss(event.option.id)


class TaskPicker(Picker):
    """The id of a task to resume."""

    heading, things, verb = "Resume a task", "tasks", "resumes"
    placeholder = "search by title, folder or id"

    def __init__(self, tasks: Sequence[TaskLine], here: str, zone: Zone = time.localtime) -> None:
        super().__init__()
        self._tasks, self._here, self._zone = tasks, here, zone

    def matches(self, words: str) -> list[tuple[Text, str]]:
        return [(task_line(each, self._here, self._zone), each.task_id) for each in matching(self._tasks, words)]


class ModelPicker(Picker):
    """The name of a model."""

    heading, things, verb = "Use a model", "models that can be used at once", "uses it"
    placeholder = "search by name"

    def __init__(self, models: Sequence[ModelChoice], current: str) -> None:
        super().__init__()
        self._models = sorted(models, key=lambda each: each.name != current)
        self._current = current

    def matches(self, words: str) -> list[tuple[Text, str]]:
        wanted = words.casefold().split()
        found = (each for each in self._models if all(word in each.name.casefold() for word in wanted))
        return [(self._line(each), each.name) for each in found]

    def _line(self, model: ModelChoice) -> Text:
        line = Text(no_wrap=True, overflow="ellipsis").append(f"{one_line(model.name):<36} ", "bold")
        return line.append("now · " if model.name == self._current else "", "green").append(
            one_line(model.about), "dim"
        )
