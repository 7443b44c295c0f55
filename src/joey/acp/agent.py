"""The methods that Joey serves, and the sessions that they are about.

Sessions live in one process, each with its folder, its mode, its servers and its task. A method whose parameters are
wrong is answered with what is wrong; nothing of a session changes then.
"""

from __future__ import annotations

import asyncio
import re
import signal
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, BinaryIO, TypeAlias

from joey.acp.client import Client, ClientFiles
from joey.acp.connection import (
    INVALID_PARAMS,
    LOGIN_NEEDED,
    NOT_FOUND,
    EditorConnection,
    Params,
    RpcError,
    ThreadedLines,
)
from joey.acp.lines import InputLines
from joey.acp.prompt import read_prompt
from joey.acp.serve import KEY_VARIABLES, answer_to_initialize
from joey.acp.session import EditorSession
from joey.app.services import Services, TaskLine
from joey.app.tasks import Given, TaskOptions
from joey.errors import JoeyError
from joey.journal.markdown import task_title
from joey.journal.records import TaskOpened
from joey.journal.replay import TaskState
from joey.mcp.config import ServerConfig, Transport
from joey.providers.errors import MissingKeyError
from joey.system.keyring import delete_key
from joey.system.signals import handled_signals
from joey.task.config import new_task_id

_TRANSPORTS: dict[str, Transport] = {"http": "streamable-http", "sse": "sse"}


def read_servers(servers: Any, folder: Path) -> tuple[ServerConfig, ...]:
    """As `session/new` lists them. One of a program has no type."""
    if servers is None:
        return ()
    if not isinstance(servers, list):
        raise RpcError(INVALID_PARAMS, "mcpServers is a list")
    return tuple(_server(each, folder) for each in servers)


def _server(server: Any, folder: Path) -> ServerConfig:
    if not isinstance(server, Mapping) or not isinstance(server.get("name"), str):
        raise RpcError(INVALID_PARAMS, "an MCP server has a name")
    name, kind = server["name"], server.get("type")
    if kind in _TRANSPORTS:
        headers = _pairs(server.get("headers"))
        return ServerConfig(name, _TRANSPORTS[kind], folder, "user", url=str(server.get("url", "")), headers=headers)
    command = server.get("command")
    if not isinstance(command, str) or not command:
        raise RpcError(INVALID_PARAMS, f"the MCP server {name!r} has neither a command nor a known type")
    args = server.get("args")
    arguments = tuple(map(str, args)) if isinstance(args, list) else ()
    environment = _pairs(server.get("env"))
    return ServerConfig(
        name, "stdio", folder, "user", command=command, args=arguments, env=environment, cwd=str(folder)
    )


def _pairs(listed: Any) -> tuple[tuple[str, str], ...]:
    """Lists of {name, value}."""
    found = listed if isinstance(listed, list) else []
    return tuple(
        (str(each["name"]), str(each.get("value", "")))
        for each in found
        if isinstance(each, Mapping) and "name" in each
    )


_PAGE = 50
_TASK_ID = re.compile(r"[\w-]{8,80}")
Method: TypeAlias = Callable[[Params], Awaitable[Any]]


class Agent:
    """What one client is served with."""

    def __init__(self, client: Client, flags: Mapping[str, Any]) -> None:
        self._client = client
        self._flags = flags
        self._sessions: dict[str, EditorSession] = {}
        self.connection: EditorConnection
        self._methods: dict[str, Method] = {
            "initialize": self._initialize,
            "authenticate": self._authenticate,
            "logout": self._logout,
            "session/new": self._new,
            "session/load": self._load,
            "session/resume": self._resume,
            "session/list": self._list,
            "session/close": self._close,
            "session/delete": self._delete,
            "session/prompt": self._prompt,
            "session/set_mode": self._set_mode,
            "session/set_config_option": self._set_option,
        }

    def method(self, name: str) -> Method | None:
        return self._methods.get(name)

    def notification(self, name: str) -> Callable[[Params], None] | None:
        return self._cancel if name == "session/cancel" else None

    async def close(self) -> None:
        for session in self._sessions.values():
            await session.close()

    # The client

    async def _initialize(self, params: Params) -> dict[str, Any]:
        """Where it did not come first, or comes again."""
        self._client = Client.read(params)
        return answer_to_initialize(params, chosen=bool(self._flags.get("model")))

    async def _authenticate(self, params: Params) -> dict[str, Any]:
        """Whether there is a model now: keys are set elsewhere."""
        _text(params, "methodId")
        services = Services(TaskOptions(Path.cwd(), self._flags))
        with _login_needed():
            services.check_model(services.first_choices().model or "")
        return {}

    async def _logout(self, _params: Params) -> dict[str, Any]:
        """Forget the keys that are in the keyring. Those of the environment are not ours."""
        for variable in KEY_VARIABLES:
            delete_key(variable)
        return {}

    # Sessions

    async def _new(self, params: Params) -> dict[str, Any]:
        session = self._open(new_task_id(), params)
        with _login_needed():
            session.services.check_model(session.model)
        session.services.reserve(session.id)
        self._sessions[session.id] = session
        _soon(session.begin)
        return {"sessionId": session.id, **session.state()}

    async def _load(self, params: Params) -> dict[str, Any]:
        session = await self._reopen(params)
        if session.task_id is not None:
            session.replay()
        _soon(session.begin)
        return session.state()

    async def _resume(self, params: Params) -> dict[str, Any]:
        session = await self._reopen(params)
        if session.task_id is not None:
            session.replay(shown=False)
        _soon(session.begin)
        return session.state()

    async def _reopen(self, params: Params) -> EditorSession:
        session_id = _text(params, "sessionId")
        if (known := self._sessions.pop(session_id, None)) is not None:
            await known.close()
        services = Services(TaskOptions(_folder(params)))
        if _is_reserved(services, session_id):
            session = self._sessions[session_id] = self._open(session_id, params)
            return session
        task_id, state, opened = _found(services, session_id)
        session = self._sessions[task_id] = self._open(task_id, {**params, "cwd": str(opened.folder)})
        session.continues(opened, state.mode)
        return session

    def _open(self, session_id: str, params: Params) -> EditorSession:
        folder = _folder(params)
        servers = read_servers(params.get("mcpServers"), folder)
        files = ClientFiles(session_id, self.connection) if self._client.files else None
        given = Given(task_id=session_id, servers=servers, editor=files, folders=_further(params, folder))
        services = Services(TaskOptions(folder, self._flags), given=given)
        with _login_needed():
            return EditorSession(session_id, services, self.connection, self._client)

    async def _list(self, params: Params) -> dict[str, Any]:
        folder = params.get("cwd")
        lines = [line for line in Services(TaskOptions(Path.cwd())).tasks() if line.folder is not None]
        if isinstance(folder, str):
            lines = [line for line in lines if _is_at(line, Path(folder))]
        start = _cursor(params.get("cursor"))
        page = lines[start : start + _PAGE]
        more = {"nextCursor": str(start + _PAGE)} if len(lines) > start + _PAGE else {}
        return {"sessions": [_info(line) for line in page], **more}

    async def _close(self, params: Params) -> dict[str, Any]:
        """One that is not open here is as good as closed, if there is one."""
        session_id = _text(params, "sessionId")
        if (session := self._sessions.pop(session_id, None)) is not None:
            await session.close()
        else:
            self._known(session_id)
        return {}

    async def _delete(self, params: Params) -> dict[str, Any]:
        session_id = _text(params, "sessionId")
        if (session := self._sessions.pop(session_id, None)) is not None:
            await session.close()
        self._known(session_id).delete(session_id)
        return {}

    def _known(self, session_id: str) -> Services:
        """The services that know this session, which need not be open here. RpcError if there is none."""
        services = Services(TaskOptions(Path.cwd()))
        if not _is_reserved(services, session_id):
            _found(services, session_id)
        return services

    # Turns

    async def _prompt(self, params: Params) -> dict[str, Any]:
        session = self._session(params)
        prompt = read_prompt(params.get("prompt"), *map(str, session.folders))
        return {"stopReason": await session.prompt(prompt)}

    def _cancel(self, params: Params) -> None:
        session = self._sessions.get(str(params.get("sessionId")))
        if session is not None:
            session.cancel()

    async def _set_mode(self, params: Params) -> dict[str, Any]:
        session, mode = self._session(params), _text(params, "modeId")
        _among("mode", mode, dict(session.services.modes()))
        session.choose("mode", mode)
        return {}

    async def _set_option(self, params: Params) -> dict[str, Any]:
        session, name, value = self._session(params), _text(params, "configId"), _text(params, "value")
        offered = {each["id"]: each for each in session.state()["configOptions"]}
        _among("option", name, offered)
        _among(name, value, {each["value"]: each for each in offered[name]["options"]})
        session.choose(name, value)
        return {"configOptions": session.state()["configOptions"]}

    def _session(self, params: Params) -> EditorSession:
        session_id = _text(params, "sessionId")
        if session_id not in self._sessions:
            raise RpcError(NOT_FOUND, f"there is no session {session_id!r}; open it with session/new or session/load")
        return self._sessions[session_id]


def _soon(then: Callable[[], None]) -> None:
    """When the answer is out: editors drop what comes for a session that they do not know yet."""
    asyncio.get_running_loop().call_soon(then)


@contextmanager
def _login_needed() -> Iterator[None]:
    """A key that is missing is what the protocol has a code for."""
    try:
        yield
    except MissingKeyError as error:
        raise RpcError(LOGIN_NEEDED, str(error)) from None


def _is_reserved(services: Services, session_id: str) -> bool:
    return bool(_TASK_ID.fullmatch(session_id)) and services.is_reserved(session_id)


def _found(services: Services, session_id: str) -> tuple[str, TaskState, TaskOpened]:
    try:
        task_id, state, opened = services.state(session_id)
    except JoeyError as error:
        raise RpcError(NOT_FOUND, str(error)) from None
    if task_id != session_id:
        raise RpcError(NOT_FOUND, f"there is no session {session_id!r}")
    return task_id, state, opened


def _info(line: TaskLine) -> dict[str, Any]:
    changed = datetime.fromtimestamp(line.changed, UTC).isoformat()
    return {
        "sessionId": line.task_id,
        "cwd": str(line.folder),
        "title": task_title(line.text) or "New task",
        "updatedAt": changed,
    }


def _is_at(line: TaskLine, folder: Path) -> bool:
    return line.folder is not None and (line.folder == folder or line.folder.resolve() == folder.resolve())


def _folder(params: Params) -> Path:
    return _existing(params.get("cwd"), "cwd")


def _further(params: Params, folder: Path) -> tuple[Path, ...]:
    """The folders that belong to the workspace besides; none is named twice."""
    listed = params.get("additionalDirectories") or []
    if not isinstance(listed, list):
        raise RpcError(INVALID_PARAMS, "additionalDirectories is a list of absolute paths")
    found = (_existing(each, "each of additionalDirectories") for each in listed)
    return tuple(each for each in dict.fromkeys(found) if each != folder)


def _existing(path: Any, name: str) -> Path:
    if not isinstance(path, str) or not path.startswith("/"):
        raise RpcError(INVALID_PARAMS, f"{name} is an absolute path")
    if not Path(path).is_dir():
        raise RpcError(INVALID_PARAMS, f"{path} is not a folder")
    return Path(path)


def _text(params: Params, name: str) -> str:
    value = params.get(name)
    if not isinstance(value, str) or not value:
        raise RpcError(INVALID_PARAMS, f"{name} is missing, or not a text")
    return value


def _among(what: str, value: str, known: Mapping[str, Any]) -> None:
    if value not in known:
        raise RpcError(INVALID_PARAMS, f"unknown {what} {value!r}; available: {', '.join(known)}")


def _cursor(value: Any) -> int:
    if value is None:
        return 0
    if not isinstance(value, str) or not value.isdecimal():
        raise RpcError(INVALID_PARAMS, "this cursor was not given by session/list")
    return int(value)


def run(lines: InputLines, stdout: BinaryIO, first: tuple[bytes, ...], agent: Agent) -> int:
    """`first` are lines that were read already."""
    return asyncio.run(_serve(lines, stdout, first, agent))


async def _serve(lines: InputLines, stdout: BinaryIO, first: tuple[bytes, ...], agent: Agent) -> int:
    connection = agent.connection = EditorConnection(agent, stdout)
    serving = asyncio.ensure_future(connection.run(ThreadedLines(lines, first)))

    def end(_number: signal.Signals) -> None:
        serving.cancel()

    with handled_signals(end):
        await asyncio.wait([serving])
        await agent.close()
    return 0
