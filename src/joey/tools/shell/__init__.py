"""Running commands: processes, what they print, and keeping it."""
