"""Show and change settings.

  joey config                          every setting that applies in this folder, and where it comes from
  joey config get mode                 one value
  joey config set mode architect       write a value to your file (~/.config/joey/config.toml)
  joey config set approvals.allow '["pytest", "npm test"]'
  joey config unset mode               remove a value from your file
  joey config path                     the files that are read

Flags override environment variables, which override the project's .joey/config.toml, which overrides your file, which
overrides the defaults. API keys are never stored in these files and never shown. docs/settings.md lists every setting
with its flag and variable.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from joey.cli.flags import add_workspace_flag, workspace_in
from joey.errors import UsageError

if TYPE_CHECKING:
    from joey.config import Config

_ACTIONS = {
    "list": [False, False],
    "get": [True, False],
    "set": [True, True],
    "unset": [True, False],
    "path": [False, False],
}
"""What can be done, and whether it takes a key and a value."""
_MAX_WIDTH = 40
"""Width of the column of values; a longer value moves only its own source to the right."""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "action", nargs="?", type=_action, choices=_ACTIONS, default="list", help="what to do (default: list)"
    )
    parser.add_argument("key", nargs="?", metavar="KEY", help="a setting, such as limits.max_turns")
    parser.add_argument("value", nargs="?", metavar="VALUE", help="for set: the value, as TOML or plain text")
    add_workspace_flag(parser)
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def _action(name: str) -> str:
    return "list" if name == "show" else name  # its name in earlier versions


def run(args: argparse.Namespace) -> int:
    if [args.key is not None, args.value is not None] != _ACTIONS[args.action]:
        raise UsageError("usage: joey config [list | path | get KEY | set KEY VALUE | unset KEY]")
    workspace = workspace_in(args)
    match args.action:
        case "set":
            return _set(workspace, args.key, args.value)
        case "unset":
            return _unset(args.key)
        case "get":
            return _get(workspace, args.key, as_json=args.json)
        case "path":
            return _paths(workspace, as_json=args.json)
        case _:
            return _list(workspace, as_json=args.json)


def _set(workspace: Path, name: str, value: str) -> int:
    from joey.app.values import check_of
    from joey.config.edit import set_value
    from joey.config.layers import FILE
    from joey.system.folders import user_folder

    path = user_folder() / FILE
    try:
        understood = set_value(path, name, value, check=check_of(name, workspace))
    except UsageError as error:
        if "must be a list of non-empty strings" not in str(error):
            raise
        raise UsageError(f"{error}; write it as '{json.dumps([value])}'") from None
    print(f"{name} = {_shown(understood)}  (in {path})")
    held = _held_by(workspace, name, understood)
    if held:
        print(f"note: {held}", file=sys.stderr)
    return 0


def _held_by(workspace: Path, name: str, written: Any) -> str:
    """What counts more than the value that was written, if something does."""
    from joey.app.sources import settings_in_force

    setting = settings_in_force(workspace).settings.get(name)
    if setting is None or setting.value == written or not setting.where:
        return ""
    return f"{setting.where} sets it to {_shown(setting.value)}, which counts more"


def _unset(name: str) -> int:
    from joey.config.edit import unset_value
    from joey.config.layers import FILE
    from joey.system.folders import user_folder

    path = user_folder() / FILE
    print(f"{name} removed from {path}" if unset_value(path, name) else f"{path} does not set {name}")
    return 0


def _get(workspace: Path, name: str, *, as_json: bool) -> int:
    from joey.app.sources import settings_in_force
    from joey.config.files import find_key

    wanted = name if name.startswith(("prices.", "models.")) else find_key(name).name
    rows = {name: value for name, value, _ in _rows(settings_in_force(workspace))}
    if wanted not in rows:
        raise UsageError(f"{wanted} is not set")
    print(json.dumps(rows[wanted]) if as_json else _shown(rows[wanted]))
    return 0


def _paths(workspace: Path, *, as_json: bool) -> int:
    from joey.config.layers import FILE
    from joey.system.folders import project_folder, user_folder

    paths = {"user": user_folder() / FILE, "project": project_folder(workspace) / FILE}
    if as_json:
        print(json.dumps({name: {"path": str(path), "exists": path.is_file()} for name, path in paths.items()}))
        return 0
    for name, path in paths.items():
        print(f"{name:<8} {path}{'' if path.is_file() else '  (does not exist)'}")
    return 0


def _list(workspace: Path, *, as_json: bool) -> int:
    from joey.app.settings import notices
    from joey.app.sources import settings_in_force

    config = settings_in_force(workspace)
    rows, keys = _rows(config), _keys()
    if as_json:
        print(json.dumps(_as_json(config, rows, keys), ensure_ascii=False, indent=2))
        return 0
    width = max(len(name) for name, *_ in rows)
    wide = min(max(len(_shown(value)) for _, value, _ in rows), _MAX_WIDTH)
    for name, value, place in rows:
        print(f"{name:<{width}}  {_shown(value):<{wide}}  {place}")
    print("\nAPI keys")
    print("\n".join(f"  {variable:<{width - 2}}  {state}" for variable, state in keys.items()))
    for notice in notices(config):
        print(f"\nnote: {notice}")
    return 0


def _rows(config: Config) -> list[tuple[str, Any, str]]:
    """Every setting in the order of the table of keys, then the user's own prices and models."""
    from joey.app.settings import approvals_in_force
    from joey.config.keys import KEYS

    approvals = approvals_in_force(config)
    rows: list[tuple[str, Any, str]] = []
    for key in KEYS:
        table, _, name = key.name.partition(".")
        if table == "approvals":
            rows.append((key.name, approvals.settings.value(name), approvals.places.get(name) or "default"))
        else:
            rows.append(_row(config, key.name))
    rows += [_row(config, f"prices.{model}") for model in config.prices]
    return rows + [_row(config, f"models.{model}") for model in config.models]


def _row(config: Config, name: str) -> tuple[str, Any, str]:
    setting = config.settings[name]
    return name, setting.value, setting.where or setting.origin


def _keys() -> dict[str, str]:
    """Which API keys are set. The keys themselves are never shown."""
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
