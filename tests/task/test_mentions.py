"""Where mentions lead, on a real folder with real git."""

from __future__ import annotations

import base64
import re
import subprocess
from pathlib import Path

import pytest

from joey.messages import ImageBlock
from joey.policy.ignore import IgnoreRules
from joey.policy.paths import Workspace
from joey.task.mentions import MAX_CHARACTERS, WorkspaceSources

PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


@pytest.fixture
def work(tmp_path: Path) -> Path:
    work = tmp_path / "project"
    (work / "src").mkdir(parents=True)
    (work / "src/a.py").write_text("x = 1\n")
    (work / "hidden.txt").write_text("secret")
    (tmp_path / "outside.txt").write_text("secret")
    (work / "link.txt").symlink_to(tmp_path / "outside.txt")
    return work


def sources(work: Path, **options: object) -> WorkspaceSources:
    ignore = IgnoreRules.read({".joeyignore": "hidden.txt\n"})
    return WorkspaceSources(Workspace(str(work), str(work.parent), ignore), **options)  # type: ignore[arg-type]


async def text_of(work: Path, path: str) -> str:
    blocks = await sources(work).path(path)
    assert blocks is not None
    return "\n".join(getattr(block, "text", "") for block in blocks)


async def test_a_file_is_shown_as_read_file_shows_it(work: Path) -> None:
    assert "1 | x = 1" in await text_of(work, "src/a.py")


async def test_a_folder_is_listed(work: Path) -> None:
    assert "a.py" in await text_of(work, "src/")
    listing = await text_of(work, ".")
    assert "src/" in listing and "hidden.txt" not in listing


async def test_a_folder_brings_the_text_of_its_own_files_and_says_what_it_left_out(work: Path) -> None:
    (work / "big.txt").write_text(("word " * 100 + "\n") * (MAX_CHARACTERS // 500))
    (work / "first.txt").write_text("first words\n")
    (work / "huge.log").write_text("x\n" * 600_000)
    (work / "p.png").write_bytes(PIXEL)
    (work / "program").write_bytes(b"\x7fELF\0\0")
    (work / "two\nlines.txt").write_text("odd name\n")
    text = await text_of(work, ".")
    assert "File: first.txt\n1 | first words" in text and "1 | odd name" in text
    assert "1 | x = 1" not in text, "what is in the folders below is listed when they are mentioned"
    assert "secret" not in text and "hidden" not in text
    left = text[text.index("(Not attached: ") :]
    assert "big.txt (no room)" in left and "huge.log (larger than 1 MB)" in left
    assert "p.png (not text)" in left and "program (not text)" in left
    assert "link.txt (it leads out of the workspace)" in left
    assert "1 | x = 1" in await text_of(work, "src")


async def test_what_a_folder_brings_has_a_limit_in_all(work: Path) -> None:
    for number in range(120):
        (work / f"part{number:03}.txt").write_text("word " * 400)
    text = await text_of(work, ".")
    assert MAX_CHARACTERS / 2 < len(text) < MAX_CHARACTERS + 10_000
    assert "part060.txt (no room)" in text and re.search(r"and \d+ more\. Read those that are needed", text)


@pytest.mark.parametrize("path", ["../outside.txt", "link.txt", "hidden.txt", "src/../hidden.txt", "../../etc/passwd"])
async def test_what_is_outside_or_hidden_is_not_shown(work: Path, path: str) -> None:
    text = await text_of(work, path)
    assert text.startswith("Not shown: ")
    assert "secret" not in text


async def test_a_file_that_is_not_there_is_nothing(work: Path) -> None:
    assert await sources(work).path("src/b.py") is None


async def test_an_image_is_an_image_for_a_model_that_sees(work: Path) -> None:
    (work / "p.png").write_bytes(PIXEL)
    blocks = await sources(work, sees_images=True).path("p.png")
    assert blocks is not None
    assert any(isinstance(block, ImageBlock) for block in blocks)


def git(work: Path, *arguments: str) -> str:
    identity = ("-c", "user.name=T", "-c", "user.email=t@example.org")
    return subprocess.run(["git", *identity, *arguments], cwd=work, check=True, capture_output=True, text=True).stdout


async def test_changes_and_commits_come_from_git(work: Path) -> None:
    assert await sources(work).git_changes() is None
    git(work, "init", "-q")
    git(work, "add", "src")
    assert "+x = 1" in (await sources(work).git_changes() or "")
    git(work, "commit", "-qm", "Begin")
    (work / "src/a.py").write_text("x = 2\n")
    changes = await sources(work).git_changes() or ""
    assert "-x = 1\n+x = 2" in changes and "hidden.txt" not in changes and "?? link.txt" in changes
    commit = git(work, "rev-parse", "HEAD").strip()
    assert "Begin" in (await sources(work).commit(commit[:8]) or "")
    assert await sources(work).commit("1234567") is None


async def test_what_an_ignore_file_hides_is_not_shown_from_git_either(work: Path) -> None:
    git(work, "init", "-q")
    git(work, "add", "-A")
    git(work, "commit", "-qm", "Begin")
    commit = git(work, "rev-parse", "HEAD").strip()
    (work / "hidden.txt").write_text("another secret")
    (work / "src/a.py").write_text("x = 2\n")
    for text in (await sources(work).git_changes() or "", await sources(work).commit(commit) or ""):
        assert "x = " in text and "secret" not in text and "hidden" not in text


async def test_a_workspace_within_a_repository_shows_its_own_part(work: Path) -> None:
    git(work, "init", "-q")
    git(work, "add", "-A")
    git(work, "commit", "-qm", "Begin")
    (work / "hidden.txt").write_text("another secret")
    (work / "src/a.py").write_text("x = 2\n")
    (work / "src/two words").write_text("")
    inside = WorkspaceSources(Workspace(str(work / "src"), str(work.parent), IgnoreRules.read({})))
    text = await inside.git_changes() or ""
    assert text.startswith(" M a.py\n?? two words\ndiff --git a/src/a.py") and "secret" not in text


async def test_problems_are_what_the_check_says(work: Path) -> None:
    assert "the setting `check` names the command" in await sources(work).problems()
    spoken = await sources(work, check="echo a.py:1: bad; echo more >&2; exit 3").problems()
    assert spoken == "$ echo a.py:1: bad; echo more >&2; exit 3\nexit code: 3\na.py:1: bad\nmore"


async def test_a_check_that_hangs_or_floods_is_cut(work: Path) -> None:
    assert "ended after" in (await sources(work, check="sleep 60", check_seconds=0.2).problems())
    flooded = await sources(work, check=f"head -c {MAX_CHARACTERS * 3} /dev/zero | tr '\\0' x").problems()
    assert len(flooded) < MAX_CHARACTERS + 500 and f"[cut: {MAX_CHARACTERS * 2} more bytes]" in flooded
