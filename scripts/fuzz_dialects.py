"""Random replies in every dialect: no exception, no character lost, the same outcome for every cut.

python scripts/fuzz_dialects.py                    until a million inputs have been read, this run and those before it
python scripts/fuzz_dialects.py --seconds 600      for ten minutes
python scripts/fuzz_dialects.py --show kimi_k2:17  one input, as text

Inputs are counted in a ledger, so that a million can be read in parts. Each has a name, `dialect:number`, from which it
is made again. What fails is written to the ledger with its reason, and the run goes on.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from dialect_fuzz import fuzzed, fuzzed_laws
from joey.protocols.dialects.table import DIALECTS

ROOT = Path(__file__).parents[1]
GOAL = 1_000_000
ROUND = 50  # inputs of one dialect before the next
MAX_FINDINGS = 100


def main(arguments: list[str]) -> int:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--inputs", type=int, default=GOAL, help="how many inputs the ledger should hold")
    options.add_argument("--seconds", type=float, default=float("inf"), help="stop after this time")
    options.add_argument("--ledger", type=Path, default=ROOT / "build" / "fuzz-dialects.json")
    options.add_argument("--show", metavar="DIALECT:NUMBER", help="print one input")
    args = options.parse_args(arguments)
    if args.show:
        name, _, number = args.show.partition(":")
        print(fuzzed(name, int(number)))
        return 0
    ledger = read(args.ledger)
    run(ledger, args.inputs, time.monotonic() + args.seconds, args.ledger)
    total = sum(ledger["read"].values())
    print(f"{total:,} random replies read in {len(ledger['read'])} dialects, {len(ledger['failed'])} wrong")
    for name, reason in ledger["failed"].items():
        print(f"  {name}: {reason}")
    return 1 if ledger["failed"] else 0


def read(path: Path) -> dict[str, Any]:
    known: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {"read": {}, "failed": {}}
    known["read"] = {name: known["read"].get(name, 0) for name in DIALECTS}
    return known


def run(ledger: dict[str, Any], goal: int, end: float, path: Path) -> None:
    while sum(ledger["read"].values()) < goal and time.monotonic() < end and len(ledger["failed"]) < MAX_FINDINGS:
        name = min(ledger["read"], key=ledger["read"].get)
        first = ledger["read"][name]
        for number in range(first, first + ROUND):
            if reason := fuzzed_laws(name, number):
                ledger["failed"][f"{name}:{number}"] = reason
        ledger["read"][name] = first + ROUND
        if name == next(iter(DIALECTS)) or ledger["failed"]:
            write(path, ledger)
    write(path, ledger)


def write(path: Path, ledger: dict[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    new = path.with_suffix(".new")
    new.write_text(json.dumps(ledger, indent=1, ensure_ascii=False))
    new.replace(path)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
