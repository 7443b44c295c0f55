"""What a person typed, and what it brings along."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from joey.messages import ImageBlock, ResultBlock, TextBlock
from joey.prompts import Library, UserInput, expand_input


class Recorded:
    """Sources that record what was requested of them."""

    def __init__(self) -> None:
        self.requested: list[str] = []

    async def path(self, path: str) -> tuple[ResultBlock, ...] | None:
        self.requested.append(path)
        if path == "pic.png":
            return TextBlock("an image"), ImageBlock("image/png", "AAAA")
        return None if path.startswith("missing") else (TextBlock(f"content of {path}, which says @/other /review"),)

    async def resource(self, name: str) -> tuple[ResultBlock, ...] | None:
        return (TextBlock("a resource"),) if name.startswith("kit:") else None

    async def git_changes(self) -> str | None:
        self.requested.append("git-changes")
        return "M a.py"

    async def commit(self, name: str) -> str | None:
        self.requested.append(name)
        return None if name.startswith("dead") else f"commit {name}"

    async def problems(self) -> str | None:
        return None


@pytest.fixture
def library(tmp_path: Path) -> Library:
    commands = tmp_path / "project/.joey/commands"
    commands.mkdir(parents=True)
    (commands / "review.md").write_text("---\nmode: ask\n---\nReview $ARGUMENTS. See @/inner and /deploy.")
    (commands / "deploy.md").write_text("---\nmode: debug\n---\nDeploy to $1.")
    skill = tmp_path / "project/.joey/skills/release-notes"
    skill.mkdir(parents=True)
    (skill / "SKILL.md").write_text("---\ndescription: x\n---\nWrite them.")
    return Library(tmp_path / "project", tmp_path / "user", tmp_path / "home")


async def ask(text: str, library: Library) -> tuple[UserInput, list[str]]:
    sources = Recorded()
    expanded = await expand_input(text, library, sources)
    assert expanded.text == text
    return expanded, sources.requested


@pytest.mark.parametrize(
    ("text", "paths"),
    [
        ("see @/src/a.py", ["src/a.py"]),
        ("@/a.py, @/b.py; and (not this:@/c.py) @/d.py.", ["a.py", "b.py", "d.py"]),
        (r"@/with\ space/a\ b.txt now", ["with space/a b.txt"]),
        ("@/src/ and @/", ["src/", "."]),
        ("twice @/a @/a", ["a"]),
        ("mail me@/home or \\@/a or x@1234567", []),
        ("@git-changes? @1a2b3c4", ["git-changes", "1a2b3c4"]),
        ("@git-changes2 @src/b.py, @README.md!", ["git-changes2", "src/b.py", "README.md"]),
        ("@missing @@missing a@b.de @", ["missing"]),
        ("first line\n@/a.py\nlast", ["a.py"]),
        ("review this\n\n<input>\nplease see @/secret\n /deploy prod\n</input>", []),
    ],
)
async def test_mentions_are_found_where_people_write_them(library: Library, text: str, paths: list[str]) -> None:
    expanded, found = await ask(text, library)
    assert found == paths
    if not paths or paths == ["missing"]:
        assert expanded == UserInput(text)


async def test_what_is_attached_is_never_looked_at_again(library: Library) -> None:
    expanded, found = await ask("/review it with @/a", library)
    assert found == ["a"]
    assert [block.text.splitlines()[0] for block in expanded.attached if isinstance(block, TextBlock)] == [
        '<command name="review">', '<mentioned name="@/a">',
    ]  # fmt: skip
    assert expanded.mode == "ask"


async def test_a_command_takes_what_is_behind_it_up_to_the_next(library: Library) -> None:
    expanded, _ = await ask("/review src/a.py and b\n/deploy prod", library)
    assert "Review src/a.py and b." in expanded.whole
    assert "Deploy to prod." in expanded.whole
    assert expanded.mode == "ask"


@pytest.mark.parametrize("text", ["/unknown x", "a/review", "see /review/x", "/reviewer", "/usr/bin", "and/or"])
async def test_a_slash_that_names_nothing_stays_text(library: Library, text: str) -> None:
    assert (await ask(text, library))[0] == UserInput(text)


async def test_a_skill_can_be_called_like_a_command(library: Library) -> None:
    expanded, _ = await ask("/release-notes for 1.0", library)
    assert "Write them." in expanded.whole
    assert expanded.mode is None


async def test_images_come_as_images_and_missing_files_stay_words(library: Library) -> None:
    expanded, _ = await ask("@/pic.png @/missing @deadbeef @problems", library)
    assert expanded.images == (ImageBlock("image/png", "AAAA"),)
    assert len(expanded.attached) == 2


@pytest.mark.property
@given(text=st.text(alphabet="@/ab1.\\ \n<input>review-", max_size=60))
async def test_the_words_are_never_changed(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    folder = tmp_path_factory.getbasetemp() / "nothing"
    expanded = await expand_input(text, Library(folder, folder, folder), Recorded())
    assert expanded.text == text
