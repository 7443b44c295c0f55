"""Check whether this machine is ready for Joey: what was found, and what to do.

  joey doctor              contacts only servers on this machine
  joey doctor --online     also checks that the providers whose keys are set answer (keys are not sent)

Checks Python, the terminal, git, ripgrep, the shell, the sandbox for commands, codebase search, language servers, the
browser, API keys (never shown), models on this machine (size, memory, and speed if `joey local bench` has measured it),
local model servers, upstreams of the gateway, folders, settings, saved tasks, and files of Roo Code in the project. The
exit code is 0 if nothing required is missing, and 1 otherwise.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from joey.cli.doctor.finding import Finding, State
from joey.cli.doctor.machine import machine_findings
from joey.cli.doctor.models import model_findings
from joey.cli.doctor.project import project_findings
from joey.cli.flags import add_workspace_flag, workspace_in
from joey.errors import JoeyError

if TYPE_CHECKING:
    from joey.config import Config

_MARKS: dict[State, str] = {"ok": "ok", "note": "--", "missing": "!!"}


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--online", action="store_true", help="also contact servers on other machines")
    add_workspace_flag(parser)
    parser.add_argument("--json", action="store_true", help="print a JSON list")


def run(args: argparse.Namespace) -> int:
    workspace = workspace_in(args)
    config = _readable_settings(workspace)
    findings = [
        *machine_findings(workspace, config),
        *model_findings(config, online=args.online),
        *project_findings(workspace),
    ]
    if args.json:
        print(json.dumps([asdict(finding) for finding in findings], ensure_ascii=False, indent=2))
    else:
        print("\n".join(_lines(findings)))
    return 1 if any(finding.state == "missing" for finding in findings) else 0


def _lines(findings: list[Finding]) -> Iterator[str]:
    width = max(len(finding.subject) for finding in findings)
    for finding in findings:
        yield f"{_MARKS[finding.state]}  {finding.subject:<{width}}  {finding.found}"
        if finding.advice:
            yield f"    {'':<{width}}  {finding.advice}"
    missing = [finding.subject for finding in findings if finding.state == "missing"]
    yield ""
    yield f"Missing: {', '.join(missing)}." if missing else "Nothing required is missing."


def _readable_settings(workspace: Path) -> Config | None:
    """None: they cannot be read, which is a finding of its own."""
    from joey.app.sources import settings_in_force

    try:
        return settings_in_force(workspace)
    except JoeyError:
        return None
