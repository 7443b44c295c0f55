"""What the model may call: definitions, the registry that checks a call, the toolset a mode offers."""

from joey.tools.base import Params, Plan, Tool, ToolContext, failed, ok
from joey.toolspec import Group

__all__ = ["Group", "Params", "Plan", "Tool", "ToolContext", "failed", "ok"]
