"""Calls as JSON inside an element, `<tool_call>` for most: JSON mix."""
