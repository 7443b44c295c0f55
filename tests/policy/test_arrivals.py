"""What a line has copied, moved or unpacked is not there yet when the line is judged."""

from __future__ import annotations

from pathlib import Path

import pytest

from hostile_workspace import make_workspace, settings_of
from joey.policy.shell.lines import judge_line
from joey.policy.verdict import combine

NAMES = ("cp", "mv", "ln", "cat", "ls", "mkdir", "echo", "tar", "bash", "cd", "grep", "find", "xargs")
RULES = " ".join(f"--allow {name}" for name in NAMES)


@pytest.mark.parametrize(
    "line",
    [
        "cp -r deep deep2 && echo x > deep2/out/pwn",
        "cp -r deep sub; cat sub/deep/out/keep",
        "mv deep deep2 && cat deep2/out/keep",
        "mv deep deep2 && cd deep2 && cat out/keep",
        "cp -r deep deep2 && cd deep2/out && echo x > pwn",
        "cp -a deep ./deep2 && cp src/a.py deep2/out/pwn",
        "cp -r deep deep2 && bash -c 'cat deep2/out/keep'",
        "bash -c 'cp -r deep deep2' && cat deep2/out/keep",
        "cp -r deep deep2 && cat src/../deep2/out/keep",
        "mv sub/dl dl2 && cat dl2",
        "cp -a sub/dl dl2 && cat dl2",
        "cp -a sub/* . && cat dl",
        "cp payload/A* .",
        "cp -r deep deep2 && grep -R x deep2",
        "mv deep deep2 && find deep2 -name keep -exec cat {} +",
        "mv deep deep2 && find deep2 -print0 | xargs -0 cat",
        "mv deep src && grep -R x src",
        "cp -r deep src/x && cp -rL src conf",
    ],
)
def test_a_link_that_a_line_copies_does_not_lead_outside(tmp_path: Path, line: str) -> None:
    workspace = make_workspace(tmp_path, {"sub/dl": "../data.txt"})
    (tmp_path / "ws" / "data.txt").write_text("inside")
    (tmp_path / "data.txt").write_text("outside")
    verdict = combine(judge_line(line, settings_of(f"--approve edits {RULES}"), workspace, workspace.root))
    assert verdict.decision == "ask"


@pytest.mark.parametrize(
    "line",
    [
        "mv payload p && cp -rT p .",
        "mv payload p; cp -a p/. .",
        "mv payload sub && cp -rT sub/payload .",
        "mv payload sub && cp -rT sub .",
        "cp -r payload conf && cp -r conf/. .",
        "mv payload p && find p -type f -exec cp {} . ';'",
        "bash -c 'mv payload p' && cp -rT p .",
    ],
)
def test_a_folder_that_a_line_moves_is_not_copied_over_protected_files(tmp_path: Path, line: str) -> None:
    workspace = make_workspace(tmp_path)
    verdict = combine(judge_line(line, settings_of(f"--approve edits {RULES}"), workspace, workspace.root))
    assert verdict.decision == "ask"


@pytest.mark.parametrize(
    "line",
    [
        "cp -r src sub && ls sub",
        "cp -r src sub && grep -r x sub",
        "mkdir n && cp -r src n",
        "cp -r src conf && cp -r src sub",
        "mv src/a.py src/b.py && cat src/b.py",
        "cp src/a.py sub/x && cat sub/x",
        "mkdir n && cp src/a.py n",
        "cp src/*.py conf/",
    ],
)
def test_what_was_named_can_be_used(tmp_path: Path, line: str) -> None:
    workspace = make_workspace(tmp_path)
    verdict = combine(judge_line(line, settings_of(f"--approve edits {RULES}"), workspace, workspace.root))
    assert verdict.decision == "allow", verdict.reason
