"""Servers that other people made and use. Those from npm are fetched by `make test`; without them the tests skip."""

from __future__ import annotations

import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from joey.mcp.catalogue import ServerCatalogue
from joey.mcp.config import ServerConfig
from joey.messages import ImageBlock
from joey.tools.base import ToolContext
from joey.tools.forms import Form, FormValues
from mcp_kit import call, running

NPM = Path(__file__).parents[1] / ".cache" / "mcp" / "node_modules" / ".bin"


def program(name: str, path: Path, *args: str) -> ServerConfig:
    if not path.exists():
        pytest.skip(f"{path.name} is not installed")
    return ServerConfig(name, "stdio", Path("mcp.json"), "user", command=str(path), args=args)


async def test_mcp_server_git_tells_the_history(context: ToolContext) -> None:
    git = shutil.which("git")
    if git is None:
        pytest.skip("git is not installed")
    repository = str(context.workspace)
    options = ["-c", "user.name=Joey", "-c", "user.email=joey@example.com"]
    for words in (["init", "-q"], [*options, "commit", "-q", "--allow-empty", "-m", "the first one"]):
        subprocess.run([git, "-C", repository, *words], check=True)  # noqa: ASYNC221
    async with running(program("git", Path(sys.executable).parent / "mcp-server-git")) as servers:
        assert "the first one" in (await call(servers, "git", "git_log", context, repo_path=repository)).text
        elsewhere = await call(servers, "git", "git_status", context, repo_path="/nowhere")
        assert elsewhere.is_error


async def test_server_filesystem_writes_and_reads_in_its_folder_only(context: ToolContext) -> None:
    folder = str(context.workspace.resolve())
    async with running(program("files", NPM / "mcp-server-filesystem", folder)) as servers:
        written = await call(servers, "files", "write_file", context, path=f"{folder}/a.txt", content="from a server")
        assert not written.is_error and (context.workspace / "a.txt").read_text() == "from a server"
        read = await call(servers, "files", "read_text_file", context, path=f"{folder}/a.txt")
        assert read.text == "from a server"
        outside = await call(servers, "files", "read_text_file", context, path="/etc/hostname")
        assert outside.is_error and "denied" in outside.text


async def test_server_everything_shows_every_kind_of_answer(context: ToolContext) -> None:
    async with running(program("all", NPM / "mcp-server-everything", "stdio")) as servers:
        catalogue = ServerCatalogue(servers)
        assert catalogue.problems == [] and catalogue.has_resources
        assert "42" in (await call(servers, "all", "get-sum", context, a=40, b=2)).text
        image = await call(servers, "all", "get-tiny-image", context)
        assert any(isinstance(block, ImageBlock) for block in image.content)
        seen: list[Form] = []

        async def ask(form: Form) -> FormValues | None:
            seen.append(form)
            return {"name": "Ada", "check": True}

        filled = await call(servers, "all", "trigger-elicitation-request", replace(context, ask_form=ask))
        assert "Ada" in filled.text and len(seen[0].fields) > 5
        structured = await call(servers, "all", "get-structured-content", context, location="Chicago")
        assert '"temperature"' in structured.text and "promises" not in structured.text
        links = await call(servers, "all", "get-resource-links", context, count=2)
        assert "access_mcp_resource reads it" in links.text
