"""Run the property tests long and add to the ledger how many inputs each was given: `python -m fuzz.property_tests
[pytest arguments]`.

JOEY_FUZZ is how many inputs each property is tried on, 5,000 unless it is set. What Hypothesis drew and threw away,
because it did not match, is not counted.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections import Counter

from fuzz.ledger import Ledger

_TEST = re.compile(r"^(tests/\S+?::\w+).*?:?$")
_NUMBERS = (
    "random lines of bash judged",
    "of them allowed and run among tripwires",
    "random replies read in the dialects",
)
_REPORTED = re.compile(rf"^([\d,]+) ({'|'.join(_NUMBERS)})$", re.MULTILINE)
_EXAMPLES = re.compile(r"(\d+) passing, (\d+) failing|(\d+) passing examples, (\d+) failing examples")


def main(arguments: list[str]) -> int:
    environment = {**os.environ, "JOEY_FUZZ": os.environ.get("JOEY_FUZZ") or "5000"}
    command = [sys.executable, "-m", "pytest", "-m", "property", "-p", "no:randomly", "--hypothesis-show-statistics"]
    run = subprocess.run([*command, *arguments], check=False, env=environment, capture_output=True, text=True)
    tried = count(run.stdout)
    ledger = Ledger()
    for test, inputs in tried.items():
        print(f"{inputs:>10,}  {test}")
        ledger.add(test, inputs, {})
    print(f"{tried.total():>10,}  inputs tried by {len(tried)} properties")
    if run.returncode:  # what failed is printed, and is tried again first by Hypothesis: the ledger counts what passed
        print(run.stdout.split("Hypothesis Statistics")[0], run.stderr, sep="\n")
    else:
        ledger.save()
    return run.returncode


def count(output: str) -> Counter[str]:
    """How many inputs each test was given, by what pytest printed."""
    tried: Counter[str] = Counter()
    test = ""
    for line in output.splitlines():
        if heading := _TEST.match(line.strip()):
            test = heading.group(1)
        elif examples := _EXAMPLES.search(line):
            tried[test] += sum(int(number) for number in examples.groups() if number)
        elif reported := _REPORTED.match(line):
            tried[reported[2]] += int(reported[1].replace(",", ""))
    return tried


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
