"""Lines of standard input, however they come."""

from __future__ import annotations

import os
import threading

import pytest

from joey.acp import lines


def test_lines_come_whole_however_they_are_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines, "MAX_LINE", 10)
    reading, writing = os.pipe()
    sent = [b"one\nt", b"wo\n", b"x" * 50, b"y" * 50 + b"\nthree\n", b"last"]

    def write() -> None:
        for each in sent:
            os.write(writing, each)
        os.close(writing)

    thread = threading.Thread(target=write)
    thread.start()
    found = lines.InputLines(reading)
    assert [found.next(), found.next()] == [b"one\n", b"two\n"]
    assert len(found.next()) > 10, "one that is too long can be told"
    assert [found.next() for _ in range(3)] == [b"three\n", b"last", b""]
    thread.join()
    os.close(reading)
    assert found.next() == b"", "a descriptor that was closed is the end"
