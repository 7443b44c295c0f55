"""The peers, each with the settings that its own documentation recommends for a model on a server of OpenAI's API."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from evals.peers.running import Launch, ModelServer, Peer, output_of
from joey.providers.local.engine import WINDOW

_CACHE = Path(__file__).parents[1] / ".cache"
MODEL = "local"
"""llama.cpp answers to any name."""
MAX_ANSWER = 2048
MAX_STEPS = 15
"""Joey's own limit of turns, where a peer has one."""


def _program(peer: str, name: str | None = None) -> str:
    return str(_CACHE / peer / "bin" / (name or peer))


def _rows(path: Path) -> list[Any]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()] if path.exists() else []


# aider: whole files, as it chooses by itself for models that it does not know


def _aider(server: ModelServer, prompt: str, home: Path) -> Launch:
    return Launch([
        _program("aider"),
        f"--model=openai/{MODEL}", f"--openai-api-base={server.address}/v1", f"--openai-api-key={server.key}",
        "--edit-format=whole", "--yes-always", "--no-auto-commits", "--no-gitignore", "--no-check-update",
        "--no-show-release-notes", "--no-show-model-warnings", "--analytics-disable", "--no-pretty", "--no-stream",
        f"--chat-history-file={home / 'chat.md'}", f"--input-history-file={home / 'input'}",
        f"--message={prompt}",
    ])  # fmt: skip


def _aider_answer(home: Path) -> str:
    """The replies in the history: no headings, which are the user's, and no quotations, which are the program's."""
    try:
        history = (home / "chat.md").read_text(encoding="utf-8")
    except OSError:
        return ""
    replies = re.split(r"^#### .*$", history, flags=re.MULTILINE)[1:]
    lines = (line for line in "\n".join(replies).splitlines() if not line.startswith(("> ", "####")))
    return "\n".join(lines).strip()


# smolagents: a library, so a script of a few lines; the agent writes Python, and may import anything and open files


def _smolagents(server: ModelServer, prompt: str, home: Path) -> Launch:
    script = Path(__file__).with_name("smolagent.py")
    arguments = [f"{server.address}/v1", server.key, MODEL, str(MAX_STEPS), str(home / "answer"), prompt]
    return Launch([_program("smolagents", "python"), str(script), *arguments], {"PYTHONDONTWRITEBYTECODE": "1"})


def _smolagents_answer(home: Path) -> str:
    path = home / "answer"
    return path.read_text("utf-8") if path.exists() else ""


def _smolagents_malformed(home: Path) -> int:
    return output_of(home).count("Error in code parsing")


# mini-swe-agent: its configuration for models without native calls, a shell command in a block


def _mini(server: ModelServer, prompt: str, home: Path) -> Launch:
    settings = [
        "mini_textbased.yaml",
        f"model.model_name=openai/{MODEL}",
        f"model.model_kwargs.api_base={server.address}/v1",
        f"model.model_kwargs.api_key={server.key}",
        "model.model_kwargs.temperature=0",
        f"agent.step_limit={MAX_STEPS}",
    ]
    options = ["--yolo", "--exit-immediately", "--cost-limit=0", "--model-class=litellm_textbased"]
    configured = [f"--config={each}" for each in settings]
    command = [_program("mini-swe-agent", "mini"), *options, *configured, f"--output={home / 'run.json'}"]
    variables = {
        "MSWEA_CONFIGURED": "true",
        "MSWEA_COST_TRACKING": "ignore_errors",
        "LITELLM_LOCAL_MODEL_COST_MAP": "True",  # it would fetch a list of prices
    }
    return Launch([*command, f"--task={prompt}"], variables)


def _mini_messages(home: Path) -> list[Any]:
    path = home / "run.json"
    return list(json.loads(path.read_text("utf-8")).get("messages", ())) if path.exists() else []


def _mini_answer(home: Path) -> str:
    """The last reply without its command, and what that command handed in."""
    messages = _mini_messages(home)
    replies = [each for each in messages if each.get("role") == "assistant"]
    words = re.sub(r"```.*?```", "", str(replies[-1].get("content") or ""), flags=re.DOTALL) if replies else ""
    handed_in = [str(each.get("content") or "") for each in messages[-1:] if each.get("role") == "exit"]
    return "\n".join([words, *handed_in]).strip()


def _mini_malformed(home: Path) -> int:
    heard = [str(each.get("content")) for each in _mini_messages(home) if each.get("role") == "user"]
    return sum("Format error" in each for each in heard)


# gptme: its short prompt and the tools that the tasks need, in Markdown blocks


def _gptme(server: ModelServer, prompt: str, home: Path) -> Launch:
    variables = {
        "OPENAI_BASE_URL": f"{server.address}/v1",
        "OPENAI_API_KEY": server.key,
        "GPTME_LOGS_HOME": str(home / "logs"),
        "GPTME_NO_LOCAL_DISCOVERY": "1",
        "GPTME_CHECK": "false",
    }
    tools = "--tools=save,append,patch,shell,read,complete"
    options = ["--non-interactive", "--name=run", f"--model=local/{MODEL}", "--tool-format=markdown", "--system=short"]
    return Launch([_program("gptme"), *options, tools, "--no-stream", prompt], variables)


def _gptme_answer(home: Path) -> str:
    """The last reply of the model."""
    rows = [row for path in sorted((home / "logs").rglob("conversation.jsonl")) for row in _rows(path)]
    replies = [str(row["content"]) for row in rows if row.get("role") == "assistant"]
    return replies[-1].strip() if replies else ""


# pi: native calls, as it has no others


def _pi(server: ModelServer, prompt: str, _home: Path) -> Launch:
    model = {"id": MODEL, "contextWindow": WINDOW, "maxTokens": MAX_ANSWER}
    provider = {
        "baseUrl": f"{server.address}/v1",
        "api": "openai-completions",
        "apiKey": server.key,
        "compat": {"supportsDeveloperRole": False, "supportsReasoningEffort": False},
        "models": [model],
    }
    files = {".pi/agent/models.json": json.dumps({"providers": {"local": provider}})}
    programs = _CACHE / "pi" / "node_modules" / ".bin"
    options = ["--print", "--offline", "--no-session", "--provider", "local", "--model", MODEL, "--thinking", "off"]
    variables = {"PATH": f"{programs}{os.pathsep}{os.environ['PATH']}"}  # it brings its own Node
    return Launch([str(programs / "pi"), *options, "--", prompt], variables, files)


# Through Joey's gateway, in the model's own dialect: their prompts are long


def _through_gateway(client: str, *arguments: str) -> Callable[[ModelServer, str, Path], Launch]:
    def launch(server: ModelServer, prompt: str, home: Path) -> Launch:
        gateway = [sys.executable, "-m", "joey", "gateway", f"--for={client}", f"--upstream={server.address}"]
        options = [f"--model={MODEL}", "--protocol=hermes", "--grammar=llama.cpp", "--"]
        programs = _CACHE / client / "node_modules" / ".bin"
        variables = {
            "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
            "JOEY_UPSTREAM_KEY": server.key,
            "IS_SANDBOX": "1",  # without it, Claude Code does not run unattended as root
        }
        given = [each.replace("{home}", str(home)) for each in arguments]
        return Launch([*gateway, *options, *given, prompt], variables)

    return launch


def _last_message(home: Path) -> str:
    path = home / "last"
    return path.read_text("utf-8") if path.exists() else ""


PEERS = {
    peer.name: peer
    for peer in (
        Peer("aider", _aider, _aider_answer),
        Peer("smolagents", _smolagents, _smolagents_answer, _smolagents_malformed),
        Peer("mini-swe-agent", _mini, _mini_answer, _mini_malformed),
        Peer("gptme", _gptme, _gptme_answer),
        Peer("pi", _pi),
        Peer("claude", _through_gateway("claude", "--dangerously-skip-permissions", "-p")),
        Peer(
            "codex",
            _through_gateway(
                "codex",
                "exec",
                "--skip-git-repo-check",
                "--dangerously-bypass-approvals-and-sandbox",
                "-o",
                "{home}/last",
            ),
            _last_message,
        ),
        Peer("opencode", _through_gateway("opencode", "run")),
    )
}
