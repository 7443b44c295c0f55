"""Calls as YAML in an element named after the tool."""
