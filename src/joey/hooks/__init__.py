"""Hooks: what the user's own programs decide at defined points of a task, in the shape that Claude Code gave them."""
