"""A whole conversation, turn by turn, as a model would have held it: for demonstrations and tests.

It is the one every test of the task loop knows: a user asks for a small web server, the model reads package.json,
installs a package, writes the server, and reports.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class ScriptedTurn:
    """What the model says, the one tool it calls, and what that tool answers."""

    text: str
    call_id: str
    tool: str
    arguments: Mapping[str, Any]
    result: str


EXPRESS_TASK = "Create a simple Express.js server with a /hello endpoint that returns 'Hello World'"

EXPRESS_SERVER = (
    ScriptedTurn(
        "I'll help you create an Express.js server with a /hello endpoint. First, let me check the current "
        "package.json to see if Express is already a dependency.",
        "toolu_01A7BcD3eFgH4iJkL5mNo6pQ",
        "read_file",
        {"path": "package.json"},
        '{\n  "name": "my-project",\n  "version": "1.0.0",\n  "description": "",\n  "main": "index.js",\n'
        '  "scripts": {\n'
        '    "test": "echo \\"Error: no test specified\\" && exit 1"\n  },\n  "dependencies": {}\n}',
    ),
    ScriptedTurn(
        "I can see that Express is not installed yet. I'll need to install it first using npm.",
        "toolu_02R7sT8uVwX9yZa0bCd1eF",
        "execute_command",
        {"command": "npm install express"},
        "Command executed.\n\nOutput:\nadded 64 packages, and audited 65 packages in 3s\n\n"
        "8 packages are looking for funding\n  run `npm fund` for details\n\nfound 0 vulnerabilities",
    ),
    ScriptedTurn(
        "Express has been installed successfully. Now I'll create the server file with the /hello endpoint.",
        "toolu_03G2hI3jKlM4nOp5qRs6tU",
        "write_to_file",
        {
            "path": "src/server.js",
            "file_text": "const express = require('express');\nconst app = express();\nconst PORT = 3000;\n\n"
            "app.get('/hello', (req, res) => {\n  res.send('Hello World');\n});\n\n"
            "app.listen(PORT, () => {\n  console.log(`Server is running on http://localhost:${PORT}`);\n});",
        },
        "File successfully written to src/server.js",
    ),
    ScriptedTurn(
        "I've successfully created the Express.js server with a /hello endpoint. The server is configured to run on "
        "port 3000. You can start it by running `node src/server.js` and then visit "
        'http://localhost:3000/hello to see the "Hello World" message.',
        "toolu_04V7wX8yZa9bCd0eF1gH2i",
        "attempt_completion",
        {
            "result": "Successfully created an Express.js server with the following:\n\n"
            "1. Installed Express.js as a dependency\n2. Created `src/server.js` with:\n   - Express server setup\n"
            "   - `/hello` endpoint that returns 'Hello World'\n   - Server configured to run on port 3000\n\n"
            "To start the server, run:\n```bash\nnode src/server.js\n```\n\n"
            "Then visit http://localhost:3000/hello to see the response."
        },
        "",
    ),
)
