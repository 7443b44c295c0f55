"""What a task did, written down before the next step begins, and read back as a conversation."""
