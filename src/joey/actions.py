"""What a tool call would do to the world, before it does it.

A tool declares its actions; the approval policy judges them. Keeping them as data in between means that neither
needs to know the other, and that what the user approves is what was judged.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias


@dataclass(frozen=True, slots=True)
class ReadPath:
    """Look at a file or a folder. The path is as the model gave it; the policy resolves it."""

    path: str


@dataclass(frozen=True, slots=True)
class WritePath:
    """Change a file. For a move, there is one action for each end."""

    path: str
    change: Literal["create", "modify", "delete"] = "modify"


@dataclass(frozen=True, slots=True)
class RunCommand:
    """Run a shell command line in a folder (the workspace when None)."""

    command: str
    cwd: str | None = None


@dataclass(frozen=True, slots=True)
class WidenSandbox:
    """Give one command more than its sandbox does: `network`, `outside` (no sandbox), or the path of a folder to write
    in."""

    need: str


@dataclass(frozen=True, slots=True)
class CallServer:
    """Call a tool of an MCP server, or read one of its resources (then `tool` is None)."""

    server: str
    tool: str | None = None


@dataclass(frozen=True, slots=True)
class MentionPaths:
    """Hand texts that may be paths to somebody else's tool. They count only where they lead out of the workspace, or to
    something that is hidden or protected. `writes`: whether the tool may change what they name."""

    texts: tuple[str, ...]
    writes: bool = True


@dataclass(frozen=True, slots=True)
class VisitUrl:
    """Open a page in the browser, or fetch something from a URL."""

    url: str


@dataclass(frozen=True, slots=True)
class FetchUrl:
    """Read a page without a browser: one request, and nothing of the user's goes along."""

    url: str


@dataclass(frozen=True, slots=True)
class RunCode:
    """Run a custom tool: somebody's code in this process."""

    tool: str
    origin: str


@dataclass(frozen=True, slots=True)
class SwitchMode:
    """Go on in another mode."""

    mode: str


@dataclass(frozen=True, slots=True)
class StartSubtask:
    """Hand a piece of the work to a task of its own, which may work with another model."""

    mode: str
    model: str = ""


@dataclass(frozen=True, slots=True)
class AskUser:
    """Talk to the user: a question, a completion. No approval is needed: it is a question itself."""


Action: TypeAlias = (
    ReadPath
    | WritePath
    | RunCommand
    | WidenSandbox
    | CallServer
    | MentionPaths
    | VisitUrl
    | FetchUrl
    | RunCode
    | SwitchMode
    | StartSubtask
    | AskUser
)
