"""What rows of several grammars have in common."""

from __future__ import annotations

from joey.protocols.dialects.spec import Reading, Tagged

# Reasoning, as the templates write it

THINK = ("<think>", "</think>")
THINK_LINES = ("<think>\n", "\n</think>\n\n")
THINK_LINE = ("<think>\n", "\n</think>\n")

# Names in headers

NAME = r"(?P<name>[^\s<>{}\[\]]+)"

# Elements


def invoke(prefix: str = "", reading: Reading | None = None) -> Tagged:
    """`<invoke name="N">` with `<parameter name="k">`, each tag with a prefix."""
    return Tagged(
        open=(f"<{prefix}invoke name=",),
        name_end=(">",),
        close=(f"</{prefix}invoke>",),
        key=(f"<{prefix}parameter name=",),
        key_end=(">",),
        value_end=(f"</{prefix}parameter>",),
        reading=reading or Reading(),
    )
