"""Read tool calls from a native stream while they grow.

A provider streams a call in pieces. The parser says which argument is growing and what was added to it, decoded; at
the end it says whether the call is whole.
"""

from joey import protocols
from joey.chunks import Chunk, StopChunk, TextChunk, ToolCallChunk
from joey.events import TextDelta, ToolCallDelta, ToolCallFinished, ToolCallMalformed, ToolCallStarted

STREAM: list[Chunk] = [
    TextChunk("I'll write it. "),
    ToolCallChunk(index=0, id="toolu_1", name="write_to_file", arguments=""),
    ToolCallChunk(index=0, arguments='{"path": "hel'),
    ToolCallChunk(index=0, arguments='lo.txt", "file_text": "Hello\\'),
    ToolCallChunk(index=0, arguments='nWorld"}'),
    StopChunk("tool_calls"),
]

parser = protocols.get("native").parser(tools=[])
for event in [event for chunk in STREAM for event in parser.feed(chunk)] + parser.finish():
    match event:
        case TextDelta(text):
            print("text:", text)
        case ToolCallStarted(call_id, name):
            print("started:", name, call_id)
        case ToolCallDelta(_, path, text):
            print("grew:", ".".join(map(str, path)), repr(text))
        case ToolCallFinished(_, name, arguments):
            print("finished:", name, arguments)
        case ToolCallMalformed(_, name, _, message):
            print("must not run:", name, message)

# The same for a whole reply at once:
reply = protocols.parse(STREAM, protocol="native")
assert reply.calls[0].arguments == {"path": "hello.txt", "file_text": "Hello\nWorld"}
