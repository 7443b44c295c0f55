"""Where replies come from: one conversation, many wire formats."""
