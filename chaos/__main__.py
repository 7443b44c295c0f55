"""`python -m chaos PART`: prints what was tried and every fault that was found; fails if there is one."""

from __future__ import annotations

import argparse
import asyncio
import signal
import sys

import chaos
from chaos import beside, cut, damage, day, editor, fleet, gateway, kills, signals
from chaos.kills import Setting, Tally

PARTS = ("kills", "beside", "editor", "gateway", "calls", "full", "damage", "signals", "day", "fleet", "cut")

_COUNTED = {"gateway": "requests"}
"""What a part counts, where that is not tasks."""


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m chaos",
        description=f"{__doc__}\n\n{chaos.__doc__}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "part", choices=PARTS, nargs="*", default=PARTS, help="which parts; all of them if none is named"
    )
    parser.add_argument(
        "--kills", type=int, default=100, help="how many kills, in each part that kills at random instants"
    )
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--every", type=int, default=1, help="with calls and full: take every N-th system call")
    parser.add_argument("--flips", type=int, default=1000, help="with damage: how many damaged journals are read")
    parser.add_argument("--tasks", type=int, default=200, help="with day: how many tasks of 50 turns")
    parser.add_argument("--evals", type=int, default=48, help="with fleet: how many evals, in each of six settings")
    parser.add_argument("--fleet-kills", type=int, default=20, help="with fleet: how many workers are killed")
    options = parser.parse_args()
    # What is started in the background or with nohup ignores signals, and so would all that is started and ended here.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for number in (signal.SIGHUP, signal.SIGQUIT, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)
    faults = sum(asyncio.run(_part(part, options)) for part in options.part or PARTS)
    return bool(faults)


async def _part(part: str, options: argparse.Namespace) -> int:
    """Do one part and print what came of it; how many faults there were."""
    tally = Tally()
    if part == "kills":
        await kills.at_random(options.kills, options.seed, tally, report=_report)
    elif part == "beside":
        await beside.killed(options.kills, options.seed, tally, report=_report)
    elif part == "calls":
        for protocol in kills.PROTOCOLS:
            await kills.at_every_call(Setting(protocol, sandbox="off"), tally, every=options.every, report=_report)
    elif part == "full":
        await kills.full_at_every_call(Setting("native", sandbox="off"), tally, every=options.every, report=_report)
    elif part == "damage":
        await _damage(options, tally)
    elif part == "signals":
        await signals.all_of_it(tally, [Setting("native"), Setting("xml", sandbox="off")])
    elif part == "fleet":
        for database in ("sqlite", "postgresql"):
            await fleet.under_fire(fleet.Fire(database, options.evals, kills=options.fleet_kills), tally)
    elif part == "editor":
        await editor.at_random(options.kills, options.seed, tally, report=_report)
    elif part == "gateway":
        await gateway.under_fire(options.kills, options.seed, tally, report=_report)
    elif part == "cut":
        if problem := cut.why_not():
            print(f"cut: not tried; it {problem}")
            return 0
        await asyncio.to_thread(cut.cut_link, tally)
    else:
        await _day(options.tasks, tally)
    _print(part, tally)
    return len(tally.faults)


async def _damage(options: argparse.Namespace, tally: Tally) -> None:
    for setting in (Setting("native", sandbox="off"), Setting("xml", sandbox="off")):
        await damage.cuts(setting, tally, resumed=10)
        await damage.flips(setting, tally, times=options.flips // 2, resumed=20, seed=options.seed)


async def _day(tasks: int, tally: Tally) -> None:
    series = await day.day(tasks, turns=50, megabytes=20)
    tally.tasks = len(series)
    tally.faults += day.grown(series)
    for name, (early, late) in day.growth(series).items():
        tally.at[f"{name}: {early:.0f} in the second quarter, {late:.0f} in the last"] = tasks


def _report(tally: Tally) -> None:
    faults = "; ".join(tally.faults) or "no fault"
    print(f"{tally.tasks} tasks, {tally.kills} kills so far, {faults}", file=sys.stderr, flush=True)


def _print(part: str, tally: Tally) -> None:
    print(f"{part}: {tally.tasks} {_COUNTED.get(part, 'tasks')}, {tally.kills} kills, {len(tally.faults)} faults")
    for where, count in sorted(tally.at.items()):
        print(f"{count:>8,}  {where}")
    for fault in tally.faults:
        print(f"   FAULT  {fault}")
    sys.stdout.flush()


if __name__ == "__main__":
    raise SystemExit(main())
