from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from joey import protocols
from joey.messages import ToolUseBlock
from joey.protocols.dialects.protocol import DialectProtocol
from joey.toolspec import ToolSpec

EXAMPLES = sorted((Path(__file__).parents[1] / "examples").glob("[0-9]*.py"))


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_example_runs(example: Path, tmp_path: Path) -> None:
    environment = {**os.environ, "HOME": str(tmp_path), "PYTHONWARNINGS": "error"}
    run = subprocess.run(
        [sys.executable, str(example)], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr
    assert run.stdout


def _adapter() -> ModuleType:
    spec = importlib.util.spec_from_file_location("adapter", EXAMPLES[5])
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("dialect", ["hermes", "qwen3_coder", "gemma4", "kimi_k2", "lfm2"])
def test_a_server_gets_arguments_that_are_json_only_if_the_call_is_whole(dialect: str) -> None:
    adapter = _adapter()
    codec = protocols.get(dialect)
    assert isinstance(codec, DialectProtocol)
    call = ToolUseBlock("c1", "write_file", {"path": "a", "content": '}"é\n'})
    text = codec.encode_calls([call], [ToolSpec.read(tool) for tool in adapter.TOOLS]).text
    for end in range(len(text) + 1):
        parser = adapter.ToolParser(dialect, adapter.TOOLS)
        deltas = [parser.extract_tool_calls_streaming(text[:at], text[: at + 1], text[at]) for at in range(end)]
        pieces = [each for delta in [*deltas, parser.finish()] for each in (delta or {}).get("tool_calls", [])]
        written = "".join(piece["function"]["arguments"] for piece in pieces)
        try:
            assert json.loads(written) == call.arguments
        except ValueError:
            assert end < len(text)
