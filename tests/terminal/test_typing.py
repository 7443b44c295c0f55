"""The input: the user's own commands, menus, chips of large pastes, the editor, images of the clipboard, quitting."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from textual import events

from joey.app.users_commands import with_outputs
from joey.config.edit import set_value
from joey.frames import framed, own_words
from joey.messages import ImageBlock, Message, TextBlock
from joey.system.folders import user_folder
from joey.task.wording import user_message
from joey.terminal.attachments import NoClipboardImageError, paste_command, read_image
from joey.terminal.fuzzy import ranked
from joey.terminal.resumed import entries_of
from joey.terminal.screen.app import Interactive
from joey.terminal.screen.editor import NoEditorError, edited, editor_command
from joey.terminal.screen.menu import ROWS, Menu, draw_menu
from joey.terminal.screen.pasted import Pasted
from joey.terminal.screen.prompt import Prompt
from joey.terminal.slash import command_hints, is_for_the_terminal
from joey.terminal.transcript import UserCommand, UserText
from joey.terminal.users_commands import is_command
from screen_kit import ScratchServices, on_screen, say, until
from task_kit import done

PNG = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x08\0\0\0\x08\x08\x02\0\0\0" + bytes(2_000)


def terminal(folder: Path, *script: object) -> Interactive:
    return Interactive(ScratchServices(folder, script))  # type: ignore[arg-type]


def services(app: Interactive) -> ScratchServices:
    assert isinstance(app.session.services, ScratchServices)
    return app.session.services


@pytest.fixture
def own_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The user's settings file of this test alone."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    return user_folder() / "config.toml"


# The user's own commands


@pytest.mark.parametrize(
    ("line", "runs"),
    [
        ("!ls", True),
        ("!!env", True),
        ("!", False),
        ("!!", False),
        ("! really", False),
        ("!= is odd", False),
        ("a!", False),
    ],
)
def test_a_line_that_begins_with_an_exclamation_mark_is_a_command(line: str, runs: bool) -> None:
    assert is_command(line) is runs


async def test_a_command_of_the_users_shows_its_output_and_goes_along_with_the_next_message(tmp_path: Path) -> None:
    app = terminal(tmp_path, done())
    async with app.run_test() as pilot:
        app.query_one(Prompt).text = "!echo one; echo @a.txt; exit 3"
        await pilot.press("enter")
        screen = await until(pilot, "exit code 3")
        assert "! echo one; echo @a.txt; exit 3" in screen and "@a.txt\n" in screen.replace(" ", "")
        assert services(app).kit.provider.requests == []
        await say(pilot, "why")
        await until(pilot, "All done.")
        sent = str(services(app).kit.sent[0])
        assert "The user ran `echo one; echo @a.txt; exit 3`" in sent and "exit code 3" in sent
        assert "<mentioned" not in sent
        assert "The user ran" not in on_screen(app)


async def test_with_two_marks_or_the_setting_off_the_model_gets_nothing_of_it(
    tmp_path: Path, own_settings: Path
) -> None:
    for line, sharing in (("!!echo private-words", "true"), ("!echo private-words", "false")):
        set_value(own_settings, "terminal.share_commands", sharing)
        app = terminal(tmp_path / sharing, done())
        async with app.run_test() as pilot:
            app.query_one(Prompt).text = line
            await pilot.press("enter")
            await until(pilot, "(not shown to the model)")
            await until(pilot, "\nprivate-words".strip())
            await say(pilot, "go")
            await until(pilot, "All done.")
            assert "private-words" not in str(services(app).kit.sent)


async def test_escape_ends_a_command_of_the_users(tmp_path: Path) -> None:
    app = terminal(tmp_path)
    async with app.run_test() as pilot:
        app.query_one(Prompt).text = "!echo started; sleep 60"
        await pilot.press("enter")
        await until(pilot, "started\n".strip())
        await pilot.press("escape")
        await until(pilot, "Interrupted.")


def test_what_was_added_to_a_message_is_not_shown_as_the_users_words() -> None:
    assert own_words(f"why\n\n{framed('input', 'The user ran `x`')}") == "why"
    assert own_words("a <input> in the middle") == "a <input> in the middle"


# Menus


def test_a_few_characters_find_a_candidate_and_better_ones_stand_first() -> None:
    files = ["lib/rare/vow.py", "src/server.py", "src/", "tests/test_server.py", "srv/x"]
    assert ranked("srv", files) == ["srv/x", "src/server.py", "tests/test_server.py"]
    assert ranked("server", files)[:2] == ["src/server.py", "tests/test_server.py"]
    assert ranked("", files) == files
    assert ranked("zz", files) == []


def test_the_window_of_a_long_menu_follows_the_choice() -> None:
    menu = Menu(tuple(map(str, range(30))))
    assert menu.window == range(ROWS)
    assert menu.moved(-1).window == range(30 - ROWS, 30)
    middle = Menu(menu.found, 15)
    assert 15 in middle.window and len(middle.window) == ROWS
    assert middle.moved(1).best == "16"
    assert Menu(("a", "b")).window == range(2)


async def test_the_menu_of_commands_shows_all_of_them_by_scrolling(tmp_path: Path) -> None:
    app = terminal(tmp_path)
    async with app.run_test() as pilot:
        await pilot.press("slash")
        every = command_hints(services(app).commands())
        await until(pilot, f"1 of {len(every)}")
        seen = set()
        for _ in every:
            seen |= {name for name in every if f" {name} " in on_screen(app)}
            await pilot.press("down")
            await pilot.pause()
        assert seen == set(every)


def test_commands_have_the_names_that_other_terminals_gave_them() -> None:
    hints = command_hints({"sessions": "my own"})
    assert hints["/clear"] == "same as /new" and hints["/exit"] == "same as /quit"
    assert hints["/sessions"] == "my own" and not is_for_the_terminal("/sessions", {"sessions": "my own"})
    assert is_for_the_terminal("/sessions", {})


async def test_enter_runs_the_command_that_the_menu_highlights_and_one_that_is_typed_in_full(tmp_path: Path) -> None:
    app = terminal(tmp_path)
    async with app.run_test() as pilot:
        await pilot.press("slash", *"perm", "enter")
        await until(pilot, "Nothing was allowed with an answer")
        await pilot.press("escape")
        prompt = app.query_one(Prompt)
        await pilot.press("slash", *"mod")
        await until(pilot, " /model ")
        assert chosen(prompt) == "/mode"
        await pilot.press("down")
        assert chosen(prompt) == "/model"
        await pilot.press("e")
        assert chosen(prompt) is None, "it is typed in full, though /model goes on from it"
        await pilot.press("enter")
        await until(pilot, "/mode NAME changes it")
        await pilot.press("slash", *"mod", "down", "enter")
        await until(pilot, "/model PROVIDER/MODEL changes it")


async def test_a_menu_of_which_nothing_is_highlighted_names_no_place(tmp_path: Path) -> None:
    files = [f"@{n}" for n in range(ROWS + 1)]
    assert "of" not in draw_menu(Menu(tuple(files)), {}).plain.split("\n")[-1].split(";")[0]
    assert "2 of 9;" in draw_menu(Menu(tuple(files), 1), {}).plain


def chosen(prompt: Prompt) -> str | None:
    """What Enter would take."""
    menu = prompt._menu
    return None if menu.chosen is None else menu.best


async def test_an_alias_does_the_same_as_the_command(tmp_path: Path) -> None:
    app = terminal(tmp_path)
    async with app.run_test() as pilot:
        await say(pilot, "/clear")
        await until(pilot, "Your next message starts a new task.")
        await say(pilot, "/sessions")
        await until(pilot, "0 of 0 tasks")


# Large pastes


def test_a_chip_stands_for_a_large_paste_and_for_nothing_else() -> None:
    pasted = Pasted()
    assert pasted.chip_for("short\nwords") is None
    long = "\r\n".join(map(str, range(20)))
    first, second = pasted.chip_for(long), pasted.chip_for("x" * 2_000)
    assert (first, second) == ("[Pasted text #1, 20 lines]", "[Pasted text #2, 2,000 characters]")
    assert pasted.whole(f"see {first}, {second}!") == f"see {long.replace(chr(13), '')}, {'x' * 2_000}!"
    tricky = pasted.chip_for(f"{first}\n" * 11)
    assert tricky and pasted.whole(tricky).count(str(first)) == 11
    assert pasted.chip_at_end(f"see {first}") == first and pasted.chip_at_end("see [Pasted") == ""


async def test_a_large_paste_is_a_chip_until_it_is_sent_whole(tmp_path: Path) -> None:
    app = terminal(tmp_path, done())
    text = "\n".join(f"line {number}" for number in range(40))
    async with app.run_test() as pilot:
        prompt = app.query_one(Prompt)
        app.post_message(events.Paste(text))
        await until(pilot, "[Pasted text #1, 40 lines]")
        await pilot.press("backspace")
        assert prompt.text == ""
        app.post_message(events.Paste(text))
        await until(pilot, "[Pasted text #2, 40 lines]")
        await say(pilot, " fix it")
        await until(pilot, "All done.")
        assert f"{text} fix it" in str(services(app).kit.sent[0].content[0].text)
        assert prompt.sent_before.older("") == "[Pasted text #2, 40 lines] fix it"


# The editor


def editor(folder: Path, script: str) -> list[str]:
    file = folder / "editor.sh"
    file.write_text(f"#!/bin/sh\n{script}\n")
    file.chmod(0o755)
    return [str(file)]


async def test_the_input_is_edited_in_the_users_editor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    command = editor(tmp_path, 'tr a-z A-Z < "$1" > "$1.new" && mv "$1.new" "$1"')
    monkeypatch.setenv("EDITOR", command[0])
    app = terminal(tmp_path)
    async with app.run_test() as pilot:
        prompt = app.query_one(Prompt)
        await pilot.press(*"shout")
        await pilot.press("ctrl+g")
        await until(pilot, "SHOUT")
        assert prompt.text == "SHOUT" and prompt.cursor_location == (0, 5)
        monkeypatch.setenv("EDITOR", editor(tmp_path, "exit 2")[0])
        await pilot.press("ctrl+g")
        await until(pilot, "your text is as it was")
        assert prompt.text == "SHOUT"


async def test_an_editor_is_named_or_found_or_its_absence_is_told(tmp_path: Path) -> None:
    found = editor(tmp_path, "true")[0]
    assert editor_command({"EDITOR": f"{found} --wait", "VISUAL": ""}) == [found, "--wait"]
    assert editor_command({"EDITOR": "no", "VISUAL": found}) == [found]
    with pytest.raises(NoEditorError, match="'no-such-editor' was not found"):
        editor_command({"EDITOR": "no-such-editor"})
    with pytest.raises(NoEditorError, match="cannot be read"):
        editor_command({"EDITOR": "vi '"})
    assert await edited("as it is", [found]) == "as it is"


# Images of the clipboard


def find_all(name: str) -> str:
    return f"/bin/{name}"


def test_each_desktop_has_its_program_for_the_clipboard() -> None:
    assert paste_command({}, "darwin", find_all) == ["/bin/pngpaste", "-"]
    assert paste_command({"WAYLAND_DISPLAY": "w", "DISPLAY": ":0"}, "linux", find_all)[0] == "/bin/wl-paste"
    assert paste_command({"DISPLAY": ":0"}, "linux", find_all)[0] == "/bin/xclip"
    for environment, says in (({"DISPLAY": ":0"}, "install xclip"), ({}, "no desktop session")):
        with pytest.raises(NoClipboardImageError, match=says):
            paste_command(environment, "linux", lambda _name: None)


async def test_an_image_of_the_clipboard_goes_along(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "shot").write_bytes(PNG)
    tools = tmp_path / "bin"
    tools.mkdir()
    (tools / "wl-paste").write_text(f"#!/bin/sh\nexec cat '{tmp_path}/shot'\n")
    (tools / "wl-paste").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tools}:{os.environ['PATH']}")
    monkeypatch.setenv("WAYLAND_DISPLAY", "wayland-0")
    app = terminal(tmp_path, done())
    async with app.run_test() as pilot:
        (tmp_path / "shot").write_text("no image")
        app.post_message(events.Paste(""))
        await until(pilot, "There is no image in the clipboard.")
        app.copy_to_clipboard("copied words")
        await pilot.press("ctrl+v")
        await until(pilot, "copied words")
        (tmp_path / "shot").write_bytes(PNG)
        await pilot.press("ctrl+v")
        await until(pilot, "▣ clipboard-1.png (2 kB)")
        await pilot.press("enter")
        await until(pilot, "All done.")
        assert [block for block in services(app).kit.sent[0].content if isinstance(block, ImageBlock)]


def test_a_program_that_fails_is_no_image() -> None:
    for command in (["/nowhere/at-all"], ["false"], ["echo", "words"]):
        with pytest.raises(NoClipboardImageError):
            read_image(command)


# Keys, and quitting


async def test_a_question_mark_in_the_empty_input_shows_the_keys(tmp_path: Path) -> None:
    app = terminal(tmp_path)
    async with app.run_test() as pilot:
        await pilot.press("question_mark")
        assert "write in $EDITOR" in await until(pilot, "Ctrl+J")
        assert app.query_one(Prompt).text == ""
        await pilot.press("a", "question_mark")
        await until(pilot, "Ctrl+J", gone=True)
        assert app.query_one(Prompt).text == "a?"


async def test_control_c_clears_the_input_and_twice_quits(tmp_path: Path) -> None:
    app = terminal(tmp_path)
    async with app.run_test() as pilot:
        await pilot.press(*"words", "ctrl+c")
        assert app.query_one(Prompt).text == ""
        await pilot.press("up")
        assert app.query_one(Prompt).text == "words"
        await pilot.press("ctrl+c", "ctrl+c")
        await until(pilot, "Ctrl+C again quits")
        assert app.is_running
        await pilot.press("ctrl+c")
        await pilot.pause(0.2)
        assert not app.is_running


async def test_what_was_typed_and_not_sent_is_offered_the_next_time(tmp_path: Path) -> None:
    for twice in (False, True):
        app = Interactive(ScratchServices(tmp_path, []))
        async with app.run_test() as pilot:
            if twice:
                await pilot.press("up")
                assert app.query_one(Prompt).text == "half a thought"
            else:
                await pilot.press(*"half a thought", "ctrl+q")


async def test_control_d_deletes_in_a_text_and_quits_on_an_empty_input(tmp_path: Path) -> None:
    app = terminal(tmp_path)
    async with app.run_test() as pilot:
        await pilot.press(*"ab", "home", "ctrl+d")
        assert app.query_one(Prompt).text == "b"
        await pilot.press("ctrl+d", "ctrl+d")
        await pilot.pause(0.2)
        assert not app.is_running


@pytest.mark.parametrize("word", ["exit", "quit", "/exit"])
async def test_a_word_quits(tmp_path: Path, word: str) -> None:
    app = terminal(tmp_path)
    async with app.run_test() as pilot:
        await say(pilot, word)
        await pilot.pause(0.2)
        assert not app.is_running


# vim's keys


@pytest.mark.parametrize(
    ("text", "keys", "left", "normal"),
    [
        ("one two", "0dw", "two", True),
        ("one two", "0x2x", " two", True),
        ("one two", "bD", "one ", True),
        ("one two", "bcwsix", "one six", False),
        ("one", "Ithe ", "the one", False),
        ("one", "0a!", "o!ne", False),
        ("one", "ddx", "", True),
        ("one", "otwo", "one\ntwo", False),
        ("one", "Otwo", "two\none", False),
        ("one two", "0dwu", "one two", True),
        ("one", "zq", "one", True),
        ("abcdef", "03lx", "abcef", True),
        ("one two six", "0wdw", "one six", True),
        ("abc def", "x", "abc de", True),
        ("abc def", "0$x", "abc de", True),
        ("abc def", "$D", "abc de", True),
        ("abc", "xxxx", "", True),
        ("one two", "bdw", "one ", True),
        ("one two", "$a!", "one two!", False),
    ],
)
async def test_vim_keys_move_and_change(tmp_path: Path, text: str, keys: str, left: str, normal: bool) -> None:
    made = ScratchServices(tmp_path, [])
    made.kept["terminal.vim"] = "true"
    app = Interactive(made)
    async with app.run_test() as pilot:
        prompt = app.query_one(Prompt)
        prompt.text = text
        prompt.move_cursor(prompt.document.end)
        await pilot.press("escape", *({" ": "space", "!": "exclamation_mark"}.get(key, key) for key in keys))
        assert prompt.text == left
        assert prompt.border_subtitle == "NORMAL" if normal else "project" in str(prompt.border_subtitle)


async def test_without_the_setting_escape_is_no_mode(tmp_path: Path) -> None:
    app = terminal(tmp_path)
    async with app.run_test() as pilot:
        await pilot.press("a", "escape", "x")
        assert app.query_one(Prompt).text == "ax"


async def test_keys_that_come_at_once_are_taken_in_order(tmp_path: Path) -> None:
    app = terminal(tmp_path)
    async with app.run_test() as pilot:
        for key in (*"teh", "backspace", "backspace", *"he", "left", "left", "delete", "H", "end", "!"):
            app.post_message(events.Key(key, key if len(key) == 1 else None))
        await pilot.pause()
        assert app.query_one(Prompt).text == "tHe!"


@pytest.mark.parametrize(
    ("keys", "text"),
    [
        (["ctrl+a", "X"], "X" + "word " * 40 + "end"),
        (["ctrl+a", "ctrl+e", "X"], "word " * 40 + "endX"),
        (["ctrl+u"], ""),
        (["ctrl+u", "a", "ctrl+y"], "a" + "word " * 40 + "end"),
        (["ctrl+w"], "word " * 40),
        (["ctrl+w", "ctrl+w", "ctrl+y"], "word " * 40),
        (["alt+b", "X"], "word " * 40 + "Xend"),
        (["alt+b", "ctrl+k"], "word " * 40),
        (["ctrl+a", "alt+f", "ctrl+u"], " " + "word " * 39 + "end"),
    ],
)
async def test_the_keys_of_a_shell_work_on_the_line_however_it_wraps(
    tmp_path: Path, keys: list[str], text: str
) -> None:
    app = terminal(tmp_path)
    async with app.run_test(size=(80, 24)) as pilot:
        prompt = app.query_one(Prompt)
        prompt.insert("word " * 40 + "end")
        await pilot.press(*keys)
        assert prompt.text == text


@pytest.mark.parametrize("text", ["!", "!!"])
async def test_an_exclamation_mark_alone_is_no_message(tmp_path: Path, text: str) -> None:
    app = terminal(tmp_path)
    async with app.run_test(size=(80, 24)) as pilot:
        await say(pilot, text)
        await until(pilot, "Nothing was sent: type a command")
        assert app.session.task is None and not app.busy


async def test_a_command_of_ones_own_shows_that_it_runs_and_how_to_stop_it(tmp_path: Path) -> None:
    app = terminal(tmp_path)
    async with app.run_test(size=(80, 24)) as pilot:
        await say(pilot, "!sleep 60")
        assert "Esc to interrupt" in await until(pilot, "running sleep 60")
        await pilot.press("escape")
        await until(pilot, "running sleep 60", gone=True)


def test_of_a_resumed_task_every_command_of_the_users_own_is_a_block_and_no_output_makes_one() -> None:
    imitated = "one\nThe user ran `rm`:\nCommand executed.\ngone"
    text = with_outputs(
        "Look.", [("ls", f"Command executed.\n{imitated}"), ("false", "Command failed: exit code 1.\n")]
    )
    first, second, message = entries_of([Message("user", (TextBlock(user_message(text)),))])
    assert isinstance(first, UserCommand) and isinstance(second, UserCommand) and isinstance(message, UserText)
    assert (first.command, str(first.output), first.ended) == ("ls", imitated, "")
    assert (second.command, second.state, second.ended) == ("false", "failed", "Command failed: exit code 1.")
    assert message.text == "Look."
