"""What tools remember: one object for each type, closed with the task."""

from __future__ import annotations

from joey.tools.base import ToolMemory

log: list[str] = []


class Notes(list[str]):
    pass


class Breaking:
    async def close(self) -> None:
        raise OSError("broken")


class Door:
    async def close(self) -> None:
        log.append("closed")


class Guard:
    async def after_close(self) -> None:
        log.append("looked")


def test_a_type_has_one_object_in_a_task_and_another_one_in_the_next() -> None:
    memory = ToolMemory()
    memory[Notes].append("one")
    assert memory[Notes] == ["one"] and ToolMemory()[Notes] == []


async def test_everything_is_closed_and_then_looked_at_whatever_one_of_them_does() -> None:
    memory = ToolMemory()
    log.clear()
    for kind in (Guard, Breaking, Notes, Door):
        memory[kind]
    await memory.close()
    assert log == ["closed", "looked"]


async def test_what_is_closed_is_forgotten() -> None:
    memory = ToolMemory()
    memory[Notes].append("one")
    memory[Door]
    log.clear()
    await memory.close()
    await memory.close()
    assert memory[Notes] == [] and log == ["closed"]
