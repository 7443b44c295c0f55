"""Whether a task could begin here and now: exit code 0 if a model is named, has its key or is installed, else 1."""

from __future__ import annotations

from pathlib import Path

from joey.app.settings import default_model
from joey.app.sources import settings_in_force
from joey.errors import UsageError


def main() -> int:
    try:
        model = settings_in_force(Path.cwd()).value("model") or default_model()
    except UsageError:
        return 1
    # A model of this machine needs its engine, which is not part of a plain install.
    return int(str(model).startswith("local/"))


if __name__ == "__main__":
    raise SystemExit(main())
