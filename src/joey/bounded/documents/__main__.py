"""The child: `python -m joey.bounded.documents .pdf < file` prints the text as JSON, or the error."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from importlib import import_module

from joey.bounded.documents import MODULES, DocumentError, Extracted
from joey.bounded.process import hold_limits


def main() -> None:
    module = import_module(f"joey.bounded.documents.{MODULES[sys.argv[1]]}")
    hold_limits()
    try:
        extracted: Extracted = module.extract(sys.stdin.buffer)
        answer = asdict(extracted)
    except DocumentError as error:
        answer = {"error": str(error)}
    text = json.dumps(answer, ensure_ascii=False)
    sys.stdout.buffer.write(text.encode("utf-8", "replace"))


if __name__ == "__main__":
    main()
