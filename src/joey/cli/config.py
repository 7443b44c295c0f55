"""The settings in force here: each value, and where it came from.

  joey config                          what holds in this folder
  joey config path                     the files that are read
  joey config set mode architect       write a value into your file (~/.config/joey/config.toml)
  joey config set approvals.allow '["pytest", "npm test"]'

Flags go over the environment (JOEY_MODEL, JOEY_BASE_URL, JOEY_PROTOCOL, JOEY_MODE, JOEY_APPROVE) over the project's
.joey/config.toml over your file over the defaults. Keys of providers are never kept in these files and never shown.
See docs/guides/settings.md.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from joey.errors import UsageError

if TYPE_CHECKING:
    from joey.config import Config

_WIDEST = 40
"""How wide the column of values may be; a longer one moves only its own place to the right."""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "action", nargs="?", choices=["show", "path", "set"], default="show", help="show is the default"
    )
    parser.add_argument("key", nargs="?", metavar="KEY", help="for set: which setting, such as limits.max_turns")
    parser.add_argument("value", nargs="?", metavar="VALUE", help="for set: the value, as TOML or as plain text")
    parser.add_argument("--workspace", "-w", type=Path, default=Path(), metavar="FOLDER", help="instead of this folder")
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def run(args: argparse.Namespace) -> int:
    if (args.action == "set") != (args.value is not None) or (args.action != "set" and args.key is not None):
        raise UsageError("joey config, joey config path, or joey config set KEY VALUE")
    if args.action == "set":
        return _set(args.key, args.value)
    return _paths(args) if args.action == "path" else _show(args)


def _set(name: str, value: str) -> int:
    from joey.config.edit import set_value
    from joey.config.layers import FILE
    from joey.system.folders import user_folder

    path = user_folder() / FILE
    understood = set_value(path, name, value)
    print(f"{name} = {_shown(understood)}  (in {path})")
    return 0


def _paths(args: argparse.Namespace) -> int:
    from joey.config.layers import FILE
    from joey.system.folders import project_folder, user_folder

    paths = {"user": user_folder() / FILE, "project": project_folder(args.workspace.absolute()) / FILE}
    if args.json:
        print(json.dumps({name: {"path": str(path), "exists": path.is_file()} for name, path in paths.items()}))
        return 0
    for name, path in paths.items():
        print(f"{name:<8} {path}{'' if path.is_file() else '  (not there)'}")
    return 0


def _show(args: argparse.Namespace) -> int:
    from joey.app.settings import notices, settings_in_force

    if not args.workspace.is_dir():
        raise UsageError(f"{args.workspace} is not a folder")
    config = settings_in_force(args.workspace.absolute())
    rows, keys = _rows(config), _keys()
    if args.json:
        print(json.dumps(_as_json(config, rows, keys), ensure_ascii=False, indent=2))
        return 0
    width = max(len(name) for name, *_ in rows)
    wide = min(max(len(_shown(value)) for _, value, _ in rows), _WIDEST)
    for name, value, place in rows:
        print(f"{name:<{width}}  {_shown(value):<{wide}}  {place}")
    print("\nkeys")
    print("\n".join(f"  {variable:<{width - 2}}  {state}" for variable, state in keys.items()))
    for notice in notices(config):
        print(f"\nnote: {notice}")
    return 0


def _rows(config: Config) -> list[tuple[str, Any, str]]:
    """Every setting in the order of the table of keys, then the user's own prices."""
    from joey.app.settings import approvals_in_force
    from joey.config.keys import KEYS

    approvals = approvals_in_force(config)
    rows: list[tuple[str, Any, str]] = []
    for key in KEYS:
        table, _, name = key.name.partition(".")
        if table == "approvals":
            rows.append((key.name, getattr(approvals.settings, name), approvals.places.get(name) or "default"))
        else:
            rows.append(_row(config, key.name))
    return rows + [_row(config, f"prices.{model}") for model in config.prices]


def _row(config: Config, name: str) -> tuple[str, Any, str]:
    setting = config.settings[name]
    return name, setting.value, setting.where or setting.origin


def _keys() -> dict[str, str]:
    """Which keys there are. What they are is nobody's business."""
    from joey.providers import ENDPOINTS
    from joey.system.keyring import find_key

    found = {each.key_variable: find_key(each.key_variable) for each in ENDPOINTS.values()}
    return {variable: f"set in {key.where}" if key else "not set" for variable, key in found.items()}


def _shown(value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, (list, tuple)):
        return ", ".join(map(str, value)) or "none"
    return json.dumps(value) if isinstance(value, (bool, dict)) else str(value)


def _as_json(config: Config, rows: list[tuple[str, Any, str]], keys: dict[str, str]) -> dict[str, Any]:
    from joey.app.settings import notices

    return {
        "settings": [{"name": name, "value": value, "where": place} for name, value, place in rows],
        "held_back": [{"name": each.name, "where": each.where} for each in config.held_back],
        "notices": list(notices(config)),
        "trusted": config.trusted,
        "files": {"user": str(config.user_file), "project": str(config.project_file)},
        "keys": keys,
    }
