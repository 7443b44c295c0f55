"""The gateway: any model behind the wire formats that clients speak, with tool calls that work.

Three wires (OpenAI's Chat Completions and Responses, Anthropic's Messages) are read into one conversation; the model is
taught the tools in the protocol it speaks, held to a grammar where its server takes one, and what it writes is turned
into native calls while it streams.
"""

from __future__ import annotations

from joey.gateway.guard import Guard
from joey.gateway.in_process import connect, connect_async
from joey.gateway.server import Gateway, GatewayOptions, app, upstream_of
from joey.gateway.upstream import Upstream, choose_protocol

__all__ = [
    "Gateway",
    "GatewayOptions",
    "Guard",
    "Upstream",
    "app",
    "choose_protocol",
    "connect",
    "connect_async",
    "upstream_of",
]
