"""What the user allowed with an answer, as data: each permission is a thing of its own, kept, listed and revoked.

For front ends: `ApprovalRequested.always` says in words what "don't ask again" would allow, before it is answered.
`Answer(request_id, yes=True, always=True, scope="task")` allows it in this task, `scope="project"` in this folder, and
without `always` the answer holds once. What was allowed is `TaskHandle.permissions`, or `Services.permissions` where no
task runs; `Services.revoke` takes one back.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

Scope: TypeAlias = Literal["task", "project"]
"""How far a permission reaches: the task, its subtasks included, or every task in the same folder."""
PermissionKind: TypeAlias = Literal[
    "command", "reads", "writes", "mcp_tool", "mcp_resources", "local_pages", "pages", "custom_tool", "mode_switches",
    "subtasks",
]  # fmt: skip


_MAX_WORDS = 120


def _shortened(command: str) -> str:
    """A command in one line. Of a long one the beginning and the length: whoever is asked sees all of it besides."""
    first, lines = command.split("\n")[0], command.count("\n") + 1
    if lines == 1 and len(command) <= _MAX_WORDS:
        return f"`{command}`"
    size = f"{lines} lines" if lines > 1 else f"{len(command)} characters"
    return f"the command `{first[:_MAX_WORDS]} …` of {size}"


@dataclass(frozen=True, slots=True)
class Permission:
    """Something that is not asked about again. `subject` is what exactly: the command line (with the folder it runs in,
    as `cd folder && …`), `server/tool`, a host, a tool; empty where the kind says it all."""

    kind: PermissionKind
    subject: str = ""

    @property
    def words(self) -> str:
        """In words: "don't ask again for …"."""
        match self.kind:
            case "command":
                return f"exactly {_shortened(self.subject)}"
            case "mcp_tool":
                server, _, tool = self.subject.partition("/")
                return f"the tool {tool} of the server {server}"
            case "pages":
                return f"opening pages of {self.subject}"
            case "custom_tool":
                return f"the custom tool {self.subject}"
            case _:
                return _WORDS[self.kind]


@dataclass(frozen=True, slots=True)
class Granted:
    """A permission that holds, and how far."""

    permission: Permission
    scope: Scope


_WORDS = {
    "reads": "reading files of the workspace",
    "writes": "changing files of the workspace",
    "mcp_resources": "reading resources of MCP servers",
    "local_pages": "opening pages of this machine",
    "mode_switches": "switching modes",
    "subtasks": "starting subtasks",
}
