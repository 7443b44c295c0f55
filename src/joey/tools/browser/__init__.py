"""A browser for a task: found on the system, driven by Playwright, and let through a gate to permitted hosts only."""
