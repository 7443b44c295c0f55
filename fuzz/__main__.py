"""`python -m fuzz [PROPERTY …]`: try the laws on random inputs until the ledger holds ten million of them.

python -m fuzz --seconds 600           for ten minutes; the next run continues behind the last input
python -m fuzz --show json_stream:17   one input
python -m fuzz --report                what the ledger holds

Every property gets the same time. What fails is kept in the ledger with its reason, and the run goes on; the inputs
that failed before are tried first.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from fuzz.ledger import LEDGER, Ledger
from fuzz.properties import PROPERTIES

GOAL = 10_000_000
TURN = 2.0  # seconds of processor time for a property before the next
BATCH = 50  # inputs between two looks at the clock
MAX_FINDINGS = 100
MAX_FINDINGS_A_TURN = 5


def main(arguments: list[str]) -> int:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("properties", nargs="*", metavar="PROPERTY", help=", ".join(PROPERTIES))
    options.add_argument("--inputs", type=int, default=GOAL, help="how many inputs the ledger should hold")
    options.add_argument("--seconds", type=float, default=float("inf"), help="stop after this time")
    options.add_argument("--ledger", type=Path, default=LEDGER)
    options.add_argument("--show", metavar="PROPERTY:NUMBER", help="print one input")
    options.add_argument("--report", action="store_true", help="try nothing")
    args = options.parse_args(arguments)
    unknown = set(args.properties) - PROPERTIES.keys()
    if unknown:
        options.error(f"there is no property {unknown.pop()}")
    if args.show:
        name, _, number = args.show.partition(":")
        print(PROPERTIES[name].shown(name, int(number)))
        return 0
    ledger = Ledger(args.ledger)
    if not args.report:
        try_again(ledger)
        run(ledger, args.properties or list(PROPERTIES), args.inputs, time.monotonic() + args.seconds)
    report(ledger)
    return 1 if ledger.failures else 0


def run(ledger: Ledger, names: list[str], goal: int, end: float) -> None:
    tried = ledger.tried
    while tried.total() < goal and time.monotonic() < end and len(ledger.failures) < MAX_FINDINGS:
        for name in names:
            inputs, failed = _turn(name, tried[name])
            ledger.add(name, inputs, failed)
            tried[name] += inputs
            ledger.save()


def _turn(name: str, first: int) -> tuple[int, dict[str, str]]:
    """How many inputs were tried, and what was wrong with which."""
    law, end, inputs = PROPERTIES[name], time.process_time() + TURN, 0
    failed: dict[str, str] = {}
    while time.process_time() < end and len(failed) < MAX_FINDINGS_A_TURN:
        for number in range(first + inputs, first + inputs + BATCH):
            if problem := law.problem(name, number):
                failed[str(number)] = problem
        inputs += BATCH
    return inputs, failed


def try_again(ledger: Ledger) -> None:
    for part, number in ledger.failures:
        if part.property in PROPERTIES and not PROPERTIES[part.property].problem(part.property, int(number)):
            part.fixed[number] = part.failed.pop(number)


def report(ledger: Ledger) -> None:
    tried = ledger.tried
    for name, inputs in tried.items():
        print(f"{inputs:>12,}  {name}")
    fixed = sum(len(part.fixed) for part in ledger.parts)
    print(f"{tried.total():>12,}  inputs in all, {len(ledger.failures)} failures, {fixed} that were fixed")
    for part, number in ledger.failures:
        print(f"{part.property}:{number}: {part.failed[number]}")


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
