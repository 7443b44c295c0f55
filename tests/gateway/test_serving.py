"""`joey gateway`: what it opens, where it listens, and how it starts a client."""

from __future__ import annotations

import asyncio
import errno
import json
import os
import shlex
import socket
import subprocess
import sys
import tomllib
from pathlib import Path

import httpx2
import pytest

from gateway_kit import PATHS, call_text, request_body, upstream, whole
from joey.app.sources import settings_in_force
from joey.cli import main
from joey.errors import UsageError
from joey.gateway import Gateway
from joey.gateway.addressed import Probed, UpstreamChoice, probe
from joey.gateway.clients import CLIENTS, Served, launch_of
from joey.gateway.launching import serve_client
from joey.gateway.opening import open_upstreams
from joey.gateway.serving import PORT, address_of, bound, check_host, serve
from joey.system.folders import user_folder
from joey.testing import LocalServer, reply

SERVED = Served("http://127.0.0.1:9", "k", "my-model", 16384)


async def test_it_serves_on_a_port_until_it_is_stopped() -> None:
    with bound("127.0.0.1", 0) as listening:
        serving = asyncio.create_task(serve(Gateway([upstream(call_text("list_files"))]), listening, print))
        async with httpx2.AsyncClient(base_url=address_of(listening), trust_env=False) as client:
            for _ in range(200):
                try:
                    await client.get("/health")
                    break
                except httpx2.TransportError:
                    await asyncio.sleep(0.02)
            got = await client.post(PATHS["chat"], json=request_body("chat"))
            large = await client.post(PATHS["chat"], content=b"x" * 40_000_000)
        serving.cancel()
        await asyncio.gather(serving, return_exceptions=True)
    assert whole("chat", got.json()).calls == [("list_files", {})]
    assert large.status_code == 413


def test_a_taken_port_is_an_error_only_if_it_was_chosen() -> None:
    with bound("127.0.0.1", 0) as taken:
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(UsageError, match="choose another --host or --port"):
            bound("127.0.0.1", port)


def test_a_port_that_another_program_takes_at_the_same_moment_is_a_taken_port(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two sockets may be bound to one port on Linux; the second fails only when it listens. No test is that quick."""
    listen, tried = socket.socket.listen, list[socket.socket]()

    def first_fails(self: socket.socket, backlog: int = 128) -> None:
        tried.append(self)
        if len(tried) == 1:
            raise OSError(errno.EADDRINUSE, os.strerror(errno.EADDRINUSE))
        listen(self, backlog)

    monkeypatch.setattr(socket.socket, "listen", first_fails)
    with bound("127.0.0.1", None) as listening:
        assert listening.getsockname()[1] != PORT and tried[0].fileno() == -1
    tried.clear()
    with pytest.raises(UsageError, match="Address already in use; choose another --host or --port"):
        bound("127.0.0.1", 0)
    assert tried[0].fileno() == -1


@pytest.mark.parametrize("port", [-1, 70_000])
def test_a_port_that_is_none_is_an_error_in_words(port: int) -> None:
    with pytest.raises(UsageError, match=f"cannot listen on 127.0.0.1, port {port}: .*0-65535"):
        bound("127.0.0.1", port)


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.0.7", "example.com"])
def test_other_machines_need_a_key(host: str) -> None:
    with pytest.raises(UsageError, match="key"):
        check_host(host, None)
    assert check_host(host, "secret") is False
    assert check_host("127.0.0.1", None) is check_host("::1", None) is True


# Upstreams


async def test_a_server_is_asked_for_its_models_and_what_it_is(tmp_path: Path) -> None:
    # The local server of the tests lists no models; what it answers to other paths says nothing.
    async with LocalServer([reply("Hi.")]) as server:
        config = settings_in_force(tmp_path)
        chosen = UpstreamChoice("qwen3-coder", server.url)
        (model,) = await asyncio.to_thread(open_upstreams, chosen, config)
        assert (model.name, model.protocol.name, model.provider.takes_grammar) == ("qwen3-coder", "native", False)
        with pytest.raises(UsageError, match="--model"):
            await asyncio.to_thread(open_upstreams, UpstreamChoice(url=server.url), config)
        assert (await asyncio.to_thread(probe, server.openai_url, None)).grammar is None
        await model.provider.close()


class _Props:
    """A server that says about itself what llama.cpp says."""

    BODY = json.dumps(
        {"default_generation_settings": {"n_ctx": 4096}, "total_slots": 2, "chat_template": "{{ '<tool_call>' }}"}
    )

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        head = f"HTTP/1.1 200 OK\r\nContent-Length: {len(self.BODY)}\r\nConnection: close\r\n\r\n"
        writer.write((head + self.BODY).encode())
        await writer.drain()
        writer.close()


async def test_llamacpp_gets_a_grammar_its_window_and_its_slots(tmp_path: Path) -> None:
    server = await asyncio.start_server(_Props().answer, "127.0.0.1", 0)
    url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    async with server:
        chosen = UpstreamChoice("qwen2.5-coder", f"{url}/v1/")
        (model,) = await asyncio.to_thread(open_upstreams, chosen, settings_in_force(tmp_path))
    assert model.provider.takes_grammar and model.protocol.in_text
    assert (model.context_window, model.slots) == (4096, 2)
    await model.provider.close()


async def test_vllm_gets_a_grammar_and_its_window(tmp_path: Path) -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        path = (await reader.readuntil(b"\r\n\r\n")).split()[1].decode()
        listed = {"object": "list", "data": [{"id": "m", "object": "model", "max_model_len": 4096}]}
        known = {"/version": {"version": "0.12.0"}, "/v1/models": listed}
        body = json.dumps(known.get(path, {"detail": "Not Found"}))
        head = f"HTTP/1.1 {200 if path in known else 404} X\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
        writer.write((head + body).encode())
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    async with server:
        chosen = UpstreamChoice("m", f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}")
        (model,) = await asyncio.to_thread(open_upstreams, chosen, settings_in_force(tmp_path))
    assert model.provider.takes_grammar and model.context_window == 4096
    await model.provider.close()


def test_upstreams_of_the_settings_have_names_and_aliases(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    user_folder().mkdir(parents=True)
    (user_folder() / "config.toml").write_text(
        '[upstreams."big"]\nmodel = "ollama/qwen3"\nprotocol = "json_mix"\naliases = ["claude-*"]\n'
        '[upstreams."small"]\nmodel = "ollama/qwen3:1b"\nslots = 1\n'
    )
    big, small = open_upstreams(UpstreamChoice(), settings_in_force(tmp_path))
    assert (big.name, big.protocol.name, big.aliases) == ("big", "json_mix", ("claude-*",))
    assert (small.name, small.model, small.slots) == ("small", "qwen3:1b", 1)


class _Listening(_Props):
    """Keeps what it was sent."""

    def __init__(self) -> None:
        self.heads: list[bytes] = []

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.heads.append(await reader.readuntil(b"\r\n\r\n"))
        again = asyncio.StreamReader()
        again.feed_data(self.heads[-1])
        await super().answer(again, writer)


async def test_an_upstream_of_a_project_gets_no_key_of_the_users(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    project = tmp_path / "project"
    (project / ".joey").mkdir(parents=True)
    assert main(["tools", "--trust", "--workspace", str(project)]) == 0
    listening = _Listening()
    server = await asyncio.start_server(listening.answer, "127.0.0.1", 0)
    entry = f'[upstreams."theirs"]\nmodel = "m"\nurl = "http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"\n'
    for variable, line in (("MY_BANK_TOKEN", 'key_variable = "MY_BANK_TOKEN"\n'), ("JOEY_UPSTREAM_KEY", "")):
        monkeypatch.setenv(variable, "secret")
        (project / ".joey" / "config.toml").write_text(entry + line)
        config = settings_in_force(project)
        if line:
            with pytest.raises(UsageError, match="key_variable is allowed only in your own settings"):
                await asyncio.to_thread(open_upstreams, UpstreamChoice(), config)
        else:
            (theirs,) = await asyncio.to_thread(open_upstreams, UpstreamChoice(), config)
            await theirs.provider.close()
    server.close()
    assert listening.heads and b"secret" not in b"".join(listening.heads)


@pytest.mark.parametrize("url", ["file:///etc/passwd", "127.0.0.1:8080", "ftp://127.0.0.1"])
def test_an_upstream_is_an_address_of_a_server(url: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="must begin with http"):
        open_upstreams(UpstreamChoice(url=url), settings_in_force(tmp_path))


# Clients


@pytest.mark.parametrize("client", CLIENTS)
def test_a_client_is_started_with_files_of_its_own_and_nothing_of_the_users(client: str, tmp_path: Path) -> None:
    launch = launch_of(client, SERVED, tmp_path, ["one", "two words"])
    launch.write_files(tmp_path)
    given = json.dumps([launch.variables, launch.files, launch.command])
    assert "127.0.0.1:9" in given and "my-model" in given
    assert launch.command[-2:] == ("one", "two words")
    assert all((tmp_path / name).is_file() for name in launch.files)
    places = [value for value in launch.variables.values() if value.startswith("/")]
    assert all(place.startswith(str(tmp_path)) for place in places)
    if client == "codex":
        config = tomllib.loads((tmp_path / "codex/config.toml").read_text())
        catalogue = json.loads(Path(config["model_catalog_json"]).read_text())
        assert catalogue["models"][0]["context_window"] == 16384
        assert config["model_providers"]["joey"]["stream_idle_timeout_ms"] > 300_000


@pytest.mark.parametrize("client", CLIENTS)
def test_what_is_printed_for_a_client_is_a_shell_script(client: str, tmp_path: Path) -> None:
    script = launch_of(client, SERVED, tmp_path / "made", ["it's"]).shown("made")
    program = script.rsplit("\n", 1)[1]
    assert shlex.split(program)[-1] == "it's"
    quiet = script.removesuffix(program) + "env"
    ran = subprocess.run(["bash", "-euc", quiet], capture_output=True, text=True, cwd=tmp_path, check=True)
    assert "127.0.0.1" in ran.stdout or client in ("codex", "opencode")


async def test_a_client_runs_in_front_of_the_gateway_and_its_exit_code_comes_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = tmp_path / "claude"
    script.write_text(
        f"#!{sys.executable}\n"
        "import json, os, sys, urllib.request\n"
        "body = {'model': 'x', 'max_tokens': 9, 'messages': [{'role': 'user', 'content': 'Hi'}]}\n"
        "url = os.environ['ANTHROPIC_BASE_URL'] + '/v1/messages'\n"
        "request = urllib.request.Request(url, json.dumps(body).encode())\n"
        "answer = json.load(urllib.request.urlopen(request))\n"
        "sys.exit(7 if answer['content'][0]['text'] == 'Hello.' and sys.argv[-1] == '-p' else 1)\n"
    )
    script.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    with bound("127.0.0.1", 0) as listening:
        assert await serve_client(Gateway([upstream("Hello.")]), listening, "claude", ["-p"], None) == 7
    with bound("127.0.0.1", 0) as listening, pytest.raises(UsageError, match="npm install -g @openai/codex"):
        await serve_client(Gateway([upstream()]), listening, "codex", [], None)


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["--host", "0.0.0.0"], "set a key"),
        (["--print"], "--for"),
        (["--", "x"], "--for"),
        (["--model", "nope/x"], "no provider"),
        (["--upstream", "http://127.0.0.1:1"], "--model"),
        (["--protocol", "morse", "--model", "ollama/x"], "no protocol"),
        (["--window", "0", "--model", "ollama/x", "--for", "claude", "--print"], "--window"),
    ],
)
def test_what_cannot_be_served_is_said_at_once(args: list[str], words: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["gateway", *args]) == 2
    assert words in capsys.readouterr().err


def test_a_gateway_in_front_of_a_server_loads_nothing_for_models_of_this_machine() -> None:
    code = (
        "import sys, joey.gateway.serving, joey.gateway.opening; print('joey.providers.local.weights' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.stdout == "False\n", done.stderr


async def test_a_gateway_in_front_of_a_server_starts_without_settings_and_other_http_clients(tmp_path: Path) -> None:
    code = """
import sys
from joey.cli import command_parser, gateway
args = command_parser("gateway").parse_args(["--upstream", sys.argv[1], "--model", "m"])
gateway._gateway(args, None, loopback=True)
print(sorted({"joey.config", "urllib.request", "email.utils", "importlib.resources", "shutil"} & set(sys.modules)))
"""
    async with LocalServer([reply("Hi.")]) as server:
        done = await asyncio.to_thread(
            subprocess.run,
            [sys.executable, "-c", code, server.url],
            capture_output=True,
            text=True,
            timeout=60,
            env={**os.environ, "HOME": str(tmp_path)},
        )
    assert done.stdout == "[]\n", done.stderr


async def test_a_server_that_says_nothing_of_itself_does_not_hold_up_the_start() -> None:
    async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        writer.close()

    server = await asyncio.start_server(silent, "127.0.0.1", 0)
    async with server:
        address = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
        assert await asyncio.to_thread(probe, address, None, timeout=0.05) == Probed()
