"""Runs a scripted 12-turn task again and again in forked children, kills each at a random instant, and resumes it.

A process of its own, so that forking is cheap (everything is imported once) and safe (one thread). Prints one JSON
line for each round.

The scripted model counts its own turns in the conversation it is sent, so it goes on wherever the journal left off.
Each turn appends a line to a file through a real shell; the lines show how often each call really happened.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import signal
import sys
import time
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any, ClassVar

sys.path.insert(0, str(Path(__file__).parents[1]))

from joey.chunks import Chunk
from joey.journal.journal import read_journal
from joey.journal.replay import replay
from joey.messages import Message, TextBlock, ToolResultBlock, ToolUseBlock
from joey.providers.base import ModelRequest, Provider
from joey.task.opening import resume_task, start_task
from joey.testing.script import reply
from task_kit import Kit, call

TURNS = 12


class CountingModel(Provider):
    """Says turn n when it sees n-1 turns of its own; the twelfth is the completion."""

    name: ClassVar[str] = "counting"

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Chunk, None]:
        turn = sum(message.role == "assistant" for message in request.messages) + 1
        action = (
            call(f"c{turn}", "attempt_completion", result="finished")
            if turn >= TURNS
            else call(f"c{turn}", "execute_command", command=f"echo {turn} >> log.txt")
        )
        for chunk in reply(f"Turn {turn}.", action).chunks:
            yield chunk
            await asyncio.sleep(0)


def make(folder: Path) -> Kit:

    kit = Kit(folder, [], headless=True)
    kit.change(provider=CountingModel(), new_id=lambda: "task")
    return kit


def child(folder: Path) -> None:
    kit = make(folder)
    fresh = not kit.store.journal_path("task").exists()
    task = start_task(kit.config, "Count.") if fresh or not _opened(kit) else resume_task(kit.config, "task")
    finished = asyncio.run(task.run())
    os._exit(0 if finished.outcome == "completed" else 7)


def _opened(kit: Kit) -> bool:
    return replay(read_journal(kit.store.journal_path("task"))).opened is not None


def fork(folder: Path) -> int:
    pid = os.fork()
    if pid == 0:
        try:
            child(folder)
        except BaseException as error:  # noqa: BLE001 - the parent must hear of it, whatever it is
            print(f"child failed: {error!r}", file=sys.stderr, flush=True)
        os._exit(8)
    return pid


def one_round(folder: Path, delay: float) -> dict[str, Any]:
    folder.mkdir(parents=True)
    pid = fork(folder)
    time.sleep(delay)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    kit = make(folder)
    journal = kit.store.journal_path("task")
    before = replay(read_journal(journal)).messages if journal.exists() else []
    code = os.waitstatus_to_exitcode(os.waitpid(fork(folder), 0)[1])
    state = replay(read_journal(journal))
    log = (kit.workspace / "log.txt").read_text().split() if (kit.workspace / "log.txt").exists() else []
    return {
        "code": code,
        "kept": state.messages[: len(before)] == before,
        "killed_at": sum(message.role == "assistant" for message in before),
        "turns": sum(message.role == "assistant" for message in state.messages),
        "ended": state.ended.outcome if state.ended else None,
        "twice": sorted({line for line in log if log.count(line) > 1}),
        "missing": sorted({str(n) for n in range(1, TURNS)} - set(log), key=int),
        "told": reported_for(state.messages),
        "unanswered": unanswered(state.messages),
    }


def reported_for(messages: list[Message]) -> list[str]:
    """The turns whose call the model was told was interrupted or not made."""
    return [
        block.tool_use_id[1:]
        for message in messages
        for block in message.content
        if isinstance(block, ToolResultBlock)
        and any(isinstance(part, TextBlock) and "interrupted" in part.text for part in block.content)
    ]


def unanswered(messages: list[Message]) -> list[str]:
    """Calls before the last message that have no answer, or more than one."""
    uses = [b.id for m in messages[:-1] for b in m.content if isinstance(b, ToolUseBlock)]
    answers = [b.tool_use_id for m in messages for b in m.content if isinstance(b, ToolResultBlock)]
    return [call_id for call_id in uses if answers.count(call_id) != 1]


def whole_run(folder: Path) -> float:
    folder.mkdir(parents=True)
    start = time.monotonic()
    os.waitpid(fork(folder), 0)
    return time.monotonic() - start


def main(folder: Path, rounds: int, seed: int) -> None:
    rng = random.Random(seed)
    length = whole_run(folder / "whole")
    for number in range(rounds):
        print(json.dumps(one_round(folder / str(number), rng.uniform(0, length * 1.1))), flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
