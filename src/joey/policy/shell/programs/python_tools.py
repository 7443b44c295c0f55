"""Linters, formatters, environments and builders of Python."""

from __future__ import annotations

from joey.policy.shell.options import Program

PROGRAMS: dict[str, Program] = {}
