"""Watch tool calls being read from a stream while they grow.

Nothing is called and nothing is changed: the stream is a recorded conversation, played in pieces of a few characters
through the same parser that reads a real model. A call is shown as soon as its name is known, and every argument while
it is being written.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterable

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.panel import Panel
from rich.syntax import Syntax
from rich.text import Text

from joey.chunks import Chunk
from joey.events import StreamEvent, TextDelta, ToolCallDelta, ToolCallFinished, ToolCallStarted
from joey.protocols import get
from joey.testing.conversations import EXPRESS_SERVER, EXPRESS_TASK

_SECONDS_A_PIECE = 0.012
_LANGUAGES = {"js": "javascript", "json": "json", "py": "python", "md": "markdown"}


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--size", type=int, default=4, metavar="N", help="characters in a piece (4)")
    parser.add_argument("--speed", type=float, default=1.0, metavar="X", help="times the usual speed (1)")


def run(args: argparse.Namespace) -> int:
    console = Console()
    console.print(Text("The model is scripted and the stream is recorded; the parser is the real one.\n", style="dim"))
    console.print(Text(f"> {EXPRESS_TASK}\n", style="bold"))
    pieces = 0
    for turn in EXPRESS_SERVER:
        chunks = list(turn.native_chunks(max(args.size, 1)))
        pieces += len(chunks)
        _play(console, chunks, _SECONDS_A_PIECE / max(args.speed, 0.01))
        if turn.result:
            first, _, rest = turn.result.partition("\n")
            console.print(Text(f"  ↳ {first}{' …' if rest else ''}\n", style="green"))
    console.print(Text(f"{pieces} pieces read, {len(EXPRESS_SERVER)} calls found, none lost.", style="dim"))
    console.print(Text("Try it on a stream of your own: joey parse --help", style="dim"))
    return 0


def _play(console: Console, chunks: list[Chunk], delay: float) -> None:
    parser = get("native").parser([])
    picture = Picture()
    if not console.is_terminal:
        # Nobody watches: show the end of it at once.
        picture.add(event for chunk in chunks for event in parser.feed(chunk))
        picture.add(parser.finish())
        console.print(picture.render())
        return
    with Live(console=console, refresh_per_second=30) as live:
        for chunk in chunks:
            picture.add(parser.feed(chunk))
            live.update(picture.render())
            time.sleep(delay)
        picture.add(parser.finish())
        live.update(picture.render())


class Picture:
    """What the events of one turn look like so far."""

    def __init__(self) -> None:
        self._text = ""
        self._name = ""
        self._arguments: dict[str, str] = {}
        self._done = False

    def add(self, events: Iterable[StreamEvent]) -> None:
        for event in events:
            if isinstance(event, TextDelta):
                self._text += event.text
            elif isinstance(event, ToolCallStarted):
                self._name = event.name
            elif isinstance(event, ToolCallDelta) and event.path:
                name = ".".join(map(str, event.path))
                self._arguments[name] = self._arguments.get(name, "") + event.text
            elif isinstance(event, ToolCallFinished):
                self._done = True

    def render(self) -> RenderableType:
        parts: list[RenderableType] = [Text(self._text)]
        if self._name:
            arguments = [self._argument(name, value) for name, value in self._arguments.items()]
            mark = "✓" if self._done else "…"
            style = "green" if self._done else "yellow"
            parts.append(Panel(Group(*arguments), title=f"{mark} {self._name}", title_align="left", border_style=style))
        return Group(*parts)

    def _argument(self, name: str, value: str) -> RenderableType:
        if "\n" not in value:
            return Text.assemble((f"{name}: ", "bold"), value)
        extension = self._arguments.get("path", "x.md").rpartition(".")[2]
        code = Syntax(value, _LANGUAGES.get(extension, "text"), theme="ansi_dark", background_color="default")
        return Group(Text(f"{name}:", style="bold"), code)
