"""Be the user: watch a task and answer its requests.

A task makes requests through events (`ApprovalRequested`, `QuestionRequested`, `CompletionRequested`,
`ContinueRequested`), and waits. Here one command is refused, with a reason that the model reads, and a file may be
written. The result is not answered, so it is accepted.
"""

import asyncio
import tempfile

import joey
from joey.messages import ToolUseBlock
from joey.testing import ScriptedProvider, reply

SCRIPT = [
    reply("Cleaning up.", ToolUseBlock("c1", "execute_command", {"command": "rm -rf build"})),
    reply("Then only a note.", ToolUseBlock("c2", "write_to_file", {"path": "NOTE.md", "file_text": "# Note\n"})),
    reply(ToolUseBlock("c3", "attempt_completion", {"result": "Wrote a note."})),
]


async def main(folder: str, tasks: str) -> None:
    async with joey.Task("Clean up.", model=ScriptedProvider(SCRIPT), workspace=folder, store=tasks) as task:
        async for event in task:
            if isinstance(event, joey.ApprovalRequested):
                print(f"{event.name} {event.arguments} needs approval: {event.reason}")
                yes = event.name == "write_to_file"
                await task.answer(event, yes=yes, text="" if yes else "Do not touch the build folder.")
            elif isinstance(event, joey.ToolRunFinished):
                print(f"[{event.name}] {event.result.text}")
    print(task.result)


with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as tasks:
    asyncio.run(main(folder, tasks))
