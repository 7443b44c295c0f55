"""The composition root: from a folder on disk to modes, tools and a call that runs with leave.

Everything below this floor is told what it needs; here it is looked up: the user's folder, the files of the
workspace, who trusts what. Policy and tools do not know each other; `CallRunner` is where they meet.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from joey.errors import UsageError
from joey.folders import user_folder
from joey.messages import ImageBlock, Shown, ToolResult, ToolUseBlock
from joey.tools.base import Tool, ToolContext, failed
from joey.tools.builtin import builtin_tools
from joey.tools.custom import CustomToolLoader, CustomTools
from joey.tools.modes.files import LoadedModes, load_modes
from joey.tools.modes.mode import Mode
from joey.tools.registry import Registry, RejectedCall, ResolvedCall
from joey.tools.restrict import file_refusal
from joey.tools.toolset import ToolChoices, Toolset, build_toolset
from joey.trust import TrustStore

if TYPE_CHECKING:
    from joey.actions import Action
    from joey.policy import Settings, Verdict, Workspace


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a workspace and its user bring along."""

    workspace: Path
    modes: LoadedModes
    loader: CustomToolLoader

    @property
    def custom(self) -> CustomTools:
        """The custom tools as their files are now: an edited file is loaded anew."""
        return self.loader.load()

    def mode(self, slug: str) -> Mode:
        found = self.modes.get(slug)
        if found is None:
            near = difflib.get_close_matches(slug, self.modes.slugs, n=1)
            hint = f" (did you mean {near[0]!r}?)" if near else ""
            raise UsageError(f"there is no mode {slug!r}{hint}; modes are {', '.join(self.modes.slugs)}")
        return found

    def toolset(self, slug: str, choices: ToolChoices | None = None) -> Toolset:
        """The tools of a mode, in this workspace."""
        return build_toolset(self.mode(slug), builtin_tools(), custom=self.custom.tools, choices=choices)


def look_around(workspace: Path, user: Path | None = None) -> Surroundings:
    """Modes and custom tools for a workspace. The project's tool files are run only if the user trusts it."""
    user = user or user_folder()
    loader = CustomToolLoader(workspace, user, TrustStore(user / "trusted.json"))
    return Surroundings(workspace, load_modes(workspace, user), loader)


def policy_workspace(folder: Path) -> Workspace:
    """A folder as the policy sees it, with its ignore files."""
    from joey.policy import IgnoreRules, Workspace
    from joey.policy.ignore import NAMES

    files = {name: (folder / name).read_text("utf-8", "replace") for name in NAMES if (folder / name).is_file()}
    return Workspace(str(folder.absolute()), str(Path.home()), IgnoreRules.read(files))


@dataclass(frozen=True, slots=True)
class Question:
    """What the user must see to decide: why it is asked, and what would be done."""

    call: ResolvedCall
    verdict: Verdict
    shown: tuple[Shown, ...]


Ask: TypeAlias = Callable[[Question], bool]


@dataclass(frozen=True, slots=True)
class CallRunner:
    """Runs one call of a model: checked, within its mode, with leave. Every way it can end is a result."""

    registry: Registry
    context: ToolContext
    settings: Settings
    workspace: Workspace
    ask: Ask | None = None
    """Asks the user; None when nobody is there, which makes every question a refusal."""

    async def run(self, call: ToolUseBlock) -> ToolResult:
        resolved = self.registry.resolve(call)
        if isinstance(resolved, RejectedCall):
            return resolved.result
        tool: Tool[Any] = resolved.tool
        # What the call declares is judged before its plan looks at anything.
        declared = tool.actions(resolved.params, self.context)
        if refused := self._refusal(resolved, declared):
            return refused
        plan = await tool.plan(resolved.params, self.context)
        actions = tuple(dict.fromkeys((*declared, *plan.actions)))
        if refused := self._refusal(resolved, actions):
            return refused
        if refused := self._denial(resolved, actions, plan.shown):
            return refused
        return plan.refusal or await plan.execute()

    def _refusal(self, call: ResolvedCall, actions: tuple[Action, ...]) -> ToolResult | None:
        """Why it can never run here: the mode's file rule, or a policy that denies it outright."""
        mode = self.registry.toolset.mode
        message = file_refusal(call.name, call.tool.group, mode, actions, self.context.workspace)
        if message is not None:
            return failed(message)
        verdict = self._verdict(actions)
        return denied(verdict.reason) if verdict.decision == "deny" else None

    def _denial(self, call: ResolvedCall, actions: tuple[Action, ...], shown: tuple[Shown, ...]) -> ToolResult | None:
        """Why it does not run now: the user was asked and said no."""
        verdict = self._verdict(actions)
        if verdict.allowed or (self.ask is not None and self.ask(Question(call, verdict, shown))):
            return None
        return denied("The user did not allow it.")

    def _verdict(self, actions: tuple[Action, ...]) -> Verdict:
        from joey.policy import judge

        return judge(actions, self.settings, self.workspace, headless=self.ask is None)


def denied(reason: str) -> ToolResult:
    return failed(f"This call was not run, because it is not allowed: {reason}")


def for_the_model(result: ToolResult) -> str:
    """What the model reads, with pictures named."""
    pictures = [f"[picture, {block.media_type}]" for block in result.content if isinstance(block, ImageBlock)]
    return "\n".join([result.text, *pictures])
