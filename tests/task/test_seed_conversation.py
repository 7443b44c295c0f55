"""The conversation of the seed, request by request: real SDK, real HTTP, real tools, scripted words.

What goes over the wire is compared with the seed's own listing: roles, blocks, ids, results and cache marks. The
command is one that works without a network; the answers are what our tools say to it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from conversation_kit import EXPRESS_SERVER, EXPRESS_TASK, ScriptedTurn
from joey import protocols
from joey.commands import Answer
from joey.events import CompletionRequested, Request, TaskCompleted
from joey.messages import TextBlock, ToolUseBlock
from joey.providers import open_model
from joey.task.opening import start_task
from joey.testing.script import ScriptedReply, reply
from joey.testing.server import LocalServer
from task_kit import Kit, yes

# The model of the seed is an old one by now; the SDK says so.
pytestmark = pytest.mark.filterwarnings("ignore:The model .* is deprecated:DeprecationWarning")

COMMAND = "echo 'added 64 packages, and audited 65 packages in 3s'"
PACKAGE = EXPRESS_SERVER[0].result


def use(turn: ScriptedTurn) -> ToolUseBlock:
    arguments = {"command": COMMAND} if turn.tool == "execute_command" else dict(turn.arguments)
    return ToolUseBlock(turn.call_id, turn.tool, arguments)


def native(turn: ScriptedTurn) -> ScriptedReply:
    return reply(turn.text, use(turn))


def in_text(protocol: str) -> Callable[[ScriptedTurn], ScriptedReply]:
    def written(turn: ScriptedTurn) -> ScriptedReply:
        block = protocols.get(protocol).encode_call(use(turn))
        assert isinstance(block, TextBlock)
        return reply(f"{turn.text}\n{block.text}")

    return written


async def play(
    tmp_path: Path, replies: list[ScriptedReply], protocol: str = "native", user: Callable[[Request], Answer] = yes
) -> tuple[Kit, list[Any]]:
    """Run the task and return the bodies of the requests that the server got."""
    async with LocalServer(replies) as server:
        provider, model = open_model("anthropic/claude-sonnet-4-5-20250929", base_url=server.anthropic_url, api_key="k")
        kit = Kit(tmp_path, [], protocol=protocol, user=user, temperature=0.0)
        kit.change(provider=provider, name=model)
        (kit.workspace / "package.json").write_text(PACKAGE)
        kit.task = start_task(kit.config, EXPRESS_TASK)
        await kit.task.run()
        await provider.close()
        return kit, [request.body for request in server.requests]


def without_marks(message: Any) -> Any:
    blocks = [{key: value for key, value in block.items() if key != "cache_control"} for block in message["content"]]
    return {"role": message["role"], "content": blocks}


def marked(message: Any) -> list[bool]:
    return ["cache_control" in block for block in message["content"]]


async def test_the_four_requests_are_those_of_the_seed(tmp_path: Path) -> None:
    kit, bodies = await play(tmp_path, [native(turn) for turn in EXPRESS_SERVER])
    assert len(bodies) == 4
    for number, body in enumerate(bodies):
        assert [message["role"] for message in body["messages"]] == ["user", "assistant"] * number + ["user"]
        assert body["system"][0]["cache_control"] == {"type": "ephemeral"}
        assert body["stream"] is True
        assert body["tool_choice"]["type"] == "auto"
        assert body["temperature"] == 0
        assert [tool["name"] for tool in body["tools"]] == [tool["name"] for tool in bodies[0]["tools"]]
        marks = [any(marked(message)) for message in body["messages"] if message["role"] == "user"]
        assert marks == [False] * (len(marks) - 2) + [True] * min(len(marks), 2)
    assert (kit.workspace / "src/server.js").read_text() == EXPRESS_SERVER[2].arguments["file_text"]
    assert kit.of(TaskCompleted)[0].usage.output_tokens > 0


async def test_the_first_message_is_the_task_and_its_workspace(tmp_path: Path) -> None:
    _, bodies = await play(tmp_path, [native(turn) for turn in EXPRESS_SERVER])
    task, details = bodies[0]["messages"][0]["content"]
    assert task == {"type": "text", "text": EXPRESS_TASK}
    assert details["text"].startswith("<environment_details>\n<project_structure>\nproject/\n")
    assert "package.json" in details["text"]
    assert "No terminals running" in details["text"]
    assert details["cache_control"] == {"type": "ephemeral"}


async def test_each_turn_is_in_the_history_as_the_seed_has_it(tmp_path: Path) -> None:
    _, bodies = await play(tmp_path, [native(turn) for turn in EXPRESS_SERVER])
    messages = [without_marks(message) for message in bodies[-1]["messages"]]
    for number, turn in enumerate(EXPRESS_SERVER[:-1]):
        spoken, answered = messages[1 + 2 * number], messages[2 + 2 * number]
        assert spoken["content"] == [
            {"type": "text", "text": turn.text},
            {"type": "tool_use", "id": turn.call_id, "name": turn.tool, "input": use(turn).arguments},
        ]
        (result,) = answered["content"]
        assert (result["type"], result["tool_use_id"]) == ("tool_result", turn.call_id)
        assert not result.get("is_error")
    assert "my-project" in str(messages[2]["content"][0]["content"])
    assert "added 64 packages" in str(messages[4]["content"][0]["content"])
    assert "src/server.js" in str(messages[6]["content"][0]["content"])


async def test_feedback_goes_back_as_the_result_of_the_completion(tmp_path: Path) -> None:
    answers = iter([Answer("", text="Can you also add a /goodbye endpoint?"), Answer("", yes=True)])

    def user(request: Request) -> Answer:
        assert isinstance(request, CompletionRequested)
        return replace(next(answers), request_id=request.request_id)

    again = reply(ToolUseBlock("toolu_05", "attempt_completion", {"result": "Added."}))
    _, bodies = await play(tmp_path, [*map(native, EXPRESS_SERVER), again], user=user)
    (result,) = without_marks(bodies[4]["messages"][-1])["content"]
    assert result["tool_use_id"] == EXPRESS_SERVER[3].call_id
    text = result["content"] if isinstance(result["content"], str) else result["content"][0]["text"]
    assert text == (
        "The user has provided feedback on the results. Consider their input to continue the task:\n"
        "<feedback>\nCan you also add a /goodbye endpoint?\n</feedback>"
    )


@pytest.mark.parametrize("protocol", ["xml", "json_mix", "morph_xml"])
async def test_the_same_task_in_a_text_protocol(tmp_path: Path, protocol: str) -> None:
    kit, bodies = await play(tmp_path, [in_text(protocol)(turn) for turn in EXPRESS_SERVER], protocol)
    assert len(bodies) == 4
    assert (kit.workspace / "src/server.js").read_text().strip() == EXPRESS_SERVER[2].arguments["file_text"]
    for body in bodies:
        assert "tools" not in body
        assert all(block["type"] == "text" for message in body["messages"] for block in message["content"])
    # What the model wrote goes back to it in its own words: the same parser reads the same call in it.
    for number, turn in enumerate(EXPRESS_SERVER[:-1]):
        spoken = bodies[-1]["messages"][1 + 2 * number]["content"][0]["text"]
        tools = kit.config.tools(kit.config.modes["code"]).specs
        (found,) = protocols.parse(spoken, protocol=protocol, tools=tools).calls
        assert (found.name, found.arguments) == (turn.tool, use(turn).arguments)
