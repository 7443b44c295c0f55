"""Clients in front of the gateway: what each needs to be started with, in a scratch place of its own.

Nothing here touches the user's own configuration: files are written to a folder that is deleted afterwards, and
variables are set for the client alone.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

DEFAULT_WINDOW = 32768
MAX_ANSWER = 4096


@dataclass(frozen=True, slots=True)
class Served:
    """What a client has to know of the gateway."""

    url: str
    key: str
    model: str
    window: int = DEFAULT_WINDOW


@dataclass(frozen=True, slots=True)
class Launch:
    """How a client is started: its command, variables, and files by their name in the scratch folder."""

    command: tuple[str, ...]
    variables: Mapping[str, str]
    files: Mapping[str, str] = field(default_factory=dict)
    install: str = ""

    def write_files(self, folder: Path) -> None:
        for name, text in self.files.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")

    def shown(self, folder: str) -> str:
        """The same as lines of a shell script, with the files in this folder."""
        places = {f"{folder}/{name}": text for name, text in self.files.items()}
        files = [
            f"mkdir -p {shlex.quote(str(Path(place).parent))}\ncat > {shlex.quote(place)} <<'EOF'\n{text}EOF"
            for place, text in places.items()
        ]
        exports = [f"export {name}={shlex.quote(value)}" for name, value in self.variables.items()]
        return "\n".join([*files, *exports, shlex.join(self.command)])


def _claude(served: Served, _folder: Path, args: Sequence[str]) -> Launch:
    # Claude Code takes a model that it does not know for one with a window of a million tokens.
    variables = {
        "ANTHROPIC_BASE_URL": served.url,
        "ANTHROPIC_AUTH_TOKEN": served.key,
        "ANTHROPIC_MODEL": served.model,
        "ANTHROPIC_SMALL_FAST_MODEL": served.model,
        "CLAUDE_CODE_MAX_CONTEXT_TOKENS": str(served.window),
        "CLAUDE_CODE_MAX_OUTPUT_TOKENS": str(min(MAX_ANSWER, served.window // 4)),
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "CLAUDE_CONFIG_DIR": str(_folder / "claude"),
    }
    return Launch(("claude", "--model", served.model, *args), variables, {}, "npm install -g @anthropic-ai/claude-code")


def _codex(served: Served, folder: Path, args: Sequence[str]) -> Launch:
    home = folder / "codex"
    config = f"""\
model = {json.dumps(served.model)}
model_provider = "joey"
model_catalog_json = {json.dumps(str(home / "catalog.json"))}

[model_providers.joey]
name = "Joey gateway"
base_url = {json.dumps(f"{served.url}/v1")}
wire_api = "responses"
env_key = "JOEY_GATEWAY_KEY"
stream_idle_timeout_ms = {_CODEX_TIMEOUT}
"""
    files = {"codex/config.toml": config, "codex/catalog.json": json.dumps(_catalogue(served), indent=1) + "\n"}
    variables = {"CODEX_HOME": str(home), "JOEY_GATEWAY_KEY": served.key}
    return Launch(("codex", *args), variables, files, "npm install -g @openai/codex")


def _catalogue(served: Served) -> dict[str, object]:
    """With a catalogue of its own, a model gets a true window, a short prompt and the tool apply_patch."""
    entry = {
        "slug": served.model,
        "display_name": served.model,
        "supported_reasoning_levels": [],
        "shell_type": "shell_command",
        "visibility": "list",
        "supported_in_api": True,
        "priority": 1,
        "base_instructions": _CODEX_PROMPT,
        "supports_reasoning_summaries": False,
        "support_verbosity": False,
        "apply_patch_tool_type": "freeform",
        "truncation_policy": {"mode": "tokens", "limit": min(10000, served.window // 4)},
        "supports_parallel_tool_calls": False,
        "context_window": served.window,
        "experimental_supported_tools": [],
        "input_modalities": ["text"],
        "supports_search_tool": False,
        "use_responses_lite": False,
    }
    return {"models": [entry]}


_CODEX_TIMEOUT = 3_600_000
"""Codex does not count comments as a sign of life, and gives up while a slow model reads its prompt."""
_CODEX_PROMPT = (
    "You are a coding agent in the user's terminal. Read files and run commands with the tools before you answer; "
    "change files with apply_patch. Work until the request is done, then say briefly what you did."
)


def _opencode(served: Served, folder: Path, args: Sequence[str]) -> Launch:
    name = f"joey/{served.model}"
    limit = {"context": served.window, "output": min(MAX_ANSWER, served.window // 4)}
    config = {
        "$schema": "https://opencode.ai/config.json",
        "provider": {
            "joey": {
                "npm": "@ai-sdk/openai-compatible",
                "name": "Joey gateway",
                "options": {"baseURL": f"{served.url}/v1", "apiKey": served.key},
                "models": {served.model: {"limit": limit}},
            }
        },
        "model": name,
        "small_model": name,
    }
    files = {"opencode/opencode.json": json.dumps(config, indent=1) + "\n"}
    variables = {"OPENCODE_CONFIG": str(folder / "opencode" / "opencode.json")}
    return Launch(("opencode", *args), variables, files, "npm install -g opencode-ai")


def _aider(served: Served, folder: Path, args: Sequence[str]) -> Launch:
    limits = {"max_input_tokens": served.window, "max_tokens": min(MAX_ANSWER, served.window // 4)}
    free = {"input_cost_per_token": 0, "output_cost_per_token": 0}
    entry = {f"openai/{served.model}": {**limits, **free, "litellm_provider": "openai", "mode": "chat"}}
    metadata = folder / "aider" / "metadata.json"
    command = ("aider", "--model", f"openai/{served.model}", "--model-metadata-file", str(metadata), *args)
    variables = {"OPENAI_API_BASE": f"{served.url}/v1", "OPENAI_API_KEY": served.key}
    return Launch(command, variables, {"aider/metadata.json": json.dumps(entry) + "\n"}, "pip install aider-chat")


CLIENTS: Mapping[str, Callable[[Served, Path, Sequence[str]], Launch]] = {
    "claude": _claude,
    "codex": _codex,
    "opencode": _opencode,
    "aider": _aider,
}


def launch_of(client: str, served: Served, folder: Path, args: Sequence[str] = ()) -> Launch:
    """How this client is started in front of the gateway."""
    return CLIENTS[client](served, folder, args)
