"""The declarations of the official chat templates, with a place for the tools.

Taken from the renderings of the templates; `styles` says how each writes the tools. The words are the template
authors' own, mistakes included: a model knows them from its training.
"""

from __future__ import annotations

from joey.protocols.dialects.templates.json_texts import JSON
from joey.protocols.dialects.templates.named_texts import NAMED_JSON
from joey.protocols.dialects.templates.other_texts import OTHERS
from joey.protocols.dialects.templates.tagged_texts import TAGGED

_WITHOUT_WORDS = ("gemma4", "granite3", "internlm2", "kimi_k2", "mistral_v11", "mistral_v11_callid", "mistral_v3")
"""Dialects that declare the tools and say nothing about them."""

TEMPLATES: dict[str, str] = {**JSON, **NAMED_JSON, **TAGGED, **OTHERS, **dict.fromkeys(_WITHOUT_WORDS, "⟦tools⟧")}
