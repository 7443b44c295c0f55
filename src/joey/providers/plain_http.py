"""HTTP/1.1 to a server of this machine, with asyncio alone.

An official SDK and the client below it cost more processor time than everything else that is done with a request, and
most of the start-up. A server of this machine needs none of what they are for: no TLS, proxies, redirects or
credentials that expire. What is left is to write a request in one go and to read an answer:

    idle ──POST──► head ──► body: chunked, of a known length, or to the end ──complete──► idle
                    └── 1xx: another head                      └──anything else──► closed

`ResponseReader` is that without I/O. A connection is used again unless its server ends it; one that was ended in the
moment it was used again, before a byte of an answer, gets the request once more on a new connection. What a server
sends faster than it is read waits in the socket.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
import zlib
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from typing import TypeAlias
from urllib.parse import urlsplit

from joey.providers.base import CONNECT_TIMEOUT, ERROR_TIMEOUT

_MAX_HEAD = 64 * 2**10
_MAX_LINE = 4096
_MAX_BUFFERED = 2**20
_MAX_IDLE = 64
_STATUS = re.compile(rb"HTTP/1\.([01]) (\d{3})(?: |$)")
_SIZE = re.compile(rb"[0-9A-Fa-f]{1,15}")
_State: TypeAlias = Callable[[list[bytes]], bool]


class PlainHttpError(Exception):
    """The connection failed, or what came over it is not HTTP."""


class PlainStatusError(PlainHttpError):
    """The server refused the request; `response` says why."""

    def __init__(self, response: PlainResponse) -> None:
        super().__init__(f"status {response.status_code}")
        self.response = response


class ResponseReader:
    """The bytes of one answer, in any pieces, to its head and its body. No I/O."""

    def __init__(self) -> None:
        self.status = 0
        self.headers: dict[str, str] = {}
        self.is_complete = False
        self.keeps_alive = False
        self._raw = bytearray()
        self._state: _State = self._head
        self._left = 0

    def feed(self, data: bytes) -> list[bytes]:
        """What these bytes add to the body. Raises PlainHttpError for what is no HTTP."""
        self._raw += data
        out: list[bytes] = []
        while self._state(out):
            pass
        return out

    def finish(self) -> None:
        """The connection has ended. Raises PlainHttpError if the answer has not."""
        if self._state == self._to_the_end:
            self.is_complete = True
        if not self.is_complete:
            raise PlainHttpError("the server closed the connection before its answer was complete")

    # Each state takes what it can from the bytes, and says whether the next one may look.

    def _head(self, _out: list[bytes]) -> bool:
        head = self._until(b"\r\n\r\n", _MAX_HEAD)
        if head is None:
            return False
        first, *lines = head.split(b"\r\n")
        found = _STATUS.match(first)
        if found is None:
            raise PlainHttpError("the server did not answer with HTTP/1.1")
        status = int(found[2])
        if status < 200:
            return True  # only a sign that the answer will come
        self.status, self.headers = status, dict(map(_field, lines))
        self.keeps_alive = "close" not in self.headers.get("connection", "").lower() and found[1] == b"1"
        self._state = self._framing()
        return True

    def _framing(self) -> _State:
        coding, length = self.headers.get("transfer-encoding", ""), self.headers.get("content-length")
        if coding.lower() == "chunked":
            return self._chunk_size
        if coding:
            raise PlainHttpError(f"the server answers in the transfer coding {coding!r}")
        if self.status in (204, 304):
            length = "0"
        if length is None:
            self.keeps_alive = False
            return self._to_the_end
        if not length.isdecimal():
            raise PlainHttpError("the server answers with a length that is no number")
        self._left = int(length)
        return self._counted

    def _counted(self, out: list[bytes]) -> bool:
        self._take(out)
        self.is_complete = not self._left
        return False

    def _to_the_end(self, out: list[bytes]) -> bool:
        if self._raw:
            out.append(bytes(self._raw))
            self._raw.clear()
        return False

    def _chunk_size(self, _out: list[bytes]) -> bool:
        line = self._until(b"\r\n", _MAX_LINE)
        if line is None:
            return False
        size = line.partition(b";")[0].strip()
        if not _SIZE.fullmatch(size):
            raise PlainHttpError("the server sent a piece whose size is no number")
        self._left = int(size, 16)
        self._state = self._chunk if self._left > 0 else self._trailer
        return True

    def _chunk(self, out: list[bytes]) -> bool:
        self._take(out)
        if self._left or len(self._raw) < 2:
            return False
        if self._raw[:2] != b"\r\n":
            raise PlainHttpError("the server sent a piece that is longer than its size")
        del self._raw[:2]
        self._state = self._chunk_size
        return True

    def _trailer(self, _out: list[bytes]) -> bool:
        line = self._until(b"\r\n", _MAX_HEAD)
        self.is_complete = line == b""
        return bool(line)

    def _until(self, end: bytes, limit: int) -> bytes | None:
        place = self._raw.find(end)
        if max(place, len(self._raw) if place < 0 else 0) > limit:
            raise PlainHttpError(f"the server sent a head or a line of more than {limit} bytes")
        if place < 0:
            return None
        taken = bytes(self._raw[:place])
        del self._raw[: place + len(end)]
        return taken

    def _take(self, out: list[bytes]) -> None:
        taken = bytes(self._raw[: self._left])
        if taken:
            del self._raw[: len(taken)]
            self._left -= len(taken)
            out.append(taken)


def _field(line: bytes) -> tuple[str, str]:
    name, colon, value = line.decode("latin-1").partition(":")
    if not colon:
        raise PlainHttpError("the server sent a header without a colon")
    return name.strip().lower(), value.strip()


class _Connection(asyncio.Protocol):
    """One connection: an answer after another. Who waits for bytes is woken when some came, or when it ended."""

    def __init__(self, silence: float) -> None:
        """`silence` is for how many seconds a server may send nothing."""
        self.loop = asyncio.get_running_loop()
        self.is_open = True
        self.reader = ResponseReader()
        self._silence = silence
        self._transport: asyncio.Transport | None = None
        self._ready: list[bytes] = []
        self._size = 0
        self._paused = False
        self._problem: BaseException | None = None
        self._waiter: asyncio.Future[None] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        try:
            pieces = self.reader.feed(data)
        except PlainHttpError as error:
            self._problem = error
            self.close()
        else:
            self._ready.extend(pieces)
            self._size += sum(map(len, pieces))
            if self._size > _MAX_BUFFERED and not self._paused and self._transport is not None:
                self._paused = True
                self._transport.pause_reading()
        self._wake()

    def connection_lost(self, exc: Exception | None) -> None:
        self.is_open = False
        if self._problem is None and not self.reader.is_complete:
            try:
                self.reader.finish()
            except PlainHttpError as error:
                error.__cause__ = exc
                self._problem = error
        self._wake()

    def send(self, *pieces: bytes) -> None:
        assert self._transport is not None
        self.reader = ResponseReader()
        self._problem = None
        for piece in pieces:
            self._transport.write(piece)

    async def head(self) -> None:
        while not self.reader.status:
            await self._more()

    async def body(self) -> AsyncIterator[bytes]:
        while True:
            if self._ready:
                piece = self._ready[0] if len(self._ready) == 1 else b"".join(self._ready)
                self._ready.clear()
                self._size = 0
                yield piece
                continue
            if self.reader.is_complete:
                return
            if self._paused and self._transport is not None:
                self._paused = False
                self._transport.resume_reading()
            await self._more()

    async def _more(self) -> None:
        if self._problem is not None:
            raise self._problem
        self._waiter = self.loop.create_future()
        late = self.loop.call_later(self._silence, self._give_up)
        try:
            await self._waiter
        finally:
            late.cancel()
            self._waiter = None

    def _give_up(self) -> None:
        self._problem = PlainHttpError(f"the server sent nothing for {self._silence:g} seconds")
        self._wake()

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    @property
    def is_idle(self) -> bool:
        """Whether another request may go over it."""
        return self.is_open and self.reader.is_complete and self.reader.keeps_alive and not self._ready

    def close(self) -> None:
        self.is_open = False
        if self._transport is not None:
            self._transport.abort()


class PlainResponse:
    """An answer. `content` is the beginning of its body, where that was read."""

    def __init__(self, client: PlainClient, connection: _Connection) -> None:
        self.status_code = connection.reader.status
        self.headers: Mapping[str, str] = connection.reader.headers
        self.content = b""
        self._client = client
        self._connection: _Connection | None = connection

    @property
    def text(self) -> str:
        return self.content.decode("utf-8", "replace")

    async def aiter_bytes(self) -> AsyncIterator[bytes]:
        if self._connection is None:
            return
        unpack = _unpacker(self.headers.get("content-encoding", ""))
        async for piece in self._connection.body():
            for unpacked in unpack(piece):
                yield unpacked

    async def read(self, limit: int) -> None:
        """Read the body, no more of it than `limit`, and be done."""
        if self._connection is None:
            return
        try:
            async for piece in self._connection.body():
                self.content += piece[: limit - len(self.content)]
                if len(self.content) >= limit:
                    break
        finally:
            await self.aclose()
            self.content = self._unpacked(limit)

    def _unpacked(self, limit: int) -> bytes:
        """The content, or as it came if it only claims to be packed."""
        unpacked = b""
        try:
            for piece in _unpacker(self.headers.get("content-encoding", ""))(self.content):
                unpacked += piece[: limit - len(unpacked)]
                if len(unpacked) >= limit:
                    break
        except PlainHttpError:
            return self.content
        return unpacked

    async def aclose(self) -> None:
        """Let go of the connection; the server of an answer that was not read to its end sees it closed."""
        connection, self._connection = self._connection, None
        if connection is not None:
            self._client.give_back(connection)


def _unpacker(coding: str) -> Callable[[bytes], Iterable[bytes]]:
    """Decompresses the body piece by piece: some servers compress although nobody asked for it. A few bytes may become
    very many."""
    if coding.lower() not in ("gzip", "x-gzip", "deflate"):
        return lambda piece: (piece,)
    packed = zlib.decompressobj(zlib.MAX_WBITS | 32)

    def unpack(piece: bytes) -> Iterator[bytes]:
        while piece and not packed.eof:
            try:
                yield packed.decompress(piece, _MAX_BUFFERED)
            except zlib.error as error:
                raise PlainHttpError(f"the server's {coding} response could not be decompressed") from error
            piece = packed.unconsumed_tail

    return unpack


class PlainClient:
    """Requests to one address, such as `http://127.0.0.1:8080/v1`."""

    def __init__(self, base_url: str, headers: Mapping[str, str], timeout: float) -> None:
        parts = urlsplit(base_url)
        self.base_url = base_url.rstrip("/")
        self._host, self._port = parts.hostname or "127.0.0.1", parts.port or 80
        self._path = parts.path.rstrip("/")
        self._timeout = timeout
        given = {"Host": parts.netloc.rpartition("@")[2], **headers}
        self._head = _lines(given)
        self._idle: list[_Connection] = []

    async def post(
        self, path: str, body: Sequence[bytes], max_error: int, headers: Mapping[str, str] | None = None
    ) -> PlainResponse:
        """The answer to a body in these pieces, its own body not read yet. Raises PlainStatusError for a refusal."""
        given = self._head + _lines({**(headers or {}), "Content-Length": str(sum(map(len, body)))})
        request = (f"POST {path} HTTP/1.1\r\n{given}\r\n".encode("latin-1") + body[0], *body[1:])
        connection = self._take()
        if connection is not None:
            try:
                return await self._answer(connection, request, max_error)
            except PlainStatusError:
                raise
            except PlainHttpError:
                if connection.reader.status or connection.is_open:
                    raise
        return await self._answer(await self._connect(), request, max_error)

    async def get(self, path: str, limit: int) -> PlainResponse:
        """What is at a path, no more of it than `limit`. Raises PlainStatusError for a refusal."""
        request = f"GET {path} HTTP/1.1\r\n{self._head}\r\n".encode("latin-1")
        response = await self._answer(await self._connect(), (request,), limit)
        await response.read(limit)
        return response

    def below(self, path: str) -> str:
        """A path below the address."""
        return f"{self._path}{path}"

    def beside(self, path: str) -> str:
        """A path of the server's own, beside the API."""
        return f"{self._path.removesuffix('/v1')}{path}"

    async def _answer(self, connection: _Connection, request: Sequence[bytes], max_error: int) -> PlainResponse:
        try:
            connection.send(*request)
            await connection.head()
        except BaseException:
            connection.close()
            raise
        response = PlainResponse(self, connection)
        if response.status_code >= 300:
            with contextlib.suppress(PlainHttpError, TimeoutError):
                async with asyncio.timeout(ERROR_TIMEOUT):
                    await response.read(max_error)
            raise PlainStatusError(response)
        return response

    async def _connect(self) -> _Connection:
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(CONNECT_TIMEOUT):
                _, connection = await loop.create_connection(lambda: _Connection(self._timeout), self._host, self._port)
        except (OSError, TimeoutError) as error:
            raise PlainHttpError("no connection") from error
        return connection

    def _take(self) -> _Connection | None:
        loop = asyncio.get_running_loop()
        while self._idle:
            connection = self._idle.pop()
            if connection.loop is loop and connection.is_idle:
                return connection
            connection.close()
        return None

    def give_back(self, connection: _Connection) -> None:
        if connection.is_idle and len(self._idle) < _MAX_IDLE:
            self._idle.append(connection)
        else:
            connection.close()

    def close(self) -> None:
        idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()


def _lines(headers: Mapping[str, str]) -> str:
    return "".join(f"{name}: {_one_line(value)}\r\n" for name, value in headers.items())


def _one_line(value: str) -> str:
    """A value that ends where its line does: what comes from a variable may hold a line break."""
    return re.sub(r"[\r\n\0]+", " ", value).strip()
