"""Ignore files: what they hide, and what they cannot take back."""

from __future__ import annotations

from joey.policy import IgnoreRules


def test_each_file_stands_for_itself() -> None:
    rules = IgnoreRules.read({".joeyignore": "*.key\n", ".rooignore": "!a.key\nprivate/\n"})
    assert rules.hiding("a.key") == ".joeyignore"
    assert rules.hiding("private/x") == ".rooignore"
    assert rules.hiding("src/a.py") is None


def test_a_line_can_take_back_a_file_but_not_from_an_ignored_folder() -> None:
    rules = IgnoreRules.read({".joeyignore": "*.log\n!keep.log\nprivate/\n!private/keep.log\nbuild/**\n!build/keep\n"})
    assert rules.hiding("keep.log") is None
    assert rules.hiding("deep/other.log") is not None
    assert rules.hiding("private/keep.log") is not None
    assert rules.hiding("build/keep") is None
    assert rules.hiding("build/other") is not None


def test_letter_case_does_not_count() -> None:
    rules = IgnoreRules.read({".joeyignore": "Secret.txt\n"})
    assert rules.hiding("SECRET.TXT") == ".joeyignore"


def test_a_file_that_says_something_hides_itself_and_an_empty_one_hides_nothing() -> None:
    assert IgnoreRules.read({".joeyignore": "x\n"}).hiding("sub/.joeyignore") == ".joeyignore"
    assert IgnoreRules.read({".joeyignore": " \n"}).hiding(".joeyignore") is None
    assert IgnoreRules.read({}).hiding("anything") is None
