"""`joey local bench`: one short run of a model, timed by the engine itself."""

from __future__ import annotations

import json
import time
from typing import Any

from joey.cli.local import measured, speed_words
from joey.errors import UsageError
from joey.providers.base import EngineOptions
from joey.providers.local.engine import ask_server, engine_for, plan, stop_engines, threads_for
from joey.providers.local.weights import installed_models, model_file
from joey.providers.local.weights.install import speed_file

_LINES = 12
_TOKENS = 64


def bench(name: str | None, threads: int | None) -> int:
    """Measure a model and keep what was found for `joey doctor`."""
    path = model_file(name or _best())
    threads = threads_for(threads)
    engine = engine_for(plan(path, EngineOptions(threads=threads)))
    began = time.monotonic()
    address = engine.load()
    loaded = time.monotonic() - began
    try:
        timings = _ask(address, engine.key)
    finally:
        stop_engines()
    found = {
        "prompt": round(timings["prompt_per_second"], 1),
        "generation": round(timings["predicted_per_second"], 1),
        "threads": threads,
    }
    speed_file(path).write_text(json.dumps(found) + "\n", encoding="utf-8")
    speed = measured(path)
    assert speed is not None
    print(f"{path.name}: loaded in {loaded:.1f} s, {speed_words(speed)}, with {threads} thread{'s'[: threads > 1]}")
    return 0


def _best() -> str:
    names = installed_models()
    if not names:
        raise UsageError("no model is installed; run `joey local install`, or give a GGUF file")
    return names[0]


def _ask(address: str, key: str) -> dict[str, Any]:
    """What the engine says of one request: a prompt of some 200 tokens, and a short text."""
    prompt = "\n".join(f"def add_{number}(a, b):\n    return a + b + {number}\n" for number in range(_LINES))
    body = {"prompt": prompt, "n_predict": _TOKENS, "temperature": 0, "ignore_eos": True, "cache_prompt": False}
    timings: dict[str, Any] = ask_server(address, "/completion", key, body)["timings"]
    return timings
