"""Command lines: which are plain, what the programs in them do, and the verdict on a line."""
