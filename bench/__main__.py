"""`python -m bench [NAME…]`: every benchmark, or the named ones, in one table of ratios: machines are shared and noisy.

What is being measured goes to stderr, the table to stdout at the end.
"""

from __future__ import annotations

import importlib
import sys

from bench.table import Table, together

BENCHMARKS = (
    "install", "startup", "parsing", "text_protocols", "dialects", "search", "search_quality", "indexing",
    "checkpoints", "commands", "loop", "turns", "gateway", "fleet",
)  # fmt: skip


def main(names: list[str]) -> int:
    unknown = [name for name in names if name not in BENCHMARKS]
    if unknown:
        print(f"there is no benchmark {unknown[0]!r}; there are: {', '.join(BENCHMARKS)}", file=sys.stderr)
        return 2
    tables: list[Table] = []
    for name in names or BENCHMARKS:
        print(f"measuring: {name} …", file=sys.stderr, flush=True)
        tables += importlib.import_module(f"bench.{name}").run()
    print(together(tables))
    return 0


raise SystemExit(main(sys.argv[1:]))
