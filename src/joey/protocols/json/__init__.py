"""JSON as models write it: streamed, partial, relaxed, damaged."""
