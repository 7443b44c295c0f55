"""Explain whether a command or path would be allowed, and why.

  joey approvals explain 'git log | head' --allow head
  joey approvals explain --path ../notes.txt --approve edits
  joey approvals explain --batch < questions.jsonl

Prints allow, ask or deny, every simple command found, and the rule that decided, with your settings and the project's
(see `joey config`), and what you allowed in this project with an answer. --allow and --deny add rules.

--batch reads one question per line and prints one verdict per line, in order:
  {"command": "git log", "rules": "--approve edits --allow git"}     or  {"path": "a/b", "do": "write", "rules": ""}
  {"decision": "allow", "reason": "…", "commands": [ … ], "paths": [ … ]}
`rules` are options of `joey run`. An invalid line gets the decision deny and an `error`.

The exit code is 0 for any verdict, and 2 for invalid usage.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from joey.cli.flags import add_old_flag, add_setting_flags, settings_in
from joey.errors import UsageError

if TYPE_CHECKING:
    from joey.policy import Settings, Verdict, Workspace
    from joey.policy.verdict import VerdictPart


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("action", nargs="?", choices=["explain"], default="explain", help="what to do")
    parser.add_argument("command", nargs="?", metavar="COMMAND", help="command line, as the model would send it")
    add_setting_flags(parser, "approvals")
    add_old_flag(parser, "--profile", "approvals.profile")
    parser.add_argument(
        "--path", action="append", default=[], metavar="P", help="check reading and writing this path; can be repeated"
    )
    parser.add_argument("--headless", action="store_true", help="the verdict when nobody can be asked")
    parser.add_argument("--batch", action="store_true", help="read questions as lines of JSON from stdin")
    parser.add_argument(
        "--workspace", "-w", default=".", metavar="FOLDER", help="folder to work in (default: the current folder)"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def run(args: argparse.Namespace) -> int:
    if args.batch:
        return _batch(args)
    if args.command is None and not args.path:
        raise UsageError("nothing to explain; give a command line, --path P, or --batch")
    workspace = _workspace(Path(args.workspace))
    settings = _settings(Path(args.workspace), settings_in(args))
    answer = _answer(args, settings, workspace)
    print(_as_json(answer) if args.json else _as_text(answer))
    return 0


def _settings(workspace: Path, flags: Mapping[str, Any]) -> Settings:
    from joey.app.permissions import project_permissions
    from joey.app.settings import approvals_in_force
    from joey.app.sources import settings_in_force
    from joey.policy.permissions import permitted

    chosen = approvals_in_force(settings_in_force(workspace, flags)).settings
    return permitted(chosen, project_permissions(workspace.resolve()).listed())


def _workspace(folder: Path) -> Workspace:
    from joey.policy import Workspace

    if not folder.is_dir():
        raise UsageError(f"--workspace: {folder} is not a folder")
    return Workspace.of(folder)


def _answer(args: argparse.Namespace, settings: Settings, workspace: Workspace) -> dict[str, Any]:
    from joey.actions import RunCommand
    from joey.policy import judge

    verdicts = [judge([RunCommand(args.command)], settings, workspace)] if args.command is not None else []
    parts = [part for verdict in verdicts for part in verdict.parts]
    paths = [_path_answer(path, settings, workspace) for path in args.path]
    verdict = _strictest([*verdicts, *(verdict for _, verdict in paths)])
    verdict = verdict.unattended() if args.headless else verdict
    return {
        "verdict": verdict.decision,
        "reason": verdict.reason,
        "commands": [_found(part) for part in parts if part.kind == "command"],
        "paths": [*(_touched(part) for part in parts if part.kind == "path"), *(answer for answer, _ in paths)],
        "doubts": [{"verdict": part.decision, "reason": part.reason} for part in parts if part.kind == "other"],
    }


# Many questions in one process


def _batch(args: argparse.Namespace) -> int:
    import json

    folder = Path(args.workspace)
    workspace = _workspace(folder)
    settings: dict[str, Settings] = {}
    for line in sys.stdin:
        if not line.strip():
            continue
        try:
            question = json.loads(line)
            rules = question.get("rules") or ""
            if rules not in settings:
                settings[rules] = _from_flags(folder, rules)
            answer = _verdict(question, settings[rules], workspace)
        except (ValueError, AttributeError, TypeError, RecursionError, UsageError) as problem:
            answer = {
                "decision": "deny",
                "reason": "invalid question",
                "error": str(problem),
            }
        print(json.dumps(answer), flush=True)  # plain ASCII: no character of a question can break the lines
    return 0


def _from_flags(folder: Path, rules: str) -> Settings:
    """The settings that options of `joey run` make."""
    import shlex

    parser = argparse.ArgumentParser(exit_on_error=False, add_help=False)
    add_setting_flags(parser, "run")
    try:
        given, unknown = parser.parse_known_args(shlex.split(rules))
    except argparse.ArgumentError as problem:
        raise UsageError(f"rules: {problem}") from None
    if unknown:
        raise UsageError(f"rules: unknown option {unknown[0]}")
    return _settings(folder, settings_in(given))


def _verdict(question: dict[str, Any], settings: Settings, workspace: Workspace) -> dict[str, Any]:
    from joey.actions import Action, ReadPath, RunCommand, WritePath
    from joey.policy import judge

    action: Action
    match question:
        case {"command": str(command)}:
            action = RunCommand(command)
        case {"path": str(path), "do": "read"}:
            action = ReadPath(path)
        case {"path": str(path), "do": "write"}:
            action = WritePath(path)
        case _:
            raise UsageError('expected "command", or "path" and "do": "read" or "write"')
    verdict = judge([action], settings, workspace)
    return {
        "decision": verdict.decision,
        "reason": verdict.reason,
        "commands": [_found(part) for part in verdict.parts if part.kind == "command"],
        "paths": [_touched(part) for part in verdict.parts if part.kind == "path"],
    }


def _strictest(verdicts: list[Verdict]) -> Verdict:
    """One verdict for several questions: the strictest."""
    return max(verdicts, key=lambda verdict: ("allow", "ask", "deny").index(verdict.decision))


def _path_answer(path: str, settings: Settings, workspace: Workspace) -> tuple[dict[str, Any], Verdict]:
    from joey.actions import ReadPath, WritePath
    from joey.policy import judge

    located = workspace.locate(path)
    read, write = (judge([action], settings, workspace) for action in (ReadPath(path), WritePath(path)))
    answer = {
        "path": path,
        "resolved": located.resolved,
        "inside": located.inside,
        "protected": located.protected,
        "ignored_by": located.hidden_by,
        "read": read.decision,
        "write": write.decision,
        "reason": write.parts[0].reason,
    }
    return answer, _strictest([read, write])


def _found(part: VerdictPart) -> dict[str, Any]:
    return {
        "command": part.subject,
        "words": list(part.words),
        "verdict": part.decision,
        "rule": part.rule,
        "reason": part.reason,
    }


def _touched(part: VerdictPart) -> dict[str, Any]:
    return {"path": part.subject, "verdict": part.decision, "reason": part.reason}


def _as_json(answer: dict[str, Any]) -> str:
    import json

    return json.dumps(answer, ensure_ascii=False)


def _as_text(answer: dict[str, Any]) -> str:
    lines = [f"{answer['verdict']}: {answer['reason']}"]
    for found in answer["commands"]:
        lines += _entry(found["verdict"], found["command"], found["reason"])
    for objection in answer["doubts"]:
        lines += _entry(objection["verdict"], "(the whole line)", objection["reason"])
    for path in answer["paths"]:
        decision = path.get("verdict") or f"read {path['read']}, write {path['write']}:"
        lines += _entry(decision, path["path"], path["reason"])
    return "\n".join(lines)


def _entry(decision: str, subject: str, reason: str) -> list[str]:
    return [f"  {decision:<5}  {' '.join(subject.split())}", f"         {reason}"]
