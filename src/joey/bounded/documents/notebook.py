"""A Jupyter notebook as its cells, with the text of their outputs; images and other data are only named."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, BinaryIO

from joey.bounded.documents import DocumentError, Extracted, Room, counted

_MAX_OUTPUT = 2_000
_MAX_KINDS = 20


def extract(file: BinaryIO) -> Extracted:
    room = Room(file)
    try:
        notebook = json.loads(file.read())
    except (ValueError, RecursionError) as problem:
        raise DocumentError(f"the notebook is no valid JSON ({problem})") from None
    cells = notebook.get("cells") if isinstance(notebook, dict) else None
    if not isinstance(cells, list):
        raise DocumentError("the notebook has no list of cells (notebooks before format 4 are not read)")
    shown = list[str]()
    for number, cell in enumerate(cells, 1):
        text = _cell(number, cell) if isinstance(cell, dict) else ""
        if not room.take(text):
            break
        shown += [text] if text else []
    cut = room.cut(counted(len(shown), "cell"))
    return Extracted(f"Jupyter notebook, {counted(len(cells), 'cell')}", "\n\n".join(shown), cut)


def _cell(number: int, cell: dict[str, Any]) -> str:
    outputs = cell.get("outputs")
    shown = [] if not isinstance(outputs, list) else [text for each in outputs for text in _output(each)]
    return "\n".join([f"[Cell {number}, {cell.get('cell_type', 'unknown')}]", _joined(cell.get("source")), *shown])


def _output(output: Any) -> Iterator[str]:
    if not isinstance(output, dict):
        return
    data = output.get("data")
    if output.get("output_type") == "error":
        yield _short(f"{output.get('ename')}: {output.get('evalue')}", "Error")
    elif "text" in output:
        yield _short(_joined(output["text"]))
    elif isinstance(data, dict):
        others = sorted(kind[:100] for kind in data if kind != "text/plain")[:_MAX_KINDS]
        yield _short(_joined(data.get("text/plain"))) + (f" (also {', '.join(others)})" if others else "")


def _joined(source: Any) -> str:
    """A text as notebooks store it: one string, or a list of lines."""
    return "".join(map(str, source)) if isinstance(source, list) else str(source or "")


def _short(text: str, label: str = "Output") -> str:
    text = text.rstrip("\n")
    cut = f"{text[:_MAX_OUTPUT]}... ({len(text):,} characters)" if len(text) > _MAX_OUTPUT else text
    return f"[{label}] {cut}"
