"""The grammars of the dialects in the engines of inference servers, where one is installed; llama.cpp needs a model and
is checked by `scripts/grammar_engines.py --model FILE`."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

SCRIPT = Path(__file__).parents[2] / "scripts" / "grammar_engines.py"


def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("grammar_engines", SCRIPT)
    assert spec is not None and spec.loader is not None
    module = sys.modules["grammar_engines"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("engine", ["xgrammar", "llguidance"])
def test_an_engine_takes_every_grammar(engine: str, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip(engine, reason=f"{engine} is not installed; it is no dependency of Joey", exc_type=ImportError)
    engines = script()
    assert engines.check(engine, getattr(engines, engine)()) == 0, capsys.readouterr().out


def test_a_grammar_that_an_engine_refuses_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    def refuses(grammar: str, texts: list[str]) -> int:
        if grammar.startswith("root") and "arg_key" in grammar:
            raise ValueError("no such rule")
        return len(texts)

    assert script().check("strict", refuses) == 1
    printed = capsys.readouterr().out
    assert "strict: glm47, required: no such rule" in printed and "hermes, required" not in printed
