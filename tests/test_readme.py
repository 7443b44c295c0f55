"""What README.md shows is run here, so that it cannot go stale."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

README = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")


def test_the_library_snippet_prints_what_its_comments_say() -> None:
    (snippet,) = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    promised = re.findall(r"# (.+)$", snippet, re.MULTILINE)
    run = subprocess.run([sys.executable, "-c", snippet], capture_output=True, text=True, check=True)
    for line in promised:
        assert line in run.stdout.splitlines()


def test_the_readme_stays_short() -> None:
    assert len(README.splitlines()) <= 150


def test_the_commands_of_the_tour_exist() -> None:
    from joey.cli import COMMANDS

    shown = set(re.findall(r"^\$ (?:.* )?joey ([a-z]+)", README, re.MULTILINE))
    assert shown
    assert shown <= set(COMMANDS)
