"""The bytes of a request: JSON of everything in it, of which only what is new is made."""

from __future__ import annotations

import json
from typing import Any

import pytest

from joey.messages import Message, TextBlock, ToolResultBlock, ToolUseBlock
from joey.providers.anthropic import AnthropicEncoder
from joey.providers.base import ModelRequest
from joey.providers.catalogue import USUAL
from joey.providers.encoding.body import with_messages
from joey.providers.encoding.chat import ChatEncoder
from joey.providers.openai_responses import ResponsesEncoder
from joey.toolspec import ToolSpec


@pytest.mark.parametrize("messages", [[], [{"a": "é"}], [{"a": 1}, {"b": []}, {}]])
def test_messages_are_put_into_the_parameters(messages: list[Any]) -> None:
    made = with_messages({"model": "m", "n": 1}, [json.dumps(message).encode() for message in messages])
    assert json.loads(made) == {"model": "m", "n": 1, "messages": messages}


@pytest.mark.parametrize("encoder", [AnthropicEncoder(USUAL), ChatEncoder(USUAL), ResponsesEncoder(USUAL)])
def test_what_was_in_the_request_before_is_not_made_again(encoder: Any) -> None:
    arguments = {"path": "first"}
    turns = (
        Message("user", (TextBlock("go"),)),
        Message("assistant", (ToolUseBlock("c1", "read", arguments),)),
        Message("user", (ToolResultBlock("c1", (TextBlock("x"),)),)),
    )
    encoder.body(ModelRequest("m", turns, tools=(ToolSpec("read"),)))
    arguments["path"] = "second"  # which no tool may do: here it shows whether the call is read again
    more = (*turns, Message("assistant", (TextBlock("so"),)), Message("user", (TextBlock("and?"),)))
    made = encoder.body(ModelRequest("m", more, tools=(ToolSpec("read"),)), stream=True)
    assert b"first" in made and b"second" not in made
    assert b"and?" in made and json.loads(made)["stream"] is True
