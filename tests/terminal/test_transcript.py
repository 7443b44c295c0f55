"""Events folded into what is shown, and how that is drawn."""

from __future__ import annotations

from typing import Any

import pytest
from rich.console import Group
from rich.markdown import Markdown
from rich.text import Text

from joey.effects import SubtaskStarted, Todo
from joey.events import (
    ApprovalAnswered,
    ApprovalRequested,
    CompletionAnswered,
    CompletionRequested,
    ContinueAnswered,
    ContinueRequested,
    Event,
    ModeChanged,
    ProfileChanged,
    ReasoningDelta,
    ReasoningStarted,
    RetryScheduled,
    SubtaskClosed,
    TaskAborted,
    TaskCompleted,
    TaskFinished,
    TaskStarted,
    TextDelta,
    TextStarted,
    TodosChanged,
    ToolCallDelta,
    ToolCallFinished,
    ToolCallMalformed,
    ToolCallStarted,
    ToolRunFinished,
    ToolRunProgressed,
    ToolRunStarted,
    TurnFinished,
    TurnStarted,
    UsageReported,
    UserMessageQueued,
)
from joey.frames import users_words
from joey.journal.records import ChildOpened, MessageAdded, Record, RunBegan, RunEnded
from joey.messages import (
    ImageBlock,
    Message,
    ReasoningBlock,
    ShownDiff,
    ShownText,
    TextBlock,
    ToolResult,
    ToolResultBlock,
    ToolUseBlock,
)
from joey.system.visible import as_on_screen, visible
from joey.task import wording
from joey.task.wording import ACCEPTED, SHOWN
from joey.terminal.drawing import FOLDED, MAX_WIDTH, Look, draw, draw_diff, draw_request, headline
from joey.terminal.resumed import entries_of, resumed_entries
from joey.terminal.screen.look import ScreenLook, request_keys
from joey.terminal.screen.menu import completions, word_to_complete
from joey.terminal.screen.prompt import History
from joey.terminal.slash import cost_lines
from joey.terminal.status import Status, after, money, status_line
from joey.terminal.transcript import (
    KEPT_OUTPUT,
    LONG_ANSWER,
    Card,
    Growing,
    ModelText,
    Note,
    Reasoning,
    Transcript,
    UserCommand,
    UserText,
    settle,
)
from joey.tools.builtin import builtin_display
from joey.usage import Usage
from screen_kit import words

DIFF = "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-old\n+new\n"


def fold(*events: Event, task_id: str = "t") -> Transcript:
    transcript = Transcript()
    for event in events:
        transcript.apply(task_id, event)
    return transcript


def drawn(entry: Any, **look: bool) -> str:
    return words(draw(entry, ScreenLook(**look)))


# The fold


def test_pieces_of_an_answer_are_one_entry() -> None:
    transcript = fold(TextStarted(), TextDelta("Hel"), TextDelta("lo"))
    (answer,) = transcript.entries
    assert isinstance(answer, ModelText)
    assert answer.words.text == "Hello"


def test_a_long_answer_is_cut_between_paragraphs_and_loses_nothing() -> None:
    paragraph = "word " * 100 + "\n\n"
    transcript = fold(TextStarted(), *(TextDelta(piece) for piece in [paragraph[:250], paragraph[250:]] * 40))
    answers = [entry for entry in transcript.entries if isinstance(entry, ModelText)]
    assert len(answers) > 3
    assert all(len(answer.words) < 2 * LONG_ANSWER for answer in answers)
    assert [answer.is_open for answer in answers] == [False] * (len(answers) - 1) + [True]
    assert "\n\n".join(answer.words.text for answer in answers) == paragraph * 40


@pytest.mark.parametrize("piece", ["Some words that go on. " * 145 + "\n\n", "one line without an end " * 140])
def test_a_reply_of_a_megabyte_costs_the_same_at_its_end_as_at_its_beginning(piece: str) -> None:
    transcript, look, drawn_at_once = Transcript(), ScreenLook(), []
    for _ in range(300):
        changed = transcript.apply("t", TextDelta(piece))
        shown = [look.prose(each.words.text, is_open=each.is_open) for each in changed if isinstance(each, ModelText)]
        drawn_at_once.append(sum(len(each.markup if isinstance(each, Markdown) else str(each)) for each in shown))
    assert sum(len(each.words) for each in transcript.entries if isinstance(each, ModelText)) >= 0.99e6
    assert max(drawn_at_once[150:]) <= max(drawn_at_once[:100]) <= 25_000


@pytest.mark.parametrize(
    "text",
    ["A List<String> it is.", "Use <div class=x>a tag</div>.", "<script>alert(1)</script>", "<!-- hidden -->", "<br>"],
)
def test_what_looks_like_a_tag_is_shown_as_the_model_wrote_it(text: str) -> None:
    assert text in drawn(ModelText(Growing(text))) and text in drawn(ModelText(Growing(f"Words.\n\n{text}\n\nWords.")))


@pytest.mark.parametrize(
    ("line", "around"), [("x = 1\n\n", "```py\n"), ("- an item\n", ""), ("| a | b |\n", "| a | b |\n|---|---|\n")]
)
def test_a_megabyte_in_one_piece_is_laid_out_in_part_and_not_lost(line: str, around: str) -> None:
    text = around + line * (1_000_000 // len(line)) + "the end\n"
    drawn = ScreenLook().prose(text)
    assert isinstance(drawn, Group)
    hint, markdown = drawn.renderables
    assert isinstance(markdown, Markdown) and len(markdown.markup) <= 20_100
    assert markdown.markup.endswith("the end\n") and markdown.markup.startswith(around if "```" in around else line)
    hidden = text.count("\n") - (markdown.markup.count("\n") - ("```" in around))
    assert str(hint) == f"… {hidden:,} lines before this (Ctrl+O shows all)"
    in_full = ScreenLook(in_full=True).prose(text)
    assert isinstance(in_full, Text) and in_full.plain == text


@pytest.mark.parametrize("output", ["a line of output\n" * 25_000, "x" * 400_000, "10 %\r" * 80_000])
def test_drawing_the_output_of_a_command_reads_what_is_seen_of_it(monkeypatch: pytest.MonkeyPatch, output: str) -> None:
    """Counted, not timed: what floods the screen is drawn twenty times a second."""
    card = Card("c", "execute_command", "running")
    card.output.add(output)
    read: list[int] = []

    def counting(text: str) -> str:
        read.append(len(text))
        return as_on_screen(text)

    monkeypatch.setattr("joey.terminal.drawing.as_on_screen", counting)
    shown = drawn(card)
    if "\n" in output:
        assert sum(read) <= FOLDED * 20 and "… 24984 more lines" in shown
    assert len(shown) <= FOLDED * 2 * MAX_WIDTH
    assert ("399,000 more characters" in shown) is output.startswith("xx")


def test_a_long_block_of_code_is_not_cut() -> None:
    transcript = fold(TextDelta("```py\n"), *(TextDelta("x = 1\n\n") for _ in range(4_000)))
    (answer,) = transcript.entries
    assert isinstance(answer, ModelText)
    assert "x = 1" in drawn(answer)
    transcript.apply("t", TextDelta("```\n\nAnd "))
    transcript.apply("t", TextDelta("more. " * LONG_ANSWER))
    assert len(transcript.entries) == 2


def test_two_tasks_that_speak_at_once_do_not_mix() -> None:
    transcript = Transcript()
    for task_id, text in (("a", "1"), ("b", "2"), ("a", "3")):
        transcript.apply(task_id, TextDelta(text))
    assert [entry.words.text for entry in transcript.entries if isinstance(entry, ModelText)] == ["13", "2"]


def test_a_reply_that_is_tried_again_does_not_count() -> None:
    transcript = fold(TurnStarted(1), TextDelta("half"), RetryScheduled(1, 2.0, "overloaded."), TextDelta("whole"))
    kinds = [(type(entry), entry.dropped) for entry in transcript.entries]
    assert kinds == [(ModelText, True), (Note, False), (ModelText, False)]


def test_a_finished_call_has_the_arguments_that_its_pieces_built() -> None:
    started = ToolCallStarted("c", "read_file")
    pieces = [ToolCallDelta("c", ("files", 0, "path"), text, text) for text in ("a.", "py")]
    growing = fold(started, *pieces).entries[0]
    finished = fold(started, ToolCallFinished("c", "read_file", {"files": [{"path": "a.py"}]})).entries[0]
    assert isinstance(growing, Card) and isinstance(finished, Card)
    assert {path: text.text for path, text in growing.arguments.items()} == {("files", 0, "path"): "a.py"}
    assert {path: text.text for path, text in finished.arguments.items()} == {("files", 0, "path"): "a.py"}


def test_a_call_that_cannot_be_read_says_why() -> None:
    card = fold(ToolCallMalformed("c", None, "{", "the JSON never closed")).entries[0]
    assert "✗ a call" in drawn(card)
    assert "the JSON never closed" in drawn(card)


def test_an_id_used_again_in_a_later_turn_is_another_card() -> None:
    transcript = fold(
        ToolCallStarted("c", "list_files"), ToolRunFinished("c", "list_files", ToolResult(())),
        ToolCallStarted("c", "read_file"), ToolRunStarted("c", "read_file"),
    )  # fmt: skip
    assert [entry.state for entry in transcript.entries if isinstance(entry, Card)] == ["done", "running"]


def test_requests_wait_in_order_until_they_are_answered() -> None:
    one, two = (ApprovalRequested(f"approval_{n}", f"c{n}", "read_file", {}, "why") for n in (1, 2))
    transcript = fold(one, two, ApprovalAnswered("approval_1", True))
    assert transcript.pending == [("t", two)]
    transcript.apply("t", TaskFinished("cancelled"))
    assert transcript.pending == []


def test_requests_of_a_subtask_are_not_those_of_its_parent() -> None:
    request = ContinueRequested("continue_1", "Go on?")
    transcript = fold(request)
    transcript.apply("child", request)
    transcript.apply("child", ApprovalAnswered("continue_1", True))
    assert transcript.pending == [("t", request)]


def test_a_subtask_is_told_from_its_task_and_the_words_of_the_model_from_those_of_the_user() -> None:
    transcript = fold(TaskStarted("Do it.", "code", "m", "native"))
    transcript.apply("child", TaskStarted("A part of it.", "code", "m", "native", parent_id="t"))
    for task in ("child", "t"):
        transcript.apply(task, ToolCallFinished("r", "attempt_completion", {"result": "All done."}))
        transcript.apply(task, TaskCompleted("All done.", Usage()))
    own, instructions, *results = transcript.entries
    assert isinstance(own, UserText) and isinstance(instructions, Note) and "A part of it." in instructions.quoted
    assert [words(draw(each, Look())).split("\n")[0] for each in results] == ["✓ Result of the subtask", "✓ Result"]
    request = CompletionRequested("c", "All done.")
    ours, theirs = (request_keys(request, ready=True, of_subtask=each).plain for each in (False, True))
    assert "subtask" not in ours and "the subtask's result" in theirs


def test_that_a_subtask_was_stopped_is_no_line_about_its_task() -> None:
    transcript = fold(TaskStarted("Do it.", "code", "m", "native"))
    transcript.apply("child", TaskStarted("A part of it.", "code", "m", "native", parent_id="t"))
    for event in (TaskAborted("stopped by the user"), TaskFinished("cancelled", "stopped by the user")):
        transcript.apply("child", event)
    transcript.apply("t", SubtaskClosed("child", "", "cancelled"))
    shown = "\n".join(words(draw(each, Look())) for each in transcript.entries)
    assert "Stopped:" not in shown and "ended: cancelled" in shown


def test_attempts_in_a_row_take_one_line() -> None:
    attempts = [RetryScheduled(number, 2.0, "no network") for number in (1, 2, 3)]
    transcript = fold(TurnStarted(1), *attempts, TextDelta("half"), RetryScheduled(4, 2.0, "no network"))
    notes = [entry.text for entry in transcript.entries if isinstance(entry, Note) and not entry.dropped]
    assert [note.partition("attempt ")[2] for note in notes] == ["4)."]


def test_a_command_in_the_background_does_not_look_finished_until_the_task_has_ended() -> None:
    run = ToolCallFinished("c", "execute_command", {"command": "sleep 300", "background": True})
    result = ToolResult((TextBlock("Command is still running. To end it with `kill -- -2`."),))
    transcript = fold(run, ToolRunFinished("c", "execute_command", result))
    assert words(draw(transcript.entries[0], Look())).startswith("● execute_command  sleep 300  in the background")
    transcript.apply("t", TaskFinished("completed"))
    assert words(draw(transcript.entries[0], Look())) == "■ execute_command  sleep 300  ended with the task"


def test_live_output_is_kept_only_to_a_limit() -> None:
    text = Growing()
    for _ in range(10):
        text.add("x" * KEPT_OUTPUT, keep=KEPT_OUTPUT)
    text.add("end", keep=KEPT_OUTPUT)
    assert len(text.text) <= 2 * KEPT_OUTPUT + 3
    assert text.text.endswith("end")


def test_a_conversation_of_before_is_shown_as_it_was() -> None:
    call = ToolUseBlock("c", "read_file", {"path": "a"})
    entries = entries_of(
        [
            Message("user", (TextBlock("Fix it"), TextBlock("<environment_details>\n…"), ImageBlock("image/png", ""))),
            Message("assistant", (ReasoningBlock("Hm."), TextBlock("Yes"), call)),
            Message("user", (ToolResultBlock("c", (TextBlock("no such file"),), is_error=True),)),
        ]
    )
    assert [type(entry) for entry in entries] == [UserText, Note, Reasoning, ModelText, Card]
    assert "✗ read_file  a" in drawn(entries[-1])


def test_a_subtask_that_comes_back_in_a_resumed_task_looks_interrupted_only_until_its_result_is_there() -> None:
    call = ToolUseBlock("c", "new_task", {"mode": "code", "message": "write it"})
    transcript = Transcript()
    transcript.show_earlier("t", entries_of([Message("assistant", (call,))]))
    assert "interrupted" in drawn(transcript.entries[-1])
    transcript.apply("t", ToolRunFinished("c", "new_task", ToolResult((TextBlock("Subtask x completed."),))))
    assert "✓ new_task" in drawn(transcript.entries[-1]) and "interrupted" not in drawn(transcript.entries[-1])


def test_what_was_done_before_the_task_was_left_in_the_middle_of_a_reply_looks_done() -> None:
    calls = [ToolUseBlock(name, "write_to_file", {"path": name}) for name in ("a", "b", "c")]
    written = ToolResult((TextBlock("File successfully written to a"),))
    failed = ToolResult((TextBlock("no such folder"),), is_error=True)
    journal: list[Record] = [
        MessageAdded(Message("assistant", tuple(calls))),
        *(RunBegan(name, "write_to_file") for name in ("a", "b")),
        RunEnded("a", "write_to_file", written),
        RunEnded("b", "write_to_file", failed),
    ]
    done, wrong, waited = (drawn(entry) for entry in resumed_entries("t", lambda _task_id: journal))
    assert "✓ write_to_file  a" in done
    assert "✗ write_to_file  b" in wrong and "no such folder" in wrong and "interrupted" not in wrong
    assert "✗ write_to_file  c" in waited and "interrupted" in waited


@pytest.mark.parametrize("ended", [TaskAborted("interrupted by the user"), ContinueAnswered("r", True, "try again")])
def test_why_a_task_had_stopped_stays_on_the_screen(ended: Event) -> None:
    transcript = fold(ContinueRequested("r", "invalid x-api-key. Check the API key."), ended)
    assert "invalid x-api-key" in drawn(transcript.entries[0])


def test_the_result_of_a_call_that_comes_back_is_not_shown_with_a_call_of_its_subtask() -> None:
    """In text protocols the calls of each task are call_1, call_2 …"""
    started = SubtaskStarted("code", "A part.")
    journals: dict[str, list[Record]] = {
        "t": [
            MessageAdded(Message("assistant", (ToolUseBlock("call_1", "new_task", {"message": "A part."}),))),
            ChildOpened("c", "call_1", started),
        ],
        "c": [MessageAdded(Message("assistant", (ToolUseBlock("call_1", "execute_command", {"command": "make"}),)))],
    }
    transcript = Transcript()
    transcript.show_earlier("t", resumed_entries("t", lambda task_id: journals[task_id]))
    transcript.apply("t", ToolRunFinished("call_1", "new_task", ToolResult((TextBlock("Subtask c completed."),))))
    cards = {entry.name: drawn(entry) for entry in transcript.entries if isinstance(entry, Card)}
    assert "✓ new_task" in cards["new_task"]
    assert "interrupted" in cards["execute_command"] and "completed" not in cards["execute_command"]


def test_of_two_messages_with_the_same_words_the_one_that_was_not_read_is_queued() -> None:
    transcript = fold(UserMessageQueued("go on"), UserMessageQueued("go on"))
    transcript.unheard = ["go on"]
    transcript.apply("t", TurnStarted(1))
    assert [entry.queued for entry in transcript.entries if isinstance(entry, UserText)] == [False, True]


def test_a_message_that_came_too_late_for_a_request_is_still_queued() -> None:
    transcript = fold(UserMessageQueued("early"), UserMessageQueued("late"))
    transcript.unheard = ["late"]
    transcript.apply("t", TurnStarted(1))
    assert [entry.queued for entry in transcript.entries if isinstance(entry, UserText)] == [False, True]
    transcript.unheard = []
    transcript.apply("t", TurnStarted(2))
    assert not transcript.waiting and "queued" not in drawn(transcript.entries[-1])


def test_a_command_that_failed_looks_failed_when_its_task_is_resumed() -> None:
    call = ToolUseBlock("c", "execute_command", {"command": "make"})
    result = ToolResultBlock("c", (TextBlock("Command failed: exit code 2.\n\nOutput:\nno rule"),))
    (card,) = entries_of([Message("assistant", (call,)), Message("user", (result,))])
    assert "✗ execute_command  make" in drawn(card)


def test_what_joey_put_around_the_users_words_is_not_shown_as_theirs() -> None:
    assert users_words("<user_message>\nhurry\n</user_message>") == "hurry"
    assert (
        users_words("Your reply was empty. Continue with the next step. (This message is automatic; do not answer it.)")
        == ""
    )
    assert users_words("Fix <b>it</b>") == "Fix <b>it</b>"
    words, files = TextBlock("They say:\n<feedback>\nmore\n</feedback>"), TextBlock("a.py:\nprint(1)")
    call = ToolUseBlock("d", "attempt_completion", {"result": "Done."})
    for content in ((words,), (words, files)):  # small models are shown files beside a request
        result = Message("user", (ToolResultBlock("d", content),))
        card, *rest = entries_of([Message("assistant", (call,)), result])
        assert drawn(card).startswith("✓ Result") and "print" not in drawn(card)
        assert [entry.text for entry in rest if isinstance(entry, UserText)] == ["more"]


def test_files_that_a_small_model_was_shown_are_not_what_the_user_typed() -> None:
    typed = TextBlock("Explain:\n```\nprint(1)\n```")
    for shown in ("Files in this folder: a.py", "a.py:\n```\nprint(1)\n```\n\nNote: it is short."):
        entries = entries_of([Message("user", (typed, TextBlock(shown)))])
        assert [entry.text for entry in entries if isinstance(entry, UserText)] == [typed.text]


# Drawing


def test_control_characters_are_shown_and_never_sent() -> None:
    assert visible("a\x1b[31mb\u202ec\td\r\ne") == "a␛[31mb�c\td\ne"
    for entry in (
        UserText("\x1b[2J"),
        Note("\x1b[2J"),
        ModelText(Growing("\x1b[2J"), False),
        Reasoning(Growing("\x1b[2J")),
    ):
        assert "\x1b" not in drawn(entry)
        assert "␛" in drawn(entry)


def test_a_commands_output_looks_as_on_its_terminal() -> None:
    assert as_on_screen("\x1b[32mok\x1b[0m\r\n10%\r50%\r100%\nend\r\n") == "ok\n100%\nend\n"


@pytest.mark.parametrize("dark", [True, False])
def test_a_growing_file_shows_its_last_lines_with_their_numbers(dark: bool) -> None:
    text = "".join(f"line_{n} = {n}\n" for n in range(1, 101))
    shown = words(ScreenLook(dark=dark).code(text, "a.py"))
    assert "line_100 = 100" in shown
    assert "line_50 = 50" not in shown
    assert "100 line_100" in shown
    assert "line_1 = 1" in words(ScreenLook(in_full=True, dark=dark).code(text, "a.py"))


def test_a_diff_is_coloured_and_readable_without_colour() -> None:
    drawn_diff = draw_diff(DIFF)
    assert drawn_diff.plain == DIFF.rstrip("\n")
    styles = {str(span.style) for span in drawn_diff.spans}
    assert {"green", "red", "cyan", "bold"} <= styles


def test_a_long_diff_is_folded_and_says_so() -> None:
    card = Card("c", "write_to_file", "done", shown=(ShownDiff("x", DIFF + "+more\n" * 50),))
    assert f"… {52 - FOLDED} more lines" in drawn(card)
    assert "more lines" not in drawn(card, in_full=True)


def test_what_is_missing_of_a_very_long_output_is_not_promised() -> None:
    output = "a\n" * 100 + "\n[...99500 lines omitted...]\n\n" + "b\n" * 400
    card = Card("c", "execute_command", "done", shown=(ShownText(output),))
    assert "… 487 more lines (Ctrl+O shows them), and 99,500 lines that are not kept here" in drawn(card)
    assert "[...99500 lines omitted...]" in drawn(card, in_full=True)


@pytest.mark.parametrize(
    ("result", "times"),
    [
        ("Command failed: exit code 3.\n\nOutput:\n(none)", 1),
        ("Command failed: exit code 3.", 1),
        ("Command failed: exit code 3.\n\nOutput:\n(none)\n\nThe sandbox stopped it.", 2),
    ],
)
def test_how_a_command_ended_is_not_repeated_below_it(result: str, times: int) -> None:
    card = Card("c", "execute_command", "failed", status="exit code 3", result=result)
    assert drawn(card).count("exit code 3") == times
    assert drawn(card, in_full=True).count("exit code 3") == 2


def test_a_command_in_the_background_of_an_earlier_session_does_not_look_as_if_it_ran() -> None:
    call = ToolUseBlock("c", "execute_command", {"command": "sleep 300"})
    result = ToolResultBlock("c", (TextBlock("Command is still running. To end it with `kill -- -2`."),))
    [card] = entries_of([Message("assistant", (call,)), Message("user", (result,))])
    assert drawn(card).split("\n")[0].startswith("■ execute_command  sleep 300")
    assert "in an earlier session" in drawn(card) and "still running" not in drawn(card)


def test_what_a_call_read_is_counted_not_poured_out() -> None:
    card = Card("c", "read_file", "done", result="one\ntwo\nthree")
    assert "3 lines" in drawn(card)
    assert "three" not in drawn(card)
    assert "three" in drawn(card, in_full=True)


def test_a_command_that_ended_shows_the_end_of_its_output() -> None:
    card = fold(
        ToolCallStarted("c", "execute_command"), ToolCallFinished("c", "execute_command", {"command": "make\ntest"}),
        ToolRunProgressed("c", "live"),
        ToolRunFinished("c", "execute_command", ToolResult((), (ShownText("x\n" * 40 + "the end"),))),
    ).entries[0]  # fmt: skip
    assert "execute_command  make …" in drawn(card)
    assert "the end" in drawn(card)


def test_the_result_is_read_while_it_is_written() -> None:
    card = fold(ToolCallStarted("c", "attempt_completion"), ToolCallDelta("c", ("result",), "**All** d", "")).entries[0]
    assert "All d" in drawn(card)


def test_an_approval_shows_the_whole_diff_and_why_it_is_required() -> None:
    long = DIFF + "+more\n" * 50
    request = ApprovalRequested(
        "a", "c", "write_to_file", {"path": "x"}, "writes are asked for", (ShownDiff("x", long),)
    )
    shown = words(Group(*draw_request(request, ScreenLook())))
    assert shown.count("+more") == 50
    assert "writes are asked for" in shown


def test_an_approval_of_a_command_shows_the_whole_command() -> None:
    command = "echo " + "x" * 300 + "\nrm -rf build"
    request = ApprovalRequested("a", "c", "execute_command", {"command": command}, "`rm` deletes")
    shown = words(Group(*draw_request(request, ScreenLook())))
    assert "rm -rf build" in shown
    assert shown.count("x") >= 300


# How calls end


def ran(*blocks: str, is_error: bool = False) -> Card:
    result = ToolResult(tuple(map(TextBlock, blocks)), (ShownText("1 failed\n"),), is_error=is_error)
    transcript = fold(
        ToolCallStarted("c", "execute_command"),
        ToolCallFinished("c", "execute_command", {"command": "make test"}),
        ToolRunStarted("c", "execute_command", "make test"),
        ToolRunFinished("c", "execute_command", result),
    )
    (card,) = (entry for entry in transcript.entries if isinstance(entry, Card))
    return card


@pytest.mark.parametrize(
    ("blocks", "status"),
    [
        (["Command failed: exit code 2.\n\nOutput:\nx"], "exit code 2"),
        (["Command in 'a b' failed: exit code 2."], "exit code 2"),
        (["Command failed: terminated by signal SIGKILL (exit code 9)."], "terminated by signal SIGKILL (exit code 9)"),
        (["Command failed: exit code 2. It left processes running."], "exit code 2"),
        (["Command was ended after 1.5 s, the user's limit for commands."], "ended after 1.5 s"),
        (["<user_message>\nonly once\n</user_message>", "Command failed: exit code 2."], "exit code 2"),
    ],
)  # fmt: skip
def test_a_failed_command_looks_failed_and_says_how(blocks: list[str], status: str) -> None:
    card = ran(*blocks)
    assert drawn(card).splitlines()[0] == f"✗ execute_command  make test  {status}"
    assert "<user_message>" not in drawn(card, in_full=True)


def test_output_that_speaks_of_a_failed_command_is_no_failure() -> None:
    assert ran("Command executed.\n\nOutput:\nCommand failed: exit code 2.").state == "done"


RESULT = (ToolCallStarted("d", "attempt_completion"), ToolCallFinished("d", "attempt_completion", {"result": "Built."}))


def refused(text: str, *, is_error: bool) -> ToolRunFinished:
    return ToolRunFinished("d", "attempt_completion", ToolResult((TextBlock(text),), is_error=is_error))


@pytest.mark.parametrize("is_error", [True, False])
def test_a_refused_completion_is_no_result(is_error: bool) -> None:
    for then in ((), (TaskCompleted("In plain words: nothing was built.", Usage()),)):
        entry = fold(*RESULT, refused("A todo is open.", is_error=is_error), *then).entries[0]
        assert "✓" not in drawn(entry)
        assert "A todo is open." in drawn(entry)


def test_a_result_has_its_tick_when_it_passed_the_checks_and_keeps_it() -> None:
    assert "✓" not in drawn(fold(*RESULT).entries[0])
    passed = (*RESULT, TaskCompleted("Built.", Usage()))
    assert drawn(fold(*passed).entries[0]).startswith("✓ Result")
    feedback = refused("<feedback>\nmore\n</feedback>", is_error=False)
    assert drawn(fold(*passed, feedback).entries[0]).startswith("✓ Result")


@pytest.mark.parametrize("end", [TaskAborted("interrupted by the user"), TaskFinished("cancelled", "interrupted")])
def test_nothing_runs_waits_or_grows_after_the_end(end: Event) -> None:
    transcript = fold(
        TextStarted(), TextDelta("Half a sen"), ReasoningStarted(), ReasoningDelta("so"),
        ToolCallStarted("a", "execute_command"), ToolRunStarted("a", "execute_command"),
        ToolCallStarted("b", "write_to_file"), ApprovalRequested("r", "b", "write_to_file", {}, ""),
        ToolCallStarted("g", "read_file"), *RESULT, end,
    )  # fmt: skip
    cards = [entry for entry in transcript.entries if isinstance(entry, Card)]
    assert [(card.state, card.status) for card in cards] == [("failed", "interrupted")] * 4
    assert not [entry for entry in transcript.entries if isinstance(entry, (ModelText, Reasoning)) and entry.is_open]
    assert not transcript.pending


def test_a_resumed_conversation_shows_what_failed_and_what_was_cut_off() -> None:
    calls = (ToolUseBlock("a", "execute_command", {"command": "x"}), ToolUseBlock("b", "read_file", {"path": "y"}))
    answer = ToolResultBlock("a", (TextBlock("Command failed: exit code 3."),))
    lines = [drawn(each) for each in entries_of([Message("assistant", calls), Message("user", (answer,))])]
    assert lines[0].startswith("✗ execute_command  x  exit code 3")
    assert lines[1].startswith("✗ read_file  y  interrupted")


@pytest.mark.parametrize("words", [ACCEPTED, SHOWN])
def test_a_result_that_was_accepted_keeps_its_tick_when_the_task_that_went_on_is_resumed(words: str) -> None:
    call = ToolUseBlock("a", "attempt_completion", {"result": "All **done**."})
    answer = Message(
        "user", (ToolResultBlock("a", (TextBlock(words),)), TextBlock("<user_message>\nmore\n</user_message>"))
    )
    lines = [drawn(each) for each in entries_of([Message("assistant", (call,)), answer])]
    assert lines[0].startswith("✓ Result") and words not in lines[0] and "**" not in lines[0]


# The footer


def status_of(*events: Event) -> Status:
    status = Status(window=1_000)
    for event in events:
        status = after(status, event)
    return status


def test_the_footer_tells_mode_model_tokens_cache_cost_and_context() -> None:
    status = status_of(
        TaskStarted("x", "ask", "a/b", "native"), TurnStarted(1), TurnFinished(1, Usage(100, 50, 0, 300), 0.01),
        TurnFinished(2, Usage(1_100, 50, 0, 300), 0.02), UsageReported(500, 0, 0, 0), ModeChanged("code"),
        TodosChanged((Todo("1", "x", "completed"),)),
    )  # fmt: skip
    line = status_line(status, 200).plain
    for part in ("code", "a/b", "● thinking", "todo 1/1", "↑1.8k ↓100", "cache 33%", "$0.0300", "ctx ████░░░░ 50%"):
        assert part in line


@pytest.mark.parametrize("width", [10, 20, 40, 80, 200])
def test_the_footer_keeps_to_any_width(width: int) -> None:
    usage = Usage(10**7, 10**5, 0, 10**6)
    status = Status("orchestrator", "provider/a-long-model-name", "edits", "writing", usage, usage, 12.5, 10**8, 1, 2)
    line = status_line(status, width)
    assert line.cell_len <= width
    assert line.plain.startswith("orchestr"[:width])


# The input


@pytest.mark.parametrize(
    ("before", "word"),
    [("/he", "/he"), ("see @src/a", "@src/a"), ("a@b", ""), ("a /b", ""), ("@", "@"), ("", ""), ("see @a b", "")],
)
def test_only_commands_and_mentions_are_completed(before: str, word: str) -> None:
    assert word_to_complete(before) == word


def test_what_begins_with_the_word_comes_before_what_has_it_inside() -> None:
    assert completions("@ser", ["@my_server.py", "@server.py", "@x", "/serve"]) == ["@server.py", "@my_server.py"]
    assert completions("/help", ["/help"]) == []
    assert completions("", ["/help"]) == []


def test_history_gives_back_what_was_being_typed() -> None:
    history = History()
    history.add("one")
    history.add("two")
    history.add("two")
    assert [history.older("dra"), history.older(""), history.older("")] == ["two", "one", None]
    assert [history.newer(), history.newer(), history.newer()] == ["two", "dra", None]


def test_what_costs_nothing_shows_no_price() -> None:
    usage = Usage(100, 20)
    assert "$" not in status_line(Status("code", "local/coder", usage=usage, cost=0.0), 100).plain
    assert "$0.0123" in status_line(Status("code", "m", usage=usage, cost=0.0123), 100).plain
    assert [money(cost) for cost in (0.0, 0.00002, 0.5)] == ["free", "under $0.0001", "$0.5000"]
    assert "Cost:    free" in cost_lines(Status(usage=usage, cost=0.0))


def test_a_growing_file_counts_the_line_that_has_begun() -> None:
    card = Card("c", "write_to_file", "growing", {("file_text",): Growing("one\ntwo\nthr")})
    assert headline(card).plain.endswith("3 lines")
    card.arguments["file_text",].add("ee\n")
    assert headline(card).plain.endswith("3 lines")


def test_a_call_that_was_approved_no_longer_waits_for_approval() -> None:
    transcript = fold(
        ToolCallFinished("n", "new_task", {"mode": "code", "message": "Look"}),
        ApprovalRequested("a", "n", "new_task", {}, "why"),
    )
    (card,) = transcript.apply("t", ApprovalAnswered("a", approved=True))
    assert isinstance(card, Card) and card.state == "ready"


def test_a_failed_command_without_output_says_nothing_of_what_the_model_is_told_besides() -> None:
    text = "Command failed: exit code 3.\nNot in the environment of commands: KEY. Do not look.\n\nOutput:\n(none)"
    card = Card("c", "execute_command", display=builtin_display("execute_command"), known_summary="false")
    settle(card, ToolResult((TextBlock(text),)))
    assert words(draw(card, ScreenLook())) == "✗ execute_command  false  exit code 3"


def test_a_command_without_output_says_so_and_nothing_that_is_for_the_model() -> None:
    notice = "Not in the environment of commands, because they may hold or reach secrets: KEY. Do not look for them."
    text = f"Command executed.\n{notice}\n\nOutput:\n(none)"
    card = Card("c", "execute_command", display=builtin_display("execute_command"), known_summary="true")
    settle(card, ToolResult((TextBlock(text),)))
    for look in (ScreenLook(), ScreenLook(in_full=True)):
        shown = words(draw(card, look))
        assert "Command executed. (no output)" in shown
        assert "environment" not in shown and "(none)" not in shown
    assert "(no output)" in words(draw(UserCommand("true", shared=True, state="done"), ScreenLook()))


def test_a_message_of_the_users_keeps_its_indentation_wherever_it_wraps() -> None:
    text = f"Fix this:\nif x:\n    go()\n\n{'word ' * 30}end"
    drawn = words(draw(UserText(text), ScreenLook()), width=60).split("\n")
    assert drawn[:4] == ["› Fix this:", "  if x:", "      go()", ""]
    assert all(line.startswith("  word") for line in drawn[4:])
    assert "(Enter" not in words(draw(UserText("one"), ScreenLook()))


def test_a_single_line_more_is_one_line() -> None:
    card = UserCommand("seq", shared=True, state="done", output=Growing("line\n" * (FOLDED + 1)))
    assert "… 1 more line (Ctrl+O shows all)" in words(draw(card, ScreenLook()))


def test_of_a_resumed_task_only_what_the_user_typed_is_shown_as_theirs() -> None:
    ours = [
        wording.PLAN_MODE, wording.PLAN_MODE_OFF, wording.CUT_OFF, wording.DAMAGED, wording.EMPTY_REPLY,
        wording.HEAR_FIRST, wording.complaints(["ruff: F401"], last=False), wording.hook_words("note"),
        wording.end_blocked("not yet"),
        wording.no_such_mode("x", ["code"]), wording.no_tool_used("Use tools."),
        wording.malformed([], cut=False, reminder="Use tools."),
    ]  # fmt: skip
    blocks = [*map(TextBlock, ours), TextBlock(wording.user_message("Do it."))]
    shown = entries_of([Message("user", tuple(blocks))])
    assert [entry.text for entry in shown if isinstance(entry, UserText)] == ["Do it."]


def test_a_result_that_a_message_came_before_is_shown_and_no_failure_now_and_later() -> None:
    arguments = {"result": "I wrote **show.py**."}
    overtaken = TextBlock(wording.HEAR_FIRST)
    live = fold(
        ToolCallFinished("d", "attempt_completion", {**arguments}),
        UserMessageQueued("And a test."),
        ToolRunFinished("d", "attempt_completion", ToolResult((overtaken,))),
        TurnStarted(2),
    )
    later = entries_of(
        [
            Message("assistant", (ToolUseBlock("d", "attempt_completion", {**arguments}),)),
            Message("user", (ToolResultBlock("d", (overtaken,)), TextBlock(wording.user_message("And a test.")))),
        ]
    )
    for entries in (live.entries, later):
        assert [*map(drawn, entries)] == ["✓ Result\n│ I wrote show.py.", "› And a test."]


def test_how_an_accepted_plan_is_carried_out_is_a_line() -> None:
    accepted: list[Event] = [CompletionRequested("r", "1. Look", plan=True), CompletionAnswered("r", accepted=True)]
    notes = [entry.text for entry in fold(*accepted, ProfileChanged("edits")).entries if isinstance(entry, Note)]
    assert notes == ["The plan is accepted and carried out with approvals: edits."]
    assert not fold(ProfileChanged("edits")).entries


@pytest.mark.parametrize("edited", [True, False])
def test_a_plan_that_was_accepted_is_no_failure_when_the_task_is_resumed(edited: bool) -> None:
    accepted = TextBlock(wording.plan_accepted("1. Look", edited=edited))
    (card,) = entries_of(
        [
            Message("assistant", (ToolUseBlock("d", "attempt_completion", {"result": "1. Look"}),)),
            Message("user", (ToolResultBlock("d", (accepted,)),)),
        ]
    )
    assert words(draw(card, ScreenLook())).startswith("✓ Plan")


@pytest.mark.parametrize(("note", "head"), [(wording.PLAN_MODE, "○ Plan  not decided"), ("", "✗ attempt_completion")])
def test_a_plan_that_words_came_before_stays_one_that_nobody_decided_about(note: str, head: str) -> None:
    card, *_rest = [
        entry
        for entry in entries_of(
            [
                Message("user", (TextBlock(wording.user_message("Plan it.")), TextBlock(note))),
                Message("assistant", (ToolUseBlock("d", "attempt_completion", {"result": "1. Look"}),)),
                Message("user", (ToolResultBlock("d", (TextBlock(wording.UNDECIDED),)),)),
            ]
        )
        if isinstance(entry, Card)
    ]
    assert words(draw(card, ScreenLook())).startswith(head)


def test_an_empty_reply_is_a_line() -> None:
    empty = fold(TurnStarted(1), TurnFinished(1, Usage(10, 0)))
    assert [entry.text for entry in empty.entries if isinstance(entry, Note)] == ["The model's reply was empty."]
    spoken = fold(TurnStarted(1), TextStarted(), TextDelta("Hello."), TurnFinished(1, Usage(10, 2)))
    assert not [entry for entry in spoken.entries if isinstance(entry, Note)]


def test_an_edit_that_changed_nothing_says_so_and_counts_no_lines() -> None:
    card = Card("c", "write_to_file", display=builtin_display("write_to_file"), known_summary="a.txt")
    settle(card, ToolResult((TextBlock("No changes: a.txt already has this content."),)))
    assert words(draw(card, ScreenLook())) == "✓ write_to_file  a.txt\n  No changes: a.txt already has this content."
