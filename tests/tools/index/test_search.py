from __future__ import annotations

from pathlib import Path

import pytest

from codebase_kit import Workshop, function
from joey.tools.index.search import too_wide


@pytest.fixture
def workshop(tmp_path: Path) -> Workshop:
    return Workshop(tmp_path)


def test_a_question_in_other_words_is_answered_by_meaning(workshop: Workshop) -> None:
    workshop.write("a.py", function("drive", "start(vehicle)"))
    workshop.write("b.py", function("sleep", "wait(until_morning)"))
    assert workshop.paths("automobile")[0] == "a.py"


def test_without_the_model_words_are_ranked_and_it_says_so(tmp_path: Path) -> None:
    workshop = Workshop(tmp_path, with_model=False)
    workshop.write("a.py", function("deleteUserAccount"))
    workshop.write("b.py", function("make_user"))
    answer = workshop.search("delete a user's account")
    assert [each.piece.path for each in answer.found] == ["a.py", "b.py"]
    assert not answer.by_meaning and answer.freshness.is_complete
    assert "not installed" in answer.notes[0]
    assert workshop.paths("automobile") == []


def test_an_index_made_without_the_model_gets_its_vectors_when_the_model_is_there(tmp_path: Path) -> None:
    workshop = Workshop(tmp_path, with_model=False)
    workshop.write("a.py", function("drive", "start(vehicle)"))
    workshop.build()
    workshop.with_model = True
    assert workshop.paths("automobile") == ["a.py"]


def test_by_keywords_the_very_name_comes_before_its_parts(tmp_path: Path) -> None:
    workshop = Workshop(tmp_path, with_model=False)
    workshop.write("parts.py", function("parse", "http(request); parse(request); http(parse)"))
    workshop.write("whole.py", function("parse_http_request"))
    assert workshop.paths("parseHttpRequest")[0] == "whole.py"


def test_a_stem_is_enough(workshop: Workshop) -> None:
    workshop.write("a.py", function("retry", "delays.append(waiting)"))
    assert workshop.paths("delayed retries") == ["a.py"]


@pytest.mark.parametrize(
    ("under", "expected"), [("", 4), ("a", 2), ("a/b", 1), ("a.py", 1), ("a/x.py", 1), ("nowhere", 0)]
)
def test_a_path_restricts_the_search_to_what_is_below_it(workshop: Workshop, under: str, expected: int) -> None:
    for name in ("a/x.py", "a/b/y.py", "ab/z.py", "a.py"):
        workshop.write(name, function("delete_user") + f"# {name}\n")
    assert len(workshop.paths("delete user", under)) == expected


def test_the_same_code_in_several_files_is_shown_once(workshop: Workshop) -> None:
    for name in ("a.py", "b.py", "c.py"):
        workshop.write(name, function("delete_user"))
    (found,) = workshop.search("delete user").found
    assert (found.piece.path, found.also_in) == ("a.py", ("b.py:1", "c.py:1"))
    assert len(workshop.model.seen) == 1


def test_lines_are_those_of_the_file(workshop: Workshop) -> None:
    text = function("first") + "\n\n" + function("delete_user")
    workshop.write("a.py", text)
    piece = workshop.search("delete user").found[0].piece
    assert text.split("\n")[piece.first - 1 : piece.last] == piece.text.split("\n")
    assert "def delete_user" in piece.text


def test_a_file_that_changed_and_could_not_be_read_yet_is_marked(workshop: Workshop) -> None:
    workshop.write("a.py", function("delete_user"))
    workshop.build()
    workshop.write("a.py", "# new\n" + function("delete_user"))
    (found,) = workshop.search("delete user", files=0).found
    assert found.changed


def test_what_has_nothing_to_do_with_the_question_is_not_found(workshop: Workshop) -> None:
    workshop.write("a.py", function("delete_user"))
    assert workshop.paths("zebra") == []


@pytest.mark.parametrize(
    "question", ['"', "a OR b", "name: x*", "NEAR(", "'; DROP TABLE pieces; --", "\0", "🎉", "the", "ﷺ\u0301"]
)
def test_any_question_can_be_searched(workshop: Workshop, question: str) -> None:
    workshop.write("a.py", function("delete_user"))
    workshop.search(question)
    assert workshop.paths("delete user") == ["a.py"]


def test_vectors_are_kept_in_memory_while_nothing_changes(workshop: Workshop) -> None:
    workshop.write("a.py", function("delete_user"))
    workshop.search("delete")
    before = workshop.index.ranker.kept
    workshop.search("user")
    assert workshop.index.ranker.kept is before
    workshop.write("b.py", function("delete_group"))
    assert "b.py" in workshop.paths("delete group")


def test_nobody_indexes_their_whole_disk() -> None:
    assert "root of the file system" in too_wide(Path("/"))
    assert "home directory" in too_wide(Path.home())
    assert too_wide(Path("/usr/lib")) == ""


def test_a_cleared_index_is_gone(workshop: Workshop) -> None:
    workshop.write("a.py", function("delete_user"))
    workshop.build()
    workshop.index.clear()
    assert not workshop.folder.exists() and workshop.index.counts() is None
    assert workshop.paths("delete user") == ["a.py"]
