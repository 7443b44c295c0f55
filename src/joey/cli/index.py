"""The index of a folder, which codebase_search uses to find code by what it does.

  joey index                       build or update it
  joey index --status              show its size, its age, and what has changed since
  joey index search "QUESTION"     search it, as a model would
  joey index --clear               delete it

Everything stays on this machine. Ranking by meaning needs the extra `search`; without it, results are
ranked by keywords. An interrupted build continues where it stopped. Running this is optional: a search updates the
index by itself, a part at a time.

examples:
  joey index search "where are retries delayed" --path src
  joey index --status --json
"""

from __future__ import annotations

import argparse
import contextlib
import json
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from joey.cli.flags import add_workspace_flag
from joey.errors import UsageError

if TYPE_CHECKING:
    from joey.tools.index.search import CodebaseIndex, SearchAnswer
    from joey.tools.index.store import Counts
    from joey.tools.index.update import Freshness, Progress


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "action",
        nargs="?",
        default="build",
        choices=("build", "search"),
        metavar="ACTION",
        help="what to do (default: build)",
    )
    parser.add_argument("question", nargs="?", metavar="QUESTION", help="what to search for")
    parser.add_argument("--status", action="store_true", help="show the size and age of the index")
    parser.add_argument("--clear", action="store_true", help="delete the index")
    parser.add_argument("--path", default="", metavar="PATH", help="search only this folder or file")
    parser.add_argument("--limit", type=int, default=10, metavar="N", help="number of results (default: 10)")
    add_workspace_flag(parser)
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def run(args: argparse.Namespace) -> int:
    index = open_index((args.workspace or Path.cwd()).absolute())
    if args.clear:
        return _clear(index)
    if args.status:
        return _status(index, as_json=args.json)
    if args.action == "search":
        return _search(index, args)
    if args.question:
        raise UsageError(f'to ask the index, type: joey index search "{args.question}"')
    return _build(index, as_json=args.json)


def open_index(workspace: Path) -> CodebaseIndex:
    from joey.policy import Workspace
    from joey.system.folders import index_folder
    from joey.tools.index import model
    from joey.tools.index.search import CodebaseIndex, too_wide

    if not workspace.is_dir():
        raise UsageError(f"{workspace} is not a folder")
    if reason := too_wide(workspace):
        raise UsageError(reason)
    return CodebaseIndex(workspace, index_folder(workspace), model.load, hidden=Workspace.of(workspace).hides)


# Building


def _build(index: CodebaseIndex, *, as_json: bool) -> int:
    with _bar(silent=as_json) as progress:
        freshness, why_not = index.build(progress)
    counts = index.counts()
    assert counts is not None
    if as_json:
        print(json.dumps({**_facts(index, counts), **_done(freshness), "without_vectors_because": why_not or None}))
        return 0
    print(
        f"{counts.pieces:,} pieces of {counts.files:,} files, {_megabytes(index.size)} in {index.file}.\n"
        f"This time: {freshness.read:,} files read, {freshness.dropped:,} dropped, "
        f"{freshness.embedded:,} pieces embedded."
    )
    if why_not:
        print(f"Results are ranked by keywords only: {why_not}")
    if freshness.too_many:
        print("The folder has more files than an index can hold; some are left out.")
    return 0


def _done(freshness: Freshness) -> dict[str, int]:
    return {"read": freshness.read, "dropped": freshness.dropped, "embedded": freshness.embedded}


@contextlib.contextmanager
def _bar(*, silent: bool) -> Iterator[Progress]:
    """A progress bar on stderr; without a terminal, a line for every tenth."""
    if silent:
        yield lambda _what, _done, _of: None
    elif not sys.stderr.isatty():
        yield _Tenths().show
    else:
        from rich.progress import Progress as Bars

        from joey.terminal.console import SafeConsole

        with Bars(console=SafeConsole(stderr=True), transient=True) as bars:
            known = {what: bars.add_task(f"{what} {verb}", total=None) for what, verb in _VERBS.items()}
            yield lambda what, done, of: bars.update(known[what], completed=done, total=of)


_VERBS = {"files": "read", "pieces": "embedded"}


class _Tenths:
    def __init__(self) -> None:
        self._shown = dict.fromkeys(_VERBS, 0)

    def show(self, what: str, done: int, of: int) -> None:
        tenth = 10 * done // max(of, 1)
        if tenth > self._shown[what]:
            self._shown[what] = tenth
            print(f"{what} {_VERBS[what]}: {done:,}{f' of {of:,}' if of else ''}", file=sys.stderr)


# Status and search


def _status(index: CodebaseIndex, *, as_json: bool) -> int:
    counts = index.counts()
    if counts is None:
        print(json.dumps({"index": None}) if as_json else "This folder has no index; `joey index` builds one.")
        return 1
    behind = index.behind()
    if as_json:
        print(json.dumps({**_facts(index, counts), "files_that_differ": len(behind.waiting) + behind.dropped}))
        return 0
    print(f"{counts.pieces:,} pieces of {counts.files:,} files, {_megabytes(index.size)} in {index.file}")
    print(f"complete as of {_age(counts.updated)}" if counts.updated else "not complete yet")
    if counts.without_vector:
        print(f"{counts.without_vector:,} of {counts.texts:,} texts have no vector and are ranked by keywords only")
    print(f"since then: {len(behind.waiting):,} files added or changed, {behind.dropped:,} deleted")
    return 0


def _facts(index: CodebaseIndex, counts: Counts) -> dict[str, object]:
    return {"index": str(index.file), "bytes": index.size, **asdict(counts)}


def _age(when: float) -> str:
    seconds = max(0, int(time.time() - when))
    for unit, size in (("day", 86_400), ("hour", 3_600), ("minute", 60)):
        if seconds >= size:
            count = seconds // size
            return f"{count} {unit}{'s' if count > 1 else ''} ago"
    return "less than a minute ago"


def _megabytes(size: int) -> str:
    return f"{size / 1_000_000:.1f} MB"


def _clear(index: CodebaseIndex) -> int:
    had = index.folder.exists()
    index.clear()
    print(f"Deleted the index in {index.folder}." if had else "This folder has no index.")
    return 0


def _search(index: CodebaseIndex, args: argparse.Namespace) -> int:
    from joey.tools.index.report import report
    from joey.tools.index.search import SearchRequest

    if not (args.question or "").strip():
        raise UsageError('no question given; use joey index search "where are retries delayed"')
    with _bar(silent=args.json) as progress:
        request = SearchRequest(args.question, _below(index, args.path), args.limit, progress=progress)
        answer = index.search(request)
    print(json.dumps(_as_json(answer), ensure_ascii=False) if args.json else report(request, answer))
    return 0 if answer.found else 1


def _below(index: CodebaseIndex, path: str) -> str:
    if not path:
        return ""
    root, whole = index.workspace.resolve(), (index.workspace / path).resolve()
    if not whole.is_relative_to(root) or not whole.exists():
        raise UsageError(f"{path} does not exist in {root}")
    return "" if whole == root else whole.relative_to(root).as_posix()


def _as_json(answer: SearchAnswer) -> dict[str, object]:
    found = [
        {
            "path": each.piece.path,
            "first": each.piece.first,
            "last": each.piece.last,
            "name": each.piece.name,
            "score": round(each.score, 4),
            "text": each.piece.text,
            "also_in": list(each.also_in),
        }
        for each in answer.found
    ]
    return {"found": found, "by_meaning": answer.by_meaning, "notes": list(answer.notes)}
