"""The table of dialects: one row each, as data. What the fields mean is written in `spec`.

To add a dialect, add a row; to say that models drift to another marker, add it behind the first. Nothing here runs.
"""

from __future__ import annotations

from joey.protocols.dialects.spec import Dialect
from joey.protocols.dialects.table.function_rows import FUNCTION
from joey.protocols.dialects.table.json_rows import JSON
from joey.protocols.dialects.table.message_rows import CHANNELS
from joey.protocols.dialects.table.named_rows import NAMED_JSON
from joey.protocols.dialects.table.tagged_rows import TAGGED

DIALECTS: dict[str, Dialect] = {
    dialect.name: dialect for dialect in (*JSON, *NAMED_JSON, *TAGGED, *FUNCTION, *CHANNELS)
}
