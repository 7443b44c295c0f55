"""A task: from what the user asked to a result the user accepts."""
