"""Lines about what happened, for events that are neither a text nor a call nor a request."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeAlias

from joey import events
from joey.system.visible import one_line
from joey.task.wording import PLAN_STOPPED
from joey.terminal.status import money
from joey.tools.shell.job import Job

NoteKind: TypeAlias = Literal["note", "warning", "error"]


NoteParts: TypeAlias = tuple[str, NoteKind] | tuple[str, NoteKind, str]


def note_on(event: events.Event) -> NoteParts | None:
    """The line about an event, its kind, and words of others that belong to it; None for those that have none. Turns
    have none: the status line counts them."""
    match event:
        case events.ModeChanged(mode, reason):
            return f"Switched to {mode} mode{':' if reason else '.'}", "note", reason
        case events.SubtaskOpened(child_id, mode):
            where = f", in {event.worktree}" if event.worktree else ""
            model = f", with {event.model}" if event.model else ""
            return f"Subtask {subtask_label(mode, child_id)} started{model}{where}.", "note"
        case events.SubtaskClosed():
            return _on_closed(event), "note"
        case events.ContextShortened():
            return _shortened(event), "note"
        case events.ContextKept(reason):
            return f"Not summarized: {reason}", "warning"
        case events.SandboxReported(level, _, message):
            return f"Sandbox: {message}", "note" if level == "full" else "warning"
        case events.CommandLeftRunning(command, 0):
            return f"`{command}` may have been started as the task was interrupted. Look for it with `ps`.", "warning"
        case events.CommandLeftRunning(command, group):
            where = f"may still be running as process group {group}; stop it with `kill -- -{group}`"
            return f"From before the task was interrupted: `{command}` {where}.", "warning"
        case events.FilesLeftBehind(message):
            return message, "warning"
        case events.HookReported() | events.CheckFinished():
            return _on_hook(event) if isinstance(event, events.HookReported) else _on_check(event)
        case events.TaskAborted(reason):
            return f"Stopped: {reason}" if reason else "Stopped.", "note"
        case events.TaskFinished("cancelled", message) if message.startswith(PLAN_STOPPED):
            return f"Stopped: {message}.", "note"
        case events.TaskFinished(outcome, message) if outcome != "completed":
            return f"The task ended: {outcome}. {message}", "error" if outcome in ("error", "limit") else "note"
        case _:
            return _on_request(event)


def note_on_job(job: Job) -> tuple[str, NoteKind]:
    """The line about a command that has ended in the background."""
    failed = job.exit is not None and job.exit.code
    return f"Ended in the background, {job.exit}: {one_line(job.command)}", "error" if failed else "note"


def _on_attached(attached: Sequence[str], missing: Sequence[str]) -> NoteParts:
    """What a message brought along, and what it names that is not there."""
    lines = [f"attached: {one_line(', '.join(attached))}"] if attached else []
    lines += [
        f"There is no file {one_line(name)} here; nothing was attached for @{one_line(name)}." for name in missing
    ]
    return "\n".join(lines), "warning" if missing else "note"


def _on_request(event: events.Event) -> NoteParts | None:
    """The line about a request: what a message attached, that it had to wait, or that another model answers."""
    match event:
        case events.InputAttached(attached, missing):
            return _on_attached(attached, missing)
        case events.RetryScheduled(attempt, seconds, reason):
            return f"{reason.rstrip('.')}. Trying again in {seconds:.0f} s (attempt {attempt}).", "warning"
        case events.RequestDelayed(seconds):
            return f"The provider's limits are reached. Continuing in {seconds:.0f} s.", "note"
        case events.ModelChanged(model, reason):
            return f"{reason.rstrip('.')}. Continuing with {model}.", "warning"
        case _:
            return None


def _on_closed(event: events.SubtaskClosed) -> str:
    how = f": {event.outcome}" if event.outcome not in ("", "completed") else ""
    took = (
        f" ({event.turns} {'turn' if event.turns == 1 else 'turns'}{f', {money(event.cost)}' if event.cost else ''})"
        if event.beside
        else ""
    )
    return f"Subtask {subtask_label('', event.child_id)} ended{how}{took}."


def subtask_label(mode: str, task_id: str) -> str:
    """What a subtask is called wherever it is named: its mode, where that is known, and the end of its id."""
    return one_line(f"{mode} {task_id[-4:]}".strip())


def _on_check(event: events.CheckFinished) -> NoteParts:
    if event.exit_code == 0:
        return f"Check `{event.command}`: nothing to complain about.", "note"
    code = f" (exit code {event.exit_code})" if event.exit_code != 1 else ""
    how = f"it found problems{code}" if event.exit_code is not None else "it could not run to its end"
    return f"Check `{one_line(event.command)}`: {how}.", "warning", event.output


def _on_hook(event: events.HookReported) -> NoteParts | None:
    """What a hook did. Context that it added is for the model."""
    did = {
        "blocked": "blocked it",
        "asks": "wants you to decide",
        "allowed": "allowed it",
        "changed": "changed the input",
        "stopped": "stopped the task",
        "failed": "failed, which changes nothing",
        "message": "says",
    }.get(event.outcome)
    if did is None:
        return None
    words = f"Hook {event.event} (`{one_line(event.hook)}`) {did}{':' if event.message else '.'}"
    return words, "warning" if event.outcome in ("failed", "stopped") else "note", event.message


def _shortened(event: events.ContextShortened) -> str:
    before, after, results = event.tokens_before, event.tokens_after, event.shortened_results
    gained = f" The next request takes about {after:,} tokens instead of {before:,}." if before else ""
    if results:
        return f"{results} large {'result is' if results == 1 else 'results are'} sent in part.{gained}"
    dropped = f" No longer sent: {event.dropped}." if event.dropped else ""
    kept = f" Kept word by word: {', '.join(event.kept)}." if event.kept else ""
    how = "summarized" if event.summary else "hidden"
    return f"{event.hidden_messages} earlier messages {how}.{gained}{dropped}{kept}"
