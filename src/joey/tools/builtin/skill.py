"""Load a skill: instructions for a kind of work, read when that work comes up."""

from __future__ import annotations

from typing import Self

from pydantic import Field

from joey.messages import ToolResult
from joey.prompts.library import Library
from joey.system.filenames import quoted
from joey.tools.base import Params, Tool, ToolContext, failed, ok
from joey.tools.display import Display
from joey.tools.options import BuiltinOptions


class SkillParams(Params):
    skill: str = Field(min_length=1, description="The name of the skill, as in the list of skills.")
    args: str | None = Field(default=None, description="What the skill should pay attention to, if anything.")


class LoadSkill(Tool[SkillParams]):
    name = "skill"
    display = Display(("skill",), kind="read")
    group = "always"
    params = SkillParams
    field_aliases = {"name": "skill", "arguments": "args"}
    example = {"skill": "release-notes"}
    feature = "skills"

    def __init__(self, library: Library | None = None) -> None:
        self._library = library

    @classmethod
    def configured(cls, options: BuiltinOptions) -> Self:
        return cls(options.library)

    async def run(self, params: SkillParams, context: ToolContext) -> ToolResult:
        known = self._library.skills(context.mode) if self._library else {}
        skill = known.get(params.skill.strip())
        if skill is None:
            names = ", ".join(known) or "none in this mode"
            return failed(f"There is no skill {params.skill!r}. Skills: {names}.")
        facts = {
            "Skill": skill.name,
            "Description": skill.description,
            "Provided arguments": params.args or "",
            "Source": f"{skill.origin}, {quoted(str(skill.path))}",
        }
        head = "\n".join(f"{name}: {value}" for name, value in facts.items() if value)
        return ok(f"{head}\n\n--- Skill Instructions ---\n\n{skill.body}")
