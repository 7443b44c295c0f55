"""Prompts of servers as slash commands."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from joey.mcp.config import ServerConfig
from joey.mcp.listing import ListedPrompt
from joey.mcp.prompts import ServerPrompts, arguments
from joey.mcp.servers import McpServers
from joey.messages import TextBlock
from joey.policy import Workspace
from joey.prompts import Library, expand_input
from joey.task.mentions import WorkspaceSources

KIT = Path(__file__).parents[1] / "mcp_kit_server.py"
REVIEW = ListedPrompt("review", "", ("path", "focus"))


@pytest.mark.parametrize(
    ("prompt", "words", "wanted"),
    [
        (REVIEW, "", {}),
        (REVIEW, "a.py", {"path": "a.py"}),
        (REVIEW, "'a b.py' speed and size", {"path": "a b.py", "focus": "speed and size"}),
        (REVIEW, "it's", {"path": "it's"}),
        (ListedPrompt("note", "", ("text",)), " all 'of it' ", {"text": "all 'of it'"}),
        (ListedPrompt("plain"), "words", {}),
    ],
)
def test_words_are_the_arguments_in_their_order(prompt: ListedPrompt, words: str, wanted: dict[str, str]) -> None:
    assert arguments(prompt, words) == wanted


async def test_a_prompt_is_typed_like_a_command_and_its_text_goes_along(tmp_path: Path) -> None:
    servers = McpServers([ServerConfig("kit", "stdio", tmp_path, "user", command=sys.executable, args=(str(KIT),))])
    servers.start()
    prompts, library = ServerPrompts(servers), Library(tmp_path, tmp_path, tmp_path)
    sources = WorkspaceSources(Workspace.of(tmp_path))
    try:
        typed = await expand_input("/mcp--kit--review a.py speed", library, sources, further=prompts)
        missing = await expand_input("/mcp--kit--review", library, sources, further=prompts)
        unknown = await expand_input("/mcp--kit--nothing x", library, sources, further=prompts)
    finally:
        await servers.close()
    (attached,) = typed.attached
    assert isinstance(attached, TextBlock)
    assert attached.text == '<command name="mcp--kit--review">\nReview a.py with an eye on speed.\n</command>'
    assert "could not be read" in str(missing.attached)
    assert (unknown.attached, unknown.text) == ((), "/mcp--kit--nothing x")
    assert prompts.offered() == {}, "a server that has ended offers none"
