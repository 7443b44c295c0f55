"""Images from an endpoint that speaks OpenAI's images API, through the official SDK. Loaded when one is asked for."""

from __future__ import annotations

import base64
import binascii
import json
import re
from typing import Any

import openai

from joey.images.sizing import KINDS, image_type
from joey.tools.images import ImageEndpoint, ImageError, Original
from joey.wire import JsonValue

_MAX_ANSWER = 64 * 1024 * 1024
_MAX_VALUES = 100_000
_DATA_URL = re.compile(r"data:image/[\w.+-]+;base64,")
_REFUSALS = ("moderation_blocked", "content_policy_violation", "image_generation_user_error", "content_filter")


async def image(endpoint: ImageEndpoint, prompt: str, kind: str, original: Original | None = None) -> bytes:
    """The bytes of an image. `kind` (png, jpeg or webp) is what is wished for, where the endpoint can be told."""
    # Local servers want no key, but the SDK wants one.
    async with openai.AsyncOpenAI(
        api_key=endpoint.key or "none", base_url=endpoint.base_url, max_retries=1, timeout=endpoint.timeout
    ) as client:
        try:
            return _bytes_in(await _answer(client, _parameters(endpoint.model, prompt, kind), original))
        except openai.APIStatusError as error:
            raise ImageError(_status(error, endpoint)) from None
        except openai.APITimeoutError:
            raise ImageError(f"the image endpoint did not answer within {endpoint.timeout:g} s.") from None
        except (openai.APIConnectionError, OSError) as error:
            cause = error.__cause__ or error
            raise ImageError(f"the image endpoint cannot be reached ({type(cause).__name__}: {cause}).") from None
        except openai.OpenAIError as error:
            raise ImageError(f"the image endpoint could not be asked: {error}") from None


def _parameters(model: str, prompt: str, kind: str) -> dict[str, Any]:
    # OpenAI's newer models always send the image, in a format one can choose; all others have to be told to.
    if re.search(r"gpt-image|chatgpt-image", model):
        return {"model": model, "prompt": prompt, "output_format": kind}
    return {"model": model, "prompt": prompt, "response_format": "b64_json"}


async def _answer(client: openai.AsyncOpenAI, parameters: dict[str, Any], original: Original | None) -> JsonValue:
    """The body, read in pieces: a server that sends without end is left."""
    images: Any = client.images.with_streaming_response
    if original is None:
        request = images.generate(**parameters)
    else:
        request = images.edit(**parameters, image=(original.name, original.data, original.media_type))
    body = bytearray()
    async with request as response:
        async for piece in response.iter_bytes():
            body += piece
            if len(body) > _MAX_ANSWER:
                raise ImageError(f"the image endpoint sent more than {_MAX_ANSWER >> 20} MB, which is too much.")
    try:
        if sum(map(body.count, (b",", b"[", b"{"))) > _MAX_VALUES:
            raise ImageError("the image endpoint sent something else than an image. Is images.base_url right?")
        answer: JsonValue = json.loads(body)
    except (ValueError, RecursionError):
        raise ImageError("the image endpoint did not answer in JSON. Is images.base_url right?") from None
    return answer


def _bytes_in(answer: JsonValue) -> bytes:
    first: JsonValue = None
    if isinstance(answer, dict) and isinstance(answer.get("data"), list):
        first = next(iter(answer["data"]), None)
    if not isinstance(first, dict):
        raise ImageError("the image endpoint answered without an image.")
    data, url = first.get("b64_json"), first.get("url")
    if not data and isinstance(url, str):
        if not (start := _DATA_URL.match(url)):
            raise ImageError("the image endpoint answered with an address instead of the image; nothing is fetched.")
        data = url[start.end() :]
    try:
        found = base64.b64decode(data or "", validate=True)
    except (binascii.Error, ValueError, TypeError):
        raise ImageError("the image that the image endpoint sent is damaged: it is no base64.") from None
    if image_type(found) is None:
        raise ImageError(f"what the image endpoint sent is no image of a kind that is known ({', '.join(KINDS)}).")
    return found


def _status(error: openai.APIStatusError, endpoint: ImageEndpoint) -> str:
    message = error.body.get("message") if isinstance(error.body, dict) else None
    words = str(message or error.message)[:500]
    code = error.code or ""
    if code in _REFUSALS or any(refusal in words for refusal in _REFUSALS):
        return f"the image endpoint refused the prompt: {words} Describe something else, or ask the user."
    if error.status_code in (401, 403):
        missing = "" if endpoint.key else " No key is set (JOEY_IMAGES_API_KEY)."
        return f"the image endpoint did not accept the key: {words}{missing} Tell the user; trying again will not help."
    return f"the image endpoint answered with HTTP {error.status_code}: {words}"
