"""Plant small faults in the core, one at a time, and see which of them the tests catch.

python scripts/mutation.py                        60 faults, chosen by a seed, over the packages of the core
python scripts/mutation.py --faults 10 --seed 7   others
python scripts/mutation.py --again                those in the ledger that were not caught, after tests were added

The tests of the fault's package run first and, if they miss it, those of the packages that use it. Results are kept in
a ledger after each fault, so that a run can be stopped and continued. The faults are planted in a clone of the last
commit.
"""

from __future__ import annotations

import argparse
import ast
import itertools
import json
import os
import random
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

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
_SECONDS = 600


@dataclass(frozen=True, slots=True)
class Fault:
    """The text from `start` to `end` (offsets in the file) becomes `text`."""

    file: str
    line: int
    start: int
    end: int
    text: str

    def planted(self, source: str) -> str:
        return source[: self.start] + self.text + source[self.end :]


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
            place, text = found
            yield Fault(file, place.lineno, *places.span(place), text)


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


def chosen(count: int, seed: int) -> list[Fault]:
    """As many from each package, spread over its files by chance."""
    chance = random.Random(seed)
    picked: list[Fault] = []
    for number, package in enumerate(PACKAGES):
        share = count // len(PACKAGES) + (number < count % len(PACKAGES))
        sites: list[Fault] = []
        for path in sorted((ROOT / "src/joey" / package).rglob("*.py")):
            sites += faults_in(str(path.relative_to(ROOT)), path.read_text("utf-8"))
        picked += chance.sample(sites, share)
    return picked


def caught_by(fault: Fault, tree: Path) -> str | None:
    """The first test that fails with the fault planted; None if none does."""
    path = tree / fault.file
    source = path.read_text("utf-8")
    path.write_text(fault.planted(source), "utf-8")
    package = fault.file.split("/")[2]
    try:
        for tests in ((f"tests/{package}",), NEIGHBOURS[package]):
            if failed := _first_failure(tree, tests):
                return failed
        return None
    finally:
        path.write_text(source, "utf-8")


def _first_failure(tree: Path, tests: tuple[str, ...]) -> str | None:
    there = [each for each in tests if (tree / each).exists()]
    command = [sys.executable, "-m", "pytest", "-x", "-n", "2", "-p", "no:cacheprovider", "--no-header", *there]
    environment = {**os.environ, "PYTHONPATH": str(tree / "src"), "JOEY_MUTATION": "1"}
    try:
        run = subprocess.run(
            command, cwd=tree, env=environment, check=False, capture_output=True, text=True, timeout=_SECONDS
        )
    except subprocess.TimeoutExpired:
        return "a test that did not end"
    if run.returncode == 0:
        return None
    failures = [line for line in run.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
    return failures[0].split(" - ")[0] if failures else f"pytest ended with {run.returncode}"


def main(arguments: list[str]) -> int:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--faults", type=int, default=60)
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--again", action="store_true", help="only those that were not caught")
    options.add_argument("--ledger", type=Path, default=ROOT / "build" / "mutation.json")
    args = options.parse_args(arguments)
    known = json.loads(args.ledger.read_text("utf-8")) if args.ledger.exists() else []
    results = {json.dumps(each["fault"]): each["caught_by"] for each in known}
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder) / "tree"
        subprocess.run(["git", "clone", "-q", ROOT, tree], check=True)
        (tree / ".venv").symlink_to(ROOT / ".venv")
        if (ROOT / "tests/.cache").exists():
            (tree / "tests/.cache").symlink_to(ROOT / "tests/.cache")
        for fault in chosen(args.faults, args.seed):
            key = json.dumps(asdict(fault))
            if key in results and (results[key] or not args.again):
                continue
            results[key] = caught_by(fault, tree)
            print(f"{fault.file}:{fault.line}: {fault.text!r}: {results[key] or 'NOT CAUGHT'}", flush=True)
            args.ledger.parent.mkdir(exist_ok=True)
            kept = [{"fault": json.loads(each), "caught_by": by} for each, by in results.items()]
            args.ledger.write_text(json.dumps(kept, indent=1), "utf-8")
    caught = sum(by is not None for by in results.values())
    print(f"{caught} of {len(results)} faults caught")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
