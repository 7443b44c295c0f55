from __future__ import annotations

from pathlib import Path

import pytest

from joey.errors import JoeyError
from joey.system.folders import user_folder
from joey.system.trust import TrustStore


def test_nothing_is_trusted_until_the_user_says_so(tmp_path: Path) -> None:
    store = TrustStore(tmp_path / "config" / "trusted.json")
    assert not store.trusts(tmp_path)
    store.trust(tmp_path / "work")
    assert store.trusts(tmp_path / "work") and store.trusts(tmp_path / "work" / "inner")
    assert not store.trusts(tmp_path) and not store.trusts(tmp_path / "workshop")
    store.distrust(tmp_path / "work")
    assert not store.trusts(tmp_path / "work")


def test_trust_follows_where_a_folder_really_is(tmp_path: Path) -> None:
    (tmp_path / "evil").mkdir()
    (tmp_path / "good").mkdir()
    store = TrustStore(tmp_path / "trusted.json")
    store.trust(tmp_path / "good")
    (tmp_path / "good" / "link").symlink_to(tmp_path / "evil")
    assert not store.trusts(tmp_path / "good" / "link")


@pytest.mark.parametrize("content", ["", "nonsense", "[]", '{"trusted": "/"}', '{"trusted": [5, null]}'])
def test_a_broken_store_trusts_nothing(tmp_path: Path, content: str) -> None:
    (tmp_path / "trusted.json").write_text(content)
    assert not TrustStore(tmp_path / "trusted.json").trusts(tmp_path)


def test_a_store_that_cannot_be_written_is_reported(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(JoeyError, match="cannot remember which folders are trusted"):
        TrustStore(tmp_path / "file" / "trusted.json").trust(tmp_path)


def test_the_user_s_folder_follows_xdg(tmp_path: Path) -> None:
    assert user_folder({"XDG_CONFIG_HOME": str(tmp_path)}) == tmp_path / "joey"
    assert user_folder({}) == user_folder({"XDG_CONFIG_HOME": "relative"}) == Path.home() / ".config" / "joey"
