"""Store the key of a provider in the system's keyring, or learn what else Joey can work with.

  joey login                  ask for a provider and its key
  joey login anthropic        ask for this provider's key; not at a terminal, the key is read from standard input

A key in the environment, such as ANTHROPIC_API_KEY, counts before the keyring. Keys are never written to a file of
Joey's. `joey doctor` shows which ones are found.
"""

from __future__ import annotations

import argparse
import sys
from getpass import getpass

from joey.errors import JoeyError, UsageError

_OTHERWISE = "Without a key: `joey local install` installs a model on this machine; `joey demo` needs none."


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("provider", nargs="?", help="anthropic, openai, …: `joey models` lists them")


def run(args: argparse.Namespace) -> int:
    return login(args.provider)


def login(provider: str | None) -> int:
    from joey.providers import ENDPOINTS
    from joey.system.keyring import find_key, how_to_store, store_key

    variables = {name: each.key_variable for name, each in ENDPOINTS.items() if each.needs_key or not each.base_url}
    chosen = provider or _ask(f"Provider ({', '.join(variables)}): ")
    if chosen not in variables:
        raise UsageError(f"there is no key to store for {chosen!r}; choose one of {', '.join(variables)}")
    variable = variables[chosen]
    found = find_key(variable)
    if found is not None and found.where == "the environment":
        print(f"{variable} is set in the environment, so {chosen} can be used already.")
        return 0
    key = (getpass(f"{variable}: ") if sys.stdin.isatty() else sys.stdin.readline()).strip()
    if not key:
        raise UsageError(f"no key was given. {_OTHERWISE}")
    if not store_key(variable, key):
        raise JoeyError(
            f"the key was not stored: no keyring took it. Set {variable} in the environment, or run\n"
            f"  {how_to_store(variable)}\n{_OTHERWISE}"
        )
    print(f"The key of {chosen} is in the keyring. Try it: joey run --model {chosen}/… 'Say hello'")
    return 0


def _ask(question: str) -> str:
    if not sys.stdin.isatty():
        raise UsageError(f"say which provider: joey login anthropic. {_OTHERWISE}")
    return input(question).strip()
