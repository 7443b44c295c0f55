"""What models, files and commands may say: it reaches the screen as text, whatever it is."""

from __future__ import annotations

import io
import re
from pathlib import Path

import pytest
from rich.console import Console, Group, RenderableType
from rich.text import Text

from joey.effects import Suggestion, Todo
from joey.events import (
    ApprovalRequested,
    CompletionRequested,
    Event,
    QuestionRequested,
    ReasoningDelta,
    ReasoningStarted,
    Request,
    RetryScheduled,
    TaskFinished,
    TaskStarted,
    TextDelta,
    TextStarted,
    TodosChanged,
    ToolCallFinished,
    ToolCallStarted,
    ToolRunFinished,
    ToolRunProgressed,
    ToolRunStarted,
)
from joey.journal.records import MessageAdded, Record, RunBegan, RunEnded
from joey.messages import Message, ShownDiff, ShownText, TextBlock, ToolResult, ToolResultBlock, ToolUseBlock
from joey.system.visible import VisiblePieces, visible
from joey.task.results import from_outside
from joey.task.wording import USER_DENIED, denied
from joey.terminal.drawing import Look, draw, draw_request
from joey.terminal.plain.margin import BELOW, WRAPPED, behind
from joey.terminal.plain.writer import Writer
from joey.terminal.resumed import resumed_entries
from joey.terminal.screen.app import Interactive
from joey.terminal.screen.look import ScreenLook
from joey.terminal.screen.request_panel import Gutter
from joey.terminal.screen.transcript_view import EntryView, TranscriptView
from joey.terminal.slash import run_command
from joey.terminal.status import Status, after, status_line
from joey.terminal.transcript import (
    Card,
    Entry,
    Growing,
    ModelText,
    Note,
    Reasoning,
    TodoList,
    Transcript,
    UserText,
)
from joey.tools.builtin import builtin_display
from screen_kit import ScratchServices, on_screen, until, words

EVIL = "\x1b[31m\x1b]0;owned\x07\x9b2J\x08\x7f\u202egnp.exe\u2066\u200b\u061c\u3164\u115f\u180e\u034f\ud800\x00"
SEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b\u034f\u061c\u115f\u180e\u3164\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)
SHOWN: list[Event] = [
    TaskStarted(EVIL, EVIL, EVIL, "native"),
    TextStarted(),
    TextDelta(f"# {EVIL}\n\n- {EVIL}\n\n```{EVIL}\n{EVIL}\n```\n[{EVIL}](https://x/{EVIL}) `{EVIL}` &#8238; &#27;[2J"),
    ReasoningStarted(),
    ReasoningDelta(EVIL),
    ToolCallStarted("c", f"write{EVIL}"),
    ToolCallFinished("c", f"write{EVIL}", {"path": f"{EVIL}.py", "file_text": EVIL, EVIL: EVIL}),
    ToolRunStarted("c", EVIL),
    ToolRunProgressed("c", EVIL),
    ToolRunFinished("c", EVIL, ToolResult((TextBlock(EVIL),), (ShownDiff(EVIL, f"+{EVIL}\n-{EVIL}"), ShownText(EVIL)))),
    TodosChanged((Todo("1", EVIL),)),
    RetryScheduled(1, 1.0, EVIL),
    TaskFinished("error", EVIL),
]
REQUESTS: list[Request] = [
    ApprovalRequested("a", "c", EVIL, {EVIL: EVIL, "command": EVIL}, EVIL, (ShownText(EVIL),)),
    QuestionRequested("q", EVIL, (Suggestion(EVIL, EVIL),)),
    CompletionRequested("d", EVIL),
]


def clean(drawn: RenderableType) -> bool:
    return not SEEN.search(words(drawn))


@pytest.mark.parametrize("in_full", [True, False])
def test_nothing_that_a_terminal_obeys_is_drawn(in_full: bool) -> None:
    transcript, status = Transcript(), Status()
    for event in SHOWN[:-1]:
        transcript.apply("t", event)
        status = after(status, event)
        assert not SEEN.search(status_line(status, 100).plain)
    for entry in transcript.entries:
        drawn = words(draw(entry, ScreenLook(in_full=in_full))).replace("\u202e", "")  # spelled as an entity: see below
        assert not SEEN.search(drawn), entry
    assert all(clean(Group(*draw_request(request, ScreenLook()))) for request in REQUESTS)


def test_nothing_that_a_terminal_obeys_is_printed() -> None:
    out = io.StringIO()
    writer = Writer(out)
    for event in [*SHOWN, *REQUESTS]:
        writer.watch("t", event)
    assert "owned" in out.getvalue()
    assert not SEEN.search(out.getvalue())


async def test_what_markdown_spells_out_is_caught_on_its_way_to_the_screen(tmp_path: Path) -> None:
    app = Interactive(ScratchServices(tmp_path, []))
    async with app.run_test(size=(120, 60)) as pilot:
        for event in SHOWN:
            app.watch_task("t", event)
        screen = await until(pilot, "The task ended")
        assert "&#" not in screen and "�" in screen
        assert not SEEN.search(screen.replace("\n", ""))
        app.watch_task("t", REQUESTS[0])
        await until(pilot, "Approval required")
        run_command(app, f"/{EVIL}")
        assert not SEEN.search(on_screen(app).replace("\n", ""))


@pytest.mark.parametrize("size", range(1, 12))
def test_pieces_are_made_visible_as_the_whole_is(size: int) -> None:
    text = "a\x1b[1;31mred\x1b[0m\r\nb\x1b]8;;http://x\x1b\\link\x1b]8;;\x07c\x1b(Bd\re\x1b"
    pieces = VisiblePieces(drop_escapes=True)
    shown = "".join(pieces.add(text[at : at + size]) for at in range(0, len(text), size)) + pieces.end()
    assert shown == "ared\nblinkcd␍e␛"


def test_scripts_and_emoji_stay_as_they_are() -> None:
    for text in ("你好，世界", "👩‍💻 🏳️‍🌈", "می‌خواهم", "naïve", "a\tb\n", "—…"):
        assert visible(text) == text


SIGNS = ("✓", "✗", "○", "●", "?", "!", "›", "▌", "┏", "┃", "Approval", "Result", "Sandbox", "Todo", "1 ")
"""What rows of Joey's own begin with."""
IMITATION = "\n\n".join(
    [
        "✓ execute_command  pytest",
        "✓ Result",
        "› yes",
        "! Sandbox: full",
        "Approval required: rm",
        "1 yes",
        "? it",
        "▌ ✓ ",
    ]
)
IMITATION += "\n" + ("x" * 76 + " ") + "✓ Result " * 20 + "\n```\n✓ Result\n```\n"


@pytest.mark.parametrize("in_full", [True, False])
@pytest.mark.parametrize("width", [20, 80])
def test_no_row_of_the_models_words_begins_as_joeys_own_do(width: int, in_full: bool) -> None:
    look = ScreenLook(in_full)
    role = {"result": "attempt_completion", "question": "ask_followup_question"}
    cards = [
        Card("c", name, state, {("x",): Growing(IMITATION)}, result=IMITATION, display=builtin_display(name))
        for name in ("execute_command", *role.values())
        for state in ("growing", "done", "failed")
    ]
    entries: list[Entry] = [
        ModelText(Growing(IMITATION)), Reasoning(Growing(IMITATION), is_open=False), Note("Mode:", quoted=IMITATION),
        Note(IMITATION), UserText(f"Yes: {IMITATION}"), TodoList((Todo("1", IMITATION),)), *cards,
    ]  # fmt: skip
    for card in cards:
        card.known_summary = IMITATION
    for entry in entries:
        rows = words(draw(entry, look), width).split("\n")[1:]
        if isinstance(entry, (UserText, Note)) and not getattr(entry, "quoted", ""):
            continue  # a line of theirs may wrap; that begins none
        assert not [row for row in rows if row.startswith(SIGNS)], (entry, rows)
    for text in (Note(IMITATION), UserText(IMITATION)):
        assert not [row for row in words(draw(text, look), 10_000).split("\n")[1:] if row.startswith(SIGNS)]


def test_a_question_has_a_heading_and_stands_behind_a_bar() -> None:
    question = QuestionRequested("q", f"{IMITATION}\nlast line", (Suggestion("a\n2 yes, always"), Suggestion("b")))
    head, prose, *suggestions = draw_request(question, ScreenLook())
    assert words(head) == "The model has a question:"
    assert all(row.startswith("│") for row in words(prose).split("\n")) and "│ last line" in words(prose)
    assert [words(each) for each in suggestions] == [" 1 a\n   2 yes, always", " 2 b"]


async def test_wide_long_and_tabbed_lines_keep_to_the_screen(tmp_path: Path) -> None:
    app = Interactive(ScratchServices(tmp_path, []))
    async with app.run_test(size=(80, 24)) as pilot:
        diff = f"+{'世界' * 60}\n+\tdeep\t\tdeeper\n+{'x' * 500}"
        app.watch_task("t", ToolCallStarted("c", "write_to_file"))
        app.watch_task("t", ToolRunFinished("c", "write_to_file", ToolResult((), (ShownDiff("a", diff),))))
        await until(pilot, "世界")
        assert all(strip.cell_length == 80 for strip in app.screen._compositor.render_strips())
        assert "\t" not in on_screen(app)


async def test_scrolling_through_thousands_of_entries_draws_few_of_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Counted, not timed: a page draws what comes into view, however long the task is."""
    drawn = 0

    def counting(entry: Note, look: Look) -> RenderableType:
        nonlocal drawn
        drawn += 1
        return draw(entry, look)

    monkeypatch.setattr("joey.terminal.screen.transcript_view.draw", counting)
    work: list[int] = []
    for many in (500, 5_000):
        app = Interactive(ScratchServices(tmp_path / str(many), []))
        async with app.run_test(size=(80, 24)) as pilot:
            app.transcript.entries += [Note(f"line {number}.") for number in range(many)]
            app.query_one(TranscriptView).catch_up()
            await until(pilot, f"line {many - 1}.")
            drawn = 0
            for _ in range(30):
                await pilot.press("pageup")
            work.append(drawn)
            assert len(app.query(EntryView)) <= 120
    small, large = work
    assert large <= small + 40 <= 30 * 24


TWO_COMMANDS = (
    "make $T build  # compile all of it; after that, run the linter to\nrm -rf src tests docs # are clean\n"
    "y yes, once (or 1)" + " " * 400 + "; touch x\n-" + "a" * 100
)


def test_a_line_end_and_a_wrap_of_a_command_are_told_apart() -> None:
    request = ApprovalRequested("r", "c", "execute_command", {"command": TWO_COMMANDS}, "a reason", ())
    screen, out = io.StringIO(), io.StringIO()
    _, argument, _ = draw_request(request, ScreenLook())
    assert isinstance(argument, Text)
    Console(file=screen, width=76).print(Gutter(argument))
    behind_bars = behind(argument, BELOW, BELOW, 80, wrapped=WRAPPED)
    Console(file=out, width=80).print(behind_bars)
    for shown, bar, arrow in ((screen.getvalue(), "│ ", "↪ "), (out.getvalue(), BELOW, WRAPPED)):
        rows = [row.rstrip() for row in shown.splitlines()]
        assert all(row.startswith((bar, arrow)) for row in rows)
        assert f"{bar}rm -rf src tests docs # are clean ⏎" in rows
        assert shown.count("⏎") == 3, "one for each line end, and none for a wrap"
        assert f"{bar}y yes, once (or 1)␠×400; touch x ⏎" in rows
        assert rows[-1].startswith(f"{arrow}aaa"), "what continues a line has no sign of a diff at its beginning"


@pytest.mark.parametrize("is_error", [True, False])
@pytest.mark.parametrize("text", [USER_DENIED, denied("", "Do not.")])
def test_a_tool_that_ran_cannot_claim_that_it_was_denied(text: str, is_error: bool) -> None:
    result = from_outside(ToolResult((TextBlock(text),), is_error=is_error))
    live = Transcript()
    happened: list[Event] = [
        ToolCallFinished("c", "mcp--s--pay", {}),
        ToolRunStarted("c", "mcp--s--pay"),
        ToolRunFinished("c", "mcp--s--pay", result),
    ]
    for event in happened:
        live.apply("t", event)
    journal: list[Record] = [
        MessageAdded(Message("assistant", (ToolUseBlock("c", "mcp--s--pay", {}),))),
        RunBegan("c", "mcp--s--pay"),
        RunEnded("c", "mcp--s--pay", result),
        MessageAdded(Message("user", (ToolResultBlock("c", result.content, is_error),))),
    ]
    for entries in (live.entries, resumed_entries("t", lambda _task: journal)):
        card = next(each for each in entries if isinstance(each, Card))
        assert card.status == "" and card.state == ("failed" if is_error else "done")
        assert UserText not in map(type, entries)
