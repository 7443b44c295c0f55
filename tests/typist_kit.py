"""Somebody who types at random: into a real terminal (tmux), against a scripted server, and keeps account of it.

Every message carries a tag, and every command that the model wants to run a number. In the end each tag that was sent
has reached the server, none that was cleared has, and only those commands ran that were answered with yes. What was
done, when, and what was on the screen before each Enter is written to a log, for whoever looks for the reason.
"""

from __future__ import annotations

import contextlib
import json
import random
import re
import subprocess
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

TAG = re.compile(r"\bt\d+g\b")
RAN = re.compile(r"touch (ran_\d+)")
EMPTY = (
    "What would you like", "A key above answers", "Your answer", "What is next", "Guidance for",
    "No room for the request",
)  # fmt: skip
"""What the input says while nothing is typed."""
WORDS = ["yes", "no", "can", "you", "2", "3", "continue", "now", "actually", "never", "change", "1", "yet", "nothing"]
"""What people begin a sentence with: most of these begin with a key that answers something."""


class RandomModel(ThreadingHTTPServer):
    """Replies at random: with words, commands, files, questions, results; and keeps what it was sent."""

    daemon_threads = True

    def __init__(self, seed: int) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.random = random.Random(seed)
        self.tags: set[str] = set()
        self.requests = 0
        self.slowness = 0.01
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/v1"

    def next_reply(self) -> tuple[str, tuple[str, dict[str, Any]] | None]:
        self.requests += 1
        number, text = self.requests, "I am looking at it. " * self.random.randint(1, 30)
        calls: list[tuple[str, dict[str, Any]] | None] = [
            None,
            ("execute_command", {"command": f"touch ran_{number}"}),
            ("execute_command", {"command": f"touch ran_{number}"}),
            ("write_to_file", {"path": f"w_{number}.txt", "file_text": "a line\n" * self.random.randint(1, 60)}),
            ("ask_followup_question", {"question": "Which one?", "follow_up": [{"text": "Red"}, {"text": "Blue"}]}),
            ("attempt_completion", {"result": f"Result {number}"}),
        ]
        return text, self.random.choice(calls)


class _Handler(BaseHTTPRequestHandler):
    server: RandomModel

    def log_message(self, *_args: object) -> None:
        pass

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        self.server.tags |= set(TAG.findall(body))
        text, call = self.server.next_reply()
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        with contextlib.suppress(OSError):  # interrupted
            self._stream(text, call)

    def _stream(self, text: str, call: tuple[str, dict[str, Any]] | None) -> None:
        for at in range(0, len(text), 40):
            self._chunk({"content": text[at : at + 40]})
            time.sleep(self.server.slowness)
        if call:
            function = {"name": call[0], "arguments": json.dumps(call[1])}
            call_id = f"call_{self.server.requests}"
            self._chunk({"tool_calls": [{"index": 0, "id": call_id, "type": "function", "function": function}]})
        self._chunk({}, "tool_calls" if call else "stop")
        self.wfile.write(b"data: [DONE]\n\n")

    def _chunk(self, delta: Mapping[str, Any], finish: str | None = None) -> None:
        choice = {"index": 0, "delta": delta, "finish_reason": finish}
        data = {"id": "x", "object": "chat.completion.chunk", "created": 0, "model": "m", "choices": [choice]}
        self.wfile.write(f"data: {json.dumps(data)}\n\n".encode())
        self.wfile.flush()


class Tmux:
    """A terminal with a program in it."""

    def __init__(self, socket: Path, command: str, folder: Path, environment: Mapping[str, str]) -> None:
        self._socket = str(socket)
        self._log, self._began = socket.parent / "typed.log", time.monotonic()
        variables = [part for name, value in environment.items() for part in ("-e", f"{name}={value}")]
        self._run(
            "-f",
            "/dev/null",
            "new-session",
            "-d",
            "-s",
            "j",
            "-x",
            "100",
            "-y",
            "30",
            "-c",
            str(folder),
            *variables,
            command,
        )

    def _run(self, *words: str, given: str | None = None) -> str:
        done = subprocess.run(["tmux", "-S", self._socket, *words], input=given, capture_output=True, text=True)
        assert not done.returncode or "kill-server" in words, done.stderr
        return done.stdout

    def note(self, what: str) -> None:
        """Write down what is done now."""
        with self._log.open("a", encoding="utf-8") as log:
            log.write(f"{time.monotonic() - self._began:9.3f} {what}\n")

    def keys(self, *keys: str) -> None:
        if "Enter" in keys:
            self.note(self.screen())
        self.note(f"keys {' '.join(keys)}")
        self._run("send-keys", "-t", "j", *keys)

    def text(self, text: str) -> None:
        self.note(f"types {text!r}")
        self._run("send-keys", "-t", "j", "-l", text)

    def paste(self, text: str) -> None:
        self.note(f"pastes {text!r}")
        self._run("load-buffer", "-", given=text)
        self._run("paste-buffer", "-p", "-t", "j")

    def resize(self, width: int, height: int) -> None:
        self.note(f"resizes to {width}x{height}")
        self._run("resize-window", "-t", "j", "-x", str(width), "-y", str(height))

    def screen(self) -> str:
        return self._run("capture-pane", "-p", "-t", "j")

    def wait_for(self, text: str) -> str:
        """The screen, once it shows this text."""
        for _ in range(600):
            screen = self.screen()
            if text in screen:
                return screen
            time.sleep(0.1)
        raise AssertionError(self.screen())

    def close(self) -> None:
        self._run("kill-server")


@dataclass
class Typist:
    """Does what people do. `findings` is what went wrong."""

    terminal: Tmux
    model: RandomModel
    folder: Path
    random: random.Random
    sent: set[str] = field(default_factory=set)
    cleared: set[str] = field(default_factory=set)
    allowed: set[str] = field(default_factory=set)
    actions: dict[str, int] = field(default_factory=dict)
    _made: int = 0
    _put_back: bool = False
    """Whether Esc may have put messages back into the input."""

    def work(self, seconds: float) -> None:
        assert self._wait(lambda screen: "code mode" in screen), self.terminal.screen()
        until = time.monotonic() + seconds
        does = (
            [self.write] * 6 + [self.answer] * 8 + [self.paste, self.resize, self.interrupt, self.scroll, self.clear]
            + [self.look, self.run, self.search]
        )  # fmt: skip
        while time.monotonic() < until:
            act = self.random.choice(does)
            self.actions[act.__name__] = self.actions.get(act.__name__, 0) + 1
            act()
            time.sleep(self.random.choice((0.0, 0.02, 0.2, 0.7)))
        self._finish()

    # What people do

    def write(self) -> None:
        self._sentence()
        self._send()

    def _sentence(self) -> str:
        self._made += 1
        tag, first = f"t{self._made}g", self.random.choice(WORDS)
        self.terminal.text(f"{first} ")  # in one go: a lone letter with nothing behind it is an answer
        for word in (self.random.choice(WORDS), tag, self.random.choice(WORDS)):
            self.terminal.text(f"{word} ")
            time.sleep(self.random.choice((0.0, 0.0, 0.1, 0.6)))
        self._typed = tag
        return tag

    def _send(self) -> None:
        self.sent.add(self._typed)
        self.terminal.keys("Enter")
        self._put_back = False

    def paste(self) -> None:
        tag = self._sentence()
        self.terminal.paste("\n".join(f"pasted line {number} {tag}" for number in range(self.random.randint(1, 30))))
        self._send()

    def clear(self) -> None:
        if self._put_back or not self._is_empty(self.terminal.screen()):
            return
        self.cleared.add(self._sentence())
        self.terminal.keys("C-c")
        self._wait(self._is_empty)

    def answer(self) -> None:
        screen = self.terminal.screen()
        if not self._is_empty(screen):
            if "Enter answers" in screen:
                self.terminal.keys("BSpace")  # the key was for the request before
            return
        if "y yes" in screen:
            yes = self.random.random() < 0.5
            if yes:
                self.allowed |= set(RAN.findall(screen))
            self.terminal.keys("y" if yes else "n")
        elif "picks" in screen:
            self.terminal.keys(*self.random.choice((["1"], ["Down", "Enter"])))
        elif "y continues" in screen:
            self.terminal.keys("y")
        elif "Enter accepts" in screen:
            self.terminal.keys("Enter")
        time.sleep(0.5)

    def resize(self) -> None:
        self.terminal.resize(*self.random.choice(((100, 30), (80, 24), (60, 16), (140, 45), (50, 9))))

    def interrupt(self) -> None:
        self._escape()
        self._put_back = True

    def _escape(self) -> None:
        """Esc by itself: together with the next letter, in one piece, it would be Alt and that letter."""
        self.terminal.keys("Escape")
        time.sleep(1.0)

    def scroll(self) -> None:
        for _ in range(self.random.randint(1, 4)):
            self.terminal.keys(self.random.choice(("PageUp", "PageDown")))

    def look(self) -> None:
        self.terminal.keys("C-o")

    def run(self) -> None:
        if not self._put_back and self._is_empty(self.terminal.screen()):
            self.terminal.text(self.random.choice(("!echo mine", "/cost", "/jobs", "/help")))
            self.terminal.keys("Enter")

    def search(self) -> None:
        self.terminal.keys("C-f")
        self.terminal.text("looking")
        self._escape()

    # The account

    @staticmethod
    def _is_empty(screen: str) -> bool:
        return any(text in screen for text in EMPTY)

    def _wait(self, condition: Callable[[str], bool], seconds: float = 60) -> bool:
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            if condition(self.terminal.screen()):
                return True
            time.sleep(0.1)
        return False

    def _finish(self) -> None:
        """Send what is still in the input, and answer until the model has read everything: in a window with room for
        requests."""
        self.terminal.resize(100, 30)
        self.write()
        until = time.monotonic() + 90
        while self.sent - self.model.tags and time.monotonic() < until:
            self.answer()

    def findings(self) -> list[str]:
        ran = {path.name for path in self.folder.glob("ran_*")}
        return [
            *(f"{tag} was sent and did not arrive" for tag in sorted(self.sent - self.model.tags)),
            *(f"{tag} was cleared and arrived" for tag in sorted(self.cleared & self.model.tags)),
            *(f"{name} ran and was not allowed" for name in sorted(ran - self.allowed)),
        ]
