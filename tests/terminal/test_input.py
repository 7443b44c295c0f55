"""What the user types: completion, images, earlier messages, what still waits, and /compact."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest
from textual import events

from joey.chunks import UsageChunk
from joey.events import ContextShortened, UserMessageTakenBack
from joey.frames import framed
from joey.messages import ImageBlock, Message, TextBlock
from joey.terminal.attachments import images_in, only_images
from joey.terminal.resumed import entries_of
from joey.terminal.screen.app import Interactive
from joey.terminal.screen.prompt import History, Prompt
from joey.terminal.session import KEPT, InputHistory
from joey.testing.script import Faults, reply
from screen_kit import ScratchServices, on_screen, say, until
from task_kit import call, done

PNG = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x08\0\0\0\x08\x08\x02\0\0\0" + bytes(2_000)


def terminal(folder: Path, *script: object, policy: str = "all") -> Interactive:
    return Interactive(ScratchServices(folder, script, policy))  # type: ignore[arg-type]


def services(app: Interactive) -> ScratchServices:
    assert isinstance(app.session.services, ScratchServices)
    return app.session.services


# Completion


async def test_the_list_of_completions_is_walked_and_put_away(tmp_path: Path) -> None:
    app = terminal(tmp_path)
    async with app.run_test() as pilot:
        prompt = app.query_one(Prompt)
        await pilot.press("slash", "c", "o")
        assert "summarize the old part" in await until(pilot, "/cost")
        await pilot.press("down", "down", "tab")
        assert prompt.text == "/cost "
        prompt.text = ""
        await pilot.press("slash", "r")
        assert "look at what changed" in await until(pilot, "/review")
        await pilot.press("up", "tab")
        assert prompt.text.startswith("/")
        prompt.text = ""
        await pilot.press("at")
        await until(pilot, "@src/server.py")
        await pilot.press("escape")
        await until(pilot, "@src/server.py", gone=True)
        assert prompt.text == "@"


async def test_a_path_is_no_command(tmp_path: Path) -> None:
    app = terminal(tmp_path, done())
    async with app.run_test() as pilot:
        await say(pilot, "/usr/bin/env is what?")
        await until(pilot, "Enter accepts")
        assert "/usr/bin/env is what?" in str(services(app).kit.sent[0])


# Images


def test_paths_of_images_are_found_as_people_and_terminals_write_them(tmp_path: Path) -> None:
    for name in ("a.png", "my shot.JPG", "img/b.webp"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(PNG)
    shot = tmp_path / "my shot.JPG"
    for text in (f"'{shot}'", f'see "{shot}"', str(shot).replace(" ", "\\ "), f"{shot.as_uri()})"):
        found = images_in(text, tmp_path)
        assert [each.path for each in found] == [shot], text
    assert [each.path.name for each in images_in("./a.png, img/b.webp and ./a.png!", tmp_path)] == ["a.png", "b.webp"]
    assert [each.mentioned for each in images_in("see @a.png", tmp_path)] == [True]
    for prose in ("make a.png bigger", "see /nowhere/x.png", "./a.txt", "~nobody-here/a.png", "./\0.png", "'"):
        assert images_in(prose, tmp_path) == []


def test_only_a_text_of_nothing_but_images_is_taken_for_images(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(PNG)
    assert [each.path.name for each in only_images("a.png\n", tmp_path)] == ["a.png"]
    assert only_images("see ./a.png", tmp_path) == []
    assert only_images("@a.png", tmp_path) == []
    assert only_images("", tmp_path) == []


async def test_a_dragged_image_becomes_a_chip_and_goes_along(tmp_path: Path) -> None:
    app = terminal(tmp_path, done("d1"), done("d2"))
    shot = services(app).folder / "my shot.png"
    shot.write_bytes(PNG)
    async with app.run_test() as pilot:
        prompt = app.query_one(Prompt)
        app.post_message(events.Paste(f"'{shot}'"))
        await until(pilot, "▣ my shot.png (2 kB)")
        assert prompt.text == ""
        await pilot.press("backspace")
        await until(pilot, "▣", gone=True)
        app.post_message(events.Paste(str(shot).replace(" ", "\\ ")))
        await until(pilot, "▣ my shot.png")
        await say(pilot, "what is this")
        assert "▣" not in await until(pilot, "[image: my shot.png]")
        await until(pilot, "Enter accepts")
        (sent,) = services(app).kit.sent
        assert [block.media_type for block in sent.content if isinstance(block, ImageBlock)] == ["image/png"]
        app.post_message(events.Paste("plain words"))
        await until(pilot, "plain words")
        assert prompt.text == "plain words"


async def test_a_typed_path_goes_along_with_feedback_and_a_mention_brings_its_file(tmp_path: Path) -> None:
    app = terminal(tmp_path, done("d1", "First."), done("d2", "Second."))
    folder = services(app).folder
    (folder / "shot.png").write_bytes(PNG)
    (folder / "notes.md").write_text("remember the milk\n")
    async with app.run_test() as pilot:
        await say(pilot, "go")
        await until(pilot, "Enter accepts")
        await say(pilot, "see ./shot.png and @notes.md")
        await until(pilot, "Second.")
        screen = on_screen(app)
        assert "› see ./shot.png and @notes.md" in screen and "milk" not in screen
        sent = services(app).kit.sent[-1]
        assert "remember the milk" in str(sent)
        assert "image/png" in str(sent)


async def test_what_came_with_a_message_is_shown_and_so_is_a_file_that_is_not_there(tmp_path: Path) -> None:
    app = terminal(tmp_path, done("1", "First."), done("2", "Second."))
    (services(app).folder / "latin1.txt").write_bytes(b"caf\xe9\n")
    (services(app).folder / "shot.png").write_bytes(PNG)
    async with app.run_test() as pilot:
        await say(pilot, "read @latin1.txt and @latn1.txt")
        await until(pilot, "Enter accepts")
        screen = on_screen(app)
        assert "attached: latin1.txt (1 line)" in screen and "no file latn1.txt here" in screen
        await say(pilot, "see ./shot.png and @shot.png, @someone")
        await until(pilot, "Second.")
        screen = on_screen(app)
        assert screen.count("attached: image shot.png") == 2 and "someone here" not in screen


async def test_what_came_with_a_message_is_shown_when_the_task_is_resumed(tmp_path: Path) -> None:
    blocks = TextBlock("read @a.txt"), TextBlock(framed("mentioned", "File: a.txt\n1 | x\n2 | y", name="@a.txt"))
    shown = entries_of([Message("user", blocks)])
    assert [getattr(entry, "text", "") for entry in shown] == ["read @a.txt", "attached: a.txt (2 lines)"]


async def test_words_that_name_what_is_no_image_are_sent_without_it(tmp_path: Path) -> None:
    app = terminal(tmp_path, done())
    (services(app).folder / "big.png").write_text("not a image")
    async with app.run_test() as pilot:
        await say(pilot, "see ./big.png")
        await until(pilot, "Enter accepts")
        screen = " ".join(on_screen(app).split())
        assert "Not attached:" in screen and "is not an image that models accept" in screen
        assert app.query_one(Prompt).text == "" and "see ./big.png" in str(services(app).kit.sent[-1])


async def test_the_menus_show_what_a_command_takes_and_no_file_that_no_mention_can_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = terminal(tmp_path)
    monkeypatch.setattr(services(app), "files", lambda: ["one\ntwo.txt", "onetwo.txt"])
    monkeypatch.setattr(services(app), "commands", lambda: {"deploy": "Deploy it."})
    monkeypatch.setattr(services(app), "command_hints", lambda: {"deploy": "TARGET"})
    async with app.run_test() as pilot:
        await pilot.press(*"/deploy")
        await pilot.press("backspace")
        await until(pilot, "TARGET")
        app.query_one(Prompt).text = ""
        app._candidates("@")
        while not (offered := [each for each in app._candidates("@") if "two.txt" in each]):
            await pilot.pause(0.02)
        await pilot.pause()
        assert offered == ["@onetwo.txt"]


# What was sent before


async def test_what_was_typed_is_there_in_the_next_run(tmp_path: Path) -> None:
    first = terminal(tmp_path)
    async with first.run_test() as pilot:
        await say(pilot, "/cost")
        await say(pilot, "/help keys")
        await until(pilot, "Ctrl+J")
    second = terminal(tmp_path)
    async with second.run_test() as pilot:
        prompt = second.query_one(Prompt)
        await pilot.press("up", "up")
        assert prompt.text == "/cost"
        prompt.text = ""
        await pilot.press("k", "e", "ctrl+r")
        assert prompt.text == "/help keys"
        await pilot.press("down")
        assert prompt.text == "ke"


async def test_words_typed_after_ctrl_r_are_searched_for_and_esc_brings_back_what_was_typed(tmp_path: Path) -> None:
    app = terminal(tmp_path)
    async with app.run_test() as pilot:
        prompt = app.query_one(Prompt)
        for text in ("run curl", "ls", "/copy"):
            prompt.sent_before.add(text)
        await pilot.press("ctrl+r")
        await until(pilot, "earlier messages with: (type a word)")
        await pilot.press("c")
        assert prompt.text == "/copy"
        await pilot.press("u")
        assert prompt.text == "run curl"
        await pilot.press("backspace", "ctrl+r")
        assert prompt.text == "run curl", "the older one with a c in it"
        await pilot.press("k")
        await until(pilot, "no earlier message with: ck")
        assert prompt.text == "", "what does not have the words is not offered, and Enter cannot send it"
        await pilot.press("escape")
        await until(pilot, "no earlier message with", gone=True)
        assert prompt.text == ""
        await pilot.press("ctrl+r", "l", "s", "end", "x")
        assert prompt.text == "lsx", "another key ends the search"
        prompt.text = "l"
        await pilot.press("end", "ctrl+r", "s", "escape")
        assert prompt.text == "l"


def test_searching_goes_back_until_there_is_no_more() -> None:
    history = History(["fix a", "look", "Fix b", "fix b"])
    assert [history.search("fix"), history.search("fix b"), history.search("Fix b")] == ["fix b", "Fix b", "fix a"]
    assert history.search("fix a") is None
    history.reset()
    assert history.search("nothing") is None


def test_the_file_is_private_bounded_and_kept_by_folder(tmp_path: Path) -> None:
    file = tmp_path / "state" / "said.jsonl"
    here, there = InputHistory(file, tmp_path / "here"), InputHistory(file, tmp_path / "there")
    for text in ("one", " a secret", "", "x" * 30_000, "two\nlines", "\ud800"):
        here.add(text)
    there.add("other")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert here.read() == ["one", "two\nlines", "\ud800"]
    with file.open("a") as broken:
        broken.write('{"torn\n[]\n')
    for number in range(2 * KEPT):
        there.add(str(number))
    assert here.read() == []
    assert len(file.read_text().splitlines()) == KEPT
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert there.read()[-1] == str(2 * KEPT - 1)


def test_where_nothing_can_be_written_nothing_is_kept(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    past = InputHistory(tmp_path / "file" / "said.jsonl", tmp_path)
    past.add("words")
    assert past.read() == []


# What waits


async def test_what_waits_is_shown_and_can_be_taken_back(tmp_path: Path) -> None:
    slow = reply("Let me see. " * 30, call("l", "list_files", path="."), faults=Faults(pause=0.2))
    app = terminal(tmp_path, slow, done())
    async with app.run_test() as pilot:
        await say(pilot, "go")
        await until(pilot, "Let me")
        await say(pilot, "hurry")
        await say(pilot, "no, slowly")
        screen = await until(pilot, "› no, slowly  (queued")
        assert "› hurry  (queued; Up takes it back)" in screen
        await pilot.press("up")
        await until(pilot, "› no, slowly", gone=True)
        assert app.query_one(Prompt).text == "no, slowly"
        app.query_one(Prompt).text = ""
        await until(pilot, "Enter accepts")
        assert "(waits" not in on_screen(app)
        taken = [event for event in services(app).events if isinstance(event, UserMessageTakenBack)]
        assert taken == [UserMessageTakenBack("no, slowly")]
        assert "hurry" in str(services(app).kit.sent[-1])
        assert "slowly" not in str(services(app).kit.sent[-1])


# /compact


async def test_compacting_shows_what_was_gained(tmp_path: Path) -> None:
    looks = [reply(call(f"l{n}", "list_files", path="."), usage=UsageChunk(20_000 * (n + 1), 10)) for n in range(4)]
    app = terminal(tmp_path, *looks, done(), reply("They looked.", usage=UsageChunk(900, 10)), done("d2", "More."))
    async with app.run_test() as pilot:
        await say(pilot, "go")
        await until(pilot, "Enter accepts")
        await pilot.press("enter")
        await until(pilot, "Enter accepts", gone=True)
        before = app.session.status.last.total
        await say(pilot, "/compact")
        await until(pilot, "messages summarized. The next request takes about")
        (event,) = [event for event in services(app).events if isinstance(event, ContextShortened)]
        assert app.session.status.last.total == event.tokens_after < before
        assert not app.busy
        await say(pilot, "on")
        await until(pilot, "More.")
        await until(pilot, "Enter accepts")
        assert "They looked." in str(services(app).kit.sent[0])
        await say(pilot, "/compact")
        await until(pilot, "compacted before the next request")


async def test_a_message_that_is_sent_while_the_conversation_is_compacted_goes_out_afterwards(tmp_path: Path) -> None:
    looks = [reply(call(f"l{n}", "list_files", path="."), usage=UsageChunk(20_000 * (n + 1), 10)) for n in range(4)]
    slowly = reply("They looked. " * 10, faults=Faults(pause=0.1))
    app = terminal(tmp_path, *looks, done(), slowly, done("d2", "More."), done("d3", "Still more."))
    async with app.run_test(size=(100, 50)) as pilot:
        await say(pilot, "go")
        await until(pilot, "Enter accepts")
        await pilot.press("enter")
        await until(pilot, "Enter accepts", gone=True)
        await say(pilot, "/compact")
        await until(pilot, "Compacting …")
        while app.session.task is None:
            await pilot.pause(0.01)
        await say(pilot, "on")
        await until(pilot, "queued")
        await until(pilot, "More.")
        shown = await until(pilot, "Enter accepts")
        assert shown.count("› on") == 1 and "queued" not in shown


async def test_what_is_to_be_compacted_is_compacted_once_also_by_another_model(tmp_path: Path) -> None:
    looks = [reply(call(f"l{n}", "list_files", path="."), usage=UsageChunk(20_000 * (n + 1), 10)) for n in range(4)]
    app = terminal(tmp_path, *looks, done(), reply("They looked."), done("d2", "More."), done("d3", "Still more."))
    async with app.run_test(size=(100, 50)) as pilot:
        await say(pilot, "go")
        await until(pilot, "Enter accepts")
        await say(pilot, "/compact")
        await until(pilot, "compacted before the next request")
        await say(pilot, "/model ollama/other")
        await until(pilot, "The model is now")
        await say(pilot, "on")
        await until(pilot, "messages summarized. The next request takes about")
        await until(pilot, "More.")
        await until(pilot, "Enter accepts")
        assert "They looked." in str(services(app).kit.sent[0])
        await say(pilot, "and on")
        await until(pilot, "Still more.")
        assert len([event for event in services(app).events if isinstance(event, ContextShortened)]) == 1
