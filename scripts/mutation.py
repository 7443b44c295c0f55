"""Plant small faults in the core, one at a time, and see which of them the tests catch.

python scripts/mutation.py                     60 faults, chosen by a seed, over the packages of the core
python scripts/mutation.py --minutes 30        as many as can be tried meanwhile; the next run continues
python scripts/mutation.py --again             those in the ledger that were not caught, after tests were added
python scripts/mutation.py --report            what the ledger holds

The tests that name the fault's module run first; if they miss it, the rest of its package's, and with `--thorough`
those of the packages that use it. Each result is a line of `scripts/mutation.jsonl`, so that a run can be stopped and
continued, on another day and on changed code too: a fault is known by its file and the text of its line. What no test
can catch, because it changes nothing that can be seen, has its reason there (`equivalent`). The faults are planted in a
clone of the last commit.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import itertools
import json
import os
import random
import re
import resource
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
PACKAGES = ("task", "policy", "protocols", "journal", "providers")
NEIGHBOURS = {
    "task": ("tests/app", "tests/test_app.py", "tests/end_to_end", "tests/cli/test_run.py"),
    "policy": ("tests/tools", "tests/end_to_end", "tests/cli/test_approvals.py"),
    "protocols": ("tests/vectors", "tests/task", "tests/gateway"),
    "journal": ("tests/task", "tests/checkpoints", "tests/test_chaos.py"),
    "providers": ("tests/task", "tests/gateway", "tests/cli/test_models.py"),
}
_SWAPS: dict[type[ast.AST], str] = {
    ast.Eq: "!=", ast.NotEq: "==", ast.Lt: "<=", ast.LtE: "<", ast.Gt: ">=", ast.GtE: ">",
    ast.In: "not in", ast.NotIn: "in", ast.Is: "is not", ast.IsNot: "is",
}  # fmt: skip
_SECONDS = 3600
_PROCESSOR_SECONDS = 900
_MAX_UNSTEADY = 5


@dataclass(frozen=True, slots=True)
class Fault:
    """In a line of a file, `old` becomes `new`: the text that begins at this column. What is longer than a line is
    known by the line that it begins in."""

    file: str
    line: str
    column: int
    old: str
    new: str

    def planted(self, source: str) -> str | None:
        """None if the source has no such line any more."""
        start = f"\n{source}".find(f"\n{self.line}\n") + self.column
        if start < self.column or not source.startswith(self.old, start):
            return None
        return source[:start] + self.new + source[start + len(self.old) :]


class _Places:
    """Where the nodes of a source stand in it. ast.get_source_segment would split the source again for each."""

    def __init__(self, source: str) -> None:
        self._source = source
        self._lines = source.splitlines(keepends=True)
        self._starts = [0, *itertools.accumulate(map(len, self._lines))]

    def span(self, node: ast.expr) -> tuple[int, int]:
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        return self._offset(node.lineno, node.col_offset), self._offset(node.end_lineno, node.end_col_offset)

    def text(self, node: ast.expr) -> str:
        start, end = self.span(node)
        return f"({self._source[start:end]})"

    def _offset(self, line: int, column: int) -> int:
        return self._starts[line - 1] + len(self._lines[line - 1].encode()[:column].decode())


def faults_in(file: str, source: str) -> Iterator[Fault]:
    places = _Places(source)
    for node in _runs(ast.parse(source)):
        if found := _changed(node, places.text):
            place, new = found
            start, end = places.span(place)
            line_start = source.rfind("\n", 0, start) + 1
            line = source[line_start : source.index("\n", start)]
            fault = Fault(file, line, start - line_start, source[start:end], new)
            if f"\n{source}".count(f"\n{line}\n") == 1:  # of lines that are there twice, none could be told
                yield fault


def _changed(node: ast.AST, text: Callable[[ast.expr], str]) -> tuple[ast.expr, str] | None:
    match node:
        case ast.Compare(left=left, ops=[operator], comparators=[right]):
            return node, f"({text(left)} {_SWAPS[type(operator)]} {text(right)})"
        case ast.BoolOp(op=operator, values=values):
            return node, f"({(' or ' if isinstance(operator, ast.And) else ' and ').join(map(text, values))})"
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return node, f"bool({text(operand)})"
        case ast.Constant(value=bool(value)):
            return node, str(not value)
        case ast.Constant(value=int(value)):
            return node, str(value + 1)
        case ast.BinOp(op=ast.Add() | ast.Sub() as operator, left=left, right=right):
            return node, f"({text(left)} {'-' if isinstance(operator, ast.Add) else '+'} {text(right)})"
        case ast.If(test=test):
            return test, f"not {text(test)}"
        case _:
            return None


def _runs(tree: ast.Module) -> Iterator[ast.AST]:
    """The nodes inside functions, annotations and messages left out: a fault there changes nothing that runs."""
    waiting: list[tuple[ast.AST, bool]] = [(tree, False)]
    while waiting:
        node, inside = waiting.pop()
        if inside:
            yield node
        if isinstance(node, ast.JoinedStr | ast.Raise | ast.Assert | ast.AnnAssign):
            continue
        here = inside or isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            waiting += [(each, here) for each in node.body]
        else:
            waiting += [(each, here) for each in ast.iter_child_nodes(node)]


def share(count: int, package: str) -> int:
    return count // len(PACKAGES) + (PACKAGES.index(package) < count % len(PACKAGES))


def chosen(count: int, seed: int) -> list[Fault]:
    """As many from each package, spread over its files by chance."""
    chance = random.Random(seed)
    picked: list[Fault] = []
    for package in PACKAGES:
        sites: list[Fault] = []
        for path in sorted((ROOT / "src/joey" / package).rglob("*.py")):
            sites += faults_in(str(path.relative_to(ROOT)), path.read_text("utf-8"))
        picked += chance.sample(sites, share(count, package))
    return picked


def caught_by(fault: Fault, tree: Path, *, thorough: bool = False) -> str | None:
    """The first test that fails with the fault planted; None if none does."""
    path = tree / fault.file
    source = path.read_text("utf-8")
    planted = fault.planted(source)
    assert planted is not None, f"{fault.file} has no such line: {fault.line}"

    def fails(tests: list[str], text: str) -> str | None:
        path.write_text(text, "utf-8")
        return _first_failure(tree, tests)

    try:
        for tests in tests_for(fault.file, tree, thorough=thorough):
            others: list[str] = []
            while (failed := fails([*tests, *others], planted)) and len(others) < _MAX_UNSTEADY:
                test = failed.partition(" ")[2]
                if not test.startswith("tests/") or (fails([test], planted) and not fails([test], source)):
                    return failed
                others.append(f"--deselect={test}")  # it fails now and then, whatever the source is
        return None
    finally:
        path.write_text(source, "utf-8")


def tests_for(file: str, tree: Path, *, thorough: bool) -> Iterator[list[str]]:
    """Those that name the module, the rest of the package's, those of the packages that use it."""
    package = file.split("/")[2]
    module = file.removeprefix("src/").removesuffix(".py").removesuffix("/__init__").replace("/", ".")
    parent, _, name = module.rpartition(".")
    named = re.compile(rf"\b{re.escape(module)}\b|from {re.escape(parent)} import [^\n]*\b{name}\b")
    paths = [path for path in sorted((tree / "tests").rglob("test_*.py")) if ".cache" not in path.parts]
    own = [path for path in paths if named.search(path.read_text("utf-8")) or path.stem == f"test_{name}"]
    rest = [path for path in paths if path not in own and package in path.parts]
    for tests in (own, rest, [tree / each for each in NEIGHBOURS[package]] if thorough else ()):
        there = [str(path.relative_to(tree)) for path in tests if path.exists()]
        if there:
            yield there


def _first_failure(tree: Path, tests: list[str]) -> str | None:
    command = [sys.executable, "-m", "pytest", "-x", "-n", "0", "-p", "no:cacheprovider", "--no-header", *tests]
    environment = {**os.environ, "PYTHONPATH": str(tree / "src"), "JOEY_MUTATION": "1"}
    try:
        run = subprocess.run(
            command,
            cwd=tree,
            env=environment,
            check=False,
            capture_output=True,
            text=True,
            timeout=_SECONDS,
            preexec_fn=_limit_processor_time,
        )
    except subprocess.TimeoutExpired:
        return f"a test of {tests[0]} … that did not end"
    if run.returncode == 0:
        return None
    failures = [line for line in run.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
    return failures[0].split(" - ")[0] if failures else f"pytest ended with {run.returncode}"


def _limit_processor_time() -> None:
    """A fault that makes a loop endless is caught, however busy the machine is."""
    resource.setrlimit(resource.RLIMIT_CPU, (_PROCESSOR_SECONDS, _PROCESSOR_SECONDS))


# The ledger


def read(ledger: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in ledger.read_text("utf-8").splitlines()] if ledger.exists() else []


def write(ledger: Path, rows: Iterable[dict[str, Any]]) -> None:
    ledger.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), "utf-8")


def fault_of(row: dict[str, Any]) -> Fault:
    return Fault(*(row[name] for name in Fault.__slots__))


def plan(rows: list[dict[str, Any]], count: int, seed: int) -> list[dict[str, Any]]:
    """The faults of the ledger whose lines are still there, and new ones until there are as many as wanted in each
    package. One that was tried keeps its result, whatever became of its line."""
    kept = [row for row in rows if "day" in row or _is_there(fault_of(row))]
    found = Counter(row["file"].split("/")[2] for row in kept)
    for fault in chosen(2 * count, seed):
        package = fault.file.split("/")[2]
        if found[package] < share(count, package) and fault not in map(fault_of, kept):
            kept.append(asdict(fault))
            found[package] += 1
    place = Counter[str]()
    return sorted(kept, key=lambda row: _turn(row["file"].split("/")[2], place))


def _turn(package: str, place: Counter[str]) -> tuple[int, int]:
    """The packages one after the other, so that a part of the faults is balanced as well."""
    place[package] += 1
    return place[package], PACKAGES.index(package)


def _is_there(fault: Fault) -> bool:
    path = ROOT / fault.file
    return path.exists() and fault.planted(path.read_text("utf-8")) is not None


def report(rows: list[dict[str, Any]]) -> str:
    tried = [row for row in rows if "day" in row]
    caught = [row for row in tried if row["caught_by"]]
    equivalent = [row for row in tried if row.get("equivalent")]
    lines = [
        f"{row['file']}: {row['line'].strip()}: {row['old']!r} as {row['new']!r}: "
        f"{row.get('equivalent') or 'NOT CAUGHT'}"
        for row in tried
        if not row["caught_by"]
    ]
    first = sum(bool(row["caught_by"]) and not row.get("missed_on") for row in tried)
    total = f"{len(caught)} of {len(tried)} faults caught, {first} of them by the tests as they were, {len(equivalent)}"
    return "\n".join([*lines, f"{total} without any effect, {len(rows) - len(tried)} not tried yet"])


def main(arguments: list[str]) -> int:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--faults", type=int, default=60)
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--minutes", type=float, default=float("inf"), help="begin no other fault after this time")
    options.add_argument("--again", action="store_true", help="only those that were not caught")
    options.add_argument("--thorough", action="store_true", help="also the tests of the packages that use it")
    options.add_argument("--report", action="store_true", help="try nothing")
    options.add_argument("--ledger", type=Path, default=ROOT / "scripts" / "mutation.jsonl")
    args = options.parse_args(arguments)
    if not args.report:
        rows = plan(read(args.ledger), args.faults, args.seed)
        write(args.ledger, rows)
        with clone() as tree:
            _try(rows, tree, args)
    print(report(read(args.ledger)))
    return 0


def _try(rows: list[dict[str, Any]], tree: Path, args: argparse.Namespace) -> None:
    end = time.monotonic() + args.minutes * 60
    waiting = [row for row in rows if not ("day" in row and (row["caught_by"] or row.get("equivalent")))]
    for row in waiting:
        if time.monotonic() > end or ("day" in row) != args.again:
            continue
        if row.get("day"):
            row["missed_on"] = row["day"]
        row["caught_by"] = caught_by(fault_of(row), tree, thorough=args.thorough)
        row["day"] = datetime.now(UTC).date().isoformat()
        print(f"{row['file']}: {row['line'].strip()}: {row['caught_by'] or 'NOT CAUGHT'}", flush=True)
        write(args.ledger, rows)


@contextlib.contextmanager
def clone() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder) / "tree"
        subprocess.run(["git", "clone", "-q", ROOT, tree], check=True)
        (tree / ".venv").symlink_to(ROOT / ".venv")
        if (ROOT / "tests/.cache").exists():
            (tree / "tests/.cache").symlink_to(ROOT / "tests/.cache")
        yield tree


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
