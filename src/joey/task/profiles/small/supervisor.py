"""The supervisor for small models. It shows the files that a request is about, holds the model to the next step,
refuses the same call at once, and checks facts before a completion goes to the user.

What leads nowhere is tried again from a clean beginning: the request, what failed, and none of the attempts, chosen
less greedily each time. The attempts stay in the journal; only the model does not see them any more, since it would
repeat them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from joey.actions import Action, RunCommand
from joey.bounded.files import read_resolved
from joey.messages import Block, Message, TextBlock, ToolResult
from joey.policy.paths import Workspace
from joey.task.profiles.base import Objection, Supervisor, changes_something
from joey.task.profiles.small.beside import files_beside, readable
from joey.task.profiles.small.completion_checks import CompletionChecks
from joey.task.profiles.small.opinions import (
    MAX_ANSWERS,
    agreed,
    counted_by_the_model,
    reservation,
    uncertain,
    unknown_name,
)
from joey.task.profiles.small.problems import miscount
from joey.task.profiles.small.runaway import runs_away
from joey.task.profiles.small.statements import is_contradicted, lacks_number, printed, unfounded, with_output
from joey.task.profiles.small.steps import DONE, RUN, WRITERS, Step, Steps
from joey.task.repetition import Repetition
from joey.task.user_words import user_entries
from joey.tools.base import Plan, ToolContext, failed
from joey.tools.textfile import NotTextError, read_text
from joey.toolspec import ToolSpec
from joey.wire import JsonValue

_TEMPERATURES = (0.0, 0.5, 0.8)
"""For a first try, a second, and those after it."""
_GIVES_UP = re.compile(r"(The |This )?(tool|call)( was| has)? (failed|denied)\b.*", re.IGNORECASE | re.DOTALL)
_MIN_ECHO = 15
"""Characters: a shorter answer may well be a part of our words."""
_REWRITE = "write the file again; if it is, give the result with exactly that."
_SEVERAL = 2
_EVERY_PART = "Answer every part of the question."
_REPEATED = "The last reply repeated itself without end. Do it again, and end it where it is complete."


@dataclass(slots=True)
class _View:
    """Which messages are sent: all up to the request, with it what failed and what the user wrote meanwhile, and those
    since the last restart.

    Places in the conversation are counted when it is sent. If it was shortened since, other messages stand there, and
    all of it is sent."""

    request_at: int | None = None
    resumes_at: int | None = None
    ends: tuple[Message, ...] = ()
    """The messages at these two places."""
    note: str = ""
    other: tuple[str, str] = ("", "")
    """A part of the request, and what is sent in its place."""
    restarts: bool = False

    def restart(self, note: str, other: tuple[str, str] = ("", "")) -> None:
        self.note, self.other, self.restarts = note, other, True

    def of(self, messages: tuple[Message, ...]) -> tuple[Message, ...]:
        if self.request_at is None:
            self.request_at, self.ends = len(messages), messages[-1:]
        if self.restarts and self._has_request(messages):
            self.resumes_at, self.restarts = len(messages), False
            self.ends = (messages[self.request_at - 1], messages[-1])
        if self.resumes_at is None or not 0 < self.request_at <= self.resumes_at <= len(messages):
            return messages
        request = messages[self.request_at - 1]
        if (request, messages[self.resumes_at - 1]) != self.ends:
            return messages
        left_out = messages[self.request_at : self.resumes_at]
        words = (block for entry in user_entries(left_out) for block in entry.content)
        with_note = replace(request, content=(*map(self._replaced, request.content), *words, TextBlock(self.note)))
        return (*messages[: self.request_at - 1], with_note, *messages[self.resumes_at :])

    def _has_request(self, messages: tuple[Message, ...]) -> bool:
        """Whether the request still stands where it stood: it may be hidden by now."""
        at = self.request_at or 0
        return at > 0 and messages[at - 1 : at] == self.ends[:1]

    def _replaced(self, block: Block) -> Block:
        old, new = self.other
        return TextBlock(block.text.replace(old, new)) if old and isinstance(block, TextBlock) else block


class SmallSupervisor(Supervisor):
    """`result_limit` are the characters of a result that the model is shown, `room` those of files beside a request."""

    def __init__(self, folder: Path, paths: Workspace, repetition_limit: int, result_limit: int, room: int) -> None:
        super().__init__(Repetition(repetition_limit, at_once=True))
        self._folder = folder
        self._paths = paths
        self._result_limit = result_limit
        self._room = room
        self._begin("", ())

    def _begin(self, text: str, touched: Iterable[str], *, underway: bool = False) -> None:
        self._steps = Steps(text, self._folder, self._text, underway)
        self._checks = CompletionChecks(
            text, self._folder, self._result_limit, touched=tuple(touched), underway=underway,
            hidden=lambda path: readable(path, self._paths) is None, intent=self._steps.intent,
        )  # fmt: skip
        self._view = _View()
        self._tries, self._succeeded = 0, False
        self._raised = set[str]()
        self._own_words = list[str]()
        self._answers = list[str]()
        self._verdict = ""

    def new_request(self, text: str, *, underway: bool = False) -> None:
        super().new_request(text, underway=underway)
        self._begin(text, self._checks.touched, underway=underway)

    def new_message(self) -> None:
        """What the user adds may be anything: from here on the model decides."""
        super().new_message()
        self._checks.is_question = False
        self._answers.clear()
        self._steps.release()

    def beside(self, context: ToolContext) -> str:
        self._steps.beside = files_beside(self._steps.request, context, self._paths, self._room)
        self._checks.touched |= {each.path for each in self._steps.beside.files}
        return self._steps.beside.text

    # What the model may do next

    def sent(self, messages: tuple[Message, ...]) -> tuple[Message, ...]:
        return self._view.of(messages)

    def temperature(self, usual: float | None) -> float | None:
        least = _TEMPERATURES[min(self._tries, len(_TEMPERATURES) - 1)]
        return max(usual or 0.0, least)

    def ends_reply(self, tail: str) -> bool:
        if not runs_away(tail):
            return False
        self._failed(_REPEATED)
        return True

    def callable_tools(self, tools: tuple[ToolSpec, ...]) -> tuple[ToolSpec, ...]:
        step = self._steps.next
        if step is None or self._needs_other(step):
            return super().callable_tools(tools)
        limited = tuple(_limited(tool, step.calls[tool.name]) for tool in tools if tool.name in step.calls)
        return limited or super().callable_tools(tools)

    def _needs_other(self, step: Step) -> bool:
        """Whether the last call was refused for want of something that this step does not do."""
        suggested = self._unsuccessful[-1][1] if self._unsuccessful else ()
        return bool(suggested) and not set(suggested) & set(step.calls)

    def before(self, tool: str, name: str, arguments: JsonValue) -> str | None:
        self._steps.tries(tool, _text_in(arguments, "command"))
        if tool in self._steps.forbidden & WRITERS:
            return self._noted("Nothing is to be written here. Call attempt_completion with the result.")
        if tool == RUN and (refusal := self._steps.unwanted(_text_in(arguments, "command"))):
            self._tries += 1
            return self._noted(refusal)
        if tool == RUN and (refusal := self._steps.shows_nothing(_text_in(arguments, "command"))):
            self._unsuccessful.append((tool, (DONE,)))
            self._failed(refusal)
            return self._noted(refusal)
        refusal = super().before(tool, name, arguments)
        if refusal is None:
            return None
        step = self._steps.next
        refusal = f"{refusal}\n{step.text}" if step is not None and step.is_open else refusal
        self._failed(refusal)
        if tool in WRITERS:
            self._begin_again()
        return self._noted(refusal)

    def denied(self, tool: str) -> None:
        """It is not demanded any longer, and not tried again before something else was."""
        if self._steps.waive(tool):
            self._unsuccessful.append((tool, ()))
            self._tries += 1

    def on_refusal(self, tool: str, name: str, arguments: JsonValue, plan: Plan, refusal: ToolResult) -> ToolResult:
        sticks = False
        if tool in WRITERS:
            self._failed(refusal.text)
            self._steps.settle(path := _text_in(arguments, "path"))
            if (text := _text_in(arguments, "file_text").strip()) and text == (self._text(path) or "").strip():
                self._steps.unchanged(path)
                sticks = self._begin_again()
        keeps_to_it = sticks or self._steps.needs_command
        self._unsuccessful.append((tool, () if keeps_to_it else self._suggested(plan.suggested)))
        if tool in plan.suggested:
            refusal = failed(f"{refusal.text}{self._checks.reminder}")
        self._noted(refusal.text)
        return super().on_refusal(tool, name, arguments, plan, refusal)

    def after(self, name: str, arguments: JsonValue, actions: Sequence[Action], result: ToolResult) -> str:
        if not result.is_error:
            self._tries, self._succeeded = 0, True
            self._checks.ran(actions)
            self._steps.ran(actions, result)
        super().after(name, arguments, actions, result)
        if result.is_error or not changes_something(actions):
            return ""
        step = self._steps.next
        notes = [f"Note: {problem}" for action in actions if (problem := _miscount(action))]
        notes += [step.note or step.text] if step is not None and step.is_open else []
        return self._noted("\n".join(notes)) if notes else ""

    def _failed(self, note: str) -> None:
        """An attempt led nowhere. As long as nothing was done or seen, nothing is lost by forgetting it."""
        self._tries += 1
        if not self._succeeded:
            self._view.restart(note)

    def _begin_again(self) -> bool:
        """A model that sees its own attempt copies it, whatever goes wrong with it. So it is shown only the files as
        they are, and what goes wrong."""
        step = self._steps.next if self._steps.written else None
        wrong = self._steps.failure or (step.text if step is not None and step.is_open else None)
        if wrong is not None:
            self._view.restart(wrong, (self._steps.beside.text, self._steps.beside_now))
        return wrong is not None

    def _noted(self, text: str) -> str:
        self._own_words.append(text)
        return text

    # Whether it is done

    def completion(self, claim: str) -> str | Objection:
        self._unsuccessful.clear()
        claim = self._checks.claimed(claim)
        objection = self._open_step() or self._unfinished() or self._echo(claim)
        objection = objection or self._uncounted(claim) or self._checks.objection(claim) or self._untrue(claim)
        objection = objection or self._made_up(claim) or self._second_opinion(claim)
        if objection is None:
            return self._stated(self._agreed or claim)
        if not self._verdict:  # which has the model's own words in it, and it may insist on them if the user continues
            self._noted(objection.text)
        if objection.suggested:
            self._unsuccessful.append(("attempt_completion", self._suggested(objection.suggested)))
        return objection

    def _open_step(self) -> Objection | None:
        """What is demanded and was not done, however it is claimed."""
        step = self._steps.next
        if step is None or not step.is_open:
            return None
        again = step.text in self._raised
        if again and step.optional:
            return None
        self._raised.add(step.text)
        self._tries += 1
        return Objection(step.text, tuple(step.calls), is_error=again)

    def _unfinished(self) -> Objection | None:
        """What is wrong after all attempts: that is not done, however it is claimed, and the user decides."""
        left = self._steps.left
        if left is None:
            return None
        self._verdict = f"This is not done: {left}"
        return Objection(self._verdict, is_error=True)

    @property
    def left(self) -> str:
        step = self._steps.next
        if step is None or not step.is_open:
            return self._steps.left or ""
        sentence = step.text.partition("\n")[0].partition(". ")[0].rstrip(".:")
        return f"Not done: {sentence.removeprefix('That is not done: ')}."

    def take_verdict(self) -> str:
        verdict, self._verdict = self._verdict, ""
        if verdict:
            self.new_message()  # the user knows, and what they add counts
        return verdict

    def _echo(self, claim: str) -> Objection | None:
        """A result that only repeats what we wrote to the model is none, and neither is that a call failed."""
        words = claim.strip()
        repeats = len(words) >= _MIN_ECHO and any(words in text for text in self._own_words)
        if not repeats and not _GIVES_UP.fullmatch(words):
            return None
        self._tries += 1
        again = "echo" in self._raised
        self._raised.add("echo")
        return Objection(f"That is no result. The request is: {self._steps.request}", is_error=again)

    def _uncounted(self, claim: str) -> Objection | None:
        """A question for a number is not answered without one: once the model counts, then the user knows."""
        if not self._steps.intent.is_question or not lacks_number(claim, self._steps.request):
            return None
        if "uncounted" in self._raised:
            self._verdict = f"This is not answered: the model gave no number.\n- {claim.strip()}"
            return Objection(self._verdict, is_error=True)
        self._raised.add("uncounted")
        self._tries += 1
        return Objection("The answer has no number. Run a command that prints it.", (RUN,))

    def _untrue(self, claim: str) -> Objection | None:
        """A result that states what nothing printed, once. If it is insisted on, the user sees the output instead."""
        number = unfounded(claim, self._steps, self._seen_texts())
        if number is not None and "unfounded" not in self._raised and not self._steps.is_waived(RUN):
            self._raised.add("unfounded")
            return Objection(f"{number} stands nowhere. Run a command that works it out, and print it.", (RUN,))
        if "untrue" in self._raised or not is_contradicted(claim, self._steps, self._seen_texts()):
            return None
        self._tries += 1
        self._raised.add("untrue")
        seen = printed(self._steps.runs[-1])
        if self._steps.intent.writes and self._steps.written:
            self._steps.reopen()
            return Objection(f"{seen}\nThat is not what you report. If it is not what was requested, {_REWRITE}")
        if not self._steps.runs[-1].output.strip() and not self._steps.is_waived(RUN):
            return Objection(f"{seen}\nRun a command that prints what you report.", (RUN,))
        return Objection(f"That was not printed. {seen}\nGive the result with exactly that.", ("attempt_completion",))

    def _second_opinion(self, claim: str) -> Objection | None:
        """A question over several files is answered until two answers agree, none of which is shown again."""
        if not self._is_read_from_several:
            return None
        self._answers.append(claim)
        if self._agreed is not None:
            return None
        if len(self._answers) < MAX_ANSWERS:
            self._tries += len(self._answers) > 1
            self._view.restart(_EVERY_PART, self._reversed if len(self._answers) == 1 else ("", ""))
            return Objection(_EVERY_PART, (DONE,))
        self._verdict = uncertain(self._answers)
        return Objection(self._verdict, is_error=True)

    @property
    def _is_read_from_several(self) -> bool:
        """Whether it is a question over several files, and nothing was run that shows the answer."""
        steps = self._steps
        seen = any(run.output.strip() for run in steps.runs)
        is_reading = steps.intent.is_question and not steps.intent.explains and not seen
        return is_reading and len(steps.beside.files) >= _SEVERAL

    def _made_up(self, claim: str) -> Objection | None:
        """An answer with a name that stands nowhere, once; then the user knows."""
        name = self._unknown_name(claim)
        if name is None or "made up" in self._raised:
            return None
        self._raised.add("made up")
        self._tries += 1
        return Objection(f"{name} stands in none of the files. Answer from what stands in them.", (DONE,))

    def _unknown_name(self, claim: str) -> str | None:
        """A name in an answer that stands neither in a file that was shown, nor in its path or an output."""
        steps = self._steps
        if not steps.intent.is_question or not steps.beside.files:
            return None
        outputs = (run.output for run in steps.runs)
        return unknown_name(claim, steps.request, (*self._seen_texts(), *steps.beside.entries, *outputs))

    def _reservation(self, claim: str) -> str | None:
        """Why an answer is not verified, in words for the user."""
        if name := self._unknown_name(claim):
            return f"{name} does not appear in any of the files."
        steps = self._steps
        if steps.intent.is_question and not steps.intent.explains:
            runs = [run for run in steps.runs if not run.code]
            if reason := counted_by_the_model(claim, runs, steps.request, steps.beside.files):
                return reason
        if not self._is_read_from_several:
            return None
        return reservation(claim, self._answers, self._steps.request, self._steps.beside.files)

    @property
    def _reversed(self) -> tuple[str, str]:
        """The files that were shown, and the same in another order."""
        shown = self._steps.beside
        return shown.text, replace(shown, files=shown.files[::-1]).text

    @property
    def _agreed(self) -> str | None:
        files = self._steps.beside.files
        texts = [text for each in files for text in (each.path, each.text)]
        return agreed(self._answers, self._steps.request, texts)

    def _stated(self, claim: str) -> str:
        """The result as the user gets it."""
        if is_contradicted(claim, self._steps, self._seen_texts()):
            claim = printed(self._steps.runs[-1])
        return with_output(claim, self._steps, self._reservation(claim))

    def _seen_texts(self) -> list[str]:
        paths = (*(each.path for each in self._steps.beside.files), *self._steps.written)
        return [text for path in paths if (text := self._text(path)) is not None]

    def _text(self, path: str) -> str | None:
        """A file as it is now, if the model may see it."""
        found = readable(self._folder / path, self._paths)
        try:
            return None if found is None else read_text(read_resolved(found)).text
        except (OSError, RuntimeError, NotTextError):
            return None

    def _suggested(self, tools: tuple[str, ...]) -> tuple[str, ...]:
        """A model that was asked a question and calls without success has seen what it will see: it gets to answer."""
        ends = not tools or "attempt_completion" in tools
        return ("attempt_completion",) if self._checks.is_question and ends else tools

    def _disabled(self, tools: set[str]) -> Iterable[str]:
        yield from super()._disabled(tools)
        yield from self._checks.too_early
        yield from self._steps.forbidden


def _miscount(action: Action) -> str | None:
    return miscount(action.command) if isinstance(action, RunCommand) else None


def _text_in(arguments: JsonValue, name: str) -> str:
    value = arguments.get(name, "") if isinstance(arguments, dict) else ""
    return value if isinstance(value, str) else ""


def _limited(tool: ToolSpec, values: Mapping[str, tuple[str, ...]]) -> ToolSpec:
    """The tool with arguments of which only these values may be written."""
    properties = tool.schema.get("properties") or {}
    known = {name: {"type": "string", "enum": list(each)} for name, each in values.items() if name in properties}
    return replace(tool, schema={**tool.schema, "properties": {**properties, **known}}) if known else tool
