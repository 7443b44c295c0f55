"""`python -m bench [NAME…]`: every benchmark, or the named ones, as ratios: machines are shared and noisy.

What is claimed comes first, then the tables. `--full` adds the benchmarks that take long.
What is being measured goes to stderr. The figures of the claims are kept in `bench/last.json`, from which `make docs`
writes the page on performance.
"""

from __future__ import annotations

import importlib
import sys
import time

from bench.claims import Measured, measured, record, summary
from bench.table import Table, together

BENCHMARKS = (
    "startup", "idle", "parsing", "text_protocols", "dialects", "search", "indexing", "checkpoints", "commands", "loop",
    "turns", "gateway",
)  # fmt: skip
LONG = ("install", "search_quality", "web", "fleet")


def main(arguments: list[str]) -> int:
    names = [each for each in arguments if each != "--full"]
    unknown = [name for name in names if name not in BENCHMARKS + LONG]
    if unknown:
        print(f"there is no benchmark {unknown[0]!r}; there are: {', '.join(BENCHMARKS + LONG)}", file=sys.stderr)
        return 2
    tables: list[Table] = []
    found: list[Measured] = []
    for name in names or (BENCHMARKS + LONG if "--full" in arguments else BENCHMARKS):
        print(f"measuring: {name} …", end=" ", file=sys.stderr, flush=True)
        begun = time.monotonic()
        made = importlib.import_module(f"bench.{name}").run()
        print(f"{time.monotonic() - begun:.0f} s", file=sys.stderr, flush=True)
        tables += made
        found += measured(name, made)
        record(found)
    print(summary(found), together(tables), sep="\n\n")
    return 0


raise SystemExit(main(sys.argv[1:]))
