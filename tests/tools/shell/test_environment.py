"""Which variables a command gets: as a table, and in real shells."""

from __future__ import annotations

import socket
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from joey.providers import ENDPOINTS
from joey.tools.base import ToolContext
from joey.tools.builtin.execute_command import ExecuteCommand, ExecuteCommandParams
from joey.tools.shell.environment import NO_RULES, EnvironmentRules, command_environment

TOKEN = "Zq8" + "fT2mX9" * 4
SHORT = "swordfish"

SECRET_NAMES = [
    "ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GITHUB_TOKEN", "GH_TOKEN", "NPM_AUTHTOKEN", "NPM_CONFIG__AUTH",
    "npm_config_authToken", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_ACCESS_KEY_ID", "PGPASSWORD",
    "PGPASSFILE", "MYSQL_PWD", "DB_PASS", "DB_PASSWORD_1", "RAILS_MASTER_KEY", "SECRET_KEY_BASE",
    "DJANGO_SECRET_KEY", "API_KEY_2", "apiKey", "githubToken", "STRIPE_SECRET", "AUTH", "BASIC_AUTH",
    "GOOGLE_APPLICATION_CREDENTIALS", "AWS_WEB_IDENTITY_TOKEN_FILE", "CARGO_REGISTRY_TOKEN", "SESSION_COOKIE",
    "PHPSESSID", "COOKIE", "SIGNING_KEY", "GPG_PASSPHRASE", "VAULT_TOKEN", "SENTRY_DSN", "SLACK_WEBHOOK",
    "DATABASE_URL", "AZURE_STORAGE_CONNECTION_STRING", "TWINE_PASSWORD", "KUBECONFIG", "JWT", "LOGIN_PIN",
    "REDIS_URL", "MONGO_URI", "TELEGRAMBOTTOKEN", "DBPASS", "DB_ROOTPASS", "SMTPPASS2", "MNEMONIC", "WALLET_MNEMONIC",
    "SEED", "WALLET_SEED", "SEED_PHRASE",
]  # fmt: skip
SECRET_VALUES = [
    "sk-ant-REDACTED", "sk-proj-0123456789abcdef", "ghp_0123456789abcdefghij", "github_pat_0123456789abcd",
    "AKIAIOSFODNN7EXAMPLE", "xoxb-1234567890-abcdef", "AIzaSyA0123456789abcdefghijk", "glpat-0123456789abcdefg",
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2lnbmF0dXJl", "postgres://user:swordfish@db/main",
    "http://user:swordfish@proxy:3128", "https://example.test/?token=swordfish", "-----BEGIN RSA PRIVATE KEY-----\nMII",
    "d41d8cd98f00b204e9800998ecf8427e", "Bearer 9f86d081884c7d659a2feaa0c55ad015", "c3dvcmRmaXNoc3dvcmRmaXNoMQ==",
    "01234567-89ab-cdef-0123-456789abcdef", "aB3_dE6-gH9_jK2-mN5_pQ8-sT1_vW4-yZ7",
    "key=abcdefghij0123456789XYZ;host=db", "-Xmx1g -Dpassword=swordfish", "-Dtoken=swordfish",
    "-Djavax.net.ssl.keyStorePassword=swordfish", "-Ddb.pass=swordfish -Dx=y", "Server=db;Pwd=swordfish",
    "--api-key=swordfish",
]  # fmt: skip
DOORS = [
    "SSH_AUTH_SOCK", "SSH_AGENT_PID", "GPG_AGENT_INFO", "DBUS_SESSION_BUS_ADDRESS", "DBUS_SYSTEM_BUS_ADDRESS",
    "DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY", "XDG_RUNTIME_DIR", "DOCKER_HOST", "TMUX", "TMUX_PANE", "STY",
    "KITTY_LISTEN_ON", "VSCODE_IPC_HOOK_CLI", "VSCODE_GIT_ASKPASS_NODE", "NVIM", "GNOME_KEYRING_CONTROL",
    "SESSION_MANAGER", "SUDO_ASKPASS", "SSH_ASKPASS",
]  # fmt: skip
STEERING = [
    "BASH_ENV", "ENV", "CDPATH", "PROMPT_COMMAND", "BASH_FUNC_ls%%", "BASH_FUNC_which()", "SHELLOPTS", "BASHOPTS",
    "PS4", "LD_PRELOAD", "LD_AUDIT", "GLOBIGNORE", "LESSOPEN", "GREP_OPTIONS", "RIPGREP_CONFIG_PATH", "TAR_OPTIONS",
    "GIT_EXTERNAL_DIFF", "GIT_SSH_COMMAND", "GIT_DIR", "GIT_CONFIG_COUNT", "GIT_CONFIG_KEY_0", "GIT_EXEC_PATH",
    "GIT_PAGER", "BASH_LOADABLES_PATH",
]  # fmt: skip
HARMLESS = {
    "HOME": "/home/me", "USER": "me", "SHELL": "/bin/bash", "LANG": "C.UTF-8", "LC_ALL": "C", "TERM": "xterm",
    "TZ": "UTC",
    "PWD": "/home/me", "OLDPWD": "/", "EDITOR": "vim", "CI": "true", "DEBIAN_FRONTEND": "noninteractive",
    "JAVA_HOME": "/usr/lib/jvm/java-17-openjdk-amd64", "VIRTUAL_ENV": "/home/me/p/.venv", "NODE_ENV": "test",
    "TOKENIZERS_PARALLELISM": "false", "GIT_AUTHOR_NAME": "A. Author", "GIT_COMMITTER_EMAIL": "a@example.test",
    "PYTHONPATH": "src", "NODE_OPTIONS": "--max-old-space-size=4096", "CC": "x86_64-linux-gnu-gcc-12", "PORT": "8080",
    "MAKEFLAGS": "-j4", "KEYBOARD_LAYOUT": "de", "SSL_CERT_FILE": "/etc/ssl/certs/ca-certificates.crt",
    "NIX_PROFILES": "/nix/store/0c0mhbgbwrlm8l0v3s2n0a9d3kxq1z7f-p:/run/x", "http_proxy": "http://proxy:3128",
    "GITHUB_SHA": "d41d8cd98f00b204e9800998ecf8427ed41d8cd9", "LS_COLORS": "rs=0:di=01;34:ln=01;36:mh=00",
    "XDG_SESSION_TYPE": "wayland", "COMPASS": "north", "PROXY_BYPASS": "localhost", "RANDOM_SEED": "42",
    "PYTHONHASHSEED": "0", "MAVEN_OPTS": "-Xmx2g -Dmaven.compile.fork=true",
    "JAVA_OPTS": "-Dfile.encoding=UTF-8 -Dpasses=3", "MONKEY": "see", "AUTHOR": "me", "PASSENGERS": "4",
}  # fmt: skip


@pytest.mark.parametrize("name", SECRET_NAMES)
def test_a_name_that_looks_like_a_secret_is_withheld(name: str) -> None:
    given = command_environment({name: "x", "PATH": "/bin"})
    assert given.withheld == (name,) and name not in given.variables


@pytest.mark.parametrize("name", sorted({each.key_variable for each in ENDPOINTS.values()} - {""}))
def test_the_keys_of_every_provider_are_withheld(name: str) -> None:
    assert command_environment({name: "x"}).withheld == (name,)


@pytest.mark.parametrize("value", SECRET_VALUES)
def test_a_value_that_looks_like_a_secret_is_withheld(value: str) -> None:
    assert command_environment({"SOMETHING": value}).withheld == ("SOMETHING",)


@pytest.mark.parametrize("name", DOORS)
def test_sockets_of_agents_buses_and_terminals_are_withheld(name: str) -> None:
    assert command_environment({name: "x"}).withheld == (name,)


def test_the_path_of_a_socket_is_withheld_whatever_its_name_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # the path of a socket may not be long
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind("s")
        door = str(tmp_path / "s")
        given = command_environment({"A": door, "B": f"{door},123,0", "C": f"unix:path={door}", "D": str(tmp_path)})
    assert given.withheld == ("A", "B", "C") and given.variables["D"] == str(tmp_path)


@pytest.mark.parametrize("name", STEERING)
def test_what_changes_the_meaning_of_a_command_line_is_not_passed_on_even_if_the_user_keeps_it(name: str) -> None:
    assert name not in command_environment({name: "/x"}, keep=["*"]).variables


def test_what_programs_need_is_passed_on() -> None:
    given = command_environment({**HARMLESS, "PATH": "/bin"})
    assert given.withheld == () and given.variables == {**HARMLESS, "PATH": "/bin"}


def test_a_secret_is_found_under_other_names_too() -> None:
    environ = {"MY_TOKEN": SHORT, "CURL_HEADER": f"X-Auth: {SHORT}", "PIN": "1", "COUNT": "10"}
    assert command_environment(environ).withheld == ("CURL_HEADER", "MY_TOKEN", "PIN")


def test_the_user_keeps_and_withholds_by_name_and_by_pattern_and_withholding_is_stronger() -> None:
    environ = {"GITHUB_TOKEN": TOKEN, "AWS_ACCESS_KEY_ID": "x", "AWS_SECRET_ACCESS_KEY": "y", "PORT": "1"}
    given = command_environment(environ, keep=["GITHUB_TOKEN", "AWS_*"], withhold=["PORT", "*SECRET*"])
    assert given.withheld == ("AWS_SECRET_ACCESS_KEY", "PORT")
    assert given.variables["GITHUB_TOKEN"] == TOKEN and given.variables["AWS_ACCESS_KEY_ID"] == "x"


@pytest.mark.parametrize(
    ("path", "cleaned"),
    [
        (".:/usr/bin::bin:/bin:", "/usr/bin:/bin"),
        ("node_modules/.bin", "/usr/local/bin:/usr/bin:/bin"),
        ("", "/usr/local/bin:/usr/bin:/bin"),
        (None, "/usr/local/bin:/usr/bin:/bin"),
    ],
)
def test_no_program_is_looked_for_in_the_current_folder(path: str | None, cleaned: str) -> None:
    assert command_environment({} if path is None else {"PATH": path}).variables["PATH"] == cleaned


def test_no_library_is_looked_for_in_the_current_folder() -> None:
    libraries = [command_environment({"LD_LIBRARY_PATH": each}).variables["LD_LIBRARY_PATH"] for each in ("", ".:/opt")]
    assert libraries == ["/nonexistent", "/opt"]


@pytest.fixture
async def context(context: ToolContext) -> AsyncIterator[ToolContext]:
    """A task whose sandboxes are closed with the test."""
    yield context
    await context.memory.close()


async def _run(context: ToolContext, command: str, rules: EnvironmentRules = NO_RULES) -> str:
    tool = ExecuteCommand(environment=rules)
    return (await tool.run(ExecuteCommandParams(command=command), context)).text


async def test_a_command_does_not_see_a_key_and_the_model_is_informed_once(
    context: ToolContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", SHORT)
    monkeypatch.setenv("DEPLOYMENT", f"--with {SHORT}")
    monkeypatch.setenv("GREETING", "hello")
    first, second = [await _run(context, "env; cat /proc/self/environ | tr '\\0' '\\n'") for _ in range(2)]
    assert SHORT not in first + second and "GREETING=hello" in first
    assert "secrets: ANTHROPIC_API_KEY, DEPLOYMENT. Do not look for them." in first.partition("Output:")[0]
    assert "ANTHROPIC_API_KEY" not in second


async def test_a_variable_that_the_user_keeps_is_seen(context: ToolContext, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_TOKEN", SHORT)
    text = await _run(context, "echo $GITHUB_TOKEN", EnvironmentRules(keep=("GITHUB_*",)))
    assert text == f"Command executed.\n\nOutput:\n{SHORT}"


async def test_the_environment_of_joey_changes_nothing_in_what_a_line_does(
    context: ToolContext, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    started = tmp_path / "start-up"
    started.write_text("echo from a start-up file\n")
    program = context.workspace / "ls"
    program.write_text("#!/bin/sh\necho from the workspace\n")
    program.chmod(0o755)
    variables = {
        "BASH_ENV": str(started), "BASH_FUNC_ls%%": "() { echo from a function; }", "SHELLOPTS": "xtrace",
        "CDPATH": str(tmp_path), "PATH": f".::{_path()}",
    }  # fmt: skip
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    (context.workspace / "start-up").mkdir()
    assert await _run(context, "cd start-up; cd ..; ls") == "Command executed.\n\nOutput:\nls\nstart-up"


def _path() -> str:
    return command_environment({}).variables["PATH"]
