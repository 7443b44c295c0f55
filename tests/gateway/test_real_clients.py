"""Programs that people use, in front of the gateway, in front of a scripted model that writes calls as text.

`make clients` fetches them and runs this: they are large and slow, so that elsewhere the tests are skipped.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from gateway_kit import TEXT_ONLY, call_text
from joey.gateway import Gateway, Upstream
from joey.gateway.launching import serve_client
from joey.gateway.serving import address_of, bound, serve
from joey.protocols import get
from joey.providers import Abilities
from joey.providers.plain_chat import PlainChatProvider
from joey.testing import LocalServer, ReceivedRequest, Scripted, reply

CLIENTS = Path(__file__).parents[1] / ".cache" / "clients"
NPM, PY, AIDER = CLIENTS / "npm" / "node_modules", CLIENTS / "py" / "bin", CLIENTS / "aider" / "bin"
_TIMEOUT = 120

pytestmark = pytest.mark.skipif("JOEY_CLIENTS" not in os.environ, reason="large clients are tested by `make clients`")


def needs(path: Path) -> None:
    if not path.exists():
        pytest.skip(f"{path} is not there; `make clients` fetches it")


def calling(call: str) -> Callable[[ReceivedRequest], Scripted]:
    """A model that makes one call, and is done when it sees the result."""

    def answer(request: ReceivedRequest) -> Scripted:
        text = json.dumps(request.body["messages"])
        if "<tool_call>" not in text:
            return reply("A title")
        return reply("All done.") if "<tool_response>" in json.dumps(request.body["messages"][-1]) else reply(call)

    return answer


@dataclass(frozen=True, slots=True)
class Front:
    """A gateway in front of a scripted model."""

    gateway: Gateway
    model: LocalServer

    @property
    def last_words(self) -> str:
        """What the model saw last."""
        return json.dumps(self.model.requests[-1].body["messages"][-1])

    def check(self) -> None:
        records = self.gateway.records.list()
        assert records and all(each["state"] == "done" and not each["malformed"] for each in records)


@asynccontextmanager
async def front(answer: Callable[[ReceivedRequest], Scripted]) -> AsyncIterator[Front]:
    async with LocalServer(answer) as model:
        abilities = Abilities(tools=TEXT_ONLY.tools, context_window=65536)
        provider = PlainChatProvider(model.openai_url, abilities=abilities)
        yield Front(Gateway([Upstream(provider, "m", get("json_mix"), "joey-m")]), model)
        await provider.close()


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("PATH", os.pathsep.join([str(NPM / ".bin"), str(AIDER), os.environ["PATH"]]))
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "hello.txt").write_text("hello from the file\n")
    monkeypatch.chdir(folder)
    monkeypatch.setenv("PWD", str(folder))
    return folder


AGENTS = {
    "claude": ("Read", {"file_path": "hello.txt"}, ["-p", "Read hello.txt", "--output-format", "json"]),
    "codex": (
        "exec_command",
        {"cmd": "cat hello.txt"},
        ["exec", "--skip-git-repo-check", "--json", "--dangerously-bypass-approvals-and-sandbox", "Read hello.txt"],
    ),
    "opencode": (
        "read",
        {"filePath": "hello.txt"},
        ["run", "--model", "joey/joey-m", "--format", "json", "Read hello.txt"],
    ),
}


@pytest.mark.parametrize("client", AGENTS)
async def test_an_agent_reads_a_file_through_the_gateway(
    client: str, project: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    needs(NPM / ".bin" / client)
    name, arguments, args = AGENTS[client]
    places = {key: str(project / value) if key != "cmd" else value for key, value in arguments.items()}
    async with front(calling("I will.\n" + call_text(name, **places))) as here:
        with bound("127.0.0.1", 0) as listening:
            code = await asyncio.wait_for(serve_client(here.gateway, listening, client, args, None), _TIMEOUT)
        out, err = capfd.readouterr()
        assert code == 0, err
        assert "All done." in out
        assert "hello from the file" in here.last_words
        here.check()


async def test_codex_changes_a_file_with_its_custom_tool(project: Path) -> None:
    needs(NPM / ".bin" / "codex")
    patch = "*** Begin Patch\n*** Add File: new.txt\n+hello\n*** End Patch\n"
    args = ["exec", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox", "Add new.txt"]
    async with front(calling(call_text("apply_patch", input=patch))) as here:
        with bound("127.0.0.1", 0) as listening:
            assert await asyncio.wait_for(serve_client(here.gateway, listening, "codex", args, None), _TIMEOUT) == 0
        here.check()
    assert (project / "new.txt").read_text() == "hello\n"


async def test_aider_edits_a_file(project: Path) -> None:
    needs(AIDER / "aider")
    edit = "hello.txt\n```\ngoodbye\n```\n"
    args = ["--no-show-model-warnings", "--yes-always", "--no-check-update", "--no-auto-commits", "--no-git"]
    async with front(lambda _request: reply(edit)) as here:
        with bound("127.0.0.1", 0) as listening:
            started = serve_client(
                here.gateway, listening, "aider", [*args, "--message", "Say goodbye", "hello.txt"], None
            )
            assert await asyncio.wait_for(started, _TIMEOUT) == 0
        here.check()
    assert (project / "hello.txt").read_text() == "goodbye\n"


# Libraries


async def run_against(here: Front, *command: str, **variables: str) -> str:
    """What a program prints that finds the gateway's address in $GATEWAY."""
    with bound("127.0.0.1", 0) as listening:
        serving = asyncio.create_task(serve(here.gateway, listening, lambda _text: None))
        process = await asyncio.create_subprocess_exec(
            *command,
            env={**os.environ, "GATEWAY": address_of(listening), **variables},
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        out, _ = await asyncio.wait_for(process.communicate(), _TIMEOUT)
        serving.cancel()
        await asyncio.gather(serving, return_exceptions=True)
    assert process.returncode == 0, out.decode()
    return out.decode()


WEATHER = call_text("get_weather", city="Paris")
PYDANTIC = """
import os
from pydantic_ai import Agent
from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
from pydantic_ai.providers.openai import OpenAIProvider

provider = OpenAIProvider(base_url=os.environ["GATEWAY"] + "/v1", api_key="any")
for kind in (OpenAIChatModel, OpenAIResponsesModel):
    agent = Agent(kind("m", provider=provider))

    @agent.tool_plain
    def get_weather(city: str) -> str:
        "The weather of a city."
        return f"sunny in {city}"

    print(agent.run_sync("How is the weather in Paris?").output)
"""


async def test_pydantic_ai_calls_a_tool_over_both_of_openais_wires(project: Path) -> None:
    needs(PY / "python")
    (project / "agent.py").write_text(PYDANTIC)
    async with front(calling(WEATHER)) as here:
        assert (await run_against(here, str(PY / "python"), "agent.py")).count("All done.") == 2
        assert "sunny in Paris" in here.last_words
        here.check()


async def test_llm_calls_a_tool(project: Path) -> None:
    needs(PY / "llm")
    config = project / "llm"
    config.mkdir()
    async with front(calling(call_text("llm_version"))) as here:
        script = (
            'echo "- {model_id: fake, model_name: m, api_base: $GATEWAY/v1, supports_tools: true, api_key_name: x}" '
            f'> {config}/extra-openai-models.yaml; exec {PY}/llm -m fake -T llm_version "version?" --key any'
        )
        assert "All done." in await run_against(here, "bash", "-c", script, LLM_USER_PATH=str(config))
        here.check()


AI_SDK = """
import { generateText, streamText, stepCountIs, tool } from "ai";
import { createOpenAI } from "@ai-sdk/openai";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { createAnthropic } from "@ai-sdk/anthropic";
import { z } from "zod";

const options = { baseURL: process.env.GATEWAY + "/v1", apiKey: "any", name: "joey" };
const tools = {
  get_weather: tool({
    description: "The weather of a city.",
    inputSchema: z.object({ city: z.string() }),
    execute: async ({ city }) => `sunny in ${city}`,
  }),
};
const models = [
  createOpenAICompatible(options)("m"),
  createOpenAI(options).responses("m"),
  createAnthropic(options)("m"),
];
for (const model of models) {
  const asked = { model, tools, prompt: "Weather in Paris?", stopWhen: stepCountIs(3) };
  console.log((await generateText(asked)).text);
  console.log(await streamText(asked).text);
}
"""


async def test_the_ai_sdk_calls_a_tool_over_all_three_wires(project: Path) -> None:
    needs(NPM / "ai")
    (project / "node_modules").symlink_to(NPM)
    (project / "agent.mjs").write_text(AI_SDK)
    async with front(calling(WEATHER)) as here:
        out = await run_against(here, str(NPM / ".bin" / "node"), "agent.mjs")
        assert out.count("All done.") == 6
        assert "sunny in Paris" in here.last_words
        here.check()
