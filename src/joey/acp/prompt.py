"""What the user sends from an editor, as a message for the model: words, images, files and links."""

from __future__ import annotations

import base64
import binascii
import posixpath
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote, urlsplit

from joey.acp.connection import INVALID_PARAMS, RpcError
from joey.frames import neutral
from joey.images.sizing import image_type
from joey.messages import ImageBlock


@dataclass(frozen=True, slots=True)
class EditorPrompt:
    text: str
    images: tuple[ImageBlock, ...] = ()


def read_prompt(blocks: Any, folder: str, *further: str) -> EditorPrompt:
    """Links to files become mentions, embedded files text with their name, and what nobody can open stays as it is."""
    if not isinstance(blocks, list) or not all(isinstance(each, Mapping) for each in blocks):
        raise RpcError(INVALID_PARAMS, "the prompt is a list of content blocks")
    words: list[str] = []
    images: list[ImageBlock] = []
    for each in blocks:
        if each.get("type") == "image":
            images.append(_image(each.get("data")))
        elif (data := _embedded_image(each)) is not None:
            images.append(_image(data))
        else:
            words.append(_words(each, (folder, *further)))
    text = _joined(words).strip()
    if not text and not images:
        raise RpcError(INVALID_PARAMS, "the prompt is empty; say what to do")
    return EditorPrompt(text, tuple(images))


def _joined(words: Iterable[str]) -> str:
    """Blocks continue a line: an editor sends `look at ` and a link as two."""
    text = ""
    for each in words:
        apart = text and each and not text[-1].isspace() and not each[0].isspace()
        text += f" {each}" if apart else each
    return text


def _words(each: Mapping[str, Any], folders: Sequence[str]) -> str:
    match each.get("type"):
        case "text":
            return str(each.get("text") or "")
        case "resource_link":
            return _mention(str(each.get("uri") or ""), folders)
        case "resource":
            return _embedded(each.get("resource"), folders[0])
        case kind:
            return f"[content of type {neutral(str(kind))} is not supported, and was left out]"


def _mention(uri: str, folders: Sequence[str]) -> str:
    """A file of the workspace as `@/path` (`@../path` in one of its further folders), with its lines if the link names
    some; anything else as it is."""
    parts = urlsplit(uri)
    if parts.scheme != "file":
        return uri
    path = unquote(parts.path)
    lines = f" (lines {unquote(parts.fragment)})" if parts.fragment else ""
    if not any(path.startswith(f"{each.rstrip('/')}/") for each in folders):
        return f"{path}{lines}"
    name = posixpath.relpath(path, folders[0]).replace(" ", "\\ ")
    return f"@{name if name.startswith('../') else f'/{name}'}{lines}"


def _embedded(resource: Any, folder: str) -> str:
    if not isinstance(resource, Mapping):
        raise RpcError(INVALID_PARAMS, "an embedded resource has a uri and a text")
    uri = str(resource.get("uri", ""))
    text = resource.get("text")
    if not isinstance(text, str):
        return f"[{uri}: this is not text, and was left out]"
    name = unquote(urlsplit(uri).path).removeprefix(f"{folder.rstrip('/')}/") or uri
    return f'\n<mentioned name="{neutral(name)}">\n{neutral(text)}\n</mentioned>\n'


def _embedded_image(each: Mapping[str, Any]) -> Any:
    """The data of an embedded resource that is an image; None if it is none."""
    resource = each.get("resource") if each.get("type") == "resource" else None
    if not isinstance(resource, Mapping) or not str(resource.get("mimeType")).startswith("image/"):
        return None
    return resource.get("blob")


def _image(data: Any) -> ImageBlock:
    if not isinstance(data, str):
        raise RpcError(INVALID_PARAMS, "an image has its data as base64")
    try:
        media_type = image_type(base64.b64decode(data, validate=True))
    except (binascii.Error, ValueError):
        raise RpcError(INVALID_PARAMS, "the data of the image is not base64") from None
    if media_type is None:
        raise RpcError(INVALID_PARAMS, "the image is not one that models accept; use png, jpeg, gif or webp")
    return ImageBlock(media_type, data)
