"""LiteLLM's proxy in front of a server, as installed by `scripts/install_peer.py litellm`."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2

LITELLM = Path(__file__).parents[1] / "evals" / ".cache" / "litellm" / "bin" / "litellm"


@contextlib.contextmanager
def proxy(address: str, key: str, master_key: str) -> Iterator[str]:
    parameters = {"model": "openai/m", "api_base": f"{address}/v1", "api_key": key}
    config = {"model_list": [{"model_name": "m", "litellm_params": parameters}]}
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "config.json"
        file.write_text(json.dumps(config), encoding="utf-8")
        port = _free_port()
        command = [str(LITELLM), "--config", str(file), "--port", str(port), "--host", "127.0.0.1"]
        quiet: Any = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        # It would fetch a list of prices from the internet.
        variables = {**os.environ, "LITELLM_LOCAL_MODEL_COST_MAP": "True", "LITELLM_MASTER_KEY": master_key}
        with subprocess.Popen(command, env=variables, **quiet) as process:
            try:
                _wait_for(f"http://127.0.0.1:{port}/health/liveliness", process)
                yield f"http://127.0.0.1:{port}"
            finally:
                process.terminate()


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def _wait_for(url: str, process: subprocess.Popen[bytes]) -> None:
    for _ in range(300):
        if process.poll() is not None:
            raise SystemExit("LiteLLM ended before it served; it refuses a master key that is short, for one")
        with contextlib.suppress(httpx2.HTTPError):
            if httpx2.get(url, trust_env=False).is_success:
                return
        time.sleep(1)
    raise SystemExit(f"nothing answers at {url}")
