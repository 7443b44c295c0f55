"""Define a tool: a function with type hints and a docstring. Show it to a model, check its call, run it."""

import asyncio
import json
from pathlib import Path

import joey
from joey.messages import ToolUseBlock
from joey.modes import BUILTIN_MODES
from joey.tools import ToolContext
from joey.tools.builtin import builtin_tools
from joey.tools.function import FunctionTool
from joey.tools.registry import Registry, RejectedCall
from joey.tools.toolset import build_toolset


@joey.tool(group="read")
def count_lines(path: str, blank: bool = True, *, here: ToolContext) -> str:
    """Count the lines of a text file.

    Args:
        path: The file, relative to the workspace.
        blank: Whether blank lines count too.
    """
    lines = (here.workspace / path).read_text(encoding="utf-8").splitlines()
    return f"{path} has {sum(1 for line in lines if blank or line.strip())} lines"


# What a model is told about it, beside the built-in tools, in a mode that may read.
ask = next(mode for mode in BUILTIN_MODES if mode.slug == "ask")
toolset = build_toolset(ask, builtin_tools(), custom=[FunctionTool(count_lines)])
print(json.dumps(toolset.specs[-1].to_openai(), indent=2))


# What a model says is checked before anything runs. What can be read without loss is read ("false" is a boolean) ...
registry = Registry(toolset)
call = registry.resolve(ToolUseBlock("call_1", "count_lines", {"path": "poem.txt", "blank": "false"}))
assert not isinstance(call, RejectedCall)

Path("poem.txt").write_text("So much depends\nupon\n\na red wheel\nbarrow\n", encoding="utf-8")
result = asyncio.run(call.tool.run(call.params, ToolContext(workspace=Path.cwd(), storage=Path.cwd())))
print(result.text)

# ... and what cannot is answered with words that help the model to say it right.
wrong = registry.resolve(ToolUseBlock("call_2", "count_lines", {"file": "poem.txt", "blank": "maybe"}))
assert isinstance(wrong, RejectedCall)
print(wrong.message)
