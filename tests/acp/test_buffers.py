"""Files that are open in the editor with changes that are not saved."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from acp_kit import Desk, Desks, Editor, choose
from joey.testing.script import Scripted, reply
from joey_process import call

BOTH = {"readTextFile": True, "writeTextFile": True}
READ = reply(call("r", "read_file", path="x.txt"))


def edit(call_id: str, old: str, new: str) -> Scripted:
    diff = f"<<<<<<< SEARCH\n{old}\n=======\n{new}\n>>>>>>> REPLACE"
    return reply(call(call_id, "apply_diff", path="x.txt", diff=diff))


EDIT = edit("e", "typed", "edited")


class Buffers:
    """An editor with files open. `saves`: whether what is written reaches the disk."""

    def __init__(self, *, saves: bool = True, formats: str = "") -> None:
        self.texts: dict[str, str] = {}
        self.read: list[str] = []
        self.written: list[tuple[str, str]] = []
        self.saves, self.formats = saves, formats

    def __call__(self, method: str, params: Mapping[str, Any]) -> Any:
        path = params.get("path", "")
        if method == "fs/read_text_file":
            self.read.append(path)
            if path in self.texts:
                return {"content": self.texts[path]}
            return {"content": Path(path).read_bytes().decode().replace("\r\n", "\n")}
        if method == "fs/write_text_file":
            self.written.append((path, params["content"]))
            self.texts.pop(path, None)
            if self.saves:
                Path(path).write_bytes((params["content"] + self.formats).encode())
            return None
        return choose("allow_once")(method, params)


def answering(buffers: Buffers) -> Any:
    """Also what is answered with nothing: the kit takes None for silence."""
    return lambda method, params: buffers(method, params) or ({} if method.startswith("fs/") else None)


async def opened(
    desk: Desk, buffers: Buffers, fs: Mapping[str, bool] = BOTH, *, wanted: bool = True
) -> tuple[Editor, str]:
    editor = desk.open(answering(buffers), **{"editor.buffers": wanted})
    return editor, await desk.session(editor, fs=dict(fs))


def result(desk: Desk, request: int = -1) -> str:
    """What the model was told last."""
    return json.dumps(desk.server.requests[request].body["messages"][-1], ensure_ascii=False)


async def test_what_is_typed_and_not_saved_is_read_edited_and_kept_by_undo(desks: Desks) -> None:
    desk = await desks.set_up(READ, EDIT, reply("Done."))
    path = desk.workspace / "x.txt"
    path.write_text("saved\n")
    buffers = Buffers()
    buffers.texts[str(path)] = "saved\ntyped\n"
    editor, session = await opened(desk, buffers)
    await editor.prompt(session, "Look at @x.txt and change it")
    assert "typed" in result(desk, 0), "a mention is read as it is in the editor"
    assert "with changes that are not saved" in result(desk, 1) and "typed" in result(desk, 1)
    diff = editor.requests()[-1]["toolCall"]["content"][0]
    assert (diff["oldText"], diff["newText"]) == ("saved\ntyped\n", "saved\nedited\n")
    assert buffers.written == [(str(path), "saved\nedited\n")]
    assert path.read_text() == "saved\nedited\n"
    await editor.prompt(session, "/undo")
    assert path.read_text() == "saved\ntyped\n", "what the user had typed is not lost"
    await editor.close()


async def test_what_is_typed_while_the_user_is_asked_is_not_overwritten(desks: Desks) -> None:
    desk = await desks.set_up(READ, EDIT, reply("I see."))
    path = desk.workspace / "x.txt"
    path.write_text("typed\n")
    buffers = Buffers()

    def answer(method: str, params: Mapping[str, Any]) -> Any:
        if method == "session/request_permission":
            buffers.texts[str(path)] = "typed, and more\n"
        return answering(buffers)(method, params)

    editor = desk.open(answer, **{"editor.buffers": True})
    session = await desk.session(editor, fs=BOTH)
    await editor.prompt(session, "Change it")
    assert "was changed by somebody else after this edit was prepared" in result(desk)
    assert (buffers.written, path.read_text()) == ([], "typed\n")
    await editor.close()


@pytest.mark.parametrize("fs", [{"readTextFile": True}, {"writeTextFile": True}, {}], ids=str)
async def test_an_editor_that_does_not_offer_both_is_not_asked(desks: Desks, fs: Mapping[str, bool]) -> None:
    desk = await desks.set_up(READ, reply("Done."))
    (desk.workspace / "x.txt").write_text("saved\n")
    buffers = Buffers()
    editor, session = await opened(desk, buffers, fs)
    await editor.prompt(session, "Look")
    assert buffers.read == []
    await editor.close()


async def test_without_the_setting_the_disk_counts(desks: Desks) -> None:
    desk = await desks.set_up(READ, EDIT, reply("Done."))
    path = desk.workspace / "x.txt"
    path.write_text("typed\n")
    buffers = Buffers()
    editor, session = await opened(desk, buffers, wanted=False)
    await editor.prompt(session, "Change it")
    assert (buffers.read, buffers.written, path.read_text()) == ([], [], "edited\n")
    await editor.close()


async def test_line_ends_are_those_of_the_file(desks: Desks) -> None:
    desk = await desks.set_up(READ, EDIT, reply("Done."))
    path = desk.workspace / "x.txt"
    path.write_bytes(b"saved\r\ntyped\r\n")
    buffers = Buffers()
    editor, session = await opened(desk, buffers)
    await editor.prompt(session, "Change it")
    assert buffers.written == [(str(path), "saved\r\nedited\r\n")]
    assert "not saved" not in result(desk, 1), "with other line ends alone, nothing was typed"
    await editor.close()


async def test_after_a_command_the_disk_counts_for_what_it_changed(desks: Desks) -> None:
    run = reply(call("c", "execute_command", command="echo typed > x.txt"))
    desk = await desks.set_up(run, READ, EDIT, reply("Done."))
    path = desk.workspace / "x.txt"
    path.write_text("old\n")
    buffers = Buffers()
    buffers.texts[str(path)] = "stale\n"
    editor, session = await opened(desk, buffers)
    await editor.prompt(session, "Run it")
    assert "typed" in result(desk, 2)
    assert (buffers.written, path.read_text()) == ([], "edited\n")
    await editor.close()


async def test_an_editor_that_does_not_save_is_reported(desks: Desks) -> None:
    desk = await desks.set_up(READ, EDIT, reply("I see."))
    path = desk.workspace / "x.txt"
    path.write_text("typed\n")
    editor, session = await opened(desk, Buffers(saves=False))
    await editor.prompt(session, "Change it")
    assert "the editor did not save it" in result(desk)
    assert [each.name for each in desk.workspace.iterdir()] == ["x.txt"], "no temporary file is left"
    await editor.close()


async def test_what_is_not_plain_text_and_what_is_new_are_written(desks: Desks) -> None:
    write = reply(call("w", "write_to_file", path="sub/new.txt", file_text="one\n"))
    desk = await desks.set_up(READ, EDIT, write, reply("Done."))
    path = desk.workspace / "x.txt"
    path.write_bytes("typed\nä\n".encode("latin-1"))
    buffers = Buffers()
    editor, session = await opened(desk, buffers)
    await editor.prompt(session, "Change them")
    assert path.read_bytes() == "edited\nä\n".encode("latin-1")
    assert (desk.workspace / "sub" / "new.txt").read_text() == "one\n"
    assert [each[0] for each in buffers.written] == [str(desk.workspace / "sub" / "new.txt")]
    await editor.close()


async def test_an_editor_that_formats_on_saving_is_noticed_at_the_next_edit(desks: Desks) -> None:
    desk = await desks.set_up(READ, EDIT, edit("f", "edited", "done"), reply("Done."))
    path = desk.workspace / "x.txt"
    path.write_text("typed\n")
    editor, session = await opened(desk, Buffers(formats="# formatted\n"))
    await editor.prompt(session, "Change it twice")
    assert "had been changed by somebody else since you last read it" in result(desk)
    assert path.read_text().startswith("done\n# formatted\n")
    await editor.close()
