"""From what a person typed to what the model is given.

The words stay as they were typed; what they name is attached behind them:

    /NAME WORDS     a slash command, a skill or a prompt of a server, filled with the words behind it
    @/PATH, @PATH   a file (an image as an image), or a folder's listing; a space in it is written `\\ `
    @SERVER:URI     a resource of an MCP server
    @git-changes    what is changed and not committed
    @COMMIT         a commit, by 7 to 40 hex digits
    @problems       what the project's own check says

Each counts at the beginning or after a space, and not behind a backslash. Only what a person typed is looked at, once:
not what was piped in below it, and not what is attached. A file that says `@/secret` or `/deploy` is text.
Words that name nothing there is stay words; a file that may not be shown is attached as the reason.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from joey.frames import framed, original
from joey.messages import ImageBlock, ResultBlock, TextBlock
from joey.prompts.library import Library
from joey.system.filenames import quoted

PIPED = "\n<input>\n"
"""What is piped in stands below this; it is material, not a request."""
_SLASH = re.compile(r"(?:(?<=\s)|^)/([a-zA-Z0-9_.-]+)(?=\s|$)")
_MENTION = re.compile(
    r"(?:(?<=\s)|^)@(?:(?P<commit>[0-9a-f]{7,40})|(?P<word>git-changes|problems)"
    r"|(?P<path>/|(?:\\.|[^\s\\@])(?:\\.|[^\s\\])*?))"
    r"(?=[.,;:!?)\]}'\"]*(?:\s|$))"
)


class InputSources(Protocol):
    """Where the things come from that a request mentions. None: there is no such thing."""

    async def path(self, path: str) -> tuple[ResultBlock, ...] | None: ...
    async def resource(self, name: str) -> tuple[ResultBlock, ...] | None: ...
    async def git_changes(self) -> str | None: ...
    async def commit(self, name: str) -> str | None: ...
    async def problems(self) -> str | None: ...


class FurtherCommands(Protocol):
    """Commands from elsewhere than the user's files, such as the prompts of MCP servers."""

    async def known(self, typed: Sequence[str]) -> frozenset[str]: ...
    async def text(self, name: str, words: str) -> str: ...


@dataclass(frozen=True, slots=True)
class UserInput:
    """A request: the words as typed, what they brought along, and the mode that a slash command wants."""

    text: str
    attached: tuple[ResultBlock, ...] = ()
    mode: str | None = None

    @property
    def whole(self) -> str:
        """Words and attached words in one, for a front end that sends text; images are in `images`."""
        return "\n\n".join([self.text, *(block.text for block in self.attached if isinstance(block, TextBlock))])

    @property
    def images(self) -> tuple[ImageBlock, ...]:
        return tuple(block for block in self.attached if isinstance(block, ImageBlock))


@dataclass(frozen=True, slots=True)
class Invocation:
    """A slash command in a request, with what was typed behind it."""

    name: str
    arguments: str


async def expand_input(
    text: str, library: Library, sources: InputSources, mode: str = "code", further: FurtherCommands | None = None
) -> UserInput:
    """The request that a person typed. `mode` is the one the task is in."""
    typed = text.partition(PIPED)[0]
    attached: list[ResultBlock] = []
    wanted: str | None = None
    others = await further.known([match[1] for match in _SLASH.finditer(typed)]) if further else frozenset()
    for invocation in invocations(typed, library, mode, others):
        if further is not None and invocation.name in others:
            body = await further.text(invocation.name, invocation.arguments)
            attached.append(TextBlock(framed("command", body, name=invocation.name)))
            continue
        words, command_mode = _invoked(invocation, library, mode)
        attached.append(TextBlock(words))
        wanted = wanted or command_mode
    for mention in dict.fromkeys(match[0] for match in _MENTION.finditer(typed)):
        attached += await _mentioned(mention, sources)
    return UserInput(text, tuple(attached), wanted)


def invocations(typed: str, library: Library, mode: str, others: frozenset[str] = frozenset()) -> Iterator[Invocation]:
    """The commands and skills in the text. What is behind one, up to the next, are its arguments."""
    known = {*library.commands(), *library.skills(mode), *others}
    found = [match for match in _SLASH.finditer(typed) if match[1] in known]
    ends = [*(match.start() for match in found[1:]), len(typed)]
    for match, end in zip(found, ends, strict=False):
        yield Invocation(match[1], typed[match.end() : end].strip())


def _invoked(invocation: Invocation, library: Library, mode: str) -> tuple[str, str | None]:
    command = library.commands().get(invocation.name)
    if command is not None:
        body = command.filled(invocation.arguments)
        return framed("command", body, name=command.name), command.mode
    skill = library.skills(mode)[invocation.name]
    return framed("skill", skill.body, name=skill.name, file=quoted(str(skill.path))), None


async def _mentioned(mention: str, sources: InputSources) -> list[ResultBlock]:
    match = _MENTION.match(mention)
    assert match is not None
    if match["path"]:
        path = re.sub(r"\\(.)", r"\1", match["path"])
        content = await sources.resource(path)
        if content is None:
            content = await sources.path(path.lstrip("/") or ".")
        return [] if content is None else _around(f"{mention}", content)
    text = await _named(match, sources)
    return [] if text is None else _around(mention, (TextBlock(text),))


async def _named(match: re.Match[str], sources: InputSources) -> str | None:
    if match["commit"]:
        return await sources.commit(match["commit"])
    return await (sources.git_changes() if match["word"] == "git-changes" else sources.problems())


def _around(mention: str, content: tuple[ResultBlock, ...]) -> list[ResultBlock]:
    """What a mention brought, named after it. Words are marked as material: they are not the user's."""
    words = "\n".join(block.text for block in content if isinstance(block, TextBlock))
    images = [block for block in content if isinstance(block, ImageBlock)]
    return [TextBlock(framed("mentioned", words, name=mention)), *images]


# What it brought, for the person who typed it

_MENTIONED = re.compile(r'<mentioned name="([^"\n]*)">\n(.*)\n</mentioned>\Z', re.DOTALL)


def attached_names(content: Sequence[object]) -> list[str]:
    """What mentions attached to a message, each with its size: `latin1.txt (1 line)`, `image a.png`."""
    names: list[str] = []
    for block, following in zip(content, (*content[1:], None), strict=False):
        found = _MENTIONED.match(block.text) if isinstance(block, TextBlock) else None
        if found is not None:
            name = html.unescape(found[1]).removeprefix("@")
            is_image = isinstance(following, ImageBlock)
            names.append(f"image {name}" if is_image else f"{name} ({_size(original(found[2]))})")
    return names


def _size(text: str) -> str:
    """How much it is; of what could not be shown, why."""
    lines = text.removesuffix("\n").split("\n")
    if problem := next((line for line in lines[:2] if line.startswith(("Not shown: ", "Error: "))), ""):
        return problem.rstrip(".")
    lines = [line for line in lines if re.match(r" *\d+ \| ", line)] or lines
    return "1 line" if len(lines) == 1 else f"{len(lines)} lines"


def missing_mentions(text: str, attached: Sequence[object]) -> list[str]:
    """Mentions that look like files and brought nothing: they are mistyped, or no mentions at all."""
    found = {block.text.partition("\n")[0] for block in attached if isinstance(block, TextBlock)}
    mentions = [match for match in _MENTION.finditer(text.partition(PIPED)[0]) if _is_file_like(match["path"] or "")]
    names = [match[0] for match in mentions if _heading(match[0]) not in found]
    return [name.removeprefix("@") for name in dict.fromkeys(names)]


def _heading(mention: str) -> str:
    return framed("mentioned", "", name=mention).partition("\n")[0]


def _is_file_like(path: str) -> bool:
    return "." in path.strip(".") or "/" in path.strip("/")
