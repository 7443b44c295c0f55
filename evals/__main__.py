"""`python -m evals`: the tasks on a model, in each setting, and a table of what came of it.

Each finished run is a line of JSON in the results file; a run that is in it already is not made again, so an
interrupted run goes on where it was. `--list` shows the tasks.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from rich.console import Console

from evals.peers import PEERS, Peer, model_server, run_peer
from evals.run import Measured, Served, Setting, run_one
from evals.table import table
from evals.task import Entry, all_tasks
from joey import protocols
from joey.errors import JoeyError, UsageError

OWN_DIALECT = "hermes"
"""What the default model, Qwen2.5-Coder, was trained to write."""
SETTINGS = tuple(
    Setting(protocol, grammar) for protocol in (*protocols.text_names(), OWN_DIALECT) for grammar in (True, False)
)
"""Those that are measured when none is named."""
DEFAULT = Setting("xml", grammar=True)
"""What Joey uses with a small model by itself."""


def main() -> int:
    args = _parser().parse_args()
    entries = _chosen(args)
    if args.list:
        for entry in entries:
            print(f"{entry.family:<10} {entry.half:<9} {entry.task.name:<22} {entry.task.prompt}")
        return 0
    settings = _settings(args)
    lines = [] if args.again else _known(args.results)
    served = Served(args.model, args.base_url)
    with args.results.open("w" if args.again else "a", encoding="utf-8") as out:
        for setting in settings:
            for entry in entries:
                if not any(_same(line, entry, setting, served) for line in lines):
                    measured = _measure(entry, served, setting, args.seconds).line
                    out.write(json.dumps(measured, ensure_ascii=False) + "\n")
                    out.flush()
                    lines.append(measured)
                    _say(measured)
    wanted = [line for line in lines if any(_same(line, e, s, served) for e in entries for s in settings)]
    Console(width=120).print(table(wanted))
    return 0


def _settings(args: argparse.Namespace) -> list[Setting | Peer]:
    """How the tasks are done: the settings that are named; beside peers, the one that Joey uses by itself."""
    peers = [PEERS[name] for name in args.peer or ()]
    settings = args.setting or ([DEFAULT] if peers else SETTINGS)
    return [*(() if args.peers_only else settings), *peers]


def setting_of(name: str) -> Setting:
    """The setting of this name, as `hermes+grammar`."""
    protocol, plus, grammar = name.partition("+")
    try:
        in_text = protocols.get(protocol).in_text
    except UsageError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    if not in_text or grammar not in ("", "grammar") or bool(plus) != bool(grammar):
        raise argparse.ArgumentTypeError(f"{name!r} is no text protocol, with +grammar or without")
    return Setting(protocol, bool(grammar))


def _measure(entry: Entry, served: Served, setting: Setting | Peer, seconds: float) -> Measured:
    if isinstance(setting, Peer):
        return run_peer(entry, setting, served.model, model_server(served.model), seconds=seconds)
    return run_one(entry, served, setting, seconds=seconds)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="evals", description=__doc__)
    parser.add_argument("tasks", nargs="*", help="names of tasks or families; all when left out")
    parser.add_argument(
        "--setting",
        action="append",
        type=setting_of,
        metavar="PROTOCOL[+grammar]",
        help=f"a text protocol or a dialect; again for several. When left out: {', '.join(s.name for s in SETTINGS)}",
    )
    parser.add_argument("--peer", action="append", choices=PEERS, help="another agent on the same server as well")
    parser.add_argument("--peers-only", action="store_true", help="only the other agents")
    parser.add_argument("--half", choices=["dev", "held-out", "new"], help="only these of the tasks")
    parser.add_argument("--limit", type=int, metavar="N", help="at most so many tasks")
    parser.add_argument("--model", default="local/coder-1.5b", metavar="PROVIDER/MODEL")
    parser.add_argument("--base-url", metavar="URL")
    parser.add_argument("--seconds", type=float, default=180.0, help="the time limit of a task (180)")
    parser.add_argument("--results", type=Path, default=Path("evals/results.jsonl"), metavar="FILE")
    parser.add_argument("--again", action="store_true", help="forget the results there are")
    parser.add_argument("--list", action="store_true", help="show the tasks and end")
    return parser


def _chosen(args: argparse.Namespace) -> list[Entry]:
    entries = [
        entry
        for entry in all_tasks()
        if (not args.tasks or entry.task.name in args.tasks or entry.family in args.tasks)
        and args.half in (None, entry.half)
    ]
    if not entries:
        raise SystemExit("no task is called so; `--list` shows them")
    return entries[: args.limit]


def _known(results: Path) -> list[dict[str, Any]]:
    """The lines of an earlier run. A last line that was cut off is made again."""
    texts = results.read_text(encoding="utf-8").splitlines() if results.is_file() else []
    return [json.loads(text) for text in texts if re.fullmatch(r"\{.*\}", text)]


def _same(line: dict[str, Any], entry: Entry, setting: Setting | Peer, served: Served) -> bool:
    return (line["task"], line["setting"], line["model"]) == (entry.task.name, setting.name, served.model)


def _say(line: dict[str, Any]) -> None:
    mark = "solved" if line["solved"] else f"not solved ({line['problem'] or line['outcome']})"
    words: Iterable[str] = (line["setting"], line["task"], f"{line['turns']} turns, {line['seconds']:.0f} s:", mark)
    print(*words, file=sys.stderr, flush=True)


if __name__ == "__main__":
    try:
        raise SystemExit(main())
    except JoeyError as error:
        raise SystemExit(f"evals: {error}") from None
    except KeyboardInterrupt:
        print("evals: stopped; what is finished is kept, and the same command goes on from there", file=sys.stderr)
        raise SystemExit(130) from None
