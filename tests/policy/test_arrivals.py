"""What a line has copied, moved or unpacked is not there yet when the line is judged."""

from __future__ import annotations

import glob
from dataclasses import replace
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


COPIES = ["cp -r src d", "cp -r src/. d", "cp -rT src d", "cp -a src d", "cp -r src/* d", "cp -r ./src ./d/"]


@pytest.mark.parametrize("line", COPIES)
@pytest.mark.parametrize("target", ["../../../outside/keep", "../../.git/config", "../../.env", "new"])
def test_a_folder_is_not_copied_through_links_that_are_there(tmp_path: Path, line: str, target: str) -> None:
    workspace = make_workspace(tmp_path)
    settings, place = settings_of(f"--approve edits {RULES}"), tmp_path / "ws" / "d" / "src"
    (tmp_path / "ws" / "src" / "app.py").write_text("x")
    (tmp_path / "ws" / "src" / "new").write_text("x")
    place.mkdir(parents=True)
    (place / "app.py").write_text("old")
    assert combine(judge_line(line, settings, workspace, workspace.root)).allowed
    (place / "app.py").unlink()
    (place / "app.py").symlink_to(target)
    (place.parent / "app.py").symlink_to(target.removeprefix("../"))
    verdict = combine(judge_line(line, settings, workspace, workspace.root))
    assert verdict.allowed == (target == "new"), verdict.reason


def test_nor_through_links_that_the_line_puts_there(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path)
    verdict = combine(
        judge_line(
            "cp -r deep/. d && cp -r src/. d", settings_of(f"--approve edits {RULES}"), workspace, workspace.root
        )
    )
    assert verdict.decision == "ask"


def test_removing_a_folder_asks_where_hidden_files_are_in_it(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path)
    settings = settings_of("--approve edits --allow rm --allow mv")
    for line in ("rm -rf secrets", "rm -r ./sub/../secrets/", "mv secrets x"):
        assert not combine(judge_line(line, settings, workspace, workspace.root)).allowed
    (tmp_path / "ws" / "data" / "deep").mkdir(parents=True)
    assert combine(judge_line("rm -rf data", settings, workspace, workspace.root)).allowed
    (tmp_path / "ws" / "data" / "deep" / ".env").write_text("x")
    assert "hides" in combine(judge_line("rm -rf data", settings, workspace, workspace.root)).reason


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


BARE = [
    "ls *",
    "cat *.txt",
    "wc -l *.py",
    "du -sh *",
    "grep x *.py",
    "tar cf all.tar *",
    "rm *.py",
    "ls ?.py",
    "bash -c 'ls *'",
]


@pytest.mark.parametrize("line", BARE)
@pytest.mark.parametrize(
    "odd", ["-rf", "-x.py", "--checkpoint-action=exec=sh x.py", "@a.py", "FS=x.py", "-.py", "+x.txt"]
)
def test_a_pattern_may_begin_a_word_if_no_name_there_could_be_an_option(tmp_path: Path, line: str, odd: str) -> None:
    workspace = make_workspace(tmp_path)
    settings = settings_of(f"--approve edits {RULES} --allow wc --allow du --allow rm")
    folder = tmp_path / "ws" / "clean"
    folder.mkdir()
    for name in ("a.py", "b c.txt", "x-y_1.py"):
        (folder / name).write_text("x")
    assert (verdict := combine(judge_line(line, settings, workspace, str(folder)))).allowed, verdict.reason
    (folder / odd).write_text("x")
    stands_for = ".py" if ".py" in line else ".txt" if ".txt" in line else ""
    length_matches = "?" not in line or len(odd) == len("x.py")
    verdict = combine(judge_line(line, settings, workspace, str(folder)))
    assert verdict.allowed != (odd.endswith(stands_for) and length_matches), verdict.reason


@pytest.mark.parametrize(
    "line",
    ["touch -- -rf && ls *", "echo x > -rf; ls *", "cp payload/* . && ls *", "mv sub/dl x && cat *",
     "mv sub/dl src/x; cat src/*", "mv deep src/d && cat src/*/out/keep", "cat *", "cat s*/k*", "cat conf/../*"],
)  # fmt: skip
def test_a_pattern_stands_for_nothing_that_is_hidden_or_comes_later(tmp_path: Path, line: str) -> None:
    workspace = make_workspace(tmp_path, {"sub/dl": "../data.txt"})
    (tmp_path / "ws" / "notes.pem").write_text("x")
    (tmp_path / "ws" / "linked").symlink_to("../outside/keep")
    settings = settings_of(f"--approve edits {RULES} --allow touch")
    assert not combine(judge_line(line, settings, workspace, workspace.root)).allowed


def test_a_pattern_is_expanded_where_the_folder_has_brackets_in_its_name(tmp_path: Path) -> None:
    (tmp_path / "a[b]*").mkdir()
    workspace = make_workspace(tmp_path / "a[b]*")
    (tmp_path / "a[b]*" / "ws" / "mixed").mkdir()
    (tmp_path / "a[b]*" / "ws" / "mixed" / "z").symlink_to("../.env")
    settings = settings_of(f"--approve edits {RULES}")
    assert combine(judge_line("cat mixed/*", settings, workspace, workspace.root)).decision == "deny"


def test_find_deletes_what_rm_may_remove(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path)
    settings = settings_of("--approve edits --allow find")
    assert combine(judge_line("find src -name '*.pyc' -delete", settings, workspace, workspace.root)).allowed
    for start in (". -name x", "", "../outside", "secrets", ".git -name x", "sub/..", "s*", "link"):
        verdict = combine(judge_line(f"find {start} -delete", settings, workspace, workspace.root))
        assert not verdict.allowed, start
    read_only = settings_of("--approve read-only --allow find")
    assert combine(judge_line("find src -delete", read_only, workspace, workspace.root)).decision == "deny"


def test_of_the_files_that_a_pattern_stands_for_a_hidden_one_is_not_behind_a_question(tmp_path: Path) -> None:
    workspace = replace(make_workspace(tmp_path), expand=lambda text: sorted(glob.glob(text)))  # noqa: PTH207
    (tmp_path / "ws" / "mixed").mkdir()
    (tmp_path / "ws" / "mixed" / "a").symlink_to("../../outside/keep")
    (tmp_path / "ws" / "mixed" / "z").symlink_to("../.env")
    settings = settings_of(f"--approve edits {RULES}")
    assert combine(judge_line("cat mixed/*", settings, workspace, workspace.root)).decision == "deny"


@pytest.mark.parametrize(
    "line",
    [
        "find . -path ./.git/config -exec mv src/a.py {} ';'",
        "find . -name .joeyignore -exec mv src/a.py {} ';'",
        "find deep -type l -exec tar cf {} src/a.py ';'",
        "find deep -exec ln -sf src/a.py {} ';'",
        "find . -name x.zip -exec unzip -o {} ';'",
        "find src -print0 | xargs -0 -n1 unzip -o",
    ],
)
def test_what_find_finds_is_not_written_where_it_may_be_protected_or_lead_outside(tmp_path: Path, line: str) -> None:
    workspace = make_workspace(tmp_path, {})
    rules = f"--approve edits {RULES} --allow unzip"
    assert combine(judge_line(line, settings_of(rules), workspace, workspace.root)).decision == "ask"


def test_what_find_finds_may_be_written_where_all_is_plain(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path, {})
    (tmp_path / "ws" / "plain").mkdir()
    (tmp_path / "ws" / "plain" / "a.py").write_text("x\n")
    line = "find plain -name '*.py' -exec sed -i s/a/b/ {} +"
    settings = settings_of(f"--approve edits {RULES} --allow sed")
    assert combine(judge_line(line, settings, workspace, workspace.root)).decision == "allow"


LONG = ["cd src || cd build || " * 12 + "ls", "cd src; " * 200 + "ls", f"sed {'x' * 40_000} f"]


@pytest.mark.parametrize("line", LONG, ids=["folders", "commands", "characters"])
def test_a_line_that_takes_too_long_to_judge_asks(tmp_path: Path, line: str) -> None:
    """Twelve alternatives are thousands of folders in which the last command may run."""
    workspace = make_workspace(tmp_path, {})
    settings = settings_of(f"--approve edits {RULES} --allow sed")
    assert combine(judge_line(line, settings, workspace, workspace.root)).decision == "ask"
