"""Serve a model over the APIs that other programs speak, with tool calls that work.

  joey gateway                                    the model on this machine, at http://127.0.0.1:8808
  joey gateway --for claude                       start Claude Code with it; also codex, opencode, aider
  joey gateway --for codex -- exec "Run the tests"
  joey gateway --for opencode --print             only show how to start it
  joey gateway --upstream http://127.0.0.1:8080   in front of a llama.cpp, vLLM, Ollama or LM Studio server
  joey gateway --model openrouter/qwen/qwen3-coder

It speaks OpenAI's Chat Completions and Responses and Anthropic's Messages. Models that call tools badly or not at all
are taught a protocol or spoken to in their own dialect, held to a grammar where the server takes one, and what they
write becomes native calls. The page at / shows recent requests. Several models: [upstreams."NAME"] in the settings.

A key of the upstream is read from $JOEY_UPSTREAM_KEY, or from the provider's own variable for --model PROVIDER/MODEL.
Other machines are served only with --host and a key, which clients send as their API key. See docs/guides/gateway.md.
"""

from __future__ import annotations

import argparse
import gc
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from joey.errors import UsageError

if TYPE_CHECKING:
    import socket

    from joey.gateway.server import Gateway
    from joey.gateway.upstream import Upstream

CLIENTS = ("claude", "codex", "opencode", "aider")
APIS = ("chat", "responses", "messages")


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--model", "-m", metavar="NAME", help="PROVIDER/MODEL, or the name of a model of --upstream")
    parser.add_argument("--upstream", metavar="URL", help="address of a server that speaks OpenAI's or Anthropic's API")
    parser.add_argument("--api", choices=APIS, help="API of the upstream (default: chat)")
    parser.add_argument(
        "--protocol",
        metavar="NAME",
        help="how the model calls tools: native, json_mix, xml, morph_xml, a dialect, or auto: its own (default: "
        "native where the server takes tools and no grammar, json_mix for models on this machine, else its own)",
    )
    parser.add_argument(
        "--grammar", metavar="FORM", help="how the upstream takes grammars: llama.cpp, vllm, vllm-guided, off or auto"
    )
    parser.add_argument(
        "--window", type=int, metavar="TOKENS", help="how long a conversation may be (default: what the model says)"
    )
    parser.add_argument("--host", default="127.0.0.1", help="address to listen at (default: 127.0.0.1)")
    parser.add_argument("--port", type=int, help="port to listen at (default: 8808, or a free one)")
    parser.add_argument("--key", help="key that clients must send (default: $JOEY_GATEWAY_KEY)")
    parser.add_argument("--for", dest="client", choices=CLIENTS, help="start this client in front of the gateway")
    parser.add_argument("--print", action="store_true", help="with --for: only show how to start the client")
    parser.add_argument("args", nargs="*", metavar="ARGS", help="arguments of the client, behind --")


def run(args: argparse.Namespace) -> int:
    # Until it serves: what is loaded stays, and to look through it again and again is a tenth of the start.
    gc.disable()
    try:
        return _run(args)
    finally:
        gc.enable()


def _run(args: argparse.Namespace) -> int:
    if (args.args or args.print) and not args.client:
        raise UsageError("ARGS and --print are for a client; name it with --for")
    if args.window is not None and args.window < 1:
        raise UsageError("--window is a number of tokens, 1 or more")
    try:
        from joey.gateway.serving import bound, check_host
    except ImportError as error:
        from joey.system.installation import add_extra

        raise UsageError(f"the gateway needs the extra `serve`: {add_extra('serve')} ({error})") from None
    key = args.key or os.environ.get("JOEY_GATEWAY_KEY") or None
    loopback = check_host(args.host, key)
    gateway = _gateway(args, key, loopback=loopback)
    if args.client and args.print:
        return _show_client(args, gateway, key)
    with bound(args.host, args.port) as listening:
        return _serve(args, gateway, listening, key)


def _gateway(args: argparse.Namespace, key: str | None, *, loopback: bool) -> Gateway:
    from joey.gateway.guard import Guard
    from joey.gateway.server import Gateway, GatewayOptions

    return Gateway(_upstreams(args), GatewayOptions(Guard(key, loopback)))


def _upstreams(args: argparse.Namespace) -> list[Upstream]:
    from joey.gateway.addressed import UpstreamChoice, upstream_at

    chosen = UpstreamChoice(args.model, args.upstream, args.api, args.protocol, args.grammar, window=args.window)
    if chosen.url is not None:  # nothing of it is in the settings, and to read them is a tenth of the start
        return [upstream_at(chosen.url, chosen)]
    from joey.app.sources import settings_in_force
    from joey.gateway.opening import open_upstreams

    return open_upstreams(chosen, settings_in_force(Path.cwd()))


def _serve(args: argparse.Namespace, gateway: Gateway, listening: socket.socket, key: str | None) -> int:
    import asyncio

    from joey.gateway.serving import address_of, serve

    gc.freeze()
    gc.enable()
    if args.client:
        from joey.gateway.launching import serve_client

        return asyncio.run(serve_client(gateway, listening, args.client, args.args, key))
    print("\n".join(_welcome(gateway, address_of(listening), key)), flush=True)
    try:
        asyncio.run(serve(gateway, listening, lambda text: print(text, file=sys.stderr, flush=True)))
    except KeyboardInterrupt:
        print("Stopped.")
    return 0


def _welcome(gateway: Gateway, address: str, key: str | None) -> list[str]:
    given = "the key" if key else "any key"
    models = [
        f"  {each.name:<13} {each.provider.name}, protocol {each.protocol.name}"
        f"{', held to a grammar' if each.provider.takes_grammar and each.protocol.in_text else ''}"
        for each in gateway.routing.upstreams
    ]
    return [
        f"Joey gateway at {address}",
        "",
        *models,
        "",
        f"  OpenAI        base_url={address}/v1  api_key={given}",
        f"  Anthropic     base_url={address}  api_key={given}",
        f"  page          {address}/",
        f"  clients       joey gateway --for {'|'.join(CLIENTS)} starts one with a gateway of its own",
        "",
        "Ctrl-C stops it.",
    ]


def _show_client(args: argparse.Namespace, gateway: Gateway, key: str | None) -> int:
    from joey.gateway.clients import DEFAULT_WINDOW, Served, launch_of
    from joey.gateway.serving import PORT

    first = gateway.routing.upstreams[0]
    served = Served(
        f"http://{args.host}:{args.port or PORT}",
        key or "any",
        first.name,
        first.context_window or DEFAULT_WINDOW,
    )
    print(launch_of(args.client, served, Path("joey-gateway").absolute(), args.args).shown("joey-gateway"))
    return 0
