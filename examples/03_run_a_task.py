"""Run a whole task: a scripted model, real tools, a real folder, and a journal.

Put a name such as `"anthropic/claude-sonnet-5-5"` in the place of the scripted model, and a real one does the work.
"""

import tempfile

import joey
from joey.messages import ToolUseBlock
from joey.testing import ScriptedProvider, reply

SCRIPT = [
    reply("I'll write it.", ToolUseBlock("c1", "write_to_file", {"path": "hello.py", "file_text": "print('hello')\n"})),
    reply("And run it.", ToolUseBlock("c2", "execute_command", {"command": "python3 hello.py"})),
    reply(ToolUseBlock("c3", "attempt_completion", {"result": "hello.py prints hello."})),
]

with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as tasks:
    # Everything is approved: it is a scratch folder.
    result = joey.run("Print hello.", model=ScriptedProvider(SCRIPT), workspace=folder, approve="all", store=tasks)
    print(f"{result.outcome}: {result}")
