"""Which language servers there are, and which files each is for.

A server is known by its program. It is looked for on PATH and, in a folder that the user trusts, among the programs
that the project has installed for itself.
"""

from __future__ import annotations

import fnmatch
import shlex
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

from joey.errors import UsageError
from joey.sandbox.settings import SandboxSettings
from joey.tools.shell.environment import NO_RULES, EnvironmentRules

_INSTALLED = ("node_modules/.bin", ".venv/bin", "venv/bin")
"""Where a project has programs of its own."""
_LANGUAGES = {
    ".py": "python", ".pyi": "python", ".go": "go", ".rs": "rust", ".ts": "typescript", ".mts": "typescript",
    ".cts": "typescript", ".tsx": "typescriptreact", ".js": "javascript", ".mjs": "javascript", ".cjs": "javascript",
    ".jsx": "javascriptreact", ".rb": "ruby", ".c": "c", ".h": "c", ".cc": "cpp", ".cpp": "cpp", ".hpp": "cpp",
    ".cs": "csharp", ".sh": "shellscript", ".md": "markdown", ".yml": "yaml",
}  # fmt: skip
"""The names that the protocol has for languages; for other files it is their suffix."""


@dataclass(frozen=True, slots=True)
class ServerProgram:
    """A server that can be started, and the names of the files that it is for."""

    argv: tuple[str, ...]
    patterns: tuple[str, ...]

    @property
    def name(self) -> str:
        return Path(self.argv[0]).name

    def takes(self, path: Path) -> bool:
        return any(fnmatch.fnmatch(path.name, pattern) for pattern in self.patterns)

    @classmethod
    def parse(cls, line: str) -> Self:
        """One from the settings: `*.rb,*.rake = solargraph stdio`. Raises UsageError."""
        patterns, _, command = line.partition("=")
        names = tuple(each.strip() for each in patterns.split(",") if each.strip())
        try:
            argv = tuple(shlex.split(command))
        except ValueError:
            argv = ()
        if not names or not argv:
            raise UsageError(f"{line!r} names no language server; write it as '*.rb = solargraph stdio'")
        return cls(argv, names)


KNOWN = (
    ServerProgram(("pyright-langserver", "--stdio"), ("*.py", "*.pyi")),
    ServerProgram(
        ("typescript-language-server", "--stdio"),
        ("*.ts", "*.tsx", "*.mts", "*.cts", "*.js", "*.jsx", "*.mjs", "*.cjs"),
    ),
    ServerProgram(("gopls",), ("*.go",)),
    ServerProgram(("rust-analyzer",), ("*.rs",)),
)


@dataclass(frozen=True, slots=True)
class LanguageSettings:
    """Which servers may be started, and how long they are waited for. Of two for the same files, the first counts."""

    servers: tuple[ServerProgram, ...] = ()
    timeout: float = 10.0
    """Seconds to wait for what a server finds wrong, and for what it finds."""
    sandbox: SandboxSettings = field(default_factory=SandboxSettings)
    environment: EnvironmentRules = NO_RULES

    def server_for(self, path: Path) -> ServerProgram | None:
        return next((each for each in self.servers if each.takes(path)), None)


NO_SERVERS = LanguageSettings()


def installed(programs: tuple[ServerProgram, ...], project: Path | None = None) -> Iterator[ServerProgram]:
    """Those whose program is there, by its path; with a project, its own programs count first."""
    folders = [str(project / each) for each in _INSTALLED] if project is not None else []
    for program in programs:
        name, *rest = program.argv
        own = (shutil.which(name, path=each) for each in folders)
        if found := next(filter(None, own), None) or shutil.which(name):
            yield ServerProgram((str(Path(found).absolute()), *rest), program.patterns)


def language_of(path: Path) -> str:
    return _LANGUAGES.get(path.suffix, path.suffix.lstrip(".") or "plaintext")
