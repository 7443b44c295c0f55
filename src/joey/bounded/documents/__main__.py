"""The child: `python -m joey.bounded.documents .pdf < file` prints the text as JSON, or the error."""

from __future__ import annotations

import json
import math
import sys
from dataclasses import asdict
from importlib import import_module

from joey.bounded.documents import MAX_SECONDS, MODULES, DocumentError, Extracted
from joey.bounded.process import hold_limits

_AFTERWARDS = 1
"""Seconds beyond those for reading, to hand over what was read. Who does not stop by then is stopped."""


def main() -> None:
    module = import_module(f"joey.bounded.documents.{MODULES[sys.argv[1]]}")
    hold_limits(math.ceil(MAX_SECONDS) + _AFTERWARDS)
    try:
        extracted: Extracted = module.extract(sys.stdin.buffer)
        answer = asdict(extracted) if extracted.text or not extracted.cut else {"error": extracted.cut}
    except DocumentError as error:
        answer = {"error": str(error)}
    text = json.dumps(answer, ensure_ascii=False)
    sys.stdout.buffer.write(text.encode("utf-8", "replace"))


if __name__ == "__main__":
    main()
