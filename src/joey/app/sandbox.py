"""The sandbox of a workspace, as its settings want it."""

from __future__ import annotations

from pathlib import Path

from joey.errors import UsageError
from joey.policy import Settings, Workspace
from joey.policy.protected import is_guarded
from joey.sandbox import Network, SandboxSettings, Walls, open_sandbox
from joey.tools.shell.confinement import existing_places


async def check_profile(policy: Settings, settings: SandboxSettings, workspace: Path) -> None:
    """The profile `auto` lets commands run because a full sandbox holds them: without one it is refused, before
    anything is sent to a model. Raises UsageError."""
    if not policy.confined:
        return
    if settings.mode == "off":
        raise UsageError("the profile 'auto' needs the sandbox, but `sandbox = off` is set; use another profile")
    sandbox = await open_sandbox(walls_of(workspace, settings, "none"))
    sandbox.close()
    if sandbox.held.level != "full":
        raise UsageError(
            f"the profile 'auto' needs a full sandbox, but here it is {sandbox.held}; use `--approve edits`, or see "
            "`joey sandbox` for how to get one"
        )


def walls_of(workspace: Path, settings: SandboxSettings, network: Network) -> Walls:
    """The walls for commands in a workspace that no task belongs to."""
    paths = Workspace.of(workspace)
    return Walls(
        workspace,
        network=network,
        hosts=settings.hosts,
        writable=existing_places(settings.writable),
        hide=settings.hide,
        show=settings.show,
        limits=settings.limits,
        guarded=is_guarded,
        ignored=paths.hides,
    )
