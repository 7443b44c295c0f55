"""MCP servers: which are configured, their sessions, and their tools as Joey's."""
