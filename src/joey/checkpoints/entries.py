"""What is known of one path at one moment, and a checkpoint as data."""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

Kind: TypeAlias = Literal["file", "link", "folder", "absent", "unkept"]
Verb: TypeAlias = Literal["create", "change", "remove"]


@dataclass(frozen=True, slots=True)
class PathState:
    """A path as it was. `content` is the hash of a file, the target of a link, or why a file was not kept."""

    kind: Kind
    mode: int = 0
    content: str = ""
    stamp: tuple[int, ...] = ()
    """Size, times and inode of a file: as long as these are the same, its content need not be read again. Empty when
    they prove nothing, because the file changed in the very moment it was looked at."""
    extras: str = ""
    """What a file has that is not kept, in words: another owner, extended attributes, further names."""

    def same_as(self, other: PathState) -> bool:
        """Whether there is nothing to do to turn one into the other."""
        if self.kind == "unkept" or other.kind == "unkept":
            return bool(self.stamp) and self.stamp == other.stamp
        return (self.kind, self.mode, self.content) == (other.kind, other.mode, other.content)

    def to_json(self) -> list[Any]:
        return [self.kind, self.mode, self.content, *self.stamp, *([self.extras] if self.extras else [])]

    @classmethod
    def from_json(cls, data: list[Any]) -> PathState:
        kind, mode, content, *rest = data
        stamp = tuple(each for each in rest if not isinstance(each, str))
        return cls(kind, mode, content, stamp, next((each for each in rest if isinstance(each, str)), ""))


ABSENT = PathState("absent")


@dataclass(frozen=True, slots=True)
class Change:
    """What restoring would do to one path."""

    path: str
    now: PathState
    wanted: PathState

    @property
    def verb(self) -> Verb:
        if self.now.kind == "absent":
            return "create"
        return "remove" if self.wanted.kind == "absent" else "change"


def stamp_of(info: os.stat_result) -> tuple[int, ...]:
    return (info.st_size, info.st_mtime_ns, info.st_ctime_ns, info.st_ino)


def mode_of(info: os.stat_result) -> int:
    return stat.S_IMODE(info.st_mode)


@dataclass(frozen=True, slots=True)
class CheckpointLimits:
    """How much is kept. What goes over a limit is left out, is named as left out, and is never removed by restoring."""

    file_bytes: int = 1 << 20
    """The largest file that is kept because a command might change it."""
    touched_bytes: int = 64 << 20
    """The largest file that is kept because a tool is about to change it."""
    total_bytes: int = 512 << 20
    """All contents of one task, compressed."""
    paths: int = 50_000
    """How many files and folders of a workspace are looked at."""
    seconds: float = 10.0
    """How long one checkpoint may read files. The next one goes on where this one stopped."""


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """The state before one call. `whole`: the workspace was looked at; otherwise only the files the call names."""

    id: int
    at: float
    turn: int
    """In which turn of the model (counted from 1) the call was made."""
    call_id: str
    label: str
    whole: bool
    entries: Mapping[str, PathState] = field(default_factory=dict)
    """What is new since the last checkpoint of the whole workspace, or the files that are about to be touched."""
    gone: tuple[str, ...] = ()
    skipped: tuple[str, ...] | None = None
    """Files and folders that were there and are none of a checkpoint's business; None: the same as the last time."""
    restores: int | None = None
    """Which checkpoint was restored right after this one was taken."""

    @property
    def unkept(self) -> dict[str, str]:
        """The files whose content is not in it, and why."""
        return {path: entry.content for path, entry in self.entries.items() if entry.kind == "unkept"}

    def to_json(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "at": self.at,
            "turn": self.turn,
            "call": self.call_id,
            "label": self.label,
            "whole": self.whole,
            "entries": {path: entry.to_json() for path, entry in self.entries.items()},
            "gone": list(self.gone),
            "skipped": None if self.skipped is None else list(self.skipped),
            "restores": self.restores,
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Checkpoint:
        skipped = data["skipped"]
        return cls(
            data["id"],
            data["at"],
            data["turn"],
            data["call"],
            data["label"],
            data["whole"],
            {path: PathState.from_json(entry) for path, entry in data["entries"].items()},
            tuple(data["gone"]),
            None if skipped is None else tuple(skipped),
            data.get("restores"),
        )
