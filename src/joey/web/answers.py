"""Requests read strictly, and errors as answers in words: `{"error": "what happened; what to do"}`."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias

from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response

from joey.errors import JoeyError, UsageError
from joey.journal.journal import JournalError
from joey.journal.live import MAX_COMMAND

Handler: TypeAlias = Callable[[Request], Awaitable[Response]]


class ConflictError(JoeyError):
    """Too late, or too early: the task is not as the caller thinks."""


def answering(handler: Handler) -> Handler:
    """The handler, whose errors are answers in words."""

    async def answer(request: Request) -> Response:
        try:
            return await handler(request)
        except ConflictError as error:
            return JSONResponse({"error": str(error)}, 409)
        except JournalError as error:
            return JSONResponse({"error": str(error)}, 409)
        except UsageError as error:
            missing = str(error).startswith("there is no")
            return JSONResponse({"error": str(error)}, 404 if missing else 400)
        except JoeyError as error:
            return JSONResponse({"error": str(error)}, 400)
        except ClientDisconnect:
            return Response(status_code=400)
        except OSError as error:
            return JSONResponse({"error": f"{error.strerror or error}; try again"}, 500)

    return answer


async def body_of(request: Request) -> dict[str, Any]:
    """The body of a request: an object, and no larger than a command may be."""
    pieces, size = [], 0
    async for piece in request.stream():
        size += len(piece)
        if size > MAX_COMMAND:
            raise UsageError("this request is too large; send less, or smaller images")
        pieces.append(piece)
    try:
        data = json.loads(b"".join(pieces) or b"{}")
    except (ValueError, RecursionError):
        raise UsageError("the body of a request is a JSON object") from None
    if not isinstance(data, dict):
        raise UsageError("the body of a request is a JSON object")
    return data


def text_in(body: dict[str, Any], name: str) -> str:
    value = body.get(name)
    if value is not None and not isinstance(value, str):
        raise UsageError(f"{name} is text")
    return value or ""


def whole_in(body: dict[str, Any], name: str, least: int) -> int | None:
    value = body.get(name)
    if value is not None and (not isinstance(value, int) or isinstance(value, bool) or value < least):
        raise UsageError(f"{name} is a whole number, {least} or more")
    return value


def flag_in(body: dict[str, Any], name: str) -> bool:
    value = body.get(name, False)
    if not isinstance(value, bool):
        raise UsageError(f"{name} is true or false")
    return value


def place_in(text: str | None, size: int) -> int:
    """A place in a journal that is so large; the end, if none is named."""
    if text is None:
        return size
    if not (text.isascii() and text.isdigit()) or len(text) > 15:
        raise UsageError("before is a place: `older` of what was loaded last")
    return int(text)
