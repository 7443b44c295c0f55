"""Be the user: watch for requests and answer them.

A task asks through events (`ApprovalRequested`, `QuestionRequested`, `CompletionRequested`, `ContinueRequested`), and
waits until an `Answer` with the same request_id is sent. Here one command is refused, with a reason that the model
reads, and a file may be written.
"""

import asyncio
import tempfile
from pathlib import Path

from joey import protocols
from joey.commands import Answer
from joey.events import ApprovalRequested, CompletionRequested, Event, ToolRunFinished
from joey.journal.store import TaskStore
from joey.messages import ToolUseBlock
from joey.modes.builtin import BUILTIN_MODES
from joey.task.parts import Parts
from joey.task.task import Task
from joey.testing.script import reply
from joey.testing.scripted import ScriptedProvider
from joey.tools.builtin import builtin_tools
from joey.tools.toolset import build_toolset

SCRIPT = [
    reply("Cleaning up.", ToolUseBlock("c1", "execute_command", {"command": "rm -rf build"})),
    reply("Then only a note.", ToolUseBlock("c2", "write_to_file", {"path": "NOTE.md", "file_text": "# Note\n"})),
    reply(ToolUseBlock("c3", "attempt_completion", {"result": "Left a note."})),
]


class User:
    """Answers when asked. A real front end would show the request and wait for a key."""

    task: Task

    def watch(self, task_id: str, event: Event) -> None:
        match event:
            case ApprovalRequested(request_id, _, name, arguments, reason, _):
                print(f"{name} {dict(arguments)} needs leave: {reason}")
                yes = name == "write_to_file"
                self.answer(Answer(request_id, yes=yes, text="" if yes else "Leave the build folder alone."))
            case CompletionRequested(request_id, result):
                print(f"It says it is done: {result}")
                self.answer(Answer(request_id, yes=True))
            case ToolRunFinished(_, name, result):
                print(f"[{name}] {result.text}")

    def answer(self, answer: Answer) -> None:
        asyncio.get_running_loop().call_soon(self.task.send, answer)


async def main() -> None:
    user = User()
    tools = builtin_tools()
    with tempfile.TemporaryDirectory() as scratch:
        workspace = Path(scratch) / "project"
        workspace.mkdir()
        parts = Parts(
            provider=ScriptedProvider(SCRIPT),
            model="scripted",
            protocol=protocols.get("native"),
            workspace=workspace,
            store=TaskStore(Path(scratch) / "tasks"),
            modes={mode.slug: mode for mode in BUILTIN_MODES},
            toolset=lambda mode: build_toolset(mode, tools),
            watch=user.watch,
        )
        user.task = Task.start(parts, "Clean up and leave a note.")
        finished = await user.task.run()
        assert finished.outcome == "completed"
        assert (workspace / "NOTE.md").exists()


asyncio.run(main())
