"""Run many tasks on a durable queue, on this machine or on many.

  joey fleet run tasks.jsonl --workers 4       add the tasks, run them here, show progress; Ctrl-C, and again continues
  joey fleet run --repos repos.txt "Update CI" one prompt, a task for each repository of the list
  joey fleet add tasks.jsonl --budget 50       only add them; workers take them
  joey fleet work --slots 20                   a worker, on any machine that reaches the database (fleet.url)
  joey fleet status [BATCH|TASK]               what waits, runs, asks, is done and what it cost
  joey fleet watch                             the same live; questions are answered there
  joey fleet answer TASK yes|no|"words"        answer what a task asks
  joey fleet cancel BATCH|TASK
  joey fleet retry BATCH --failed              continue what ended without being completed; --again begins again
  joey fleet results BATCH --patches FOLDER    or --branches, or --jsonl
  joey fleet limits --per-tenant 5             how many tasks run at once
  joey fleet schedule NAME "0 6 * * *" tasks.jsonl, and: schedules, unschedule NAME

A line of tasks.jsonl is {"id": …, "prompt": …}, with a repository and a commit, or a folder; and options of `joey run`,
such as "model" or "max_turns". Options of the command hold for all lines. A task works in a clone; its result is a
patch or a branch. Needs the extra joey[fleet].
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from joey.app.settings import default_model
from joey.app.sources import settings_in_force
from joey.cli.flags import add_setting_flags, settings_in
from joey.errors import UsageError
from joey.system.installation import add_extra

if TYPE_CHECKING:
    from joey.fleet.fleet import Fleet
    from joey.fleet.ledger import BatchLine, FleetTask
    from joey.fleet.spec import TaskSpec


def configure(parser: argparse.ArgumentParser) -> None:
    commands = parser.add_subparsers(dest="action", metavar="ACTION", required=True, parser_class=type(parser))
    run = commands.add_parser("run", help="add tasks and run them here")
    _tasks(run)
    run.add_argument("--workers", type=_count, default=1, metavar="N", help="worker processes (default: 1)")
    run.add_argument("--slots", type=_count, default=1, metavar="N", help="tasks at once per worker (default: 1)")
    _tasks(commands.add_parser("add", help="add tasks for workers to take"))
    work = commands.add_parser("work", help="be a worker")
    work.add_argument("--slots", type=_count, default=10, metavar="N", help="tasks at once (default: 10)")
    work.add_argument("--attached", action="store_true", help="stop when standard input ends")
    status = commands.add_parser("status", help="show batches, tasks and workers")
    status.add_argument("name", nargs="?", help="one batch or task (default: all batches)")
    status.add_argument("--json", action="store_true", help="print one JSON object per line")
    commands.add_parser("watch", help="show the fleet live, and answer what tasks ask")
    answer = commands.add_parser("answer", help="answer what a task asks")
    answer.add_argument("task", help="the task")
    answer.add_argument("answer", help="yes or no to an approval, perhaps with words after it; words to a question")
    answer.add_argument("--question", type=_count, metavar="N", help="only if it still asks this, as status shows it")
    cancel = commands.add_parser("cancel", help="cancel a batch or a task")
    cancel.add_argument("name", help="the batch or task")
    _retry(commands.add_parser("retry", help="continue tasks that ended without being completed"))
    results = commands.add_parser("results", help="what came of a batch or a task")
    results.add_argument("name", help="the batch or task")
    how = results.add_mutually_exclusive_group(required=True)
    how.add_argument("--patches", type=Path, metavar="FOLDER", help="write a patch per task")
    how.add_argument("--branches", action="store_true", help="push a branch joey/BATCH/TASK to each repository")
    how.add_argument("--jsonl", action="store_true", help="print a JSON object per task")
    _limits(commands.add_parser("limits", help="show or change how many tasks run at once"))
    schedule = commands.add_parser("schedule", help="add tasks again and again, at times")
    schedule.add_argument("schedule", metavar="NAME", help="name of the schedule")
    schedule.add_argument("times", help='times as cron has them, in UTC: "0 6 * * *" is every day at six')
    _tasks(schedule)
    schedule.add_argument(
        "--catch-up", action="store_true", help="if the last time came while no worker ran, add it when one starts"
    )
    commands.add_parser("schedules", help="list the schedules")
    unschedule = commands.add_parser("unschedule", help="remove a schedule")
    unschedule.add_argument("schedule", metavar="NAME", help="name of the schedule")


def _tasks(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", help="tasks.jsonl; with --repos, the prompt")
    parser.add_argument("--repos", type=Path, metavar="FILE", help="a list of repositories, one per line")
    parser.add_argument("--name", metavar="BATCH", help="name of the batch (default: that of the file)")
    parser.add_argument(
        "--repository", metavar="R", help="repository for lines that name none (default: this folder's)"
    )
    parser.add_argument("--commit", default="", metavar="C", help="commit, branch or tag to start from (default: HEAD)")
    parser.add_argument("--budget", type=_dollars, metavar="DOLLARS", help="most that the whole batch may cost")
    parser.add_argument("--tenant", default="default", metavar="T", help="whose tasks they are, for limits per tenant")
    parser.add_argument("--priority", type=_whole, default=0, metavar="N", help="0 comes first (default: 0)")
    parser.add_argument(
        "--answer-hours", type=_dollars, default=24.0, metavar="H",
        help="how long a task waits for a person before the answer is no; 0: nobody is asked (default: 24)",
    )  # fmt: skip
    add_setting_flags(parser, "run")


def _retry(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", help="the batch or task")
    parser.add_argument("--failed", action="store_true", required=True, help="those that are not completed")
    parser.add_argument("--again", action="store_true", help="from the beginning, in a new clone")
    parser.add_argument("--budget", type=_dollars, metavar="DOLLARS", help="a new limit for the cost of the batch")
    add_setting_flags(parser, "run")


def _limits(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--per-tenant", type=_whole, metavar="N", help="tasks at once per tenant; 0: no limit")
    parser.add_argument("--total", type=_whole, metavar="N", help="tasks at once in the whole fleet; 0: no limit")


def run(args: argparse.Namespace) -> int:
    actions = {
        "run": _run, "add": _add, "work": _work, "status": _status, "watch": _watch, "answer": _answer,
        "cancel": _cancel, "retry": _retry_failed, "results": _results, "limits": _show_limits,
        "schedule": _schedule, "schedules": _schedules, "unschedule": _unschedule,
    }  # fmt: skip
    return actions[args.action](args)


@contextmanager
def _fleet() -> Iterator[Fleet]:
    try:
        from joey.fleet.fleet import open_fleet
    except ImportError as error:
        raise UsageError(f"joey fleet needs {error.name}: {add_extra('fleet')}") from None
    with open_fleet(settings_in_force(Path.cwd())) as fleet:
        yield fleet


def _add(args: argparse.Namespace) -> int:
    with _fleet() as fleet:
        batch = _added(fleet, args)
    print(f"see them with: joey fleet status {batch}")
    return 0


def _added(fleet: Fleet, args: argparse.Namespace) -> str:
    from joey.fleet.spec import check_here

    batch, tasks = tasks_in(args)
    if fleet.database.is_sqlite:
        check_here(tasks)
    added = fleet.add(batch, tasks, args.budget)
    known = f"; {added.known} {'was' if added.known == 1 else 'were'} there already" if added.known else ""
    print(f"{batch}: {_tasks_in_words(len(added.new))} added{known}", file=sys.stderr)
    return batch


def tasks_in(args: argparse.Namespace) -> tuple[str, list[TaskSpec]]:
    """The tasks that the arguments name, and the name of their batch."""
    from joey.fleet.spec import TaskSpec, name_for_batch, read_tasks, tasks_for

    defaults = TaskSpec(
        "", "", args.repository or "", args.commit, "", args.tenant, args.priority, settings_in(args), args.answer_hours
    )
    if args.repos:
        tasks = tasks_for(args.repos, args.file, defaults)
        name = args.name or name_for_batch(args.repos.stem)
    else:
        tasks = read_tasks(Path(args.file), defaults if defaults.repository else replace(defaults, repository="."))
        name = args.name or name_for_batch(Path(args.file).stem)
    return name, [task.in_place_of(Path.cwd()) for task in tasks]


def _tasks_in_words(count: int) -> str:
    return f"{count} task" if count == 1 else f"{count} tasks"


def _run(args: argparse.Namespace) -> int:
    from joey.fleet.embedded import Children, counts_in_words, watch_until_done
    from joey.fleet.ledger import patiently

    with _fleet() as fleet:
        if not (settings_in(args).get("model") or settings_in_force(Path.cwd()).value("model")):
            default_model()  # says what to do if there is none
        batch = _added(fleet, args)
        command = ("fleet", "work", "--slots", str(args.slots), "--attached")
        children = Children(command, args.workers, fleet.database.folder / "workers.log")
        progress = Progress()
        try:
            tasks = watch_until_done(
                lambda: patiently(fleet.ledger.tasks, batch), lambda: _batch(fleet, batch), children, progress.show
            )
        except KeyboardInterrupt:
            print(
                f"\nStopped. The same command continues; joey fleet status {batch} shows what is done.", file=sys.stderr
            )
            return 130
        finally:
            children.stop()
        line = _batch(fleet, batch)
    print(f"{batch}: {counts_in_words(line.counts)}{_spent(line)}")
    return 0 if all(task.outcome == "completed" for task in tasks) else 1


def _spent(batch: BatchLine) -> str:
    """What a batch has cost; nothing where no price is known and there is no budget to compare it with."""
    limit = f" of ${batch.max_cost:g}" if batch.max_cost is not None else ""
    return f", ${batch.spent:.4f}{limit}" if batch.spent or limit else ""


def _batch(fleet: Fleet, name: str) -> BatchLine:
    from joey.fleet.ledger import patiently

    return next(each for each in patiently(fleet.ledger.batches) if each.name == name)


class Progress:
    """What changes, a line each; at a terminal a line below them counts."""

    def __init__(self) -> None:
        self._shown: dict[str, tuple[str, ...]] = {}
        self._last = ""

    def show(self, tasks: Sequence[FleetTask], batch: BatchLine) -> None:
        for task in tasks:
            state = (task.state, task.outcome, task.question if task.state == "asks" else "")
            if self._shown.get(task.id, ("queued", "", "")) != state:
                self._print(_task_line(task))
            self._shown[task.id] = state
        if sys.stderr.isatty():
            from joey.fleet.embedded import counts_in_words

            line = f"{counts_in_words(batch.counts)}{_spent(batch)}"
            if line != self._last:
                print(f"\r\033[K{line}", end="", file=sys.stderr, flush=True)
            self._last = line

    def _print(self, text: str) -> None:
        clear = "\r\033[K" if sys.stderr.isatty() else ""
        print(f"{clear}{text}", file=sys.stderr, flush=True)
        self._last = ""


def _task_line(task: FleetTask, width: int | None = 100) -> str:
    """A task in a line. Its message is cut at the width."""
    from joey.fleet.requests import request_text
    from joey.system.visible import one_line

    if task.state == "asks":
        if task.answer:
            return f"{task.id}  was answered, and waits for a worker"
        how = f'joey fleet answer {task.id} yes|no|"words" --question {task.leg}'
        return f"{task.id}  asks: {request_text(task.question)}\n  answer with: {how}"
    what = f"{task.outcome}: {one_line(task.message)[:width]}" if task.state == "done" else task.state
    where = f" on {task.worker}" if task.worker else ""
    cost = f", ${task.cost:.4f}" if task.cost else ""
    return f"{task.id}  {what}{where}  ({task.turns} turns{cost})"


def _work(args: argparse.Namespace) -> int:
    import asyncio

    from joey.fleet.worker import serve

    config = settings_in_force(Path.cwd())
    with _fleet() as fleet:
        per_minute = config.value("fleet.requests_per_minute")
        return asyncio.run(serve(fleet, args.slots, per_minute, attached=args.attached))


def _status(args: argparse.Namespace) -> int:
    from joey.fleet.embedded import counts_in_words
    from joey.fleet.results import as_json

    with _fleet() as fleet:
        if args.name:
            found = fleet.named(args.name)
            for task in found:
                print(json.dumps(as_json(task)) if args.json else _task_line(task, 100 if len(found) > 1 else None))
            return 0
        for batch in fleet.ledger.batches():
            if args.json:
                shown = {
                    "batch": batch.name,
                    "counts": dict(batch.counts),
                    "cost": batch.spent,
                    "budget": batch.max_cost,
                }
                print(json.dumps(shown))
                continue
            print(f"{batch.name}  {counts_in_words(batch.counts)}{_spent(batch)}")
        if not args.json:
            for worker in fleet.ledger.workers():
                print(f"worker {worker.id} on {worker.host}: {worker.running} of {worker.slots} slots")
            for task in fleet.ledger.tasks(states=("asks",)):
                print(_task_line(task))
    return 0


def _watch(_args: argparse.Namespace) -> int:
    if not sys.stdout.isatty():
        raise UsageError("joey fleet watch needs a terminal; use joey fleet status")
    from joey.fleet.watch import WatchApp

    with _fleet() as fleet:
        WatchApp(fleet).run()
    return 0


def _answer(args: argparse.Namespace) -> int:
    from joey.fleet.requests import request_text

    with _fleet() as fleet:
        task = fleet.answer(args.task, args.answer, args.question)
    print(f"answered: {request_text(task.question)}")
    return 0


def _cancel(args: argparse.Namespace) -> int:
    with _fleet() as fleet:
        ended, ending = fleet.cancel(args.name)
    print(f"{ended} cancelled; {ending} are being ended by their workers" if ending else f"{ended} cancelled")
    return 0


def _retry_failed(args: argparse.Namespace) -> int:
    with _fleet() as fleet:
        done = fleet.retry(args.name, settings=settings_in(args), budget=args.budget, again=args.again)
    print(f"{_tasks_in_words(len(done))} in the queue again")
    return 0


def _results(args: argparse.Namespace) -> int:
    from joey.fleet import results

    with _fleet() as fleet:
        if args.jsonl:
            for line in results.lines(fleet, args.name):
                print(line)
            return 0
        found = results.patches(fleet, args.name, args.patches) if args.patches else results.branches(fleet, args.name)
        problems = 0
        for each in found:
            problems += bool(each.problem)
            print(each.where or f"{each.task}: {each.problem}", file=sys.stderr if each.problem else sys.stdout)
    return 1 if problems else 0


def _show_limits(args: argparse.Namespace) -> int:
    with _fleet() as fleet:
        fleet.queue.set_limits(args.total, args.per_tenant)
        total, tenant = fleet.queue.limits()
    print(f"at once in the whole fleet: {total or 'as many as there are slots'}")
    print(f"at once per tenant: {tenant or 'as many as there are slots'}")
    return 0


def _schedule(args: argparse.Namespace) -> int:
    _, tasks = tasks_in(args)
    with _fleet() as fleet:
        fleet.schedule(args.schedule, args.times, tasks, args.budget, catch_up=args.catch_up)
    print(f"{args.schedule}: {_tasks_in_words(len(tasks))} at {args.times}, as long as a worker runs")
    return 0


def _schedules(_args: argparse.Namespace) -> int:
    from datetime import UTC, datetime

    with _fleet() as fleet:
        for each in fleet.queue.schedules:
            last = f"{each.last:%Y-%m-%d %H:%M:%S}" if each.last else "never"
            print(
                f"{each.name}  {each.times}  next: {each.next_time(datetime.now(UTC)):%Y-%m-%d %H:%M:%S}  last: {last}"
            )
    return 0


def _unschedule(args: argparse.Namespace) -> int:
    with _fleet() as fleet:
        fleet.queue.schedules.remove(args.schedule)
    return 0


def _count(text: str) -> int:
    if not text.isdigit() or not 1 <= int(text) <= 1000:
        raise argparse.ArgumentTypeError(f"must be a number from 1 to 1000, not {text}")
    return int(text)


def _whole(text: str) -> int:
    if not text.isdigit():
        raise argparse.ArgumentTypeError(f"must be a number from 0, not {text}")
    return int(text)


def _dollars(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value < 1e9:
        raise argparse.ArgumentTypeError(f"must be a number from 0, not {text}")
    return value
