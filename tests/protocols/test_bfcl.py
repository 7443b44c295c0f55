from __future__ import annotations

import json
import random

import pytest

from bfcl_data import FOLDER, MISSING, Entry, entries
from joey.chunks import Chunk, ToolCallChunk
from joey.messages import TextBlock, ToolUseBlock
from joey.protocols import collect, get, names
from joey.testing.streams import check_laws, cut_at, read

CALLS = 3302
"""In the simple, multiple and parallel categories, those of Java and JavaScript and the live ones included."""

pytestmark = pytest.mark.skipif(not FOLDER.is_dir(), reason=MISSING)


def text_stream(protocol: str, entry: Entry, chance: random.Random) -> list[str | Chunk]:
    written = ["I will call:\n"]
    for name, arguments in entry.calls:
        block = get(protocol).encode_call(ToolUseBlock("", name, arguments), chance.choice((entry.tools, ())))
        assert isinstance(block, TextBlock)
        written += [block.text, "\n\n"]
    text = "".join(written)
    return list(cut_at(text, [chance.randrange(len(text)) for _ in range(chance.choice((2, 10, 80)))]))


def native_stream(entry: Entry, chance: random.Random) -> list[str | Chunk]:
    chunks: list[str | Chunk] = []
    for index, (name, arguments) in enumerate(entry.calls):
        text = json.dumps(arguments, ensure_ascii=chance.random() < 0.5)
        chunks.append(ToolCallChunk(index, f"call_{index}", name, ""))
        cuts = [chance.randrange(len(text)) for _ in range(chance.choice((0, 3, 20)))]
        chunks += [ToolCallChunk(index, None, None, piece) for piece in cut_at(text, cuts)]
    return chunks


@pytest.mark.parametrize("protocol", [name for name in names() if name != "tool_choice"])
def test_every_ground_truth_call_survives_being_written_cut_and_read(protocol: str) -> None:
    calls = 0
    for entry in entries():
        chance = random.Random(entry.id)
        stream = native_stream(entry, chance) if protocol == "native" else text_stream(protocol, entry, chance)
        events = read(get(protocol).parser(entry.tools), stream)
        check_laws(events, None if protocol == "native" else "".join(map(str, stream)))
        reply = collect(events)
        assert [(call.name, call.arguments) for call in reply.calls] == list(entry.calls), entry.id
        assert reply.malformed == ()
        calls += len(entry.calls)
    assert calls == CALLS
