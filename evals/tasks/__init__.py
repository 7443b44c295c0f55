"""The tasks, one module for each family."""
