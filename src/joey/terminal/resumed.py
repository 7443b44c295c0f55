"""A conversation of before as entries, so that the screen of a resumed task looks as the one that was left.

    journal --between_messages--> what happened between the messages: todo lists, subtasks, how runs ended
    messages + that --entries_of--> entries

Of what only passed by (spinners, a retry that worked, `!!commands`) nothing is kept.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Container, Iterable, Mapping, Sequence

from joey import events
from joey.app.users_commands import as_printed
from joey.frames import is_users_answer, original, own_words, users_words, whole_message
from joey.journal import records
from joey.journal.replay import replay, shown_results
from joey.messages import (
    ImageBlock,
    Message,
    ReasoningBlock,
    Shown,
    TextBlock,
    ToolResult,
    ToolResultBlock,
    ToolUseBlock,
)
from joey.prompts import attached_names
from joey.task.completion import waiting_result
from joey.task.wording import PLAN_ACCEPTED, PLAN_MODE, PLAN_MODE_OFF, typed_words, without_workspace
from joey.terminal.notes import note_on
from joey.terminal.transcript import (
    DENIED,
    INTERRUPTED,
    NOT_DECIDED,
    Card,
    Entry,
    Growing,
    ModelText,
    Note,
    Reasoning,
    TodoList,
    UserCommand,
    UserText,
    grown,
    settle,
)
from joey.tools.builtin import builtin_display
from joey.tools.display import Display

_USERS_COMMANDS = re.compile(r"\n\n<input>\n(The user ran `.*)\n</input>\Z", re.DOTALL)
"""What commands of the user's own printed, below their next message (`joey.app.users_commands.with_outputs`),"""
_USERS_COMMAND = re.compile(r"^The user ran `([^\n]*)`:\n([^\n]*)(?:\n|\Z)", re.MULTILINE)
"""and where each begins."""


def resumed_entries(task_id: str, read: Callable[[str], Iterable[records.Record]], *, profile: str = "") -> list[Entry]:
    """What was on the screen of a task; `read` returns the journal of a task, and of each of its subtasks. `profile` is
    that of approvals which holds: under `plan`, a result that waits for the user is a plan."""
    journal = [*read(task_id)]
    state = replay(journal)
    waiting = waiting_result(state) if profile == "plan" else None
    return entries_of(
        state.messages,
        shown=shown_results(journal),
        interrupted=state.interrupted,
        between=between_messages(journal, read),
        begun={record.call_id for record in journal if isinstance(record, records.RunBegan)},
        results=state.calls.results,
        plan=waiting.id if waiting is not None else "",
    )


def between_messages(
    journal: Iterable[records.Record], read: Callable[[str], Iterable[records.Record]]
) -> Mapping[int, Sequence[Entry]]:
    """What was shown between the messages, by how many of them came before it."""
    found: defaultdict[int, list[Entry]] = defaultdict(list)
    count = 0
    for record in journal:
        match record:
            case records.MessageAdded():
                count += 1
            case records.TodosSet(todos):
                found[count].append(TodoList(todos))
            case records.ChildOpened():
                found[count] += _subtask(record, read)
            case records.TaskEnded(outcome, message):
                found[count] += _end(outcome, message)
            case _:
                pass
    return found


def _end(outcome: events.Outcome, message: str) -> list[Entry]:
    """The line about the end of a run."""
    aborted = outcome == "cancelled"
    note = note_on(events.TaskAborted(message) if aborted else events.TaskFinished(outcome, message))
    return [Note(*note)] if note else []


def _subtask(opened: records.ChildOpened, read: Callable[[str], Iterable[records.Record]]) -> list[Entry]:
    """A subtask that ran while its parent waited. Of those that ran beside each other, only steps were shown."""
    if opened.placement != "alone" or opened.subtask is None:
        return []
    started = note_on(events.SubtaskOpened(opened.child_id, opened.subtask.mode))
    words = Note("The model's instructions to the subtask:", quoted=own_words(opened.subtask.message))
    done = resumed_entries(opened.child_id, read)
    first = next((entry for entry in done if isinstance(entry, UserText)), None)
    done = [entry for entry in done if entry is not first]  # those are the instructions
    for entry in done:
        if isinstance(entry, Card):
            entry.subtask = entry.subtask or opened.child_id  # of a subtask of its own, maybe
    return [*([Note(*started)] if started else []), words, *done]


def entries_of(
    messages: Sequence[Message],
    display_of: Callable[[str], Display] = builtin_display,
    *,
    shown: Mapping[str, tuple[Shown, ...]] | None = None,
    interrupted: Mapping[int, str] | None = None,
    between: Mapping[int, Sequence[Entry]] | None = None,
    begun: Container[str] = (),
    results: Mapping[str, ToolResult] | None = None,
    plan: str = "",
) -> list[Entry]:
    """Messages as entries. `shown` is what the user saw of the calls, `interrupted` what came of replies that were cut
    off, and `between` what else was shown, by the number of messages before them. `begun` are the calls that ran,
    `results` what came of those that no message answers yet: others of their reply had not run when the task was
    left. `plan` is the call whose result is a plan that nobody has decided about."""
    entries: list[Entry] = []
    cards: dict[str, Card] = {}
    plans = False
    for number, message in enumerate((*messages, Message("user", ()))):
        if cut := (interrupted or {}).get(number):
            entries.append(ModelText(Growing(cut), is_open=False))
        entries += (between or {}).get(number, ())
        reported, plans = plans, _plans_after(message, plans)
        content = message.content if message.role == "assistant" else without_workspace(message.content)
        attached = attached_names(content) if message.role == "user" else []
        for block in content:
            match block:
                case TextBlock(text) if message.role == "assistant":
                    entries.append(ModelText(Growing(text), is_open=False))
                case TextBlock(text):
                    entries += _typed(text)
                case ReasoningBlock(text):
                    entries += [Reasoning(Growing(text), is_open=False)] if text else []
                case ToolUseBlock(call_id, name, arguments):
                    cards[call_id] = Card(call_id, name, "ready", grown(arguments), display=display_of(name))
                    entries.append(cards[call_id])
                case ToolResultBlock(call_id, content, is_error) if call_id in cards:
                    cards[call_id].state = "running" if call_id in begun else cards[call_id].state
                    settle(cards[call_id], ToolResult(content, (shown or {}).get(call_id, ()), is_error))
                    _mark_if_undecided(cards[call_id], plans=reported)
                    entries += [UserText(text)] if (text := _answer_to(cards[call_id])) else []
                case ImageBlock():
                    entries.append(Note("[an image]"))
                case _:
                    pass
        if attached and (note := note_on(events.InputAttached(tuple(attached)))):
            entries.append(Note(*note))
    if plan in cards:
        _undecided(cards[plan])
    for card in cards.values():
        if card.state == "ready" and (result := (results or {}).get(card.call_id)):
            card.state = "running" if card.call_id in begun else card.state
            settle(card, result)
        _end_card(card)
    return entries


def _end_card(card: Card) -> None:
    """The card of a call at the end of the conversation."""
    if card.state == "background":
        card.state, card.status = "stopped", "ran in the background, in an earlier session"
    if card.state == "ready":  # only the result that was accepted has no answer
        card.state, card.status = ("done", "") if card.display.role == "result" else ("failed", INTERRUPTED)


def _plans_after(message: Message, plans: bool) -> bool:
    """Whether the model only plans once it has read this message: `plans`, if that says nothing about it."""
    for block in message.content if message.role == "user" else ():
        blocks = block.content if isinstance(block, ToolResultBlock) else (block,)
        for text in (each.text for each in blocks if isinstance(each, TextBlock)):
            plans = text == PLAN_MODE or (plans and text != PLAN_MODE_OFF and not text.startswith(PLAN_ACCEPTED))
    return plans


def _mark_if_undecided(card: Card, *, plans: bool) -> None:
    """`plans`: whether the model only planned when it made the call."""
    if plans and card.display.role == "result" and card.status == INTERRUPTED:
        _undecided(card)


def _undecided(card: Card) -> None:
    card.is_plan, card.state, card.status = True, "done", NOT_DECIDED


def _typed(text: str) -> list[Entry]:
    """A message of the user's; before it, the command of their own that it tells the model about."""
    if not (words := typed_words(text)):
        return []
    return [*_users_command(text), UserText(words)]


def _users_command(text: str) -> list[Entry]:
    """One entry for each: no output can say that another begins (`joey.app.users_commands.as_printed`)."""
    found = _USERS_COMMANDS.search(whole_message(text))
    if found is None:
        return []
    starts = [*_USERS_COMMAND.finditer(found[1])]
    ends = [*(each.start() for each in starts[1:]), len(found[1])]
    return [_ran(each, each.string[each.end() : end]) for each, end in zip(starts, ends, strict=True)]


def _ran(found: re.Match[str], output: str) -> Entry:
    command, headline = map(original, found.groups())
    failed = not headline.startswith("Command executed")
    shown = Growing(as_printed(original(output)).removesuffix("\n"))
    return UserCommand(command, True, "failed" if failed else "done", shown, headline if failed else "")


def _answer_to(card: Card) -> str:
    """What the user answered, where the call's result is their answer."""
    words = users_words(card.result) if is_users_answer(card.result) else ""
    if card.status == DENIED:
        return f"No: {words}" if words else "No"
    return words
