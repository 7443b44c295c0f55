"""`python -m bench [NAME…]`: every benchmark, or the named ones. Ratios only: machines are shared and noisy."""

from __future__ import annotations

import importlib
import sys

BENCHMARKS = ("install", "startup", "parsing", "text_protocols", "search", "loop")


def main(names: list[str]) -> int:
    for name in names or BENCHMARKS:
        if name not in BENCHMARKS:
            print(f"there is no benchmark {name!r}; there are: {', '.join(BENCHMARKS)}", file=sys.stderr)
            return 2
        for table in importlib.import_module(f"bench.{name}").run():
            print(table, flush=True)
            print()
    return 0


raise SystemExit(main(sys.argv[1:]))
