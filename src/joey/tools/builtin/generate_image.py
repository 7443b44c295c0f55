"""Have an image made, and write it to a file."""

from __future__ import annotations

import asyncio
import base64
import importlib
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import Any, Literal, Self

from pydantic import Field

from joey.actions import Action, ReadPath, WritePath
from joey.images.sizing import ENDINGS, header_of, image_type
from joey.messages import ImageBlock, ResultBlock, ShownText, ToolResult
from joey.system.filenames import quoted
from joey.tools.base import Params, PathText, Plan, PlannedTool, ToolContext, failed, ok
from joey.tools.display import Display
from joey.tools.editing.changes import ChangeFailed, FileChange, commit, read_present
from joey.tools.images import ImageEndpoint, ImageError, Original
from joey.tools.options import BuiltinOptions
from joey.tools.paths import UnusablePathError, locate

_MAX_ORIGINAL = 20 * 1024 * 1024
_KINDS = {".png": "png", ".jpg": "jpeg", ".jpeg": "jpeg", ".webp": "webp"}
_NO_KEY = (
    "no key is set for the image endpoint: the user sets OPENAI_API_KEY (or JOEY_IMAGES_API_KEY) in the environment. "
    "Tell them; trying again will not help."
)


class GenerateImageParams(Params):
    prompt: str = Field(min_length=1, description="What the image shows, or what to change in `image`, in detail.")
    path: PathText = Field(
        min_length=1, description="Where to write it, relative to the workspace: a .png, .jpg or .webp."
    )
    image: PathText | None = Field(
        default=None, description="An image in the workspace to begin with: png, jpg, gif or webp."
    )


class GenerateImage(PlannedTool[GenerateImageParams]):
    """`endpoint` is who makes the images; None where the settings name nobody."""

    name = "generate_image"
    display = Display(("path",), kind="edit")
    group = "edit"
    params = GenerateImageParams
    feature = "image_generation"
    field_aliases = {"file_path": "path", "input_image": "image"}
    example = {"prompt": "A flat, two-colour icon of a kangaroo, transparent background", "path": "assets/icon.png"}

    def __init__(self, endpoint: ImageEndpoint | None = None, *, sees_images: bool = False) -> None:
        self._endpoint = endpoint
        self._sees_images = sees_images

    @classmethod
    def configured(cls, options: BuiltinOptions) -> Self:
        return cls(options.image_endpoint, sees_images=options.sees_images)

    def actions(self, params: GenerateImageParams, context: ToolContext) -> tuple[Action, ...]:
        """Which format comes is only known when it is there, so every ending it may get is approved."""
        reads = (ReadPath(params.image),) if params.image else ()
        return (*reads, *(WritePath(name, _change(context, name)) for name in _possible_names(params.path)))

    async def plan(self, params: GenerateImageParams, context: ToolContext) -> Plan:
        original: Original | None = None
        refusal, targets, read = None, dict[str, Path](), list[Path]()
        watched = replace(context, reading=read.append)
        try:
            targets = {name: _target(context, name) for name in _possible_names(params.path)}
            self._check_key()
            original = await asyncio.to_thread(_original, watched, params.image) if params.image else None
        except (UnusablePathError, ChangeFailed, ImageError) as problem:
            refusal = failed(f"Error: {problem}")
        return Plan(
            (),
            lambda: self._made(params, targets, original),
            shown=(ShownText(f"{params.prompt}\n\n{self._who()} would make it."),),
            refusal=refusal,
            targets=tuple(targets.values()),
            sources=tuple(read),
        )

    def _check_key(self) -> None:
        if self._endpoint is None or (self._endpoint.base_url is None and not self._endpoint.key):
            raise ImageError(_NO_KEY)

    def _who(self) -> str:
        if self._endpoint is None:
            return "Nobody"
        return f"{self._endpoint.model} at {self._endpoint.base_url or 'OpenAI'}"

    async def _made(
        self, params: GenerateImageParams, targets: Mapping[str, Path], original: Original | None
    ) -> ToolResult:
        wanted = _possible_names(params.path)[0]
        endpoints: Any = await asyncio.to_thread(importlib.import_module, "joey.tools.images.openai_images")
        try:
            kind = _KINDS[PurePosixPath(wanted).suffix.lower()]
            data: bytes = await endpoints.image(self._endpoint, params.prompt, kind, original)
            name = _named(wanted, data)
            await asyncio.to_thread(_write, targets[name], name, data)
        except (ImageError, UnusablePathError, ChangeFailed) as problem:
            return failed(f"Error: {problem}")
        return self._report(name, wanted, data)

    def _report(self, name: str, wanted: str, data: bytes) -> ToolResult:
        header = header_of(data)
        media_type = header.media_type if header else image_type(data) or ""
        size = f", {header.width}x{header.height}" if header else ""
        text = f"Wrote the image to {quoted(name)} ({media_type}{size}, {len(data) / 1024:.0f} KB)."
        if name != wanted:
            text += f" It is no {PurePosixPath(wanted).suffix} file, so it got the ending that is right."
        blocks: tuple[ResultBlock, ...] = ()
        if self._sees_images:
            blocks = (ImageBlock(media_type, base64.b64encode(data).decode("ascii")),)
        return ok(text, *blocks)


def _possible_names(path: str) -> list[str]:
    """The path with the ending it was given (or .png), then with those that the answer may call for."""
    given = PurePosixPath(path)
    if given.suffix.lower() not in _KINDS:
        path, given = f"{path}.png", PurePosixPath(f"{path}.png")
    stem = path.removesuffix(given.suffix)
    others = [ending for ending in ENDINGS.values() if _KINDS.get(ending) != _KINDS[given.suffix.lower()]]
    return [path, *(f"{stem}{ending}" for ending in others)]


def _named(wanted: str, data: bytes) -> str:
    """The name whose ending is right for these bytes."""
    ending = ENDINGS[image_type(data) or "image/png"]
    given = PurePosixPath(wanted).suffix
    if _KINDS.get(ending) == _KINDS[given.lower()]:
        return wanted
    return wanted.removesuffix(given) + ending


def _change(context: ToolContext, name: str) -> Literal["create", "modify"]:
    try:
        return "modify" if locate(context, name).exists() else "create"
    except (UnusablePathError, OSError):
        return "create"


def _target(context: ToolContext, name: str) -> Path:
    path = locate(context, name)
    if not path.is_relative_to(context.workspace.resolve()):
        raise UnusablePathError(f"{quoted(name)} is outside the workspace; images are written inside it only.")
    if context.ignored(path):
        raise UnusablePathError(f"{quoted(name)} is hidden by an ignore file.")
    return path


def _write(path: Path, name: str, data: bytes) -> None:
    commit([FileChange(path, name, read_present(path, name), data)])


def _original(context: ToolContext, name: str) -> Original:
    path = locate(context, name)
    if context.ignored(path):
        raise UnusablePathError(f"{quoted(name)} is hidden by an ignore file.")
    context.reading(path)
    data = read_present(path, name)
    if data is None:
        raise UnusablePathError(f"there is no {quoted(name)}.")
    media_type = image_type(data)
    if media_type is None:
        raise UnusablePathError(f"{quoted(name)} is no image: png, jpg, gif or webp.")
    if len(data) > _MAX_ORIGINAL:
        raise UnusablePathError(f"{quoted(name)} has {len(data) >> 20} MB; up to {_MAX_ORIGINAL >> 20} MB can be sent.")
    return Original(path.name, media_type, data)
