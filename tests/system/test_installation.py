"""How an extra is added: by a command that works where this Joey was installed from."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import joey
from joey.system.installation import Installation, add_extra, source_of

SRC = Path(joey.__file__).parent


@pytest.mark.parametrize(
    ("installation", "command"),
    [
        (Installation(prefix="/usr", python="/usr/bin/python3"), "/usr/bin/python3 -m pip install 'joey[local]'"),
        (
            Installation("/home/me/my joey", True, "/home/me/.venv", "/home/me/.venv/bin/python"),
            "/home/me/.venv/bin/python -m pip install -e '/home/me/my joey[local]'",
        ),
        (
            Installation("/tmp/joey.whl", prefix="/v", python="/v/bin/python", has_pip=False),
            "uv pip install --python /v/bin/python '/tmp/joey.whl[local]'",
        ),
        (Installation(prefix="/home/me/.local/share/pipx/venvs/joey"), "pipx install --force 'joey[local]'"),
        (
            Installation("/src/joey", True, prefix="/home/me/.local/share/uv/tools/joey"),
            "uv tool install --force --editable '/src/joey[local]'",
        ),
        (
            Installation("joey @ git+https://host/joey", prefix="/usr", python="p"),
            "p -m pip install 'joey[local] @ git+https://host/joey'",
        ),
    ],
)
def test_the_command_is_that_of_the_installer(installation: Installation, command: str) -> None:
    assert installation.with_extra("local") == command


def test_the_source_is_a_clone_a_file_an_address_or_the_name(tmp_path: Path) -> None:
    inside = tmp_path / "site-packages" / "joey" / "system" / "installation.py"
    assert source_of(None, inside) == ("joey", False)
    assert source_of({"url": "file:///tmp/my%20joey.whl"}, inside) == ("/tmp/my joey.whl", False)
    assert source_of({"url": "https://host/joey.whl"}, inside) == ("joey @ https://host/joey.whl", False)
    clone = tmp_path / "clone" / "src" / "joey" / "system" / "installation.py"
    clone.parent.mkdir(parents=True)
    (tmp_path / "clone" / "pyproject.toml").touch()
    assert source_of({"url": "https://elsewhere"}, clone) == (str(tmp_path / "clone"), True)


def test_no_message_names_a_package_index_that_may_not_have_it() -> None:
    named = [str(file) for file in SRC.rglob("*.py") if re.search(r"pip install '?joey\[", file.read_text("utf-8"))]
    assert named == [str(SRC / "system" / "installation.py")]  # its own explanation
    assert add_extra("mcp").endswith("[mcp]'") or add_extra("mcp").endswith("[mcp]")
