"""Task history.

  joey tasks                        list tasks, those of this folder first, the most recent first
  joey tasks search TEXT            tasks that contain this text
  joey tasks show ID                messages and actions of a task
  joey tasks context ID             what fills the model's window in a task
  joey tasks export ID [FILE]       the same as Markdown; with --html, as one file that a browser shows
  joey tasks delete ID              delete a task and everything saved with it; asks first, unless --yes
  joey tasks fork ID --turn N       a new task that shares the first N turns
  joey tasks repair ID              a clean copy of a task whose journal is damaged, as a new task
  joey tasks import FOLDER          import a task of Roo Code or Cline

An ID may be shortened; `last` is the most recent task of this folder. `joey resume ID` resumes a task. Subtasks are
listed below the task that started them.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path

from joey.app.checkpoints import fork_task
from joey.errors import JoeyError, UsageError
from joey.journal.foreign import read_foreign_task
from joey.journal.markdown import as_markdown
from joey.journal.records import Record
from joey.journal.store import TaskEntry, TaskStore
from joey.system.folders import state_folder
from joey.system.visible import one_line
from joey.task.config import new_task_id

ACTIONS = ("list", "search", "show", "context", "export", "delete", "fork", "repair", "import")


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "action", nargs="?", default="list", choices=ACTIONS, metavar="ACTION", help="what to do (default: list)"
    )
    parser.add_argument("what", nargs="*", help="an ID, a folder, or text to search for")
    parser.add_argument("--turn", type=int, metavar="N", help="with fork: how many turns to keep")
    parser.add_argument("--model", metavar="PROVIDER/MODEL", default="", help="with import: the model to continue with")
    parser.add_argument("--html", action="store_true", help="with export: a page in one file, as `joey web` shows it")
    parser.add_argument("--yes", "-y", action="store_true", help="with delete: do not ask; with export: replace a file")
    parser.add_argument("--json", action="store_true", help="with list and search: one JSON object per line")


def run(args: argparse.Namespace) -> int:
    store = TaskStore(state_folder() / "tasks")
    if args.action in ("list", "search"):
        return list_tasks(store, " ".join(args.what), as_json=args.json)
    if not args.what:
        raise UsageError(
            f"joey tasks {args.action} needs {'a folder' if args.action == 'import' else 'the ID of a task'}"
        )
    if args.action == "import":
        return _import(store, Path(args.what[0]), args.model)
    entry = store.find(args.what[0], Path.cwd())
    if args.action == "delete":
        return _delete(store, entry, ask=not args.yes)
    if entry.state is None:
        raise UsageError(entry.problem or "the task cannot be read")
    for each in entry.left_out:
        print(f"note: left out: {each}", file=sys.stderr)
    if args.action == "show":
        print(as_markdown(entry.state))
    elif args.action == "context":
        _show_context(entry)
    elif args.action == "export":
        _export(_page(store, entry) if args.html else as_markdown(entry.state), args.what[1:], overwrite=args.yes)
    elif args.action == "repair":
        _repair(store, entry)
    else:
        return _fork(store, entry, args.turn)
    return 0


def _show_context(entry: TaskEntry) -> None:
    from joey.app.services import Choices, Services  # the whole of a task: no other action needs it
    from joey.app.tasks import TaskOptions
    from joey.terminal.context_bar import context_lines

    services = Services(TaskOptions())
    print(context_lines(asyncio.run(services.context(Choices(resume=entry.task_id)))))


def _page(store: TaskStore, entry: TaskEntry) -> str:
    from joey.web.export import export_page

    return export_page(store, entry.task_id)


def _export(text: str, to: list[str], *, overwrite: bool) -> None:
    if to in ([], ["-"]):
        print(text)
        return
    try:
        with Path(to[0]).open("w" if overwrite else "x", encoding="utf-8", errors="replace") as file:
            file.write(text)
    except FileExistsError:
        raise UsageError(f"{to[0]} is there already; name another file, or use --yes to replace it") from None
    except OSError as error:
        raise UsageError(f"cannot write {to[0]}: {error.strerror}") from None
    print(f"wrote {to[0]}")


def _delete(store: TaskStore, entry: TaskEntry, *, ask: bool) -> int:
    more = len(store.subtasks(entry.task_id))
    what = entry.task_id + (f" and its {more} subtask{'s' * (more > 1)}" if more else "")
    if ask and not _agreed(entry, what):
        print("nothing was deleted", file=sys.stderr)
        return 1
    try:
        store.delete(entry.task_id)
    except OSError as error:
        raise JoeyError(f"cannot delete {entry.task_id}: {error.strerror}: {error.filename}") from None
    print(f"deleted {what}")
    return 0


def _agreed(entry: TaskEntry, what: str) -> bool:
    if not sys.stdin.isatty():
        raise UsageError("no terminal to confirm on; use --yes to delete without asking")
    print(task_line(entry))
    try:
        answer = input(f"Delete {what}, with checkpoints and the output of commands? [y/N] ")
    except EOFError:
        return False
    return answer.strip().lower() in ("y", "yes")


def _repair(store: TaskStore, entry: TaskEntry) -> None:
    if not entry.left_out:
        print("nothing to repair: every line of the journal can be read", file=sys.stderr)
        return
    task_id = store.repair(entry.task_id, Path.cwd())
    print(task_id)
    print(f"`joey resume {task_id}` resumes the copy; {entry.task_id} stays as it is", file=sys.stderr)


def _fork(store: TaskStore, entry: TaskEntry, turn: int | None) -> int:
    print(fork_task(store, entry, turn))
    return 0


def _import(store: TaskStore, folder: Path, model: str) -> int:
    task_id = new_task_id()
    _write(store, task_id, read_foreign_task(folder, task_id, Path.cwd(), model))
    print(task_id)
    print(f"`joey resume {task_id}` resumes it", file=sys.stderr)
    return 0


def _write(store: TaskStore, task_id: str, records: list[Record]) -> None:
    with store.open(task_id) as journal:
        for record in records:
            journal.append(record)


def list_tasks(store: TaskStore, text: str, *, as_json: bool) -> int:
    """Print the tasks that contain this text, or all."""
    entries = [entry for entry in store.entries() if entry.mentions(text)]
    entries.sort(key=lambda entry: entry.changed, reverse=True)  # by the time that is shown
    if as_json:
        for entry in entries:
            print(json.dumps(_as_json(entry)))
        return 0
    for line in _lines(entries, Path.cwd()):
        print(line)
    if not entries:
        print("no task contains this text" if text else "there are no tasks yet", file=sys.stderr)
    return 0


def _lines(entries: Sequence[TaskEntry], here: Path) -> Iterator[str]:
    """The entries are in order, so the folder with the newest task comes first, after this one."""
    listed = {entry.task_id for entry in entries}
    folders: dict[Path | None, list[TaskEntry]] = {}
    subtasks: dict[str, list[TaskEntry]] = {}
    for entry in entries:
        if entry.parent_id in listed:
            subtasks.setdefault(entry.parent_id, []).insert(0, entry)
        else:
            folders.setdefault(here if entry.works_in(here) else entry.folder, []).append(entry)
    for folder in sorted(folders, key=lambda folder: folder != here):
        yield "(unknown folder)" if folder is None else one_line(str(folder))
        for entry in folders[folder]:
            yield from _with_subtasks(entry, subtasks, "  ")


def _with_subtasks(entry: TaskEntry, subtasks: Mapping[str, Sequence[TaskEntry]], indent: str) -> Iterator[str]:
    yield indent + task_line(entry)
    for child in subtasks.get(entry.task_id, ()):
        yield from _with_subtasks(child, subtasks, indent + "  ")


def task_line(entry: TaskEntry) -> str:
    damaged = f" (damaged: {len(entry.left_out)} left out)" if entry.left_out else ""
    text = entry.problem or entry.title + damaged
    return f"{entry.task_id}  {_when(entry.changed)}  {entry.status:<10}  {one_line(text)}"


def _when(at: float) -> str:
    try:
        return datetime.fromtimestamp(at).strftime("%Y-%m-%d %H:%M")  # noqa: DTZ006 - shown in local time
    except (ValueError, OverflowError, OSError):
        return "at no known time"


def _as_json(entry: TaskEntry) -> dict[str, object]:
    state = entry.state
    return {
        "id": entry.task_id,
        "status": entry.status,
        "started": entry.started,
        "changed": entry.changed,
        "folder": str(entry.folder) if entry.folder else None,
        "parent": entry.parent_id,
        "title": entry.title,
        "text": entry.text,
        "turns": state.spending.turns if state else 0,
        "cost": state.spending.cost if state else None,
        "problem": entry.problem,
        "left_out": [str(each) for each in entry.left_out],
    }
