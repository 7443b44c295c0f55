"""The tool-call dialects of open models: one frame, four call grammars, one table."""
