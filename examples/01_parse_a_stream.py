"""Read tool calls from a native stream while they grow."""

from joey import protocols
from joey.chunks import TextChunk, ToolCallChunk

stream = [TextChunk("I'll write it. ")]
print(len(protocols.names()), len(stream), ToolCallChunk(0).index)
