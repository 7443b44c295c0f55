"""What the loop itself says to the model. Words of ours, never of the user's."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from joey.events import ToolCallMalformed
from joey.frames import enclosed, framed, neutral, users_words
from joey.messages import Block, TextBlock
from joey.system.filenames import quoted

INTERRUPTED = (
    "The task was interrupted while this call was running. It may or may not have happened; it is not made again by "
    "itself. Check before you repeat it."
)
_STOPPED = "This call was stopped while it ran, so it may be half done. Until then it had printed:"
_CUT_SHORT = "Your last reply was stopped before it was complete, and is not in this conversation. It had got this far:"
_CUT_SHORT_BEFORE = "The user stopped your last reply, which is not in this conversation. It had come to this:"
"""In saved tasks; it need not have been the user."""
UNDECIDED = "The task was interrupted before the user decided about this. If it still holds, call this tool again."
NOT_RUN = "The task was interrupted before this call was made, so it was not made."
DAMAGED = (
    "Parts of the record of this task are damaged and left out of this conversation, so calls may have been made that "
    "you do not see here. Check how things are before you repeat anything."
)
ACCEPTED = "The user accepted the result."
SHOWN = "The user was given the result."
"""For a task that goes on after its end: nobody need have said yes to it."""
HEAR_FIRST = "The user said something while you worked that you have not seen yet. It follows; take it into account."


def stopped(printed: str) -> str:
    return f"{_STOPPED}\n{printed}"


def cut_short(reply: str) -> str:
    return f"{_CUT_SHORT}\n{enclosed('reply', neutral(reply))}"


def feedback(text: str) -> str:
    """The user's feedback on a result, in the words the model knows it by."""
    return (
        "The user has provided feedback on the results. Consider their input to continue the task:\n"
        f"{framed('feedback', text)}"
    )


PLAN_MODE = (
    "Plan mode is on: look at whatever you need, but change nothing yet. When you know what to do, present the plan "
    "with attempt_completion: its steps in order, and the files they touch. The user may change it, and accepts it "
    "before anything is done."
)
PLAN_MODE_OFF = "Plan mode is off: carry out the task."
READS_ONLY = (
    "This subtask runs beside others and only reads: it changes no files, runs no commands, calls no tools of servers "
    "and stays in its mode. Report what should be done instead."
)
PLAN_DENIED = "Plan mode is on, so nothing is changed before the user has accepted a plan."


PLAN_ACCEPTED = "The user accepted the plan, "
PLAN_DECLINED = "The user declined the plan: "
PLAN_STOPPED = "the plan was declined. "
"""The same, in a line for the user. Saved tasks have other words after these."""


def plan_declined(profile: str) -> str:
    """What the model is told, with the approval profile that is in force by then."""
    return f"{PLAN_DECLINED}none of it was carried out, and {_after_plan(profile)}. Wait for what they want instead."


def plan_stopped(profile: str) -> str:
    """What the user is told."""
    return f"{PLAN_STOPPED}None of it was carried out; {_after_plan(profile)}"


def _after_plan(profile: str) -> str:
    return "plan mode stays on" if profile == "plan" else f"plan mode is off: the approval profile is {profile}"


_MAX_PATHS = 20
_RESTORED = "The user put files back to how they were at another time, by undo, redo or a checkpoint: "


def restored(paths: Sequence[str]) -> str:
    shown = ", ".join(paths[:_MAX_PATHS]) + (f" and {len(paths) - _MAX_PATHS} more" if len(paths) > _MAX_PATHS else "")
    return f"{_RESTORED}{shown}. Read a file again before you rely on what is in it."


def plan_accepted(plan: str, *, edited: bool) -> str:
    how = "after changing it; this is the plan now" if edited else "as it is"
    text = f"{PLAN_ACCEPTED}{how}. Plan mode is off: carry it out now, step by step."
    return f"{text}\n{framed('plan', plan)}" if edited else text


UNSEEN_HOOKS = (
    "this project has hooks: commands that run by themselves at points of a task, in the sandbox. "
    "They run only if you allow it"
)


CHECKS_OFFERED = (
    "the files of this project name checks. If you say yes, they run in the sandbox after each turn that edits files, "
    "and the model sees what they report. A no is remembered"
)


_CHECKED = "The project's checks ran on the files that you changed."
_HOOK_ADDS = "A hook adds:\n"
_NO_END_YET = "A hook does not let the task end yet: "
_NO_SUCH_MODE = "(A slash command wants the mode "
_NO_TOOL = "Your reply called no tool, so nothing was done."
_UNREADABLE = "A call in your reply could not be read, so it was not made:"


def complaints(found: Sequence[str], *, last: bool) -> str:
    end = "\n\nThe checks do not run again for now: do what you can, and report what is still open." if last else ""
    return "\n\n".join([_CHECKED, *found]) + end


def language_errors(server: str, lines: str) -> str:
    return f"{server} finds errors, some of which may be older than your edit:\n{lines}"


def hooks_not_run(count: int) -> str:
    are = "1 hook of this project does" if count == 1 else f"{count} hooks of this project do"
    return f"{are} not run, because you have not accepted them; `joey hooks` shows them, `joey hooks --accept` does it"


def stopped_by_hook(reason: str) -> str:
    return f"a hook stopped the task: {reason}"


def hook_words(text: str) -> str:
    return f"{_HOOK_ADDS}{text}"


def hook_denied(reason: str) -> str:
    return f"A hook does not allow this call: {reason}"


def input_changed(arguments: str) -> str:
    return f"(A hook changed the arguments of this call; it was made with {arguments})"


def end_blocked(reason: str) -> str:
    return f"{_NO_END_YET}{reason}\nDo what it asks for, then end your turn again."


UNANSWERED = (
    "Nobody answered: there is no user in this run. Decide by yourself, take the safer way where you are not sure, and "
    "say in the result what you assumed."
)


def answer(text: str) -> str:
    return framed("answer", text)


def guidance(reason: str, text: str) -> str:
    return f"{reason}\nThe user says:\n{framed('feedback', text)}"


def user_message(text: str) -> str:
    return framed("user_message", text)


def no_such_mode(mode: str, modes: Iterable[str]) -> str:
    return f"{_NO_SUCH_MODE}{mode!r}, but there is no such mode. Modes: {', '.join(modes)}.)"


def no_tool_used(reminder: str) -> str:
    return (
        f"{_NO_TOOL}\n\n{reminder}\n\n"
        "If the task is done, call attempt_completion. If you need something from the user, call "
        "ask_followup_question. Otherwise go on with the next step. (This message is automatic; do not answer it.)"
    )


EMPTY_REPLY = "Your reply was empty. Go on with the next step. (This message is automatic; do not answer it.)"


def malformed(problems: Sequence[ToolCallMalformed], *, cut: bool, reminder: str) -> str:
    lines = [f"- {problem.message}" for problem in problems]
    text = "\n".join([_UNREADABLE, *lines])
    if cut:
        return (
            f"{text}\n\nYour reply reached the length limit. Make the call again in smaller parts: write a long file "
            "in pieces, or change only the part that needs to change."
        )
    return f"{text}\n\n{reminder}"


CUT_OFF = "Your reply was cut off by the length limit. Go on exactly where you stopped."


def subtask_result(child_id: str, outcome: str, message: str) -> str:
    message = neutral(message)
    if outcome == "completed":
        return f"Subtask {child_id} completed.\n\nResult:\n{message}"
    return f"Subtask {child_id} did not complete ({outcome}). {message}".strip()


USER_DENIED = "The user denied this call."
_DENIED = "This call was denied"
_DENIED_WITH = f"{_DENIED}, with this feedback:\n"


def denied(reason: str, comment: str) -> str:
    """What the model reads when the user said no."""
    if comment:
        return f"{_DENIED_WITH}{framed('feedback', comment)}"
    return f"{_DENIED}: {reason}" if reason else USER_DENIED


def moved(path: str, reason: str) -> str:
    """What the model reads when a path leads somewhere else than when the user was asked."""
    where = f"`{quoted(path)}` leads somewhere else than when it was approved"
    return f"{_DENIED}: {where}: {reason}. Nothing was changed or run."


def is_denied(text: str) -> bool:
    """Whether the result of a call says that a rule denied it, or that nobody was there to approve it."""
    return text.startswith(_DENIED)


def is_users_no(result: str) -> bool:
    """Whether the result of a call is that the user did not approve it."""
    return result == USER_DENIED or result.startswith(_DENIED_WITH)


SKIPPED = "This call was skipped because an earlier call of the same turn was denied."
AFTER_SUBTASK = (
    "This call was skipped: new_task must be the last call of a turn; only more of new_task may follow it. "
    "Make it again in a later turn."
)
CANNOT_WORK = "it cannot work as it is, so yes only tells the model why, which may quote the file"
"""For the user, who is asked about such a call."""

_OURS = (
    PLAN_MODE, PLAN_MODE_OFF, PLAN_ACCEPTED, _RESTORED, _CUT_SHORT, _CUT_SHORT_BEFORE, DAMAGED, HEAR_FIRST, CUT_OFF,
    EMPTY_REPLY, _CHECKED, _HOOK_ADDS, _NO_END_YET, _NO_SUCH_MODE, _NO_TOOL, _UNREADABLE,
)  # fmt: skip


_WORKSPACE = re.compile(r"(?:Files in this folder|Command): |[^\n]+:\n```\n")
"""How a small model is shown files: they follow the user's words, in a text of their own."""


def without_workspace(content: Sequence[Block]) -> tuple[Block, ...]:
    """A message from the user's side, without the files that a small model was shown with the words."""
    texts = [block for block in content if isinstance(block, TextBlock)]
    if len(texts) < 2 or not _WORKSPACE.match(texts[-1].text):
        return tuple(content)
    return tuple(block for block in content if block is not texts[-1])


_REMINDERS = (_NO_TOOL, _UNREADABLE, EMPTY_REPLY, CUT_OFF)


def is_reminder(text: str) -> bool:
    """Whether this tells the model that its reply was not what it should be."""
    return text.startswith(_REMINDERS)


def typed_words(text: str) -> str:
    """What the user typed, of a text in a message from the user's side; empty where it is all the loop's own."""
    return "" if text.startswith(_OURS) else users_words(text)
