"""How many of the recorded dialect cases Joey answers right, per dialect.

python scripts/dialect_vectors.py                 all dialects, whole and by character
python scripts/dialect_vectors.py kimi_k2 -v      one, with what is wrong
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from dialect_cases import CUTS, answer, cases_of, dialect_names, right


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("dialect", nargs="*")
    options.add_argument("--verbose", "-v", action="store_true")
    options.add_argument("--cuts", default="whole", help="whole, character, random or all")
    options.add_argument("--made", action="store_true", help="only cases whose answer is known, not recorded")
    args = options.parse_args()
    cuts = tuple(CUTS) if args.cuts == "all" else (args.cuts,)
    total = good = 0
    for name in args.dialect or dialect_names():
        scored = [case for case in cases_of(name) if _counts(case, args.made)]
        wrong = [(case, cut) for case in scored for cut in cuts if not _is_right(case, cut)]
        failed = {case["id"] for case, _ in wrong}
        total, good = total + len(scored), good + len(scored) - len(failed)
        share = 100 * (len(scored) - len(failed)) / max(1, len(scored))
        print(f"{name:20} {len(scored) - len(failed):4} of {len(scored):4}  {share:5.1f} %")
        for case, cut in wrong if args.verbose else ():
            _show(case, cut)
    print(f"{'all':20} {good:4} of {total:4}  {100 * good / max(1, total):5.1f} %")
    return 0


def _counts(case: Any, made: bool) -> bool:
    if case["category"] == "unfinished":
        return True
    return case["expected"] is not None and not (made and case.get("recorded"))


def _is_right(case: Any, cut: str) -> bool:
    try:
        return right(case, answer(case, CUTS[cut](case, random.Random(case["id"]))))
    except Exception as error:  # noqa: BLE001 - the script shows what went wrong and goes on
        print(f"  {case['id']}: {type(error).__name__}: {error}")
        return False


def _show(case: Any, cut: str) -> None:
    print(f"  {case['id']} ({case['category']}, {cut}, agree {case.get('agree')}, tail {case.get('prompt_tail')!r})")
    print("    text    ", json.dumps(case["text"], ensure_ascii=False)[:600])
    print("    expected", json.dumps(case["expected"], ensure_ascii=False)[12:500])
    try:
        got = answer(case, CUTS[cut](case, random.Random(case["id"])))
        print("    got     ", json.dumps(got, ensure_ascii=False)[:500])
    except Exception as error:  # noqa: BLE001
        print("    got     ", repr(error))


if __name__ == "__main__":
    sys.exit(main())
