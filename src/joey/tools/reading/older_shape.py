"""The older shape of a read_file call, which models still know: `{files: [{path, line_ranges: [[1, 50]]}]}`.

Its variants: one file instead of a list, the list as a string of JSON (or that again as a string), a range as
`[1, 50]`, `{start, end}` or `"1-50"`. What fits none of them is left as it is, for the validation to report.
"""

from __future__ import annotations

import json
import re
from typing import Any

from joey.wire import JsonObject

_RANGE = re.compile(r"\s*(\d+)\s*-\s*(\d+)\s*")


def from_older_shape(arguments: JsonObject) -> JsonObject:
    """The arguments with `files` as a list of `{path, line_ranges}` and `path` set to the first of them."""
    if "files" not in arguments or "path" in arguments:
        return arguments
    files = _files(arguments["files"])
    first = files[0] if files else None
    path = first.get("path") if isinstance(first, dict) else None
    return {**arguments, "files": files, **({} if path is None else {"path": path})}


def _files(files: Any) -> list[Any]:
    for _ in range(2):  # some models write the list as a string, and that string as a string again
        if isinstance(files, str):
            try:
                files = json.loads(files)
            except (ValueError, RecursionError):
                return [] if files.lstrip()[:1] in ("", "[", "{") else [_file(files)]  # nothing, or a list cut short
    return [_file(each) for each in (files if isinstance(files, list) else [files])]


def _file(file: Any) -> Any:
    if isinstance(file, str):
        return {"path": file}
    if not isinstance(file, dict):
        return file
    ranges = file.get("line_ranges", file.get("lineRanges"))
    known = {key: value for key, value in file.items() if key not in ("line_ranges", "lineRanges")}
    if not ranges:
        return known
    return {**known, "line_ranges": [_range(each) for each in (ranges if isinstance(ranges, list) else [ranges])]}


def _range(given: Any) -> Any:
    if isinstance(given, dict) and {"start", "end"} <= given.keys():
        return [given["start"], given["end"]]
    if isinstance(given, str) and (found := _RANGE.fullmatch(given)):
        return [int(found[1]), int(found[2])]
    return given
