from __future__ import annotations

import pytest

from joey.system.hosts import host_of, is_private, is_this_machine, matches_host


@pytest.mark.parametrize(
    ("url", "host"),
    [
        ("http://Example.com:8080/a?b#c", "example.com"),
        ("https://user:pw@example.com./", "example.com"),
        ("http://[::1]:3000", "::1"),
        ("http://127.0.0.1@evil.example/", "evil.example"),
        ("file:///etc/passwd", ""),
        ("javascript:alert(1)", ""),
        ("http://[broken", ""),
        ("", ""),
    ],
)
def test_the_host_of_an_address(url: str, host: str) -> None:
    assert host_of(url) == host


def test_this_machine_has_many_names_and_others_only_look_like_them() -> None:
    for host in ("localhost", "LOCALHOST.", "app.localhost", "127.0.0.1", "127.8.9.1", "::1", "[::1]", "0.0.0.0"):
        assert is_this_machine(host), host
    for host in ("localhost.evil.example", "notlocalhost", "10.0.0.1", "128.0.0.1", "", "2130706433"):
        assert not is_this_machine(host), host


def test_an_address_is_what_it_stands_for() -> None:
    for host in (
        "64:ff9b::7f00:1",
        "[64:ff9b::10.0.0.1]",
        "::127.0.0.1",
        "::a00:1",
        "2002:7f00:1::",
        "::ffff:10.0.0.1",
    ):
        assert is_private(host), host
        assert not is_this_machine(host), "it is reached by way of another"
    for host in ("64:ff9b::1.1.1.1", "2606:4700:4700::1111", "1.1.1.1", "example.com"):
        assert not is_private(host), host


def test_a_pattern_matches_whole_names() -> None:
    assert (
        matches_host("example.com", "example.com")
        and matches_host("a.b.example.com", "*.example.com")
        and matches_host("x", "*")
    )
    assert matches_host("example.com", "*.Example.com")
    assert not matches_host("notexample.com", "*.example.com") and not matches_host("example.com.evil", "example.com")
