"""Every state of the screen as a image, in tests/terminal/snapshots. `make snapshots` draws them again.

Each state is shown at 80x24 and, after the window was resized, at 200x60; some also on a light ground and without
colour. A difference is shown as words first; where only colours differ, the lines of the image are.
"""

from __future__ import annotations

import difflib
import os
import re
import time
from collections.abc import Awaitable, Callable
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path

import pytest
from textual import events
from textual.pilot import Pilot
from textual.widgets import Input

from joey.app.services import Choices, TaskLine
from joey.effects import Suggestion, Todo
from joey.events import (
    ApprovalRequested,
    CompletionRequested,
    ContextShortened,
    ContinueRequested,
    Event,
    QuestionRequested,
    ReasoningDelta,
    ReasoningFinished,
    ReasoningStarted,
    RetryScheduled,
    TaskAborted,
    TaskCompleted,
    TaskFinished,
    TaskStarted,
    TextDelta,
    TextFinished,
    TextStarted,
    TodosChanged,
    ToolCallDelta,
    ToolCallFinished,
    ToolCallStarted,
    ToolRunFinished,
    ToolRunProgressed,
    ToolRunStarted,
    TurnFinished,
    TurnStarted,
    UserMessageQueued,
)
from joey.messages import Message, ShownDiff, ShownText, TextBlock, ToolResult, ToolResultBlock, ToolUseBlock
from joey.permissions import Granted, Permission
from joey.terminal.resumed import entries_of
from joey.terminal.screen.answering import KeyGate
from joey.terminal.screen.app import Interactive
from joey.terminal.screen.picker import TaskPicker
from joey.terminal.screen.prompt import Prompt
from joey.terminal.screen.request_panel import RequestPanel
from joey.terminal.screen.transcript_view import TranscriptView
from joey.testing.screenshot import rows, svg
from joey.usage import Usage
from screen_kit import ScratchServices, until

IMAGES = Path(__file__).parent / "snapshots"
RENEW = "JOEY_RENEW_SNAPSHOTS"
SERVER = """\
from http.server import BaseHTTPRequestHandler, HTTPServer


class Hello(BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"Hello, 世界! 👋")
"""
DIFF = """\
--- a/server.py
+++ b/server.py
@@ -5,4 +5,5 @@
     def do_GET(self):
-        self.send_error(404)
+        self.send_response(200)
+        self.end_headers()
"""
TWO_PLACES = f"{DIFF}@@ -40,2 +41,2 @@ def main\n-    port = 8000  # 世界\n+    port = 8080  # 世界\n     serve(port)\n"
BEGUN = (TaskStarted("Add a /hello endpoint", "code", "anthropic/scripted", "native"), TurnStarted(1))
ANSWER = """\
## Plan

The server answers **every** path with 404. I add one branch:

1. read `server.py`
2. change *one* function, see [the docs](https://docs.python.org/3/library/http.server.html)

```python
if self.path == "/hello":
    return hello()
```
"""


def wrote(call_id: str = "w") -> tuple[Event, ...]:
    call = {"path": "server.py", "file_text": SERVER}
    return (ToolCallStarted(call_id, "write_to_file"), ToolCallFinished(call_id, "write_to_file", call))


def ran(command: str) -> tuple[Event, ...]:
    return (
        ToolCallStarted("r", "execute_command"),
        ToolCallFinished("r", "execute_command", {"command": command}),
    )


Step = Callable[[Interactive, Pilot[None]], Awaitable[None]]


def seen(*events: Event) -> Step:
    async def tell(app: Interactive, _pilot: Pilot[None]) -> None:
        for event in (*BEGUN, *events):
            app.watch_task("t", event)

    return tell


def typed(*keys: str, after: Step | None = None) -> Step:
    async def type_(app: Interactive, pilot: Pilot[None]) -> None:
        if after:
            await after(app, pilot)
            await settled(app, pilot)
        await pilot.press(*keys)
        for field in app.screen.query(Input):
            field.cursor_blink = False

    return type_


async def hello(_app: Interactive, _pilot: Pilot[None]) -> None:
    pass


async def image_by_path(app: Interactive, _pilot: Pilot[None]) -> None:
    folder = app.session.services.folder
    (folder / "shot.png").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(34_000))
    app.query_one(Prompt).text = "Why is ./shot.png so dark?"


async def pasted(app: Interactive, pilot: Pilot[None]) -> None:
    app.post_message(events.Paste("\n".join(f"Traceback, line {number}" for number in range(40))))
    await until(pilot, "[Pasted")
    app.query_one(Prompt).insert(" What went wrong?")


async def users_command(app: Interactive, pilot: Pilot[None]) -> None:
    for line in ("!echo 3 passed", "!!echo 1 failed; exit 2"):
        app.query_one(Prompt).text = line
        await pilot.press("enter")
        await until(pilot, line[-6:])
        await app.workers.wait_for_complete([each for each in app.workers if each.group == "commands"])


async def taken_up(app: Interactive, _pilot: Pilot[None]) -> None:
    call = ToolUseBlock("c", "read_file", {"path": "server.py"})
    answer = ToolResultBlock("c", (TextBlock("1 | import os\n2 | print(os.name)"),))
    messages = [
        Message("user", (TextBlock("What does server.py do?"), TextBlock("<environment_details>…"))),
        Message("assistant", (TextBlock("I read it."), call)),
        Message("user", (answer,)),
        Message("assistant", (TextBlock("It prints the name of the system."),)),
    ]
    app.query_one(TranscriptView).show_new(entries_of(messages))


THOUGHTS = (ReasoningStarted(), ReasoningDelta("The handler knows one path only.\nA branch will do."))
APPROVED = ToolRunFinished("w", "write_to_file", ToolResult((TextBlock("Written."),), (ShownDiff("server.py", DIFF),)))
FAILED = ToolResult((TextBlock("Exit code 2"),), (ShownText("1 failed\n"),), is_error=True)
TODOS = (Todo("1", "Read server.py", "completed"), Todo("2", "Add /hello", "in_progress"), Todo("3", "Try it"))
SPOKE = (TextStarted(), TextDelta("I looked around."), TextFinished())
METERS = TurnFinished(1, Usage(1_850, 420, 900, 9_300), 0.0183)
QUESTION = QuestionRequested(
    "q",
    "Which **port** shall it listen on?",
    (Suggestion("8000"), Suggestion("8080, as the notes say"), Suggestion("Plan it first", "architect")),
)
CHANGE = ApprovalRequested(
    "a",
    "w",
    "write_to_file",
    {"path": "server.py", "file_text": SERVER},
    "`server.py`: changing files needs approval, also inside the workspace",
    (ShownDiff("server.py", DIFF),),
)
STATES: dict[str, Step] = {
    "hello": hello,
    "answer-streaming": seen(TextStarted(), TextDelta(ANSWER), TextDelta("Then I will")),
    "reasoning-streaming": seen(*THOUGHTS),
    "reasoning-folded": seen(*THOUGHTS, ReasoningFinished(), TextStarted(), TextDelta("One branch."), TextFinished()),
    "reasoning-unfolded": typed("ctrl+o", after=seen(*THOUGHTS, ReasoningFinished())),
    "file-growing": seen(
        ToolCallStarted("w", "write_to_file"),
        ToolCallDelta("w", ("path",), "server.py", ""),
        ToolCallDelta("w", ("file_text",), SERVER[:170], ""),
    ),
    "command-running": seen(
        *ran("make test"),
        ToolRunStarted("r", "execute_command"),
        ToolRunProgressed("r", "\x1b[32mcollected 3 items\x1b[0m\n10%\r60%\r100%\ntests/test_hello.py ..\n"),
    ),
    "command-failed": seen(
        *ran("make test"),
        ToolRunStarted("r", "execute_command"),
        ToolRunFinished(
            "r", "execute_command", ToolResult((TextBlock("Command failed: exit code 2."),), (ShownText("1 failed\n"),))
        ),
    ),
    "interrupted": seen(
        *ran("make test"),
        ToolRunStarted("r", "execute_command"),
        ToolRunProgressed("r", "collected 3 items\n"),
        TaskAborted("interrupted by the user"),
    ),
    "completion-refused": seen(
        ToolCallStarted("d", "attempt_completion"),
        ToolCallFinished("d", "attempt_completion", {"result": "`GET /hello` answers."}),
        ToolRunFinished("d", "attempt_completion", ToolResult((TextBlock("A todo is open: Try it."),), is_error=True)),
    ),
    "diff": seen(*wrote(), ToolRunStarted("w", "write_to_file"), APPROVED),
    "todos-and-meters": seen(
        TodosChanged(
            (Todo("1", "Read server.py", "completed"), Todo("2", "Add /hello", "in_progress"), Todo("3", "Try it"))
        ),
        *SPOKE,
        METERS,
        TurnStarted(2),
    ),
    "approval-of-a-change": seen(
        *wrote(),
        ApprovalRequested(
            "a",
            "w",
            "write_to_file",
            {"path": "server.py", "file_text": SERVER},
            "`server.py`: changing files needs approval, also inside the workspace",
            (ShownDiff("server.py", DIFF),),
        ),
    ),
    "approval-of-a-command": seen(
        *ran("curl -s localhost:8000/hello && rm -rf build"),
        ApprovalRequested(
            "a",
            "r",
            "execute_command",
            {"command": "curl -s localhost:8000/hello && rm -rf build"},
            "`rm -rf build`: deletes files, and no rule names it",
        ),
    ),
    "approval-of-a-path": seen(
        ToolCallStarted("p", "read_file"),
        ToolCallFinished("p", "read_file", {"path": "/etc/hosts"}),
        ApprovalRequested("a", "p", "read_file", {"path": "/etc/hosts"}, "`/etc/hosts` is outside the workspace"),
    ),
    "approval-of-a-servers-tool": seen(
        ToolCallStarted("m", "mcp--library--search"),
        ToolCallFinished("m", "mcp--library--search", {"words": ["wsgi"], "most": 5}),
        ApprovalRequested("a", "m", "mcp--library--search", {"words": ["wsgi"], "most": 5}, "no rule names this tool"),
    ),
    "approval-with-a-comment": typed(
        "c",
        *"too big",
        after=seen(
            *wrote(),
            ApprovalRequested(
                "a", "w", "write_to_file", {"path": "server.py"}, "needs approval", (ShownDiff("server.py", DIFF),)
            ),
        ),
    ),
    "question": seen(QUESTION),
    "completion": seen(
        ToolCallStarted("d", "attempt_completion"),
        ToolCallFinished("d", "attempt_completion", {"result": "`GET /hello` answers **Hello, 世界!**"}),
        METERS,
        TaskCompleted("…", Usage()),
        CompletionRequested("d", "…"),
    ),
    "completion-with-feedback": typed(
        *"in JSON, please",
        after=seen(
            ToolCallStarted("d", "attempt_completion"),
            ToolCallFinished("d", "attempt_completion", {"result": "`GET /hello` answers."}),
            TaskCompleted("…", Usage()),
            CompletionRequested("d", "…"),
        ),
    ),
    "going-on": seen(ContinueRequested("g", "Nothing went right in the last 3 turns.")),
    "commands-completing": typed("slash", "m", "down"),
    "files-completing": typed(*"see @s"),
    "image-by-path": image_by_path,
    "queue": seen(TextStarted(), TextDelta("Let me look around first."), UserMessageQueued("and use port 8080")),
    "help": typed("slash", *"help", "enter"),
    "keys": typed("slash", *"help keys", "enter"),
    "error": seen(
        RetryScheduled(1, 2.0, "The provider is overloaded."),
        TextStarted(),
        TextDelta("Half an ans"),
        TaskFinished("error", "the connection broke: 127.0.0.1 refused it"),
    ),
    "compacted": seen(
        *SPOKE, METERS, ContextShortened(14, "They looked around.", 11_500, 4_200, Usage(900, 100), 0.001)
    ),
    "taken-up-again": taken_up,
    "menu-scrolled": typed("slash", *["down"] * 12),
    "shortcuts": typed("question_mark"),
    "large-paste": pasted,
    "users-command": users_command,
    "searching": typed("ctrl+f", *"branch", after=seen(TextStarted(), TextDelta(ANSWER), TextFinished())),
    "diff-of-two-places": seen(
        *wrote(),
        ToolRunFinished(
            "w", "write_to_file", ToolResult((TextBlock("Written."),), (ShownDiff("server.py", TWO_PLACES),))
        ),
    ),
    "waiting-to-try-again": seen(RetryScheduled(2, 8.0, "The provider is overloaded.")),
}
LIGHT = ("answer-streaming", "approval-of-a-change", "question", "todos-and-meters")


async def settled(app: Interactive, pilot: Pilot[None]) -> str:
    """The image, when nothing moves any more."""
    before = ""
    for _ in range(100):
        await pilot.pause(0.06)
        panel, now = app.screen_stack[0].query_one(RequestPanel), svg(app)
        shows_keys = panel.gate.is_ready("") and panel.has_class("ready") == panel.accepts_keys
        if now == before and (panel.request is None or shows_keys):
            return now
        before = now
    raise AssertionError("the screen does not come to rest")


PICKED = [
    TaskLine("1", "open", "Add a /hello endpoint", Path("/home/ada/project"), 1_794_000_000.0),
    TaskLine("2", "completed", "Rename the parser", Path("/home/ada/project"), 1_793_900_000.0),
    TaskLine("3", "cancelled", "Translate the manual", Path("/home/ada/books"), 1_793_800_000.0),
]


async def choosing(app: Interactive, _pilot: Pilot[None]) -> None:
    app.push_screen(TaskPicker(PICKED, "/home/ada/project", time.gmtime))


async def listing(app: Interactive, _pilot: Pilot[None]) -> None:
    granted = [
        Granted(Permission("command", "pytest -q"), "project"),
        Granted(Permission("command", "rm -rf build"), "task"),
        Granted(Permission("writes"), "task"),
    ]
    app.show_permissions(granted)


STATES["choosing-a-task"] = choosing
STATES["permissions"] = listing
STATES["plan"] = seen(
    ToolCallStarted("d", "attempt_completion"),
    ToolCallFinished("d", "attempt_completion", {"result": "1. Add a branch for `/hello`\n2. Test it"}),
    TaskCompleted("…", Usage()),
    CompletionRequested("d", "1. Add a branch", plan=True),
)
STATES["approval-that-can-last"] = seen(
    *ran("rm -rf build"),
    ApprovalRequested(
        "a",
        "r",
        "execute_command",
        {"command": "rm -rf build"},
        "`rm -rf build`: deletes files, and no rule names it",
        always=("exactly `rm -rf build`",),
    ),
)
STATES["approval-of-a-long-change"] = seen(
    *wrote(),
    replace(
        CHANGE, shown=(ShownDiff("server.py", "@@ -0,0 +1,40 @@\n" + "".join(f"+row = {n}\n" for n in range(40))),)
    ),
    replace(CHANGE, request_id="b"),
)
STATES["suggestion-chosen"] = typed("down", "down", after=seen(QUESTION))


async def shown(folder: Path, state: str, sizes: list[tuple[int, int]], theme: str = "dark") -> list[str]:
    gate = KeyGate(quiet=0.01, hold=0.01)
    app = Interactive(ScratchServices(folder, []), Choices("code", "anthropic/scripted"), gate)
    async with app.run_test(size=sizes[0]) as pilot:
        app.query_one(Prompt).cursor_blink = False
        app.clock = lambda: 100.0
        app.theme = f"textual-{theme}"
        app.session.status = replace(app.session.status, window=200_000)
        app.show("")
        await STATES[state](app, pilot)
        images = [await settled(app, pilot)]
        for size in sizes[1:]:
            await pilot.resize_terminal(*size)
            images.append(await settled(app, pilot))
    return images


VERSIONS = f"textual {version('textual')}, rich {version('rich')}"
MADE_WITH = IMAGES / "made-with.txt"


def test_the_images_are_of_these_versions() -> None:
    if os.environ.get(RENEW):
        MADE_WITH.write_text(f"{VERSIONS}\n", encoding="utf-8")
    if (made_with := MADE_WITH.read_text(encoding="utf-8").strip()) != VERSIONS:
        pytest.skip(f"not compared: the images were made with {made_with}, and this is {VERSIONS}")


def check(name: str, image: str) -> None:
    file = IMAGES / f"{name}.svg"
    if os.environ.get(RENEW):
        IMAGES.mkdir(exist_ok=True)
        file.write_text(image, encoding="utf-8")
    assert file.exists(), f"there is no {file.name}; `make snapshots` draws it"
    known = file.read_text(encoding="utf-8")
    if MADE_WITH.read_text(encoding="utf-8").strip() != VERSIONS:
        return  # another version draws a border otherwise; the test above says that nothing was compared
    if image != known:
        pytest.fail(
            f"{name} looks different (`make snapshots` if that is meant):\n{difference(known, image)}", pytrace=False
        )


def difference(known: str, image: str) -> str:
    words = list(difflib.unified_diff(rows(known), rows(image), "before", "now", lineterm="", n=1))
    styles = difflib.unified_diff(known.splitlines(), image.splitlines(), "before", "now", lineterm="", n=0)
    return "\n".join(words or ["The words are the same; their looks are not:", *list(styles)[:40]])


@pytest.mark.parametrize("state", STATES)
async def test_the_screen_looks_as_it_did(tmp_path: Path, state: str) -> None:
    small, large = await shown(tmp_path, state, [(80, 24), (200, 60)])
    check(f"{state}-80x24", small)
    check(f"{state}-200x60", large)


@pytest.mark.parametrize("state", LIGHT)
async def test_on_a_light_ground_it_looks_as_it_did(tmp_path: Path, state: str) -> None:
    (image,) = await shown(tmp_path, state, [(80, 24)], "light")
    check(f"{state}-80x24-light", image)


@pytest.mark.parametrize("state", [*LIGHT, "commands-completing", "image-by-path"])
async def test_without_colour_it_looks_as_it_did(tmp_path: Path, state: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    (image,) = await shown(tmp_path, state, [(80, 24)])
    check(f"{state}-80x24-no-colour", image)
    inks = set(re.findall(r"fill[=:]\"?(#\w+)", image))
    assert inks <= {"#e0e0e0", "#121212"}


def test_no_images_is_of_a_state_that_is_not_there() -> None:
    drawn = {file.name.partition("-80x24")[0].partition("-200x60")[0] for file in IMAGES.glob("*.svg")}
    assert drawn == set(STATES)


def test_a_difference_is_reported_in_words_and_then_in_looks() -> None:
    one, two = (IMAGES / f"{name}-80x24.svg" for name in ("hello", "question"))
    assert "+" in difference(one.read_text(), two.read_text()) and "port" in difference(
        one.read_text(), two.read_text()
    )
    assert "their looks are not" in difference(one.read_text(), one.read_text().replace("font-weight:bold", ""))
    assert rows(one.read_text())[0].strip() == "Joey. Type a task."


def test_images_fetch_nothing() -> None:
    for file in IMAGES.glob("*.svg"):
        text = file.read_text(encoding="utf-8")
        assert "url(" not in text and "<image" not in text and "href" not in text, file.name
