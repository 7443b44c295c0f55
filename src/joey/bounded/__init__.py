"""Data that somebody else made, read within bounds of time and memory: files, formats, documents, patterns."""
