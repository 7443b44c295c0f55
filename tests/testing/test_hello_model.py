from __future__ import annotations

from typing import Any

from joey import protocols
from joey.testing.hello_model import FEEDBACK, TASK, HelloModel
from joey.testing.script import summary
from joey.testing.server import ReceivedRequest

STEPS = (
    "read_file",
    "write_to_file",
    "execute_command",
    "execute_command",
    "attempt_completion",
    "apply_diff",
    "execute_command",
    "execute_command",
    "attempt_completion",
)
RUNNING = "Command is still running. Its output is kept as cmd-1.txt: end it with `kill -- -4711`."


def replies(*answers: str) -> tuple[str, str]:
    """The tool and the arguments of the reply to a conversation in which the user's side sent this."""
    messages: list[dict[str, Any]] = [{"role": "user", "content": TASK}]
    for answer in answers:
        messages += [{"role": "assistant", "content": "a call"}, {"role": "user", "content": answer}]
    request = ReceivedRequest("/v1/messages", {}, {"messages": messages})
    chunks = HelloModel(protocols.get("native"), 8000)(request).chunks
    ((_, name, arguments),) = summary(chunks)["calls"]
    return name, arguments


def test_each_turn_has_its_step_and_after_the_last_comes_an_end() -> None:
    answers = ["fine"] * 4 + [FEEDBACK] + ["fine"] * 6
    assert tuple(replies(*answers[:turns])[0] for turns in range(9)) == STEPS
    assert {replies(*answers[:turns])[0] for turns in (9, 10, 11)} == {"attempt_completion"}


def test_a_denied_step_is_offered_again_when_the_user_has_more_to_say() -> None:
    denied = "The user denied this call."
    assert replies("fine", denied)[0] == "attempt_completion"
    assert "denied" in replies("fine", denied)[1]
    assert replies("fine", denied, "Well, do it.") == replies("fine")
    assert replies("fine", denied, "Well, do it.", "fine") == replies("fine", "fine")


def test_a_server_that_does_not_listen_yet_is_tried_again() -> None:
    early = ("fine", "fine", RUNNING, "failed: [Errno 111] Connection refused")
    assert "sleep 1; " in replies(*early)[1]
    assert replies(*early, "200")[0] == "attempt_completion"


def test_the_server_that_is_ended_is_the_one_that_runs() -> None:
    answers = ("fine", "fine", RUNNING, "200", FEEDBACK, "fine")
    assert "kill -- -4711; " in replies(*answers)[1]
