"""The interactive terminal, driven as a user drives it: keys in, the screen out."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import textual.timer
from textual import events
from textual.pilot import Pilot

from joey.commands import SetProfile
from joey.effects import Suggestion, Todo
from joey.events import (
    ApprovalAnswered,
    ApprovalRequested,
    CompletionAnswered,
    CompletionRequested,
    ContextShortened,
    ContinueAnswered,
    ContinueRequested,
    ProfileChanged,
    QuestionRequested,
    ReasoningDelta,
    ReasoningFinished,
    ReasoningStarted,
    SubtaskOpened,
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
    UserMessageQueued,
)
from joey.messages import ShownText, TextBlock, ToolResult
from joey.task.task import TaskHandle
from joey.terminal.screen.answering import KeyGate
from joey.terminal.screen.app import Interactive
from joey.terminal.screen.display import suits_light
from joey.terminal.screen.prompt import Prompt
from joey.terminal.screen.request_panel import RequestPanel
from joey.terminal.screen.transcript_view import MOUNTED, EntryView, TranscriptView
from joey.terminal.transcript import Note
from joey.testing.script import Faults, reply
from screen_kit import ScratchServices, on_screen, say, until
from task_kit import call, done

SIZES = [(80, 24), (200, 60)]
WRITE = reply("I **write** it.", call("w", "write_to_file", path="a.py", file_text="import os\n"))


def terminal(folder: Path, *script: object, policy: str = "all") -> Interactive:
    return Interactive(ScratchServices(folder, script, policy), gate=KeyGate(quiet=0.05, hold=0.02))  # type: ignore[arg-type]


def services(app: Interactive) -> ScratchServices:
    assert isinstance(app.session.services, ScratchServices)
    return app.session.services


def of(app: Interactive, kind: type) -> list[object]:
    return [event for event in services(app).events if isinstance(event, kind)]


# What the screen shows


@pytest.mark.parametrize("size", SIZES)
async def test_a_streaming_answer_grows_as_markdown(tmp_path: Path, size: tuple[int, int]) -> None:
    app = terminal(tmp_path)
    async with app.run_test(size=size) as pilot:
        for event in (TextStarted(), TextDelta("# Plan\n\n- read"), TextDelta(" it\n- **fix** it")):
            app.watch_task("t", event)
        screen = await until(pilot, "fix it")
        assert "• read it" in screen
        app.watch_task("t", TextDelta(" well"))
        await until(pilot, "fix it well")


@pytest.mark.parametrize("size", SIZES)
async def test_a_file_appears_while_it_is_written(tmp_path: Path, size: tuple[int, int]) -> None:
    app = terminal(tmp_path)
    async with app.run_test(size=size) as pilot:
        app.watch_task("t", ToolCallStarted("c", "write_to_file"))
        app.watch_task("t", ToolCallDelta("c", ("path",), "a.py", ""))
        app.watch_task("t", ToolCallDelta("c", ("file_text",), "import os\n", ""))
        screen = await until(pilot, "import os")
        assert "write_to_file  a.py" in screen
        app.watch_task("t", ToolCallDelta("c", ("file_text",), "print(os.name)\n", ""))
        assert "import os" in await until(pilot, "2 print(os.name)")


async def test_a_running_command_shows_its_output_as_it_comes(tmp_path: Path) -> None:
    app = terminal(tmp_path)
    async with app.run_test() as pilot:
        app.watch_task("t", ToolCallStarted("c", "execute_command"))
        app.watch_task("t", ToolCallFinished("c", "execute_command", {"command": "make test"}))
        app.watch_task("t", ToolRunStarted("c", "execute_command"))
        app.watch_task("t", ToolRunProgressed("c", "12 pass"))
        assert "● execute_command" in await until(pilot, "12 pass")
        app.watch_task("t", ToolRunProgressed("c", "ed\n"))
        assert "make test" in await until(pilot, "12 passed")
        app.watch_task("t", ToolRunFinished("c", "execute_command", ToolResult((TextBlock("Exit 1"),), is_error=True)))
        await until(pilot, "✗ execute_command")


async def test_reasoning_is_folded_until_it_is_wanted(tmp_path: Path) -> None:
    app = terminal(tmp_path)
    async with app.run_test() as pilot:
        for event in (ReasoningStarted(), ReasoningDelta("first idea\nsecond idea"), ReasoningFinished()):
            app.watch_task("t", event)
        assert "second idea" not in await until(pilot, "Reasoning (4 words)")
        await pilot.press("ctrl+o")
        assert "first idea" in await until(pilot, "second idea")


async def test_todos_are_listed_and_counted(tmp_path: Path) -> None:
    app = terminal(tmp_path)
    async with app.run_test() as pilot:
        app.watch_task("t", TodosChanged((Todo("1", "Read", "completed"), Todo("2", "Fix"))))
        screen = await until(pilot, "[ ] Fix")
        assert "[x] Read" in screen
        assert "todo 1/2" in screen


async def test_resizing_keeps_everything(tmp_path: Path) -> None:
    app = terminal(tmp_path)
    async with app.run_test(size=(200, 60)) as pilot:
        app.watch_task("t", TextDelta("A line that stays where it is. " * 5))
        await until(pilot, "stays where")
        await pilot.resize_terminal(80, 24)
        assert "╰" in await until(pilot, "stays where")
        await pilot.resize_terminal(200, 60)
        await until(pilot, "stays where")


async def test_the_status_line_has_what_the_new_width_has_room_for(tmp_path: Path) -> None:
    app = terminal(tmp_path)
    async with app.run_test(size=(100, 24)) as pilot:
        app.session.choose(model="provider/a-model-with-a-name")
        app.on_resize(events.Resize(app.size, app.size))
        await until(pilot, "code mode  approve: ask  provider/a-model-with-a-name")
        await pilot.resize_terminal(40, 24)
        await until(pilot, "a-model-with-a-name", gone=True)
        await pilot.resize_terminal(100, 24)
        await until(pilot, "code mode  approve: ask  provider/a-model-with-a-name")


async def test_thousands_of_entries_scroll_with_few_widgets(tmp_path: Path) -> None:
    app = terminal(tmp_path)
    async with app.run_test() as pilot:
        view = app.query_one(TranscriptView)
        app.transcript.entries += [Note(f"line {number}.") for number in range(5_000)]
        view.catch_up()
        await until(pilot, "line 4999.")
        assert len(view.query(EntryView)) <= MOUNTED
        for _ in range(40):
            await pilot.press("pageup")
        await pilot.pause()
        assert "line 4999." not in on_screen(app)
        assert len(view.query(EntryView)) <= MOUNTED
        shown = [each.entry for each in view.query(EntryView)]
        start = app.transcript.entries.index(shown[0])
        assert 4_400 < start < 4_860
        assert shown == app.transcript.entries[start : start + MOUNTED]
        for _ in range(80):
            await pilot.press("pagedown")
        await until(pilot, "line 4999.")


async def test_a_light_theme_redraws_what_is_there(tmp_path: Path) -> None:
    app = terminal(tmp_path)
    async with app.run_test() as pilot:
        app.watch_task("t", TextDelta("Some `code`"))
        await until(pilot, "Some code")
        await say(pilot, "/theme light")
        await pilot.pause()
        assert not app.look.dark
        assert app.query_one(TranscriptView).look == app.look
        await until(pilot, "Some code")


@pytest.mark.parametrize(("colours", "light"), [("0;15", True), ("15;0", False), ("", False), ("0;default;15", True)])
def test_a_light_terminal_is_recognised(colours: str, light: bool) -> None:
    assert suits_light(colours) is light


async def test_without_colour_the_screen_says_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    app = terminal(tmp_path, WRITE, done(), policy="ask")
    async with app.run_test() as pilot:
        await say(pilot, "go")
        assert "+import os" in await until(pilot, "Approval required")
        styles = [s.style for line in app.screen._compositor.render_strips() for s in line if s.style]
        assert not [style for style in styles if style.color or style.bgcolor]
        assert [style for style in styles if style.bold]


# What the user does


async def test_a_whole_task_with_leave_and_the_last_word(tmp_path: Path) -> None:
    app = terminal(tmp_path, WRITE, done(), policy="ask")
    async with app.run_test(size=(80, 24)) as pilot:
        await say(pilot, "write it")
        screen = await until(pilot, "Approval required: write_to_file")
        assert "+import os" in screen
        assert not (services(app).folder / "a.py").exists()
        await until(pilot, "y yes")
        await pilot.press("y")
        await until(pilot, "Enter accepts")
        assert (services(app).folder / "a.py").read_text() == "import os\n"
        await pilot.press("enter")
        await until(pilot, "Enter accepts", gone=True)
        assert of(app, TaskFinished) == [TaskFinished("completed", "All done.")]
        assert not app.busy


@pytest.mark.parametrize(
    ("keys", "approved", "comment"),
    [
        (["n"], False, ""),
        (["c", *"too big", "enter"], False, "too big"),
        (["2"], True, ""),
        (["1"], True, ""),
        (["3"], True, ""),
    ],
)
async def test_each_key_answers_an_approval(tmp_path: Path, keys: list[str], approved: bool, comment: str) -> None:
    app = terminal(tmp_path, WRITE, done(), policy="ask")
    async with app.run_test() as pilot:
        await say(pilot, "go")
        await until(pilot, "y yes")
        await pilot.press(*("space" if key == " " else key for key in keys))
        await until(pilot, "Enter accepts")
        (answer,) = of(app, ApprovalAnswered)
        assert isinstance(answer, ApprovalAnswered)
        assert (answer.approved, answer.comment) == (approved, comment)
        assert (services(app).folder / "a.py").exists() is approved


async def test_always_is_requested_once(tmp_path: Path) -> None:
    again = reply(call("w2", "write_to_file", path="b.py", file_text="x = 1\n"))
    app = terminal(tmp_path, WRITE, again, done(), policy="ask")
    async with app.run_test() as pilot:
        await say(pilot, "go")
        await until(pilot, "y yes")
        await pilot.press("2")
        await until(pilot, "Enter accepts")
        assert len(of(app, ApprovalAnswered)) == 1
        assert (services(app).folder / "b.py").exists()


async def test_shift_tab_goes_through_the_profiles_and_the_task_keeps_to_it(tmp_path: Path) -> None:
    app = terminal(tmp_path, WRITE, done(), policy="ask")
    async with app.run_test() as pilot:
        seen = []
        for _ in range(4):
            await pilot.press("shift+tab")
            await pilot.pause(0.05)
            seen.append(app.session.status.profile)
            assert f"code mode  approve: {seen[-1]}" in on_screen(app)
        assert seen == ["edits", "plan", "ask", "edits"]
        assert app.session.choices.profile == "edits"


class SlowProfiles(ScratchServices):
    async def profiles(self) -> Sequence[str]:
        await asyncio.sleep(0.3)
        return await super().profiles()


async def test_every_press_of_shift_tab_counts_also_before_the_profiles_are_known(tmp_path: Path) -> None:
    app = Interactive(SlowProfiles(tmp_path, [], "ask"))
    async with app.run_test() as pilot:
        await pilot.press("shift+tab", "shift+tab")
        await until(pilot, "approve: plan")
        await pilot.press("shift+tab", "shift+tab", "shift+tab", "shift+tab")
        await until(pilot, "approve: ask")


async def test_the_profile_that_is_shown_is_the_one_in_force_however_fast_it_is_switched(tmp_path: Path) -> None:
    app = terminal(tmp_path, reply("Slowly, very slowly", faults=Faults(pause=5)), policy="ask")
    async with app.run_test() as pilot:
        await say(pilot, "go")
        await pilot.press("shift+tab")  # perhaps while it is being opened
        await until(pilot, "Slowly")
        for expected in ("ask", "plan", "edits"):  # two steps at a time
            app.action_next_profile()
            app.watch_task("t", ProfileChanged("edits"))  # one that comes late
            app.action_next_profile()
            await pilot.pause(0.05)
            assert app.session.task is not None
            assert app.session.task.profile == app.session.status.profile == expected
            assert f"approve: {expected}" in on_screen(app)


async def test_a_plan_is_edited_accepted_and_carried_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EDITOR", "sed -i s/port/socket/")
    app = terminal(tmp_path, done("d1", "Open a port."), WRITE, done("d2"), policy="plan")
    async with app.run_test(size=(100, 40)) as pilot:
        await say(pilot, "plan it")
        assert "Shall this plan be carried out?" in await until(pilot, "y carry it out")
        await pilot.press("e")
        await until(pilot, "y yes, once")
        assert "Open a socket." in str(services(app).kit.sent[-1])
        await pilot.press("y")
        await until(pilot, "Enter accepts")
        assert (services(app).folder / "a.py").exists()


async def test_a_key_for_a_plan_that_came_too_early_is_named_and_enter_gives_its_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EDITOR", "sed -i s/port/socket/")
    app = terminal(tmp_path, done("d1", "Open a port."), WRITE, policy="plan")
    async with app.run_test(size=(100, 40)) as pilot:
        await say(pilot, "plan it")
        await until(pilot, "y carry it out")
        app.query_one(Prompt).put("n")
        await until(pilot, "Enter answers: no: nothing is carried out")
        app.query_one(Prompt).put("not now")
        await until(pilot, "Enter sends your text")
        app.query_one(Prompt).put("e")
        await until(pilot, "Enter answers: edit it in your editor")
        await pilot.press("enter")
        await until(pilot, "y yes, once")
        assert "Open a socket." in str(services(app).kit.sent[-1])


async def test_a_plan_is_declined_and_looks_so_also_when_the_task_is_resumed(tmp_path: Path) -> None:
    app = terminal(tmp_path, done("d1", "Open a port."), policy="plan")
    async with app.run_test(size=(100, 40)) as pilot:
        await say(pilot, "plan it")
        await until(pilot, "n no: nothing is carried out, and the approval profile stays")
        await pilot.press("n")
        screen = await until(pilot, "Stopped: the plan was declined. None of it was carried out; plan mode")
        assert "✗ Plan  declined" in screen and "Open a port." in screen
        await say(pilot, f"/resume {app.session.choices.resume}")
        screen = await until(pilot, "What would you like")
        assert "✗ Plan  declined" in screen and "Open a port." in screen and "press Enter to continue" not in screen


async def test_a_plan_that_is_declined_leaves_the_profile_that_the_status_line_shows(tmp_path: Path) -> None:
    app = terminal(tmp_path, done("d1", "Open a port."), policy="plan")
    async with app.run_test(size=(100, 40)) as pilot:
        await say(pilot, "plan it")
        await until(pilot, "y carry it out")
        await pilot.press("shift+tab", "shift+tab")
        await until(pilot, "approve: edits")
        await until(pilot, "n no: nothing is carried out, and the approval profile stays")
        await pilot.press("n")
        screen = await until(pilot, "Stopped: the plan was declined.")
        assert "plan mode is off: the approval profile is edits" in " ".join(screen.split())
        assert "approve: edits" in screen and "plan mode stays" not in screen


async def test_escape_at_a_plan_stops_the_task_and_carries_nothing_out(tmp_path: Path) -> None:
    app = terminal(tmp_path, done("d1", "Open a port."), policy="plan")
    async with app.run_test(size=(100, 40)) as pilot:
        await say(pilot, "plan it")
        await until(pilot, "y carry it out")
        await pilot.press("escape")
        screen = await until(pilot, "Stopped: interrupted by the user")
        assert "What would you like to do?" in screen and "y carry it out" not in screen


async def test_escape_at_a_task_that_has_stopped_goes_back_to_the_input(tmp_path: Path) -> None:
    app = terminal(tmp_path)  # the script has nothing to say, which is an error
    async with app.run_test(size=(100, 40)) as pilot:
        await say(pilot, "go")
        await until(pilot, "y continues")
        await pilot.press("escape")
        screen = await until(pilot, "Stopped: interrupted by the user")
        assert "The task has stopped" not in screen and "What would you like to do?" in screen


async def test_escape_closes_the_list_of_keys_before_it_interrupts(tmp_path: Path) -> None:
    app = terminal(tmp_path, reply("Slowly, very slowly", faults=Faults(pause=5)))
    async with app.run_test() as pilot:
        await say(pilot, "go")
        await until(pilot, "Slowly")
        await pilot.press("?")
        await until(pilot, "search the conversation")
        await pilot.press("escape")
        await until(pilot, "search the conversation", gone=True)
        assert not of(app, TaskFinished)
        await pilot.press("escape")
        await until(pilot, "interrupted by the user")


async def test_a_plan_that_was_not_edited_is_not_carried_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    app = terminal(tmp_path, done("d1", "Open a port."), policy="plan")
    async with app.run_test() as pilot:
        await say(pilot, "plan it")
        for editor, words in (("true", "The plan was not changed"), ("false", "false ended with exit code 1")):
            monkeypatch.setenv("VISUAL", editor)
            await until(pilot, "y carry it out")
            await pilot.pause(0.1)
            await pilot.press("e")
            await until(pilot, words)
        assert not of(app, CompletionAnswered) and "Shall this plan be carried out?" in on_screen(app)


async def test_after_a_switch_to_plan_a_request_for_a_change_offers_no_yes(tmp_path: Path) -> None:
    app = terminal(tmp_path, WRITE, done(), policy="ask")
    async with app.run_test(size=(100, 30)) as pilot:
        await say(pilot, "go")
        await until(pilot, "y yes, once")
        await pilot.press("shift+tab", "shift+tab")
        assert "yes, once" not in await until(pilot, "The plan profile denies this: n no")
        await pilot.press("y")
        await pilot.pause(0.6)
        assert not of(app, ApprovalAnswered) and not app.query_one(Prompt).text
        await pilot.press("shift+tab")
        await until(pilot, "y yes, once")
        await pilot.press("shift+tab", "shift+tab")
        await until(pilot, "The plan profile denies this: n no")
        await pilot.press("n")
        await until(pilot, "› No")
        [answered] = of(app, ApprovalAnswered)
        assert isinstance(answered, ApprovalAnswered) and not answered.approved


async def test_what_was_allowed_is_listed_and_revoked(tmp_path: Path) -> None:
    again = reply(call("w2", "write_to_file", path="b.py", file_text="x = 1\n"))
    app = terminal(tmp_path, WRITE, done("d1"), again, done("d2"), policy="ask")
    async with app.run_test(size=(100, 30)) as pilot:
        await say(pilot, "/permissions")
        await until(pilot, "Nothing was allowed with an answer")
        await pilot.press("escape")
        await until(pilot, "Nothing was allowed", gone=True)
        await say(pilot, "go")
        await until(pilot, "yes, always in this task: changing files of the workspace")
        await pilot.press("2")
        await until(pilot, "Enter accepts")
        await say(pilot, "/permissions")
        await until(pilot, "this task     changing files of the workspace")
        await pilot.press("enter")
        await until(pilot, "Revoke it?")
        await pilot.press("enter")
        assert "changing files" in await until(pilot, "Revoke it?", gone=True), "one key too many revokes nothing"
        await pilot.press("delete")
        await until(pilot, "Revoke it?")
        await pilot.press("y")
        await until(pilot, "Nothing was allowed")
        await pilot.press("escape")
        await until(pilot, "Nothing was allowed", gone=True)
        await say(pilot, "again")
        await until(pilot, "y yes")


async def test_escape_leaves_the_comment_and_the_question_stays(tmp_path: Path) -> None:
    app = terminal(tmp_path, WRITE, done(), policy="ask")
    async with app.run_test() as pilot:
        await say(pilot, "go")
        await until(pilot, "y yes")
        await pilot.press("c", "h", "m")
        await until(pilot, "Enter sends your comment")
        await pilot.press("escape")
        await until(pilot, "y yes")
        assert app.busy
        await pilot.press("y")
        await until(pilot, "Enter accepts")


async def test_a_letter_typed_as_the_request_comes_up_is_no_approval(tmp_path: Path) -> None:
    app = terminal(tmp_path, WRITE, done(), policy="ask")
    async with app.run_test() as pilot:
        gate = app.query_one(RequestPanel).gate
        gate.quiet = 3_600
        await say(pilot, "go")
        await until(pilot, "Approval required")
        await pilot.press("a", "y")
        await pilot.pause(gate.hold * 2)
        assert not of(app, ApprovalAnswered)
        assert "y yes" not in on_screen(app)
        assert app.query_one(Prompt).text == "ay"


async def test_a_sentence_that_begins_with_an_answers_letter_is_a_sentence(tmp_path: Path) -> None:
    app = terminal(tmp_path, WRITE, done(), policy="ask")
    async with app.run_test() as pilot:
        app.query_one(RequestPanel).gate.hold = 3_600  # the next letter comes before this time
        await say(pilot, "go")
        await until(pilot, "y yes")
        await pilot.press(*("space" if key == " " else key for key in "actually no"))
        assert app.query_one(Prompt).text == "actually no"
        assert not of(app, ApprovalAnswered)
        assert "y yes" not in await until(pilot, "without text, a key answers")
        await pilot.press("enter")
        await until(pilot, "queued")
        assert not of(app, ApprovalAnswered)
        await until(pilot, "y yes")


async def test_words_being_typed_keep_the_keys(tmp_path: Path) -> None:
    slow = replace(WRITE, faults=Faults(pause=0.3))
    app = terminal(tmp_path, slow, done(), policy="ask")
    async with app.run_test() as pilot:
        prompt = app.query_one(Prompt)
        await say(pilot, "go")
        await until(pilot, "I write")
        prompt.text = "wait"
        await until(pilot, "without text, a key answers")
        await pilot.press("y")
        assert prompt.text == "ywait"
        assert not of(app, ApprovalAnswered)
        prompt.text = ""
        await until(pilot, "y yes")
        await pilot.press("y")
        await until(pilot, "Enter accepts")
        assert of(app, ApprovalAnswered) == [ApprovalAnswered("approval_1", True)]


async def test_the_page_keys_scroll_the_conversation_while_a_request_waits(tmp_path: Path) -> None:
    app = terminal(tmp_path, WRITE, done(), policy="ask")
    async with app.run_test(size=(80, 24)) as pilot:
        app.transcript.entries += [Note(f"line {number}.") for number in range(60)]
        await say(pilot, "go")
        await until(pilot, "y yes")
        assert "line 1." not in on_screen(app)
        for _ in range(12):
            await pilot.press("pageup")
        await until(pilot, "line 1.")
        await pilot.press("y")
        await until(pilot, "There is more to read before you answer")
        await pilot.press("enter")  # shows it, and accepts nothing that was not in view
        await until(pilot, "Enter accepts")
        assert not of(app, CompletionAnswered)


async def test_a_plan_that_was_never_in_view_is_not_carried_out(tmp_path: Path) -> None:
    app = terminal(tmp_path, WRITE, done("d1", "Open a port."), policy="ask")
    async with app.run_test(size=(80, 24)) as pilot:
        app.transcript.entries += [Note(f"line {number}.") for number in range(60)]
        await say(pilot, "go")
        await until(pilot, "y yes")
        for _ in range(12):
            await pilot.press("pageup")
        await until(pilot, "line 1.")
        assert app.session.task is not None
        app.session.task.send(SetProfile("plan"))
        await pilot.press("n")
        await until(pilot, "There is more to read before you answer")
        await pilot.pause(0.1)
        await pilot.press("y")
        await pilot.pause(0.1)
        assert not of(app, CompletionAnswered) and app.query_one(Prompt).text == "y"
        await pilot.press("backspace", "ctrl+end")
        await until(pilot, "y carry it out")


SMALL = [(80, 9), (80, 8), (30, 8), (40, 9), (80, 5), (20, 6)]


@pytest.mark.parametrize("size", SMALL)
async def test_a_key_answers_no_request_that_the_window_has_no_room_for(tmp_path: Path, size: tuple[int, int]) -> None:
    app = terminal(tmp_path, reply(call("c", "execute_command", command="touch a && touch b")), policy="ask")
    async with app.run_test(size=size) as pilot:
        await say(pilot, "go")
        while not app.transcript.pending:
            await pilot.pause(0.02)
        await until(pilot, "No room for")
        await pilot.pause(0.1)
        await pilot.press("y")
        await pilot.pause(0.1)
        assert not of(app, ApprovalAnswered) and app.query_one(Prompt).text == "y"
        await pilot.press("backspace")
        await pilot.resize_terminal(80, 24)
        await until(pilot, "y yes, once")
        await pilot.pause(0.1)
        await pilot.press("n")
        await until(pilot, "denied")
        assert of(app, ApprovalAnswered)


async def test_the_list_of_keys_and_a_list_in_front_cover_a_request(tmp_path: Path) -> None:
    app = terminal(tmp_path, WRITE, policy="ask")
    async with app.run_test(size=(80, 24)) as pilot:
        await say(pilot, "go")
        await until(pilot, "y yes, once")
        await pilot.press("question_mark")
        await until(pilot, "No room for the request")
        await pilot.pause(0.1)
        await pilot.press("y")
        await pilot.pause(0.1)
        assert not of(app, ApprovalAnswered)
        await pilot.press("backspace")
        await until(pilot, "y yes, once")
        app.show_permissions([])
        await until(pilot, "Nothing was allowed")
        app.query_one(RequestPanel).gate.quiet = 0.5
        await pilot.press("escape", "y")
        await pilot.pause(0.1)
        assert not of(app, ApprovalAnswered), "it was covered a moment ago"


async def test_a_long_request_scrolls_by_the_keys_it_names(tmp_path: Path) -> None:
    app = terminal(tmp_path, policy="ask")
    async with app.run_test(size=(80, 24)) as pilot:
        text = "".join(f"row {number}\n" for number in range(60))
        app.watch_task("t", ApprovalRequested("a", "c", "execute_command", {"command": text}, "no rule names it"))
        screen = await until(pilot, "↑↓ scroll")
        assert "row 9" in screen and "row 40" not in screen, "most of the window belongs to the request"
        assert "lines 1-15 of 63" in screen and "n no" in await until(pilot, "n no")
        await pilot.press("end")
        assert "lines 49-63 of 63" in await until(pilot, "row 59")
        await pilot.press("home")
        await until(pilot, "Approval required")


async def test_a_command_is_approved_only_after_it_was_read_to_its_end(tmp_path: Path) -> None:
    hidden = "cat <<'X'\nhello\n" + "\n" * 40 + "X\nrm -f precious"
    app = terminal(tmp_path, reply(call("x", "execute_command", command=hidden)), done(), policy="ask")
    precious = app.session.services.folder / "precious"
    precious.write_text("keep me")
    async with app.run_test(size=(80, 24)) as pilot:
        await say(pilot, "tidy up")
        screen = await until(pilot, "There is more below")
        assert "y yes, once" not in screen and "rm -f precious" not in screen
        await pilot.press("y")
        await until(pilot, "lines 1-", gone=True)
        assert precious.exists(), "it only read on"
        await pilot.press("end")
        screen = await until(pilot, "y yes, once")
        assert "rm -f precious" in screen
        await pilot.pause(0.1)
        await pilot.press("y")
        await until(pilot, "Enter accepts")
        await pilot.press("enter")
        await until(pilot, "Enter accepts", gone=True)
    assert not precious.exists()


@pytest.mark.parametrize("lines", [8, 9, 10, 11, 12])
async def test_the_answers_never_cover_the_last_line_before_it_was_read(tmp_path: Path, lines: int) -> None:
    app = terminal(tmp_path, policy="ask")
    async with app.run_test(size=(80, 24)) as pilot:
        command, last = "\n".join(f"echo {number}" for number in range(lines)), "It may also use the network."
        app.watch_task(
            "t",
            ApprovalRequested(
                "a", "c", "execute_command", {"command": command}, "no rule names it", (ShownText(last),), (command,)
            ),
        )
        await until(pilot, "Approval required")
        await pilot.pause(0.6)
        screen = on_screen(app)
        assert (last in screen) is ("y yes, once" in screen) is ("There is more below" not in screen)
        await pilot.press("end")
        assert last in await until(pilot, "y yes, once")


@pytest.mark.parametrize("typed", ["y", "wait"])
async def test_a_command_that_appears_while_something_is_typed_has_to_be_read_as_well(
    tmp_path: Path, typed: str
) -> None:
    app = terminal(tmp_path, policy="ask")
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press(*typed)
        command = {"command": "echo a\n" * 60}
        app.watch_task("t", ApprovalRequested("a", "c", "execute_command", command, "no rule names it"))
        screen = await until(pilot, "lines 1-")
        assert "Enter answers" not in screen
        await pilot.press("ctrl+c")
        assert "y yes, once" not in await until(pilot, "There is more below")


async def test_what_was_not_read_to_its_end_can_be_denied(tmp_path: Path) -> None:
    command = "echo a\n" * 60
    app = terminal(tmp_path, reply(call("x", "execute_command", command=command)), done(), policy="ask")
    async with app.run_test(size=(80, 24)) as pilot:
        await say(pilot, "go")
        await until(pilot, "There is more below")
        await pilot.press("n")
        await until(pilot, "Enter accepts")


async def test_a_number_picks_no_suggestion_that_is_out_of_view(tmp_path: Path) -> None:
    app = terminal(tmp_path, policy="ask")
    async with app.run_test(size=(80, 24)) as pilot:
        suggestions = (Suggestion("Red " * 40), Suggestion("Blue"), Suggestion("Green"))
        question = QuestionRequested("q", "\n\n".join(f"row {number}" for number in range(30)), suggestions)
        app.watch_task("t", question)
        screen = await until(pilot, "Home End scroll")
        assert "row 0" in screen and "Blue" not in screen
        await until(pilot, "1-3, or")
        await pilot.press("2")
        assert "row 29" in await until(pilot, " 2 Blue")
        panel = app.query_one(RequestPanel)
        assert panel.gate.held is None and panel._chosen == 1
        await pilot.press("down", "down")
        await until(pilot, " 1 Red")
        assert panel._chosen == 0


async def test_after_a_long_request_the_end_says_what_accepts_and_nothing_of_scrolling(tmp_path: Path) -> None:
    long = call("w", "write_to_file", path="a.txt", file_text="".join(f"row {number}\n" for number in range(60)))
    app = terminal(tmp_path, reply(long), done(), policy="ask")
    async with app.run_test(size=(80, 24)) as pilot:
        await say(pilot, "go")
        await until(pilot, "↑↓ scroll")
        await pilot.press("y")
        assert "↑↓ scroll" not in await until(pilot, "Enter accepts")


async def test_in_a_small_window_the_request_comes_before_its_answers(tmp_path: Path) -> None:
    app = terminal(tmp_path, policy="ask")
    always = ("exactly `make deploy`",)
    request = ApprovalRequested(
        "a", "c", "execute_command", {"command": "make deploy"}, "no rule names it", always=always
    )
    async with app.run_test(size=(40, 12)) as pilot:
        app.watch_task("t", request)
        screen = await until(pilot, "y yes")
        assert "Approval required" in screen and "command: make deploy" in screen and "2 task  3 project" in screen
        await pilot.resize_terminal(100, 30)
        await until(pilot, "2 yes, always in this task: exactly `make deploy`")


async def test_a_usual_window_has_room_for_the_change_that_is_to_be_approved(tmp_path: Path) -> None:
    long = call("w", "write_to_file", path="a.txt", file_text="".join(f"row {number}\n" for number in range(60)))
    app = terminal(tmp_path, reply(long), policy="ask")
    async with app.run_test(size=(80, 24)) as pilot:
        await say(pilot, "go")
        screen = await until(pilot, "3 yes, always in this project")
        assert [number for number in range(60) if f"+row {number} " in screen][:10] == [*range(10)]


async def test_a_request_of_a_subtask_names_it(tmp_path: Path) -> None:
    app = terminal(tmp_path, policy="ask")
    async with app.run_test(size=(100, 30)) as pilot:
        app.watch_task("t", TaskStarted("Do it", "code", "m", "native"))
        app.watch_task("t", SubtaskOpened("child-aaaa", "ask", "n1"))
        app.watch_task("child-aaaa", TaskStarted("Count the lines", "ask", "m", "native", "t"))
        app.watch_task("child-aaaa", ApprovalRequested("a", "c", "execute_command", {"command": "wc"}, "no rule"))
        screen = await until(pilot, "Approval required")
        assert "Subtask ask aaaa: Count the lines" in screen
        app.watch_task("child-aaaa", ApprovalAnswered("a", approved=True))
        app.watch_task("t", ApprovalRequested("b", "c", "execute_command", {"command": "ls"}, "no rule"))
        assert "Subtask ask aaaa: Count" not in await until(pilot, "command: ls")


@pytest.mark.parametrize("width", [80, 40])
async def test_the_end_of_a_subtask_says_in_one_line_what_accepts_it(tmp_path: Path, width: int) -> None:
    app = terminal(tmp_path, policy="ask")
    async with app.run_test(size=(width, 24)) as pilot:
        app.watch_task("t", TaskStarted("Do it", "code", "m", "native"))
        app.watch_task("t", SubtaskOpened("child-aaaa", "ask", "n1"))
        app.watch_task("child-aaaa", TaskStarted("Count the lines", "ask", "m", "native", "t"))
        app.watch_task("child-aaaa", CompletionRequested("a", "Counted."))
        await until(pilot, "Enter accepts the subtask's result")


async def test_several_requests_are_counted(tmp_path: Path) -> None:
    app = terminal(tmp_path, policy="ask")
    async with app.run_test() as pilot:
        for number in range(3):
            app.watch_task("t", ApprovalRequested(f"a{number}", "c", "read_file", {"path": f"{number}"}, "outside"))
        await until(pilot, "the first of 3 requests")
        app.watch_task("t", ApprovalAnswered("a0", True))
        await until(pilot, "the first of 2 requests")
        app.watch_task("t", ApprovalAnswered("a1", True))
        await until(pilot, "requests", gone=True)


async def test_the_input_says_what_can_be_typed_now(tmp_path: Path) -> None:
    app = terminal(tmp_path, WRITE, done(), policy="ask")
    async with app.run_test() as pilot:
        await until(pilot, "What would you like to do?")
        await say(pilot, "go")
        await until(pilot, "y yes")
        assert "a message for the model" in on_screen(app)
        await pilot.press("c")
        await until(pilot, "Why not?")
        await pilot.press(*"half", "escape")
        await until(pilot, "a message for the model")
        await pilot.press("up")
        await until(pilot, "half")  # a comment that was put away is not lost


async def test_a_suggestion_is_chosen_with_the_arrows(tmp_path: Path) -> None:
    question = call("q", "ask_followup_question", question="Which?", follow_up=[{"text": "Red"}, {"text": "Blue"}])
    app = terminal(tmp_path, reply(question), done())
    async with app.run_test() as pilot:
        await say(pilot, "go")
        await until(pilot, "1-2, or ↑↓ and Enter, picks")
        await pilot.press("down", "down", "enter")
        await until(pilot, "› Blue")


async def test_a_suggestion_is_picked_by_its_number(tmp_path: Path) -> None:
    ask = reply(call("q", "ask_followup_question", question="Which?", follow_up=[{"text": "Red"}, {"text": "Blue"}]))
    app = terminal(tmp_path, ask, done())
    async with app.run_test() as pilot:
        await say(pilot, "go")
        assert "1 Red" in await until(pilot, "picks")
        await pilot.press("2")
        await until(pilot, "Enter accepts")
        assert "› Blue" in on_screen(app)


async def test_an_answer_can_be_typed_at_once(tmp_path: Path) -> None:
    ask = reply(call("q", "ask_followup_question", question="Which?", follow_up=[{"text": "Red"}]))
    app = terminal(tmp_path, ask, done())
    async with app.run_test() as pilot:
        await say(pilot, "go")
        await until(pilot, "picks")
        await say(pilot, "green")
        await until(pilot, "Enter accepts")
        assert "› green" in on_screen(app)


@pytest.mark.parametrize("word", ["quit", "exit", ":q"])
async def test_a_word_that_quits_is_an_answer_where_one_is_waited_for(tmp_path: Path, word: str) -> None:
    ask = reply(call("q", "ask_followup_question", question="Which?", follow_up=[{"text": "Red"}]))
    app = terminal(tmp_path, ask, done())
    async with app.run_test() as pilot:
        await say(pilot, "go")
        await until(pilot, "picks")
        app.query_one(Prompt).insert(word)
        await pilot.press("enter")
        await until(pilot, "Enter accepts")
        assert f"› {word}" in on_screen(app)


async def test_words_typed_in_one_go_are_words_to_the_last_key(tmp_path: Path) -> None:
    app = terminal(tmp_path, WRITE, done("d1", "First."), done("d2", "Second."), policy="ask")
    async with app.run_test() as pilot:
        await say(pilot, "go")
        await until(pilot, "y yes")
        await pilot.press("c")
        await until(pilot, "Enter sends your comment")
        prompt = app.query_one(Prompt)
        for key in ("n", "a", "enter"):  # all of them before anything else has its turn
            prompt.post_message(events.Key(key, key if len(key) == 1 else None))
        await until(pilot, "Enter accepts")
        assert of(app, ApprovalAnswered) == [ApprovalAnswered("approval_1", False, "na")]
        for key in ("y", "m", "enter"):
            prompt.post_message(events.Key(key, key if len(key) == 1 else None))
        await until(pilot, "Second.")
        assert of(app, CompletionAnswered) == [CompletionAnswered("completion_2", False, "ym")]


async def test_feedback_on_a_result_lets_the_task_go_on(tmp_path: Path) -> None:
    app = terminal(tmp_path, done("d1", "First."), done("d2", "Second."))
    async with app.run_test() as pilot:
        await say(pilot, "go")
        await until(pilot, "First.")
        await until(pilot, "Enter accepts")
        await say(pilot, "more")
        await until(pilot, "Second.")
        await until(pilot, "Enter accepts")
        await pilot.press("enter")
        await until(pilot, "Enter accepts", gone=True)
        accepted = [event.accepted for event in of(app, CompletionAnswered) if isinstance(event, CompletionAnswered)]
        assert accepted == [False, True]


@pytest.mark.parametrize("line", ["/resume", "/resume nonsense"])
async def test_a_result_waits_while_another_task_is_looked_for(tmp_path: Path, line: str) -> None:
    app = terminal(tmp_path, done("d1", "First."), done("d2", "Second."))
    async with app.run_test() as pilot:
        await say(pilot, "go")
        await until(pilot, "Enter accepts")
        await say(pilot, line)
        if line == "/resume":
            await until(pilot, "1 of 1 tasks")
            await pilot.press("escape")
            await until(pilot, "1 of 1 tasks", gone=True)
        else:
            await until(pilot, "There is no task 'nonsense'")
        assert not of(app, CompletionAnswered) and app.session.waits
        await say(pilot, "more")
        await until(pilot, "Second.")
        assert len(services(app).tasks()) == 1


async def test_what_runs_in_the_background_does_not_end_by_looking_around(tmp_path: Path) -> None:
    serve = reply("", call("s", "execute_command", command="sleep 600", background=True))
    app = terminal(tmp_path, serve, done("d1", "It runs."))
    async with app.run_test(size=(120, 40)) as pilot:
        await say(pilot, "go")
        await until(pilot, "Enter accepts")
        task = app.session.task
        assert task is not None and task.running_commands
        await command(pilot, "/undo", "Nothing to undo")
        await command(pilot, "/mode ask", "This ends what runs in the background (/jobs): sleep 600. Type /mode ask")
        await command(pilot, "/jobs", "sleep 600")
        assert app.session.waits and task.running_commands
        await command(pilot, "/mode ask", "Type /mode ask again")
        await command(pilot, "/mode ask", "Switched to ask mode.")
        await until(pilot, "Ended with the task: sleep 600.")


async def test_a_command_that_is_waited_for_is_no_job_in_the_background(tmp_path: Path) -> None:
    app = terminal(tmp_path, reply("", call("s", "execute_command", command="sleep 3")), done())
    async with app.run_test(size=(120, 40)) as pilot:
        await say(pilot, "go")
        await until(pilot, "running sleep 3")
        await command(pilot, "/jobs", "No command of this task runs in the background.")
        shown = await until(pilot, "Enter accepts")
        assert "in background" not in shown and "Ended in the background" not in shown
        await pilot.press("enter")
        await until(pilot, "Enter accepts", gone=True)
        while app.busy:
            await pilot.pause(0.02)


async def test_what_ends_in_the_background_looks_as_it_ended(tmp_path: Path) -> None:
    fails, works = "sleep 6; echo crash; exit 7", "sleep 6; echo fine"
    calls = [call(name, "execute_command", command=name, background=True) for name in (fails, works)]
    app = terminal(tmp_path, reply("", *calls), done("d1", "They run."))
    async with app.run_test(size=(120, 60)) as pilot:
        await say(pilot, "go")
        await until(pilot, "Enter accepts")
        await until(pilot, f"Ended in the background, exit code 7: {fails}")
        shown = await until(pilot, f"Ended in the background, exit code 0: {works}")
        assert f"✗ execute_command  {fails}  exit code 7" in shown and "▌   crash" in shown
        assert f"✓ execute_command  {works}" in shown
        await pilot.press("enter")
        await until(pilot, "Enter accepts", gone=True)
        while app.busy:
            await pilot.pause(0.02)


async def test_a_model_that_the_catalogue_does_not_know_is_taken_with_a_word_about_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "key")
    monkeypatch.delenv("ANTHROPIC_BASE_URL", raising=False)
    app = terminal(tmp_path)
    async with app.run_test() as pilot:
        await command(pilot, "/model anthropic/claude-sonnet-55", "did you mean anthropic/claude-sonnet-5-5?")
        assert app.session.status.model == "anthropic/claude-sonnet-55"


async def test_another_model_can_be_chosen_where_the_task_has_stopped(tmp_path: Path) -> None:
    app = terminal(tmp_path)
    async with app.run_test() as pilot:
        await say(pilot, "go")
        await until(pilot, "y continues")
        await command(pilot, "/model openai/other", "No API key for openai")
        assert app.session.waits
        await command(pilot, "/model ollama/other", "The model is now ollama/other.")
        assert app.session.task is None and app.session.status.model == "ollama/other"


async def test_no_ends_what_does_not_go_well(tmp_path: Path) -> None:
    app = terminal(tmp_path)  # the script has nothing to say, which is an error the user is requested about
    async with app.run_test() as pilot:
        await say(pilot, "go")
        await until(pilot, "y continues")
        assert of(app, ContinueRequested)
        await pilot.press("n")
        await until(pilot, "The task ended: error")
        assert isinstance(of(app, ContinueAnswered)[0], ContinueAnswered)
        assert not app.busy


@pytest.mark.parametrize("key", ["escape", "ctrl+c"])
async def test_an_interrupted_task_goes_on_later(tmp_path: Path, key: str) -> None:
    slow = reply("Thinking about it for long", faults=Faults(pause=0.5))
    app = terminal(tmp_path, slow, done())
    async with app.run_test() as pilot:
        await say(pilot, "go")
        await until(pilot, "Thinking")
        await pilot.press(key)
        await until(pilot, "Stopped: interrupted by the user")
        assert not app.busy
        await say(pilot, "on")
        await until(pilot, "Enter accepts")
        assert len(services(app).tasks()) == 1


async def test_words_while_it_works_wait_for_the_model(tmp_path: Path) -> None:
    slow = reply("Let me see. " * 20, call("l", "list_files", path="."), faults=Faults(pause=0.2))
    app = terminal(tmp_path, slow, done())
    async with app.run_test() as pilot:
        await say(pilot, "go")
        await until(pilot, "Let me")
        await say(pilot, "hurry")
        await until(pilot, "queued")
        await until(pilot, "Enter accepts")
        assert of(app, UserMessageQueued) == [UserMessageQueued("hurry")]
        assert "hurry" in str(services(app).kit.sent[-1])


async def test_interrupting_puts_what_waits_back_into_the_input(tmp_path: Path) -> None:
    slow = reply("Let me see. " * 20, faults=Faults(silent_after=3))
    app = terminal(tmp_path, slow, reply("Heard you."))
    async with app.run_test() as pilot:
        await say(pilot, "go")
        await until(pilot, "Let me")
        await say(pilot, "queued one")
        await say(pilot, "queued two")
        await until(pilot, "queued two")
        await pilot.press("escape")
        await until(pilot, "Stopped")
        prompt = app.query_one(Prompt)
        assert prompt.text == "queued one\nqueued two" and prompt.cursor_location == prompt.document.end
        app.query_one(Prompt).text = ""
        await say(pilot, "third")
        await until(pilot, "Heard you")
        sent = str(services(app).kit.sent[-1])
        assert "third" in sent and "queued" not in sent


async def test_what_is_sent_while_the_task_opens_waits_for_it(tmp_path: Path) -> None:
    app = terminal(tmp_path, reply("One.", faults=Faults(pause=0.05)), reply("Two."))
    async with app.run_test() as pilot:
        app.query_one(Prompt).post_message(Prompt.Sent("first"))
        app.query_one(Prompt).post_message(Prompt.Sent("second"))
        screen = await until(pilot, "second")
        assert screen.index("first") < screen.index("second")
        await until(pilot, "Enter accepts")
        assert "second" in str(services(app).kit.sent)


class SlowToOpen(ScratchServices):
    """Services whose first task is never there."""

    opens = 0

    @asynccontextmanager
    async def _open(self, *arguments: Any) -> AsyncIterator[TaskHandle]:
        self.opens += 1
        if self.opens == 1:
            await asyncio.Event().wait()
        async with super()._open(*arguments) as task:
            yield task


async def test_a_message_is_seen_while_its_task_is_opened_and_esc_puts_it_back(tmp_path: Path) -> None:
    app = Interactive(SlowToOpen(tmp_path, [reply("Heard you.")]), gate=KeyGate(quiet=0.05, hold=0.02))
    async with app.run_test() as pilot:
        await say(pilot, "first")
        screen = await until(pilot, "opening the task")
        assert "› first" in screen
        await say(pilot, "second")
        await until(pilot, "› second  (queued; Up takes it back)")
        await pilot.press("up")
        await until(pilot, "› second", gone=True)
        assert app.query_one(Prompt).text == "second"
        await pilot.press("enter")
        await until(pilot, "› second  (queued; Up takes it back)")
        await pilot.press("escape")
        assert "› first" not in await until(pilot, "Stopped before the task was opened")
        assert app.query_one(Prompt).text == "first\nsecond" and not app.busy
        await until(pilot, "› second", gone=True)
        await pilot.press("enter")
        assert (await until(pilot, "Heard you.")).count("› first") == 1


class SlowToClose(ScratchServices):
    """Services whose tasks take a while to close, as when a command of theirs has to be ended."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.may_close = asyncio.Event()

    @asynccontextmanager
    async def _open(self, *arguments: Any) -> AsyncIterator[TaskHandle]:
        async with super()._open(*arguments) as task:
            yield task
            await self.may_close.wait()


async def test_what_is_sent_while_a_task_is_being_stopped_is_sent_when_it_has(tmp_path: Path) -> None:
    script = [reply("Let me see. " * 20, faults=Faults(silent_after=3)), reply("Heard."), reply("Heard you.")]
    parts = SlowToClose(tmp_path, script, "all")
    app = Interactive(parts, gate=KeyGate(quiet=0.05, hold=0.02))
    async with app.run_test() as pilot:
        await say(pilot, "go")
        await until(pilot, "Let me")
        await pilot.press("escape")
        await until(pilot, "Stopped")
        await say(pilot, "one more")
        await say(pilot, "and another")
        parts.may_close.set()
        await until(pilot, "Heard you.")
        await until(pilot, "Enter accepts")
        assert "one more" in str(parts.kit.provider.requests) and "and another" in str(parts.kit.provider.requests)


async def test_of_two_messages_to_a_result_at_once_the_second_is_one_as_well(tmp_path: Path) -> None:
    app = terminal(tmp_path, done(), reply("One."), reply("Two."))
    async with app.run_test() as pilot:
        await say(pilot, "go")
        await until(pilot, "Enter accepts")
        for text in ("first of two", "second of two"):  # the screen has not seen yet that the first is the answer
            app.query_one(Prompt).post_message(Prompt.Sent(text))
        await until(pilot, "second of two")
        await until(pilot, "Enter accepts")
        assert "second of two" in str(services(app).kit.provider.requests)


async def test_quitting_cancels_what_runs_and_keeps_it(tmp_path: Path) -> None:
    app = terminal(tmp_path, reply("Slowly, very slowly", faults=Faults(pause=5)))
    async with app.run_test() as pilot:
        await say(pilot, "go")
        await until(pilot, "Slowly")
        await pilot.press("ctrl+q")
        await pilot.pause()
        assert app.return_code == 0
    assert of(app, TaskFinished) == [TaskFinished("cancelled", "Joey was closed")]


# Commands


async def command(pilot: Pilot[None], line: str, shows: str) -> str:
    await say(pilot, line)
    return await until(pilot, shows)


async def test_commands_tell_what_there_is(tmp_path: Path) -> None:
    app = terminal(tmp_path)
    async with app.run_test(size=(120, 50)) as pilot:
        await until(pilot, "this folder is not trusted")
        await command(pilot, "/mode", "architect")
        await command(pilot, "/mcp", "python library.py")
        await command(pilot, "/tools", "read_file")
        await command(pilot, "/cost", "none yet")
        await command(pilot, "/tasks", "There are no tasks yet.")
        await command(pilot, "/model", "The model is")
        await command(pilot, "/help", "/compact")
        await command(pilot, "/help keys", "Ctrl+J")
        await command(pilot, "/moed", "Did you mean /mode or /model?")
        await command(pilot, "/reveiw", "Did you mean /review?")
        await command(pilot, "/model qwen", "named PROVIDER/MODEL")
        await command(pilot, "/compact", "There is no conversation to compact")
        await command(pilot, "/resume x", "There is no task 'x'")


async def test_the_mode_changes_between_tasks_and_within_one(tmp_path: Path) -> None:
    app = terminal(tmp_path, done("d1"), done("d2"))
    async with app.run_test() as pilot:
        await command(pilot, "/mode nonsense", "There is no mode 'nonsense'")
        await command(pilot, "/mode archit", "There is no mode 'archit'. Did you mean 'architect'?")
        await command(pilot, "/mode ask", "Switched to ask mode.")
        await say(pilot, "go")
        await until(pilot, "Enter accepts")
        assert app.session.task is not None
        assert app.session.task.state.mode == "ask"
        await pilot.press("enter")
        await until(pilot, "Enter accepts", gone=True)
        await command(pilot, "/mode debug", "Switched to debug mode")
        await say(pilot, "on")
        await until(pilot, "Enter accepts")
        assert app.session.task.state.mode == "debug"


async def test_a_task_is_resumed_with_its_conversation(tmp_path: Path) -> None:
    first = terminal(tmp_path, WRITE, done())
    async with first.run_test() as pilot:
        await say(pilot, "write it")
        await until(pilot, "Enter accepts")
        await pilot.press("enter")
        await until(pilot, "Enter accepts", gone=True)
    second = terminal(tmp_path, done("d2", "More."))
    async with second.run_test(size=(100, 40)) as pilot:
        await command(pilot, "/resume last", "It is finished; type a message to continue.")
        screen = on_screen(second)
        assert "› write it" in screen
        assert "✓ write_to_file  a.py" in screen
        await say(pilot, "more")
        await until(pilot, "More.")
        assert len(services(second).tasks()) == 1
        await until(pilot, "Enter accepts")
        await pilot.press("enter")
        await until(pilot, "Enter accepts", gone=True)
        await command(pilot, "/new", "starts a new task")
        await say(pilot, "other")
        await until(pilot, "y continues")
        assert len(services(second).tasks()) == 2


# The input


async def test_lines_history_and_completion_in_the_input(tmp_path: Path) -> None:
    app = terminal(tmp_path)
    async with app.run_test() as pilot:
        prompt = app.query_one(Prompt)
        await pilot.press("a", "ctrl+j", "b", "backslash", "enter", "c")
        assert prompt.text == "a\nb\nc"
        prompt.text = ""
        await say(pilot, "/cost")
        await pilot.press("x", "up")
        assert prompt.text == "/cost"
        await pilot.press("down")
        assert prompt.text == "x"
        prompt.text = ""
        await pilot.press("slash", "h", "e")
        await until(pilot, "/help")
        await pilot.press("tab")
        assert prompt.text == "/help "
        prompt.text = ""
        await pilot.press("s", "e", "e", "space", "at", "s", "e", "r", "v")
        await until(pilot, "@src/server.py")
        await pilot.press("tab")
        assert prompt.text == "see @src/server.py "


async def test_events_of_a_long_conversation_are_reported_in_a_line(tmp_path: Path) -> None:
    app = terminal(tmp_path)
    async with app.run_test() as pilot:
        app.watch_task("t", TextStarted())
        app.watch_task("t", TextFinished())
        app.watch_task("t", ContextShortened(12))
        await until(pilot, "12 earlier messages hidden")
        app.watch_task("t", QuestionRequested("q", "Really?", (Suggestion("Yes", "code"),)))
        await until(pilot, "→ code mode")


# What nobody expected


class Broken(ScratchServices):
    def commands(self) -> Mapping[str, str]:
        raise RuntimeError("a bug in the commands")

    def files(self) -> Sequence[str]:
        raise RuntimeError("a bug in the files")


@pytest.mark.expects_errors
async def test_an_unexpected_error_is_a_line_and_the_terminal_lives_on(tmp_path: Path) -> None:
    app = Interactive(Broken(tmp_path, [done()]), gate=KeyGate(quiet=0.05, hold=0.02))
    async with app.run_test(size=(200, 60)) as pilot:
        await until(pilot, "Something went wrong: RuntimeError: a bug in the files")
        await say(pilot, "/help")
        screen = await until(pilot, "Something went wrong: RuntimeError: a bug in the commands")
        assert str(tmp_path / "errors.log")[:60] in screen
        app.transcript.add(Note("x"))
        app.watch_task("t", "no event at all")  # type: ignore[arg-type]
        app.query_one(TranscriptView).catch_up([None])  # type: ignore[list-item]
        await pilot.press("h", "i")
        await until(pilot, "hi")
        assert app.is_running
    assert "a bug in the commands" in (tmp_path / "errors.log").read_text()


class StallingClock:
    """The clock of a machine that has something else to do for longer than a drawing waits, a few times."""

    stalls = 6

    def get_time(self) -> float:
        self.stalls -= 1
        time.sleep(0.06 if self.stalls > 0 else 0.0)
        return time.monotonic()


async def test_on_a_machine_that_stalls_nothing_is_left_undrawn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = terminal(tmp_path)
    async with app.run_test() as pilot:
        await until(pilot, "Type a task")
        monkeypatch.setattr(textual.timer, "_time", StallingClock())
        for event in (TextStarted(), TextDelta("Still here.")):
            app.watch_task("t", event)
        await until(pilot, "Still here.")
