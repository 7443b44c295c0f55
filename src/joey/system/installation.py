"""How this Joey was installed, and so how an extra of it is added: a message names the command that works here.

    a clone          pip install -e '/home/me/joey[local]'          its folder is known
    a wheel's file   pip install '/tmp/joey-0.3-py3-none-any.whl[local]'
    a package index  pip install 'joey[local]'
    pipx, uv tool    pipx install --force '…[local]', uv tool install --force '…[local]'; the place as above

`pip` is the one of the Python that runs Joey: another one would install for another Python.
"""

from __future__ import annotations

import json
import shlex
import sys
from dataclasses import dataclass
from functools import cache
from importlib.metadata import PackageNotFoundError, distribution
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

_NAME = "joey"


@dataclass(frozen=True, slots=True)
class Installation:
    """Where Joey came from, and the Python that it belongs to."""

    source: str = _NAME
    """What is installed: the name, the path of a clone or of a wheel, or an address."""
    is_editable: bool = False
    prefix: str = sys.prefix
    python: str = sys.executable
    has_pip: bool = True

    def with_extra(self, extra: str) -> str:
        """The command that adds an extra."""
        name, at, url = self.source.partition(" @ ")
        wanted = shlex.quote(f"{name}[{extra}]{at}{url}")
        parts = Path(self.prefix).parts
        if "pipx" in parts:
            return f"pipx install --force {'--editable ' if self.is_editable else ''}{wanted}"
        if "uv" in parts and "tools" in parts:
            return f"uv tool install --force {'--editable ' if self.is_editable else ''}{wanted}"
        python = shlex.quote(self.python)
        pip = f"{python} -m pip install" if self.has_pip else f"uv pip install --python {python}"
        return f"{pip} {'-e ' if self.is_editable else ''}{wanted}"


def add_extra(extra: str) -> str:
    """The command that adds an extra to this Joey."""
    return this_installation().with_extra(extra)


@cache
def this_installation() -> Installation:
    """How the Joey that runs was installed."""
    source, is_editable = source_of(_origin())
    return Installation(source, is_editable, has_pip=find_spec("pip") is not None)


def _origin() -> Any:
    """What the installer noted about where the package came from (PEP 610); None for an index."""
    try:
        noted = distribution(_NAME).read_text("direct_url.json")
    except PackageNotFoundError:
        noted = None
    try:
        return json.loads(noted) if noted else None
    except ValueError:
        return None


def source_of(origin: Any, module: Path = Path(__file__)) -> tuple[str, bool]:
    """What to install again, and whether it is a clone that is used in place."""
    clone = module.resolve().parents[3]
    if (clone / "pyproject.toml").is_file() and module.resolve().parts[-4] == "src":
        return str(clone), True
    url = str(origin.get("url", "")) if isinstance(origin, dict) else ""
    if url.startswith("file://"):
        return unquote(urlsplit(url).path), False
    return (f"{_NAME} @ {url}", False) if url else (_NAME, False)
