from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from joey.protocols.buffer import TagScanner, partial_suffix
from joey.testing.streams import cut_at


def scan(tags: list[str], pieces: list[str]) -> list[str]:
    """Text and tags in order, neighbouring text merged; tags in brackets."""
    scanner, out = TagScanner(tags), [""]

    def note(before: str, tag: str | None) -> bool:
        out[-1] += before
        out.extend([f"[{tag}]", ""] if tag else [])
        return tag is not None

    for piece in pieces:
        if scanner.is_plain(piece):
            note(piece, None)
            continue
        scanner.feed(piece)
        while note(*scanner.next()):
            pass
    while note(*scanner.next(last=True)):
        pass
    assert scanner.rest() == ""
    return [part for part in out if part]


def test_a_tag_cut_in_two_is_found() -> None:
    assert scan(["<a>"], ["x <", "a", "> y"]) == ["x ", "[<a>]", " y"]


def test_what_cannot_become_a_tag_is_given_away_at_once() -> None:
    scanner = TagScanner(["<tool>"])
    scanner.feed("a <to")
    assert scanner.next() == ("a ", None)
    scanner.feed("p")
    assert scanner.next() == ("<top", None)


@pytest.mark.parametrize("pieces", [["<a>b"], ["<a>", "b"], list("<a>b")])
def test_the_longer_of_two_tags_wins_however_the_text_is_cut(pieces: list[str]) -> None:
    assert scan(["<a>", "<a>b"], pieces) == ["[<a>b]"]


@pytest.mark.parametrize("pieces", [["abcx bc"], ["abc", "x bc"], list("abcx bc")])
def test_the_earlier_of_two_overlapping_tags_wins_however_the_text_is_cut(pieces: list[str]) -> None:
    assert scan(["abcx", "bc"], pieces) == ["[abcx]", " ", "[bc]"]


def test_a_tag_that_repeats_its_own_beginning_is_found() -> None:
    assert scan(["ababax"], list("abababax")) == ["ab", "[ababax]"]
    assert scan(["[[tool]]"], ["[", "[[tool", "]]"]) == ["[", "[[[tool]]]"]


def test_an_empty_tag_is_refused() -> None:
    with pytest.raises(ValueError, match="matches everywhere"):
        TagScanner(["<a>", ""])


def test_work_doubles_when_the_text_doubles() -> None:
    def work(size: int) -> int:
        scanner = TagScanner(["<tool_call>", "<tool>"])
        for piece in cut_at("<tool " * size, range(0, 6 * size, 4)):
            if not scanner.is_plain(piece):
                scanner.feed(piece)
                while scanner.next().tag:
                    pass
        return scanner.scanned

    assert work(2_000) <= 2 * work(1_000) + 100


@pytest.mark.property
@given(
    st.lists(st.text("ab<>", min_size=1, max_size=5), max_size=4),
    st.text("ab<>", max_size=40),
    st.lists(st.integers(0, 40), max_size=8),
)
def test_what_is_found_does_not_depend_on_the_cut(tags: list[str], text: str, cuts: list[int]) -> None:
    found = scan(tags, [text])
    assert scan(tags, cut_at(text, cuts)) == found
    assert sum(map(len, found)) - 2 * sum(part[0] == "[" for part in found) == len(text)


@pytest.mark.property
@given(st.text("ab", min_size=1, max_size=6), st.text("ab", max_size=12))
def test_no_partial_suffix_is_longer(tag: str, text: str) -> None:
    suffixes = [text[-size:] for size in range(1, min(len(text), len(tag) - 1) + 1) if tag.startswith(text[-size:])]
    assert partial_suffix(text, tag) == max(suffixes, key=len, default="")
