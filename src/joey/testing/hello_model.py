"""A scripted model that writes a small web server, starts it, calls it, and changes it when the user wants a change.

Which reply comes next is read off the conversation, as a real model would, never off a count of requests: a request
that is sent again gets the same reply again. The script has one step for each turn of the model, except that

* a call the user denied costs two turns: the denied one and the reply that says so. If the user has more to say
  after that, the denied step is offered again;
* a server that was asked before it listened is asked once more, which costs one.

It understands no words: whatever the feedback says, the one change it knows follows.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from joey.chunks import UsageChunk
from joey.messages import TextBlock, ToolUseBlock
from joey.protocols import Protocol
from joey.testing.script import Faults, ScriptedReply, reply
from joey.testing.server import ReceivedRequest
from joey.wire import JsonObject

TASK = "Write the web server that notes.md asks for, start it, and show me that it answers."
FEEDBACK = "Make it answer in JSON, please."

_DENIED = "The user denied this call"
_NOT_LISTENING = "Connection refused"
_JOB = re.compile(r"end it with `kill -- -(\d+)`")


def notes(port: int) -> str:
    """The file that the task is about."""
    return f"""\
# Hello

A web server for this machine, in Python, with nothing to install.

- It listens on 127.0.0.1, port {port}.
- GET /hello answers "Hello, World!"; anything else is not found.
"""


def _server(port: int) -> str:
    return f"""\
from http.server import BaseHTTPRequestHandler, HTTPServer


class Hello(BaseHTTPRequestHandler):
    def do_GET(self):
        if self.path != "/hello":
            self.send_error(404)
            return
        body = b"Hello, World!"
        kind = "text/plain"
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


HTTPServer(("127.0.0.1", {port}), Hello).serve_forever()
"""


_TO_JSON = """\
<<<<<<< SEARCH
        body = b"Hello, World!"
        kind = "text/plain"
=======
        body = b'{"message": "Hello, World!"}'
        kind = "application/json"
>>>>>>> REPLACE"""


@dataclass(frozen=True, slots=True)
class HelloStep:
    """What the model says in a turn, and the call it makes."""

    text: str
    tool: str
    arguments: JsonObject


@dataclass(frozen=True, slots=True)
class HelloConversation:
    """What the model can tell from a request: how many turns it had, and what came back."""

    turns: int
    answers: tuple[str, ...]

    @classmethod
    def read(cls, body: Mapping[str, Any]) -> HelloConversation:
        """From the body of a request, in either wire format."""
        messages = body.get("messages", [])
        answers = [message for message in messages if message["role"] in ("user", "tool")]
        texts = tuple(json.dumps(message, ensure_ascii=False) for message in answers)
        return cls(sum(message["role"] == "assistant" for message in messages), texts)

    def count(self, words: str) -> int:
        return sum(words in answer for answer in self.answers)

    def ends_with(self, words: str) -> bool:
        return bool(self.answers) and words in self.answers[-1]

    @property
    def last_job(self) -> str | None:
        """The process group of the command that was last left running."""
        found = [number for answer in self.answers for number in _JOB.findall(answer)]
        return found[-1] if found else None


@dataclass(frozen=True, slots=True)
class HelloModel:
    """Answers requests: `LocalServer(HelloModel(protocol, port))`. `python` is how a command line calls Python."""

    protocol: Protocol
    port: int
    python: str = "python3"
    faults: Faults = field(default_factory=Faults)

    def __call__(self, request: ReceivedRequest) -> ScriptedReply:
        conversation = HelloConversation.read(request.body)
        step = self._next(conversation)
        call = ToolUseBlock(f"call_{conversation.turns + 1}", step.tool, step.arguments)
        written = self.protocol.encode_call(call)
        parts = (written.text,) if isinstance(written, TextBlock) else (call,)
        output = len(step.text) + len(str(step.arguments))
        usage = UsageChunk(len(json.dumps(request.body)) // 4, output // 4)  # about four characters a token
        return reply(f"{step.text}\n\n", *parts, usage=usage, faults=self.faults)

    def _next(self, conversation: HelloConversation) -> HelloStep:
        if conversation.ends_with(_DENIED):
            return _STOPPED
        late = conversation.count(_NOT_LISTENING)
        place = conversation.turns - 2 * conversation.count(_DENIED) - late
        steps = list(self._steps(conversation.last_job, "sleep 1; " if conversation.ends_with(_NOT_LISTENING) else ""))
        return steps[place] if place < len(steps) else _NO_MORE

    def _steps(self, job: str | None, wait: str) -> Iterator[HelloStep]:
        start = f"{self.python} server.py"
        end = f"kill -- -{job}; sleep 0.3; " if job else ""
        yield HelloStep("First I read what the server should do.", "read_file", {"path": "notes.md"})
        server = {"path": "server.py", "file_text": _server(self.port)}
        yield HelloStep(f"Plain text on port {self.port}, standard library only. I write it.", "write_to_file", server)
        yield HelloStep("Now I start it, in the background.", "execute_command", {"command": start, "background": True})
        yield self._request_step("Does it answer? I ask it.", wait)
        result = f"server.py answers GET /hello on 127.0.0.1:{self.port}. It runs now, and was asked once."
        yield HelloStep("It does.", "attempt_completion", {"result": result})
        yield HelloStep(
            "JSON it is (I am scripted: whatever you say, this is the change I know).",
            "apply_diff",
            {"path": "server.py", "diff": _TO_JSON},
        )
        restart = {"command": f"{end}{start}", "background": True}
        yield HelloStep("The old server still runs. I end it and start the new one.", "execute_command", restart)
        yield self._request_step("Requesting it again.", wait)
        result = "GET /hello now answers in JSON. The server was restarted and answered again."
        yield HelloStep("That is the change.", "attempt_completion", {"result": result})

    def _request_step(self, text: str, wait: str) -> HelloStep:
        lines = (
            "from urllib.request import urlopen",
            f"answer = urlopen('http://127.0.0.1:{self.port}/hello')",
            "print(answer.status, answer.headers['Content-Type'], answer.read().decode())",
        )
        command = f'{wait}{self.python} -c "{"; ".join(lines)}"'
        return HelloStep(text, "execute_command", {"command": command})


_STOPPED = HelloStep(
    "You said no, so I leave it.",
    "attempt_completion",
    {"result": "Not done: you denied a step, and I know no other way. Say anything, and I offer that step again."},
)
_NO_MORE = HelloStep(
    "I have come to the end of my script.",
    "attempt_completion",
    {"result": "This is all that the scripted model knows. A real one would go on: joey run --help."},
)
