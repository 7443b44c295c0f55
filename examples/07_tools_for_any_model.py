"""Give any model tool calling, behind the official SDKs, without a server.

`joey.gateway.connect` puts a model behind `openai.OpenAI` (or `anthropic.Anthropic`) in the same process. The model is
taught the tools in text; what it writes comes back as native calls, streamed while it writes. Here the model is
scripted and makes two mistakes: it calls a tool that does not exist, and writes a number as a string.
"""

import json
from typing import Any

import openai

from joey.gateway import connect
from joey.providers import Abilities
from joey.testing import ScriptedProvider, reply

TOOLS: list[Any] = [
    {
        "type": "function",
        "function": {
            "name": "read_lines",
            "description": "Read the first lines of a file.",
            "parameters": {
                "type": "object",
                "properties": {"path": {"type": "string"}, "count": {"type": "integer"}},
                "required": ["path"],
            },
        },
    }
]
SCRIPT = [
    reply('<tool_call>{"name": "cat", "arguments": {"path": "README.md"}}</tool_call>'),
    reply('<tool_call>{"name": "read_lines", "arguments": {"path": "README.md", "count": "3"}}</tool_call>'),
]

if __name__ == "__main__":
    # In your program: connect("local/coder-1.5b") or connect("ollama/qwen3").
    model = ScriptedProvider(SCRIPT, abilities=Abilities(tools=False))
    client = openai.OpenAI(**connect(model, protocol="json_mix"))
    written = ""
    messages: list[Any] = [{"role": "user", "content": "What is in README.md?"}]
    stream: Any = client.chat.completions.create(model="any", messages=messages, tools=TOOLS, stream=True)
    for chunk in stream:
        for call in chunk.choices[0].delta.tool_calls or ():
            print("name" if call.function.name else "arguments", call.function.name or call.function.arguments)
            written += call.function.arguments or ""
    assert json.loads(written) == {"path": "README.md", "count": 3}
