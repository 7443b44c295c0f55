from __future__ import annotations

from pathlib import Path

import pytest

from joey import protocols
from joey.app.tasks import prompt_context
from joey.modes import BUILTIN_MODES
from joey.policy import Workspace
from joey.prompts.instructions import LIMIT, InstructionFiles
from joey.task.prompt import system_prompt


class Home:
    """A workspace, a user's folder and a home, all of the test's."""

    def __init__(self, folder: Path) -> None:
        self.workspace, self.user, self.home = folder / "work", folder / "user", folder / "home"
        for each in (self.workspace, self.user, self.home):
            each.mkdir()

    def write(self, path: str, text: str | bytes) -> Path:
        """`work/AGENTS.md`, `user/rules/a.md`, `home/.roo/rules/a.md`."""
        file = self.workspace.parent / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text.encode() if isinstance(text, str) else text)
        return file

    def text(self, mode: str = "code", **options: object) -> str:
        files = InstructionFiles(self.workspace, self.user, self.home, **options)  # type: ignore[arg-type]
        return files.for_modes([mode])[mode]

    def headers(self, mode: str = "code") -> list[str]:
        return [line[13:-1] for line in self.text(mode).splitlines() if line.startswith("# Rules from ")]


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


def test_nothing_there_is_no_note(home: Home) -> None:
    assert home.text() == ""


def test_the_order_is_mode_rules_then_agents_then_rules_for_all(home: Home) -> None:
    for path in (
        "work/.joey/rules/all.md", "user/rules/mine.md", "work/AGENTS.md", "work/AGENTS.local.md",
        "work/.joey/rules-code/code.md", "user/rules-code/my-code.md", "work/.joey/rules-ask/other.md",
    ):  # fmt: skip
        home.write(path, f"text of {path}")
    assert home.headers() == [
        "~/.config/joey/rules-code/my-code.md",
        ".joey/rules-code/code.md",
        "AGENTS.md",
        "AGENTS.local.md",
        "~/.config/joey/rules/mine.md",
        ".joey/rules/all.md",
    ]
    assert "# Rules from AGENTS.md:\n\ntext of work/AGENTS.md" in home.text()


def test_roo_code_s_rules_are_read_where_ours_are_absent(home: Home) -> None:
    home.write("work/.roo/rules/a.md", "a")
    home.write("home/.roo/rules/b.md", "b")
    assert home.headers() == ["~/.roo/rules/b.md", ".roo/rules/a.md"]
    home.write("work/.joey/rules/c.md", "c")
    assert home.headers() == ["~/.roo/rules/b.md", ".joey/rules/c.md"]


def test_the_old_single_files_count_only_without_folders(home: Home) -> None:
    home.write("work/.clinerules", "cline")
    assert home.headers() == [".clinerules"]
    home.write("work/.roorules", "roo")
    home.write("work/.clinerules-code", "mode")
    assert home.headers() == [".clinerules-code", ".roorules"]
    home.write("work/.roo/rules/a.md", "a")
    assert home.headers() == [".clinerules-code", ".roo/rules/a.md"]


def test_clinerules_may_be_a_folder(home: Home) -> None:
    home.write("work/.clinerules/two.md", "2")
    assert home.headers() == [".clinerules/two.md"]


def test_agent_md_stands_in_for_agents_md(home: Home) -> None:
    home.write("work/AGENT.md", "one agent")
    assert home.headers() == ["AGENT.md"]
    home.write("work/AGENTS.md", "many")
    assert home.headers() == ["AGENTS.md"]


def test_folders_are_read_through_sorted_by_name_without_what_editors_add(home: Home) -> None:
    for path in ("B.md", "a.md", "deep/er/ab.md", "x.swp", "notes.bak", ".DS_Store", "empty.md"):
        home.write(f"work/.roo/rules/{path}", "" if path == "empty.md" else "text")
    assert home.headers() == [".roo/rules/a.md", ".roo/rules/deep/er/ab.md", ".roo/rules/B.md"]


def test_links_are_followed_inside_the_workspace_only(home: Home) -> None:
    inside = home.write("work/docs/style.md", "our style")
    secret = home.write("elsewhere/secret.md", "the secret")
    rules = home.workspace / ".joey" / "rules"
    rules.mkdir(parents=True)
    (rules / "style.md").symlink_to(inside)
    (rules / "secret.md").symlink_to(secret)
    (rules / "folder").symlink_to(secret.parent)
    (rules / "again").symlink_to(rules)
    (home.workspace / "AGENTS.md").symlink_to(secret)
    text = home.text()
    assert home.headers() == ["AGENTS.md", ".joey/rules/style.md"]
    assert "the secret" not in text and "it is a link that leads elsewhere" in text


def test_a_chain_of_links_is_followed_only_so_far(home: Home) -> None:
    before = home.workspace / ".joey" / "rules"
    before.mkdir(parents=True)
    for number in range(1, 8):
        folder = home.write(f"work/d{number}/{number}.md", "text").parent
        (before / "next").symlink_to(folder)
        before = folder
    assert [name[-4:] for name in home.headers()] == ["1.md", "2.md", "3.md", "4.md", "5.md"]


def test_what_is_too_long_is_cut_at_a_line_and_what_is_missing_is_named(home: Home) -> None:
    home.write("work/.roo/rules/a.md", "line of text\n" * 10_000)
    home.write("work/.roo/rules/b.md", "more")
    text = home.text()
    assert len(text) < LIMIT + 1000
    assert "line of text\n[Cut here: " in text and "of 129,999 characters" in text
    assert "Not shown" in text and ".roo/rules/b.md" in text


def test_what_cannot_be_read_is_named(home: Home) -> None:
    home.write("work/AGENTS.md", b"\xff\xfe\0x")
    assert "could not be read: it is not UTF-8 text" in home.text()


@pytest.mark.parametrize("shift", range(3))
def test_a_huge_file_is_text_even_where_reading_stops_inside_a_character(home: Home, shift: int) -> None:
    home.write("work/AGENTS.md", "x" * shift + "€" * LIMIT * 2)
    assert "[Cut here" in home.text()


def test_an_ignored_file_tells_nothing_and_the_model_knows_that_there_are_such(home: Home) -> None:
    home.write("work/AGENTS.md", "the plan")
    home.write("work/.rooignore", "AGENTS.md\n")
    paths = Workspace.of(home.workspace)
    text = prompt_context(paths, ["code"]).wishes("code")
    assert "the plan" not in text and ".rooignore in the workspace" in text


def test_the_prompt_has_the_rules_of_its_mode(home: Home) -> None:
    home.write("work/AGENTS.md", "Use tabs.")
    home.write("work/.roo/rules-ask/a.md", "Be brief.")
    around = prompt_context(Workspace.of(home.workspace), ["ask", "code"])
    modes = {mode.slug: mode for mode in BUILTIN_MODES}
    ask, code = (
        system_prompt(modes[slug], BUILTIN_MODES, protocols.get("native"), (), around) for slug in ("ask", "code")
    )
    assert "Use tabs." in ask and "Be brief." in ask
    assert "Use tabs." in code and "Be brief." not in code
    assert ask.index("# What the user wants") < ask.index("Be brief.") < ask.index("Use tabs.")
