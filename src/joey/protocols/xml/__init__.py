"""Calls as XML elements named after the tool: Roo Code's protocol."""
