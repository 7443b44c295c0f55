"""The weights of models that run on this machine: which ones Joey can fetch, how, and what is in a file.

    installed_models()            the names of what is here, best first
    model_file("coder-1.5b")      the file of a name, or of a path to any other GGUF

Nothing here runs a model; that is `joey.providers.local.provider`.
"""

from __future__ import annotations

from joey.providers.local.weights.catalogue import (
    CATALOGUE,
    DEFAULT,
    Weights,
    WheelPart,
    installed_models,
    known,
    model_file,
)
from joey.providers.local.weights.gguf import (
    Facts,
    GgufError,
    chat_template,
    control_words,
    read_facts,
    silent_tokens,
    why_unreadable,
)
from joey.providers.local.weights.install import InstallError, install, remove

__all__ = [
    "CATALOGUE",
    "DEFAULT",
    "Facts",
    "GgufError",
    "InstallError",
    "Weights",
    "WheelPart",
    "chat_template",
    "control_words",
    "install",
    "installed_models",
    "known",
    "model_file",
    "read_facts",
    "remove",
    "silent_tokens",
    "why_unreadable",
]
