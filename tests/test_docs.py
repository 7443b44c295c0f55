"""What the docs show is run or read here, so that it cannot go stale: commands, snippets, settings, links, images."""

from __future__ import annotations

import argparse
import ast
import html
import importlib
import itertools
import json
import re
import runpy
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from joey.cli import COMMANDS, main, with_command
from joey.config import read_config
from joey.mcp.config import load_servers
from joey.modes.files import read_mode_file

ROOT = Path(__file__).parents[1]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *ROOT.glob("e*/README.md")])
GENERATED = ("docs/commands.md", "docs/events.md", "docs/settings.md", "docs/tools.md")
LINK = re.compile(r"\]\((?!https?:)([^)\s#]*)(?:#([^)\s]+))?\)")
BLOCK = re.compile(r"^```([^\n]*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
"""`python needs a model` is a language too: one that is only compiled."""


def name(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def blocks(*languages: str) -> list[Any]:
    """Every block of code in one of these languages, with its page and number."""
    return [
        pytest.param(text, id=f"{name(page)}-{number}")
        for page in PAGES
        for number, (language, text) in enumerate(BLOCK.findall(page.read_text(encoding="utf-8")), 1)
        if language in languages
    ]


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_every_link_leads_somewhere(page: Path) -> None:
    for target, anchor in LINK.findall(BLOCK.sub("", page.read_text(encoding="utf-8"))):
        path = (page.parent / target) if target else page
        assert path.exists(), f"{name(page)} links to {target}"
        if anchor:
            assert anchor in anchors(path), f"{name(page)} links to {target}#{anchor}"


def test_every_test_named_for_a_promise_exists() -> None:
    named = re.findall(r"`(tests/[^`]+)`", (ROOT / "SECURITY.md").read_text(encoding="utf-8"))
    assert len(named) > 10
    assert [path for path in named if not (ROOT / path).exists()] == []


def anchors(page: Path) -> set[str]:
    headings = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_every_page_can_be_reached_from_the_readme() -> None:
    seen, open_pages = set[Path](), [ROOT / "README.md"]
    while open_pages:
        page = open_pages.pop()
        seen.add(page)
        links = LINK.findall(page.read_text(encoding="utf-8"))
        linked = {(page.parent / target).resolve() for target, _ in links if target.endswith(".md")}
        open_pages += linked - seen - set(open_pages)
    assert [name(page) for page in PAGES if page not in seen] == []


# Images


async def test_the_image_shows_what_the_program_shows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    for variable, value in {"HOME": str(tmp_path), "ANTHROPIC_API_KEY": "none"}.items():
        monkeypatch.setenv(variable, value)
    script = runpy.run_path(str(ROOT / "scripts" / "screenshots.py"))
    taken = words_in(await script["take_screenshot"](tmp_path))
    kept = words_in(script["IMAGE"].read_text(encoding="utf-8"))
    assert taken == kept, "the terminal looks otherwise now: `make screenshots` takes it again"


def words_in(image: str) -> list[str]:
    """What can be read in a image, without lines and boxes."""
    texts = (html.unescape(text) for text in re.findall(r"<text[^>]*>(.*?)</text>", image))
    return [word for text in texts for word in text.split() if any(map(str.isalnum, word))]


# Commands


def commands(text: str) -> Iterator[list[str]]:
    """Every `joey …` in a block of shell, as its arguments. A prompt, a comment and other programs do not matter."""
    for line in text.replace("\\\n", " ").splitlines():
        lexer = shlex.shlex(line.removeprefix("$ "), posix=True, punctuation_chars="|<>;&")
        lexer.whitespace_split = True
        words = list(lexer)
        ends = [-1, *(at for at, word in enumerate(words) if set(word) <= set("|<>;&")), len(words)]
        for before, end in itertools.pairwise(ends):
            program, *arguments = words[before + 1 : end] or [""]
            if program in ("joey", ".venv/bin/joey"):
                yield arguments


@pytest.mark.parametrize("text", blocks("sh", "console"))
def test_commands_that_are_shown_are_understood(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    for arguments in commands(text):
        command, *rest = with_command(arguments)
        assert command in COMMANDS, arguments
        module = importlib.import_module(f"joey.cli.{command}")
        parser = argparse.ArgumentParser()
        module.configure(parser)
        try:
            parser.parse_args(rest)
        except SystemExit:
            pytest.fail(f"joey {shlex.join(arguments)}: {capsys.readouterr().err}")


@pytest.mark.parametrize("text", blocks("console"))
def test_what_a_command_answers_is_what_is_shown(
    text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    shown, _, answer = text.partition("\n")
    main(next(commands(shown)))
    assert capsys.readouterr().out == answer


def test_every_argument_of_every_command_says_what_it_is_for() -> None:
    silent = [f"joey {command} {each}" for command in COMMANDS for each in without_help(command)]
    assert silent == []


def without_help(command: str) -> Iterator[str]:
    parser = argparse.ArgumentParser()
    importlib.import_module(f"joey.cli.{command}").configure(parser)
    parsers = [parser]
    while parsers:
        for action in parsers.pop()._actions:
            if isinstance(action, argparse._SubParsersAction):
                parsers += action.choices.values()
            elif not action.help:
                yield action.dest


# Code, settings and data


@pytest.mark.parametrize("text", blocks("python"))
async def test_python_that_is_shown_runs(text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    code = compile(text, "the snippet", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    running = eval(code, {"__name__": "snippet"})
    if running is not None:
        await running


@pytest.mark.parametrize("text", blocks("python needs a model"))
def test_python_that_needs_a_model_compiles(text: str) -> None:
    compile(text, "the snippet", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)


@pytest.mark.parametrize("text", blocks("toml"))
def test_settings_that_are_shown_are_settings(text: str, tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text(text, encoding="utf-8")
    read_config(tmp_path, tmp_path, environment={}, trusted=True)


@pytest.mark.parametrize("text", blocks("json"))
def test_json_that_is_shown_is_json(text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("GIT_TOKEN", "DOCS_KEY"):
        monkeypatch.setenv(variable, "set")
    data = json.loads(text)
    if "mcpServers" in data:
        (tmp_path / ".mcp.json").write_text(text, encoding="utf-8")
        loaded = load_servers(tmp_path, tmp_path, trusted=True)
        assert {each.name for each in loaded.servers} == set(data["mcpServers"])


@pytest.mark.parametrize("text", blocks("yaml"))
def test_modes_that_are_shown_are_modes_and_jobs_run_commands_that_exist(
    text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if "jobs" in (job := yaml.safe_load(text)):
        steps = [step["run"] for each in job["jobs"].values() for step in each["steps"] if "run" in step]
        test_commands_that_are_shown_are_understood("\n".join(steps), capsys)
        return
    file = tmp_path / "docs.yaml"
    file.write_text(text, encoding="utf-8")
    modes, problems = read_mode_file(file, "project")
    assert modes and not problems
