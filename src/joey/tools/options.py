"""What changes how the built-in tools look or behave; the settings and the profile of a task decide it."""

from __future__ import annotations

from dataclasses import dataclass, field

from joey.prompts.library import Library
from joey.sandbox.settings import SandboxSettings
from joey.tools.images import ImageEndpoint
from joey.tools.languages.programs import NO_SERVERS, LanguageSettings
from joey.tools.shell.environment import NO_RULES, EnvironmentRules


@dataclass(frozen=True, slots=True)
class BuiltinOptions:
    """Each with the value that holds where nobody decided otherwise."""

    subtask_needs_todos: bool = False
    """Make `todos` a required argument of new_task."""
    edit_likeness: float | None = None
    """How alike (0 to 1) lines must be that apply_diff finds nowhere as they are; None: only equal ones are found."""
    sees_images: bool = False
    """The model can look at images: read_file shows them."""
    line_numbers: bool = True
    """Whether read_file shows the lines of a file with their numbers."""
    kill_commands_after: float | None = None
    """End commands that take longer than so many seconds. Commands in the background have no limit."""
    commands_never_killed: tuple[str, ...] = ()
    """Beginnings of commands that the limit does not hold for."""
    command_environment: EnvironmentRules = NO_RULES
    """Which variables commands get besides, and which not."""
    sandbox: SandboxSettings = field(default_factory=SandboxSettings)
    """What confines commands."""
    browser_program: str | None = None
    """The Chromium that browser_action starts; None looks for one."""
    browser_sandbox: bool = True
    """Whether the browser is started in its own sandbox. As root it cannot be."""
    search_url: str | None = None
    """Where web_search asks."""
    image_endpoint: ImageEndpoint | None = None
    """Who makes images."""
    languages: LanguageSettings = NO_SERVERS
    """The language servers that find_symbol asks."""
    library: Library | None = None
    """The user's slash commands and skills."""
