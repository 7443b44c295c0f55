"""Where the output of commands is kept with the task: `commands/cmd-1.txt`, `cmd-2.txt`, … in its storage.

An id is a number nobody has used in this task, made by creating the file, so ids stay unique and keep their meaning
when a task is resumed, and when two commands begin at once. Beside each output stands what is known of its command
(`cmd-1.json`), so that it can be told later how it ended, or that nobody saw it end. Output may hold anything:
folder and files are the user's alone.
"""

from __future__ import annotations

import json
import re
from dataclasses import asdict, dataclass
from pathlib import Path

from joey.system.folders import close_to_others, make_private, private_file

ARTIFACT_ID = re.compile(r"cmd-\d+\.txt")


@dataclass(frozen=True, slots=True)
class CommandRecord:
    """A command whose output is kept. The exit code is missing while it runs, or if its end was not seen."""

    command: str
    cwd: str
    exit_code: int | None = None


def folder_of(storage: Path) -> Path:
    return storage / "commands"


def new_artifact(storage: Path) -> Path:
    """A new empty file under an id of its own. Raises OSError."""
    folder = folder_of(storage)
    make_private(folder)
    close_to_others(folder)
    number = max((int(path.stem[4:]) for path in artifacts(storage)), default=0)
    while True:
        number += 1
        path = folder / f"cmd-{number}.txt"
        try:
            open(path, "xb", opener=private_file).close()
        except FileExistsError:
            continue
        return path


def artifacts(storage: Path) -> list[Path]:
    """The outputs kept, oldest first."""
    found = (path for path in folder_of(storage).glob("cmd-*.txt") if ARTIFACT_ID.fullmatch(path.name))
    return sorted(found, key=lambda path: int(path.stem[4:]))


def kept_bytes(storage: Path) -> int:
    """How large the outputs kept are together."""
    return sum(path.stat().st_size for path in artifacts(storage))


def write_record(artifact: Path, record: CommandRecord) -> None:
    temporary = artifact.with_suffix(".json.new")
    with open(temporary, "w", encoding="utf-8", opener=private_file) as file:
        file.write(json.dumps(asdict(record)))
    temporary.replace(artifact.with_suffix(".json"))


def read_record(artifact: Path) -> CommandRecord | None:
    try:
        return CommandRecord(**json.loads(artifact.with_suffix(".json").read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return None
