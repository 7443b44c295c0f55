"""How a task comes to be: new, or resumed from its journal.

Its journal is open from then on, until the task has run or is closed; if the task does not come to be, it is closed at
once.
"""

from __future__ import annotations

import contextlib
import difflib
from collections.abc import Iterator, Sequence
from dataclasses import replace

from joey.effects import Todo
from joey.errors import JoeyError, UsageError
from joey.journal.journal import read_journal, read_timed
from joey.journal.records import ChildOpened, ModelSet, ModeSet, ProfileSet, TaskOpened, TodosSet, UserSaid, path_text
from joey.journal.replay import TaskState, replay
from joey.journal.store import TaskStore
from joey.messages import ImageBlock, ResultBlock
from joey.protocols import get
from joey.task.assembly import Assembly
from joey.task.config import TaskConfig
from joey.task.log import TaskLog
from joey.task.remote import Remote
from joey.task.subtasks import Budget, Family, Taken
from joey.task.task import TaskHandle
from joey.task.user_words import current_request
from joey.tools.builtin.new_task import NewTask


def start_task(
    config: TaskConfig,
    text: str,
    *,
    mode: str = "code",
    images: Sequence[ImageBlock] = (),
    attached: Sequence[ResultBlock] = (),
    todos: tuple[Todo, ...] = (),
    profile: str | None = None,
    parent: TaskOpened | None = None,
    task_id: str | None = None,
    depth: int = 0,
    budget: Budget | None = None,
) -> TaskHandle:
    """A new task. Its journal is open from now on, until it has run or is closed.

    `attached` is what the text names (joey.prompts)."""
    _check_mode(mode, config)
    task_id, model, folder = task_id or config.hooks.new_id(), config.model, config.workspace.folder
    name, protocol, blocks = model.full_name, model.protocol.name, (*attached, *images)
    opened = TaskOpened(
        task_id, text, path_text(folder), mode, name, protocol, base_url=model.base_url, attached=blocks
    )
    if parent is not None:
        opened = replace(opened, parent_id=parent.task_id, parent_call_id=parent.parent_call_id)
    with _opened_log(config, task_id, depth) as (config, log, remote):
        parts = Assembly.of(config, log, _family(config, log, depth, budget))
        task = TaskHandle(config, parts, [*opened.content], remote)
        log.record(opened)
        parts.supervisor.new_request(text)
        if todos:
            log.record(TodosSet(todos))
        if profile:
            log.record(ProfileSet(profile))
    return task


def resume_task(
    config: TaskConfig,
    task_id: str,
    *,
    text: str = "",
    images: Sequence[ImageBlock] = (),
    mode: str | None = None,
    profile: str | None = None,
    messages: Sequence[UserSaid] = (),
    depth: int = 0,
    budget: Budget | None = None,
) -> TaskHandle:
    """A task that was interrupted or ended, to continue where it was, in the protocol it began with.

    What the user says to it (`text` and `images`, or the `messages` that its parent has for it) is on the disk
    before anything else happens, and sent as any message that waits."""
    if mode is not None:
        _check_mode(mode, config)
    with _opened_log(config, task_id, depth) as (config, log, remote):
        for _at, record in read_timed(config.workspace.store.journal_path(task_id)):
            log.state.apply(record)
        opened = log.state.opened
        if opened is None:
            raise UsageError(f"task {task_id} has nothing in its journal to resume")
        begun = bool(log.state.messages) or (bool(text) and _was_refused(log.state))
        config = _as_opened(config, opened)
        parts = Assembly.of(config, log, _family(config, log, depth, budget))
        task = TaskHandle(config, parts, [] if begun else [*opened.content], remote)
        new = [*messages, *([UserSaid(text, tuple(images))] if text or images else [])]
        if remote is not None:
            remote.resumes([message for message in new if message not in log.state.queued])
        _save_messages(log, new)
        if other := _other_model(config, opened):
            log.record(other)
        if mode is not None and mode != log.state.mode:
            log.record(ModeSet(mode))
        if profile is not None and profile != log.state.allowed.profile:
            log.record(ProfileSet(profile))
        request = text or _next_request(log.state)
        underway = bool(log.state.messages) and not request
        parts.supervisor.new_request(request or _request_under_way(log.state), underway=underway)
    return task


def _family(config: TaskConfig, log: TaskLog, depth: int, budget: Budget | None) -> Family:
    """Children are tasks like any other."""
    shared = budget or Budget(config.limits, lambda: _taken_below(config.workspace.store, log.state))

    def start(config: TaskConfig, opened: ChildOpened, parent: TaskOpened) -> TaskHandle:
        subtask, task_id, below = opened.subtask, opened.child_id, depth + 1
        assert subtask is not None
        return start_task(
            config, subtask.message, mode=subtask.mode, todos=tuple(subtask.todos or ()), parent=parent,
            task_id=task_id, depth=below, budget=shared,
        )  # fmt: skip

    def resume(config: TaskConfig, task_id: str, messages: Sequence[UserSaid]) -> TaskHandle:
        return resume_task(config, task_id, messages=messages, depth=depth + 1, budget=shared)

    return Family(start, resume, shared, depth)


def _taken_below(store: TaskStore, state: TaskState) -> dict[str, Taken]:
    """What the subtasks of a task took so far, as their journals have it."""
    found: dict[str, Taken] = {}
    has_some = state.opened is not None and NewTask.name in state.calls.counts
    for child in store.subtasks(state.opened.task_id) if has_some and state.opened else ():
        with contextlib.suppress(JoeyError, OSError):
            found[child] = Taken.by(replay(read_journal(store.journal_path(child))))
    return found


def _save_messages(log: TaskLog, messages: Sequence[UserSaid]) -> None:
    """One that waits already was saved before its parent could take note of it."""
    for message in messages:
        if message not in log.state.queued:
            log.record(message)
    if messages:
        log.sync()


def _as_opened(config: TaskConfig, opened: TaskOpened) -> TaskConfig:
    """The config of a task that exists: it keeps its protocol and its folder."""
    model = replace(config.model, protocol=get(opened.protocol))
    return replace(config, model=model, workspace=replace(config.workspace, folder=opened.folder))


def _other_model(config: TaskConfig, opened: TaskOpened) -> ModelSet | None:
    """What the task continues with, if that is not what it had: the next time it is resumed, it keeps that. A server
    that was named for a provider stays known to the task while it uses another one."""
    now = ModelSet(config.model.full_name, config.model.base_url)
    same_provider = now.model.partition("/")[0] == opened.model.partition("/")[0]
    if now == ModelSet(opened.model, opened.base_url) or (opened.base_url and not same_provider):
        return None
    return now


def _next_request(state: TaskState) -> str:
    """A message that no model has read, to a task that was done: it is the next request."""
    was_done = state.ended is not None and state.ended.outcome == "completed"
    return state.queued[-1].text if was_done and state.queued else ""


def _request_under_way(state: TaskState) -> str:
    """What an interrupted task was to do."""
    return current_request(state.messages) or (state.opened.text if state.opened is not None else "")


def _was_refused(state: TaskState) -> bool:
    """Whether a hook kept the first message from the model: another one takes its place."""
    return state.ended is not None and state.ended.outcome == "refused"


def _check_mode(mode: str, config: TaskConfig) -> None:
    if mode not in config.modes:
        near = difflib.get_close_matches(mode, [*config.modes], n=1)
        hint = f"did you mean {near[0]!r}? " if near else ""
        raise UsageError(f"unknown mode {mode!r}; {hint}available modes: {', '.join(config.modes)}")


@contextlib.contextmanager
def _opened_log(config: TaskConfig, task_id: str, depth: int) -> Iterator[tuple[TaskConfig, TaskLog, Remote | None]]:
    """The log of a task, closed again if it does not come to be; and who else may watch. What happens in a subtask is
    seen at the task that a person started."""
    store = config.workspace.store
    journal = store.open(task_id)
    try:
        remote = Remote(task_id, store.folder(task_id), journal.path) if depth == 0 else None
        config = remote.watched(config) if remote is not None else config
        yield config, TaskLog(task_id, store.folder(task_id), journal, config.hooks.watch, TaskState()), remote
    except BaseException:
        journal.close()
        raise
