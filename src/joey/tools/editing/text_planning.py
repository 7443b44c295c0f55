"""String replacements in one file, prepared: one after the other, all or none."""

from __future__ import annotations

from collections.abc import Sequence

from joey.system.filenames import quoted
from joey.tools.base import ToolContext
from joey.tools.editing.outcomes import report
from joey.tools.editing.planning import EditRefused, Prepared, missing_file, not_as_read, open_source
from joey.tools.editing.text_edit import Remedies, TextEdit, apply_text_edit


def prepare_text_edits(context: ToolContext, name: str, edits: Sequence[TextEdit], remedies: Remedies) -> Prepared:
    """Each edit works on what the ones before it made of the file."""
    source = open_source(context, name)
    if source is None:
        raise missing_file(name)
    document, verdicts = source.document, []
    for edit in edits:
        document, verdict = apply_text_edit(document, edit, remedies)
        verdicts.append(verdict)
    words = report(verdicts, "Replacement")
    if any(verdict.failed for verdict in verdicts):
        note = not_as_read(context, source.path, name, source.data)
        raise EditRefused(f"Nothing was changed in {quoted(name)}.\n{words}{note}")
    return Prepared((source.edited(document),), f"Changes applied to {quoted(name)}", (words,))
