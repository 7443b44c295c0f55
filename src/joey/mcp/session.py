"""One connection to one server, from the handshake to its end, over the official SDK.

What comes out of here is plain JSON and Joey's own data; nothing above this module knows the SDK. Loading the SDK
takes the better part of a second, so this module is loaded only when there is a server to talk to.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from types import TracebackType
from typing import Any, Self, TypeVar

import anyio
import httpx2
import mcp_types as types
from mcp.client.client import Client
from mcp.client.session import ClientRequestContext, IncomingMessage
from mcp.client.sse import sse_client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError
from mcp.shared.message import SessionMessage
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import TypeAdapter, ValidationError

from joey import __version__
from joey.mcp.checking import parts
from joey.mcp.config import ServerConfig
from joey.mcp.elicitation import MAX_FORMS, Elicitation
from joey.mcp.errors import CallError, ErrorOutput
from joey.mcp.listing import ListedPrompt, ListedResource, ListedTool, ServerListing, fixed_tools
from joey.mcp.oauth import stored_auth
from joey.mcp.transports import http_client, stdio_transport
from joey.tools.forms import AskForm
from joey.wire import JsonObject

_MAX_PAGES = 200
_MAX_ENTRIES = 5_000
_MAX_PARTS = 100_000
_NO_TIMEOUT = 7 * 24 * 3600.0
_ANSWER: TypeAdapter[types.CallToolResult | types.InputRequiredResult] = TypeAdapter(
    types.CallToolResult | types.InputRequiredResult
)
_LOST_SESSION = "Session terminated"
_LIST_CHANGED = (
    types.ToolListChangedNotification,
    types.ResourceListChangedNotification,
    types.PromptListChangedNotification,
)

PageT = TypeVar("PageT", bound=types.PaginatedResult)
Progress = Callable[[float, float | None, str | None], None]

for _name in ("mcp", "client"):
    # The SDK logs what servers do wrong, with tracebacks. We tell it in words; a user's own handlers still get it.
    logging.getLogger(_name).addHandler(logging.NullHandler())


@asynccontextmanager
async def open_session(
    config: ServerConfig, words: ErrorOutput, on_change: Callable[[], None], auth: httpx2.Auth | None = None
) -> AsyncIterator[McpSession]:
    """Connect and shake hands. `on_change` is called when the server says that its lists have changed; `auth` signs the
    requests, by default with the tokens of an earlier sign-in."""
    if config.transport != "stdio" and auth is None:
        auth = await stored_auth(config, words.note)
    ended, problems = asyncio.Event(), list[str]()

    async def heard(message: IncomingMessage) -> None:
        if isinstance(message, _LIST_CHANGED):
            on_change()

    forms = Elicitation(config.name, words)

    async def elicit(context: ClientRequestContext, params: types.ElicitRequestParams) -> types.ElicitResult:  # noqa: ARG001
        return await _elicited(forms, params)

    client = Client(
        _watched(_transport(config, words, auth), ended, problems),
        cache=None,
        read_timeout_seconds=config.timeout,
        client_info=types.Implementation(name="joey", version=__version__),
        message_handler=heard,
        elicitation_callback=elicit,
    )
    async with client:
        session = McpSession(client, config, ended, problems, forms)
        listening = asyncio.create_task(session.listen())
        try:
            yield session
        finally:
            listening.cancel()
            await asyncio.gather(listening, return_exceptions=True)


class McpSession:
    def __init__(
        self, client: Client, config: ServerConfig, ended: asyncio.Event, problems: list[str], forms: Elicitation
    ) -> None:
        self._client = client
        self._config = config
        self._problems = problems
        self._forms = forms
        self.ended = ended
        """Set when the connection is gone."""

    async def listing(self) -> ServerListing:
        """Everything the server offers, page by page."""
        self._problems.clear()
        can = self._client.server_capabilities
        tools: list[types.Tool] = []
        if can.tools is not None:
            session = self._client.session
            tools = await self._pages("tools", lambda at: session.list_tools(params=at), lambda page: page.tools)
        resources = await self._resources() if can.resources is not None else ()
        prompts = await self._prompts() if can.prompts is not None else ()
        return ServerListing(tuple(self._few_enough(tools)), resources, tuple(self._problems), prompts)

    def _few_enough(self, tools: list[types.Tool]) -> Iterator[ListedTool]:
        """The tools, as long as all their schemas together are not too much to look through."""
        room = _MAX_PARTS
        for at, each in enumerate(map(_tool, tools)):
            room -= parts(each.input_schema) + parts(each.output_schema or {})
            if room < 0:
                self._problems.append(
                    f"the schemas of its {len(tools):,} tools are too large; the first {at} were taken"
                )
                return
            yield each

    async def _resources(self) -> tuple[ListedResource, ...]:
        session = self._client.session
        try:
            plain = await self._pages(
                "resources", lambda at: session.list_resources(params=at), lambda page: page.resources
            )
            templates = await self._pages(
                "resource templates",
                lambda at: session.list_resource_templates(params=at),
                lambda page: page.resource_templates,
            )
        except CallError as error:  # a server without templates may say so with an error
            if error.lost:
                raise
            self._problems.append(str(error))
            return ()
        return (*map(_resource, plain), *map(_template, templates))

    async def _prompts(self) -> tuple[ListedPrompt, ...]:
        session = self._client.session
        try:
            found = await self._pages("prompts", lambda at: session.list_prompts(params=at), lambda page: page.prompts)
        except CallError as error:  # its tools are still worth having
            if error.lost:
                raise
            self._problems.append(str(error))
            return ()
        return tuple(map(_prompt, found))

    async def _pages(
        self,
        what: str,
        fetch: Callable[[types.PaginatedRequestParams], Awaitable[PageT]],
        entries: Callable[[PageT], list[Any]],
    ) -> list[Any]:
        found: list[Any] = []
        cursor, seen = None, set[str | None]()
        while cursor not in seen and len(seen) < _MAX_PAGES and len(found) < _MAX_ENTRIES:
            seen.add(cursor)
            at = types.PaginatedRequestParams(cursor=cursor)
            page = await self._request(f"its list of {what}", lambda at=at: fetch(at))  # type: ignore[misc]
            found += entries(page)
            cursor = page.next_cursor
            if cursor is None:
                return found[:_MAX_ENTRIES]
        self._problems.append(f"its list of {what} does not end; {min(len(found), _MAX_ENTRIES)} entries were taken")
        return found[:_MAX_ENTRIES]

    async def call(self, tool: str, arguments: JsonObject, show: Progress, ask: AskForm) -> JsonObject:
        """The answer of a tool, as it came. Cancelling this tells the server to stop."""
        try:
            async with self._forms.during(ask, self._config.timeout):
                return await self._call(tool, arguments, show)
        except TimeoutError:
            raise self._too_late(tool) from None

    async def _call(self, tool: str, arguments: JsonObject, show: Progress) -> JsonObject:
        params = types.CallToolRequestParams(name=tool, arguments=dict(arguments))
        for _ in range(MAX_FORMS + 1):
            answer = await self._sent(tool, params, show)
            if not isinstance(answer, types.InputRequiredResult):
                return _plain(tool, answer)
            given = {key: await self._given(tool, each) for key, each in (answer.input_requests or {}).items()}
            params = params.model_copy(update={"input_responses": given, "request_state": answer.request_state})
        raise CallError(f"{tool}: the server asks for more and more input")

    async def _given(self, tool: str, request: types.InputRequest) -> types.ElicitResult:
        if not isinstance(request, types.ElicitRequest):
            raise CallError(f"{tool}: the server wants {request.method}, which Joey does not do")
        return await _elicited(self._forms, request.params)

    async def _sent(
        self, tool: str, params: types.CallToolRequestParams, show: Progress
    ) -> types.CallToolResult | types.InputRequiredResult:

        async def progressed(progress: float, total: float | None, message: str | None) -> None:
            show(progress, total, message)

        # Not `call_tool`: that throws an answer away which does not fit the tool's output schema. And not its timeout:
        # the time that the user takes to fill in a form does not count.
        request = types.CallToolRequest(params=params)
        answer: types.CallToolResult | types.InputRequiredResult = await self._request(
            tool,
            lambda: self._client.session.send_request(request, _ANSWER, _NO_TIMEOUT, progress_callback=progressed),
        )
        return answer

    async def read(self, uri: str) -> JsonObject:
        """A resource, as it came."""
        return _plain(uri, await self._request(uri, lambda: self._client.session.read_resource(uri)))

    async def prompt(self, name: str, arguments: Mapping[str, str]) -> JsonObject:
        """The messages of a prompt, as they came."""
        return _plain(name, await self._request(name, lambda: self._client.session.get_prompt(name, dict(arguments))))

    async def listen(self) -> None:
        """On newer servers, subscribe to changes; older ones report them by themselves."""
        can = self._client.server_capabilities
        tools = bool(can.tools and can.tools.list_changed)
        resources = bool(can.resources and can.resources.list_changed)
        prompts = bool(can.prompts and can.prompts.list_changed)
        if self._client.protocol_version not in MODERN_PROTOCOL_VERSIONS or not (tools or resources or prompts):
            return
        try:
            async with self._client.listen(
                tools_list_changed=tools, resources_list_changed=resources, prompts_list_changed=prompts
            ) as changes:
                async for _ in changes:
                    pass  # every change also reaches the message handler, which acts on it
        except Exception as error:  # noqa: BLE001 - without it the server still works, with the lists of now
            self._problems.append(f"it cannot be watched for changes: {error}")

    def _too_late(self, what: str) -> CallError:
        return CallError(f"{what}: no answer within {self._config.timeout:g} s; the server was told to stop")

    async def _request(self, what: str, request: Callable[[], Awaitable[Any]]) -> Any:
        try:
            return await request()
        except MCPError as error:
            if error.code == types.REQUEST_TIMEOUT:
                raise self._too_late(what) from None
            lost = error.code == types.CONNECTION_CLOSED or error.message == _LOST_SESSION
            if lost:
                self.ended.set()
                raise _lost(what, error.message) from None
            raise CallError(f"{what}: the server answered with error {error.code}: {error.message}") from None
        except ValidationError as error:
            places = "; ".join(f"{'.'.join(map(str, each['loc']))}: {each['msg']}" for each in error.errors()[:3])
            raise CallError(f"{what}: the server's answer is not what the protocol asks for ({places})") from None
        except ValueError as error:  # nested deeper than the SDK reads
            raise _unreadable(what, error) from None
        except (
            anyio.ClosedResourceError,
            anyio.BrokenResourceError,
            RuntimeError,
        ):  # the SDK's words are for programmers
            self.ended.set()
            raise _lost(what, "it was closed") from None


async def _elicited(forms: Elicitation, params: types.ElicitRequestParams) -> types.ElicitResult:
    values = await forms.answer(params.model_dump(mode="json", by_alias=True, exclude_none=True))
    if values is None:
        return types.ElicitResult(action="decline")
    return types.ElicitResult(action="accept", content=dict(values))


def _lost(what: str, message: str) -> CallError:
    return CallError(
        f"{what}: the connection to the server was lost ({message}). Whether it did anything is not known; "
        "the server is started again, unless the user switched it off.",
        lost=True,
    )


def _unreadable(what: str, error: ValueError) -> CallError:
    return CallError(f"{what}: the server's answer cannot be read ({error})")


def _plain(what: str, answer: types.Result) -> JsonObject:
    try:
        plain: JsonObject = answer.model_dump(mode="json", by_alias=True, exclude_none=True)
    except ValueError as error:
        raise _unreadable(what, error) from None
    return plain


def _tool(tool: types.Tool) -> ListedTool:
    return ListedTool(tool.name, tool.description or tool.title or "", tool.input_schema, tool.output_schema)


def _prompt(prompt: types.Prompt) -> ListedPrompt:
    names = tuple(each.name for each in prompt.arguments or ())
    return ListedPrompt(prompt.name, prompt.description or prompt.title or "", names)


def _resource(resource: types.Resource) -> ListedResource:
    return ListedResource(
        str(resource.uri), resource.name, resource.description or "", resource.mime_type or "", is_template=False
    )


def _template(template: types.ResourceTemplate) -> ListedResource:
    return ListedResource(
        template.uri_template, template.name, template.description or "", template.mime_type or "", is_template=True
    )


# The way there


def _transport(config: ServerConfig, words: ErrorOutput, auth: httpx2.Auth | None) -> AbstractAsyncContextManager[Any]:
    if config.transport == "stdio":
        return stdio_transport(config, words)
    if config.transport == "sse":
        return sse_client(config.url, httpx_client_factory=lambda *_, **__: http_client(config, words, auth))
    return _streamable_http(config, words, auth)


@asynccontextmanager
async def _streamable_http(config: ServerConfig, words: ErrorOutput, auth: httpx2.Auth | None) -> AsyncIterator[Any]:
    client = http_client(config, words, auth)
    async with client, streamable_http_client(config.url, http_client=client) as streams:
        yield streams


@asynccontextmanager
async def _watched(
    transport: AbstractAsyncContextManager[Any], ended: asyncio.Event, problems: list[str]
) -> AsyncIterator[Any]:
    """The transport, with its incoming stream looked at on the way."""
    async with transport as (incoming, outgoing):
        try:
            yield _WatchedStream(incoming, ended, problems), outgoing
        finally:
            ended.set()


class _WatchedStream:
    """What comes from a server: notes the end of it, and fixes lists of tools before the SDK refuses them whole."""

    def __init__(self, inner: Any, ended: asyncio.Event, problems: list[str]) -> None:
        self._inner, self._ended, self._problems = inner, ended, problems

    @property
    def last_context(self) -> Any:
        return getattr(self._inner, "last_context", None)

    async def receive(self) -> SessionMessage | Exception:
        try:
            return self._fixed(await self._inner.receive())
        except (anyio.EndOfStream, anyio.ClosedResourceError):
            self._ended.set()
            raise

    async def aclose(self) -> None:
        await self._inner.aclose()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        try:
            return await self.receive()
        except anyio.EndOfStream:
            raise StopAsyncIteration from None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with contextlib.suppress(anyio.ClosedResourceError):
            await self.aclose()

    def _fixed(self, message: SessionMessage | Exception) -> SessionMessage | Exception:
        inner = message.message if isinstance(message, SessionMessage) else None
        if isinstance(inner, types.JSONRPCResponse) and isinstance(inner.result.get("tools"), list):
            inner.result["tools"], problems = fixed_tools(inner.result["tools"])
            self._problems += problems
        return message
