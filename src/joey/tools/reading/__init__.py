"""How files are read for a model: which lines of a text, and what is in files that are no text."""
