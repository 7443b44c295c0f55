"""Which edit tools suit which models: families of models were trained on one way of editing and err less with it.

The table is data. A row names models by a pattern on their name (without the provider, `openai/gpt-5.2` is
`gpt-5.2`), and says which tools to offer besides the default ones and which of those to leave out. The first row that
matches holds; a model that matches none gets the default tools, apply_diff and write_to_file.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from joey.tools.toolset import ToolChoices


@dataclass(frozen=True, slots=True)
class Preference:
    """What one family of models edits best with."""

    models: str
    include: tuple[str, ...]
    exclude: tuple[str, ...]


PREFERENCES: tuple[Preference, ...] = (
    Preference(r"gpt-(4\.1|[5-9])|codex", ("apply_patch",), ("apply_diff", "write_to_file")),
    Preference(r"grok", ("search_replace",), ("apply_diff",)),
    Preference(r"minimax", ("search_and_replace",), ("apply_diff",)),
    Preference(r"gemini", ("edit",), ("apply_diff",)),
)


def choices_for(model: str, choices: ToolChoices | None = None) -> ToolChoices:
    """The choices with what suits a model, named `provider/model`. What the user chose stays and comes first."""
    choices = choices or ToolChoices()
    name = model.rpartition("/")[2].lower()
    for preference in PREFERENCES:
        if re.search(rf"(?<![a-z0-9])(?:{preference.models})", name):
            include = tuple(tool for tool in preference.include if tool not in choices.exclude)
            exclude = tuple(tool for tool in preference.exclude if tool not in choices.include)
            return replace(choices, include=(*choices.include, *include), exclude=(*choices.exclude, *exclude))
    return choices
