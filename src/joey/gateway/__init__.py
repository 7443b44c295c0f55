"""The gateway: any model behind the wire formats that clients speak, with tool calls that work.

Three wires (OpenAI's Chat Completions and Responses, Anthropic's Messages) are read into one conversation; the model is
taught the tools in the protocol it speaks, held to a grammar where its server takes one, and what it writes is turned
into native calls while it streams.

Names load when they are first used: `joey gateway` needs no SDK and no HTTP client of one.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from joey.gateway.guard import Guard
    from joey.gateway.in_process import connect, connect_async
    from joey.gateway.server import Gateway, GatewayOptions, app, upstream_of
    from joey.gateway.upstream import Upstream, choose_protocol

_MODULE_OF = {
    "Gateway": "server",
    "GatewayOptions": "server",
    "Guard": "guard",
    "Upstream": "upstream",
    "app": "server",
    "choose_protocol": "upstream",
    "connect": "in_process",
    "connect_async": "in_process",
    "upstream_of": "server",
}

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


def __getattr__(name: str) -> Any:
    if name not in _MODULE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_MODULE_OF[name]}"), name)
