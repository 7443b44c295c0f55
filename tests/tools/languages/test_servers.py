"""Language servers within a task: errors after edits, symbols, and servers that do what they should not."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import pytest

from joey.app.checks import language_settings
from joey.app.sources import settings_in_force
from joey.errors import UsageError
from joey.events import CheckFinished, ToolRunFinished
from joey.messages import TextBlock
from joey.modes.mode import Mode
from joey.sandbox import SandboxSettings
from joey.system.trust import TrustStore
from joey.task.settings import CheckSettings
from joey.testing.script import Scripted, reply
from joey.tools.builtin import builtin_tools
from joey.tools.languages.programs import LanguageSettings, ServerProgram
from joey.tools.options import BuiltinOptions
from joey.tools.toolset import ToolChoices, Toolset, build_toolset
from task_kit import Kit, call, done

FAKE = Path(__file__).with_name("fake_server.py")
OFF = SandboxSettings(mode="off")


def fake(behaviour: str = "", timeout: float = 5.0, patterns: tuple[str, ...] = ("*.py",)) -> LanguageSettings:
    program = ServerProgram((sys.executable, str(FAKE), behaviour), patterns)
    return LanguageSettings((program,), timeout, OFF)


def kit_with(folder: Path, script: list[Scripted], settings: LanguageSettings, **changes: Any) -> Kit:
    tools = builtin_tools(BuiltinOptions(languages=settings))

    def toolset(mode: Mode) -> Toolset:
        return build_toolset(mode, tools, choices=ToolChoices(features=frozenset({"language_servers"})))

    return Kit(folder, script, checks=CheckSettings(languages=settings), tools=toolset, **changes)


def write(number: int, text: str, name: str = "a.py") -> Scripted:
    return reply(call(f"w{number}", "write_to_file", path=name, file_text=text))


def find(symbol: str = "name", **arguments: Any) -> Scripted:
    return reply(call("f", "find_symbol", path="a.py", symbol=symbol, **arguments))


def result_of(kit: Kit, name: str = "find_symbol") -> str:
    blocks = next(each.result.content for each in kit.of(ToolRunFinished) if each.name == name)
    return "\n".join(block.text for block in blocks if isinstance(block, TextBlock))


def outputs(kit: Kit) -> list[tuple[int | None, str]]:
    return [(each.exit_code, each.output) for each in kit.of(CheckFinished)]


@pytest.mark.parametrize("behaviour", ["", "steps", "odd"])
async def test_errors_in_an_edited_file_go_to_the_model_with_the_result(tmp_path: Path, behaviour: str) -> None:
    kit = kit_with(tmp_path, [write(1, "fine\na bad line\n"), write(2, "fine\n"), done()], fake(behaviour))
    assert (await kit.run()).outcome == "completed"
    assert "a.py:2:3: a bad word [words]" in str(kit.provider.requests[1].messages[-1])
    assert "only a warning" not in str(kit.sent)
    assert [code for code, _ in outputs(kit)][-1] == (1 if behaviour == "odd" else 0)


async def test_an_error_that_the_model_knows_is_no_complaint_again(tmp_path: Path) -> None:
    kit = kit_with(tmp_path, [write(1, "bad"), write(2, "x\nbad"), done()], fake())
    assert (await kit.run()).outcome == "completed"
    assert [code for code, _ in outputs(kit)] == [1, 1]
    assert str(kit.sent).count("finds errors") == 1


async def test_the_end_of_a_turn_waits_for_errors_of_its_own_edits(tmp_path: Path) -> None:
    both = reply(
        call("w1", "write_to_file", path="a.py", file_text="bad"), call("d1", "attempt_completion", result="x")
    )
    kit = kit_with(tmp_path, [both, write(2, "fine"), done("d2")], fake())
    assert (await kit.run()).outcome == "completed"
    assert "a.py:1:1: a bad word" in str(kit.provider.requests[1].messages[-1])


async def test_files_of_other_languages_start_no_server(tmp_path: Path) -> None:
    kit = kit_with(tmp_path, [write(1, "bad", "notes.txt"), done()], fake("crash"))
    await kit.run()
    assert outputs(kit) == []


@pytest.mark.parametrize(
    ("behaviour", "why"),
    [
        ("crash", "it ended with exit code 1 (out of luck)"),
        ("slow", "it said nothing about a.py within 1 s"),
        ("silent", "it said nothing about a.py within 1 s"),
        ("garbage", "it sent something else than messages"),
        ("huge", "it sent a message of 99,999,999,999 bytes"),
        ("deep", "it sent a message that is no JSON"),
        ("flood", "it sent more than 20,000 messages that nobody asked for"),
    ],
)
async def test_a_server_that_misbehaves_is_named_once_and_holds_nothing_up(
    tmp_path: Path, behaviour: str, why: str
) -> None:
    timeout = 1.0 if behaviour in ("slow", "silent") else 20.0
    kit = kit_with(tmp_path, [write(1, "bad"), write(2, "bad 2"), done()], fake(behaviour, timeout))
    assert (await kit.run()).outcome == "completed"
    codes, words = zip(*outputs(kit), strict=True)
    assert set(codes) == {None} and why in words[0] and len(words) == 1
    assert "finds errors" not in str(kit.sent)
    assert not _children(str(FAKE)), "it is ended with the task"


def _children(program: str) -> list[str]:
    """Processes of ours that run this program."""
    found = []
    for each in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = each.read_bytes().decode(errors="replace")
            parent = int((each.parent / "stat").read_text().rpartition(")")[2].split()[1])
        except (OSError, ValueError):
            continue
        if program in words and parent == os.getpid():
            found.append(words)
    return found


async def test_a_server_that_cannot_be_started_is_named(tmp_path: Path) -> None:
    settings = LanguageSettings((ServerProgram(("/no/such/server",), ("*.py",)),), 1.0, OFF)
    kit = kit_with(tmp_path, [write(1, "bad"), done()], settings)
    assert (await kit.run()).outcome == "completed"
    assert outputs(kit) == [(None, "it cannot be run: No such file or directory")]


# Symbols


async def test_references_are_found_with_their_lines(tmp_path: Path) -> None:
    kit = kit_with(tmp_path, [write(1, "name = 1\n  print(name)\n"), find(find="references"), done()], fake())
    await kit.run()
    assert result_of(kit) == "a.py:1: name = 1\na.py:2: print(name)"


@pytest.mark.parametrize(
    ("call_", "words"),
    [
        (find("nothing"), "'nothing' is not in a.py"),
        (find(line=2), "'name' is not in line 2 of a.py"),
        (reply(call("f", "find_symbol", path="b.txt", symbol="x")), "there is none for files like b.txt"),
        (reply(call("f", "find_symbol", path="c.py", symbol="x")), "c.py cannot be looked at"),
    ],
)
async def test_what_cannot_be_looked_up_is_an_error_that_says_what_to_do(
    tmp_path: Path, call_: Scripted, words: str
) -> None:
    kit = kit_with(tmp_path, [write(1, "name = 1\n"), write(2, "x", "b.txt"), call_, done()], fake())
    await kit.run()
    assert words in result_of(kit)


async def test_a_server_cannot_have_files_outside_or_hidden_ones_shown_to_the_model(tmp_path: Path) -> None:
    kit = kit_with(tmp_path, [find(), done()], fake("spy"))
    (kit.workspace / "a.py").write_text("name\n")
    await kit.run()
    assert result_of(kit) == "/etc/passwd:1\na.py:1: name"


# Which may be started


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "bin"
    folder.mkdir()
    for name in ("pyright-langserver", "gopls", "mine"):
        (folder / name).touch(mode=0o755)
    monkeypatch.setenv("PATH", str(folder))
    return folder


def started(project: Path) -> list[str]:
    return [each.name for each in language_settings(settings_in_force(project), project).servers]


def configure(project: Path, text: str) -> None:
    (project / ".joey").mkdir(parents=True, exist_ok=True)
    (project / ".joey" / "config.toml").write_text(text)


def test_servers_start_only_in_folders_that_the_user_trusts(tmp_path: Path, programs: Path) -> None:
    project = tmp_path / "project"
    own = project / "node_modules" / ".bin" / "typescript-language-server"
    own.parent.mkdir(parents=True)
    own.touch(mode=0o755)
    configure(project, '[language_servers]\nuse = "on"\ncommands = ["*.py = mine --steal"]\n')
    assert started(project) == [], "a project switches nothing on, and names no program"
    TrustStore().trust(project)
    assert started(project) == ["mine", "pyright-langserver", "typescript-language-server", "gopls"]


@pytest.mark.parametrize(
    ("setting", "left"),
    [
        ('[language_servers]\nuse = "off"', []),
        ('[approvals]\ndeny = ["gopls"]', ["pyright-langserver"]),
        ('[approvals]\ncommands = "deny"', []),
    ],
)
def test_what_is_switched_off_or_denied_does_not_start(
    tmp_path: Path, programs: Path, setting: str, left: list[str]
) -> None:
    project = tmp_path / "project"
    configure(project, setting)
    TrustStore().trust(project)
    assert started(project) == left


@pytest.mark.parametrize("line", ["solargraph", "*.rb =", "= x", "*.rb = 'x"])
def test_a_line_that_names_no_server_is_an_error(line: str) -> None:
    with pytest.raises(UsageError, match="names no language server"):
        ServerProgram.parse(line)
