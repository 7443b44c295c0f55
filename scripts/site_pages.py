"""A hook of mkdocs: the site has the layout of the repository, so that a link works in both.

mkdocs knows one folder of pages. Ours are in several: the root, docs/, examples/ and evals/. Each keeps its path.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files

ROOT = Path(__file__).parents[1]
FENCE = re.compile(r"^(```\w+) .+$", re.MULTILINE)
"""```python needs a model: the words after the language are for our tests."""
SHOWN = ("*.md", "docs/**/*.*", "examples/*.*", "evals/README.md")


def paths() -> list[str]:
    """Everything that the site shows or links to, below the root."""
    found = {path for pattern in SHOWN for path in ROOT.glob(pattern) if path.is_file()}
    return sorted(path.relative_to(ROOT).as_posix() for path in found)


def on_files(files: Files, config: MkDocsConfig) -> Files:
    from mkdocs.structure.files import File, Files

    theme = [file for file in files if file.src_dir != config.docs_dir]
    ours = [File(path, str(ROOT), config.site_dir, config.use_directory_urls) for path in paths()]
    return Files([*theme, *ours])


def on_page_markdown(markdown: str, **_: object) -> str:
    return FENCE.sub(r"\1", markdown)
