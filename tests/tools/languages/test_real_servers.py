"""Real language servers, from npm, inside the sandbox: pyright and typescript-language-server."""

from __future__ import annotations

from pathlib import Path

import pytest

from joey.sandbox import SandboxSettings
from joey.tools.base import ToolContext
from joey.tools.languages.programs import KNOWN, LanguageSettings, installed
from joey.tools.languages.server import find_symbol
from joey.tools.languages.servers import LanguageServers
from sandbox_kit import need_visible_checkout

PROGRAMS = Path(__file__).parents[2] / ".cache" / "lsp-npm" / "node_modules" / ".bin"
pytestmark = pytest.mark.skipif(not PROGRAMS.is_dir(), reason="no language servers: `make test` fetches them from npm")


@pytest.mark.parametrize(
    ("name", "files", "error", "used"),
    [
        (
            "app.py",
            {
                "app.py": "from lib import add\n\nprint(add(1, 'two'))\n",
                "lib.py": "def add(a: int, b: int) -> int:\n    return a + b\n",
            },
            "app.py:3:14: Argument of type \"Literal['two']\"",
            ("lib.py", 1),
        ),
        (
            "app.ts",
            {
                "app.ts": 'import { add } from "./lib";\n\nadd(1, "two");\n',
                "lib.ts": "export function add(a: number, b: number) {\n  return a + b;\n}\n",
            },
            "app.ts:3:8: Argument of type 'string' is not assignable to parameter of type 'number'. [2345]",
            ("lib.ts", 1),
        ),
    ],
    ids=["pyright", "typescript-language-server"],
)
async def test_a_real_server_finds_the_error_and_the_definition_until_it_is_fixed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, files: dict[str, str], error: str, used: tuple[str, int]
) -> None:
    need_visible_checkout()
    monkeypatch.setenv("PATH", str(PROGRAMS), prepend=":")
    project = tmp_path / "project"
    project.mkdir()
    for each, text in files.items():
        (project / each).write_text(text)
    settings = LanguageSettings(tuple(installed(KNOWN)), 60.0, SandboxSettings())
    context, path = ToolContext(project, tmp_path / "storage"), project / name
    servers = context.memory[LanguageServers]
    try:
        [report] = await servers.reports([path], settings, context)
        assert report.is_new and report.lines[0].startswith(error), report
        position = find_symbol(path.read_text(), "add", 3)
        assert position is not None
        [found] = await servers.find("definition", path, position, settings, context)
        assert (found.path.name, found.line) == used
        lines = [each.line for each in await servers.find("references", path, position, settings, context)]
        assert sorted(lines) == [1, 1, 3]
        path.write_text(path.read_text().replace("'two'", "2").replace('"two"', "2"))
        [report] = await servers.reports([path], settings, context)
        assert report.lines == () and not report.problem, report
    finally:
        await context.memory.close()
