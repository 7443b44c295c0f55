"""Run a whole task: a scripted model, real tools, a real folder, and a journal.

Put `joey.providers.open_model("anthropic/…")` in the place of the scripted provider, and the same lines drive a real
model.
"""

import asyncio
import tempfile
from pathlib import Path

from joey import protocols
from joey.events import Event, TextDelta, ToolRunFinished
from joey.journal.store import TaskStore
from joey.messages import ToolUseBlock
from joey.modes.builtin import BUILTIN_MODES
from joey.policy.settings import Settings
from joey.task.parts import Parts
from joey.task.task import Task
from joey.testing.script import reply
from joey.testing.scripted import ScriptedProvider
from joey.tools.builtin import builtin_tools
from joey.tools.toolset import build_toolset

SCRIPT = [
    reply("I'll write it.", ToolUseBlock("c1", "write_to_file", {"path": "hello.py", "file_text": "print('hello')\n"})),
    reply("And run it.", ToolUseBlock("c2", "execute_command", {"command": "python3 hello.py"})),
    reply(ToolUseBlock("c3", "attempt_completion", {"result": "hello.py prints hello."})),
]


def watch(task_id: str, event: Event) -> None:
    """A front end: it is told everything, and here prints a little of it."""
    match event:
        case TextDelta(text):
            print(text, end="", flush=True)
        case ToolRunFinished(_, name, result):
            print(f"\n[{name}] {result.text.splitlines()[0]}")


async def main() -> None:
    with tempfile.TemporaryDirectory() as scratch:
        workspace = Path(scratch) / "project"
        workspace.mkdir()
        tools = builtin_tools()
        parts = Parts(
            provider=ScriptedProvider(SCRIPT),
            model="scripted",
            protocol=protocols.get("native"),
            workspace=workspace,
            store=TaskStore(Path(scratch) / "tasks"),
            modes={mode.slug: mode for mode in BUILTIN_MODES},
            toolset=lambda mode: build_toolset(mode, tools),
            policy=Settings.for_profile("all"),  # everything is allowed: it is a scratch folder
            headless=True,  # nobody is asked, and a result is taken as accepted
            watch=watch,
        )
        finished = await Task.start(parts, "Write a program that prints hello, and run it.").run()
        print(f"{finished.outcome}: {finished.message}")
        assert (workspace / "hello.py").read_text() == "print('hello')\n"


asyncio.run(main())
