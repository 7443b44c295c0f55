"""May this be done? Actions in, one verdict out.

A pure function of what a call would do, what the user has allowed, and the facts about the workspace. Nothing a model
or a tool's result says is looked at, so nothing it says can grant approval; and a denial is final: an answer the user
typed before it, for something else, does not reach it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from joey.actions import (
    Action,
    AskUser,
    CallServer,
    FetchUrl,
    MentionPaths,
    ReadPath,
    RunCode,
    RunCommand,
    StartSubtask,
    SwitchMode,
    VisitUrl,
    WidenSandbox,
    WritePath,
)
from joey.policy.mentions import mentioned_parts
from joey.policy.paths import Located, Workspace
from joey.policy.settings import Settings
from joey.policy.shell.files import inside_reason, write_part
from joey.policy.shell.lines import judge_line
from joey.policy.verdict import Decision, Verdict, VerdictPart, combine
from joey.system.filenames import quoted
from joey.system.hosts import host_of, is_private, is_this_machine, matches_host


def judge(actions: Sequence[Action], settings: Settings, workspace: Workspace, *, headless: bool = False) -> Verdict:
    """The verdict on everything a call would do: the strictest part decides. Headless, a question is a refusal."""
    verdict = combine(part for action in actions for part in _parts(action, settings, workspace))
    return verdict.unattended() if headless else verdict


def _parts(action: Action, settings: Settings, workspace: Workspace) -> Iterable[VerdictPart]:
    match action:
        case ReadPath(path):
            return [read_part(workspace.locate(path), settings)]
        case WritePath(path):
            return [write_part(workspace.locate(path), settings)]
        case RunCommand(command, cwd):
            return _command_parts(command, cwd, settings, workspace.alone)
        case WidenSandbox(need):
            return [_plain(need, settings.widen, _WIDENING.get(need, "writing there from a command"))]
        case CallServer(server, tool):
            return [_server_part(server, tool, settings)]
        case MentionPaths(texts, writes):
            return mentioned_parts(texts, settings, workspace, writes=writes)
        case VisitUrl(url):
            return [_page_part(url, settings)]
        case FetchUrl(url):
            return [_fetch_part(url, settings)]
        case RunCode(tool, origin):
            allowed: Decision = "allow" if tool in settings.custom.allow else settings.custom.others
            return [_plain(tool, allowed, f"running a custom tool (from {origin})")]
        case SwitchMode(mode):
            return [_plain(mode, settings.mode_switches, "switching modes")]
        case StartSubtask(mode, model):
            return [
                _plain(mode, settings.subtasks, f"starting a subtask with {model}" if model else "starting subtasks")
            ]
        case AskUser():
            return []


_WIDENING = {"network": "using the network from a command", "outside": "running a command without the sandbox"}


def _plain(subject: str, decision: Decision, doing: str) -> VerdictPart:
    needs = {"allow": "is allowed", "ask": "needs approval", "deny": "is not allowed"}[decision]
    return VerdictPart(subject, decision, f"{doing} {needs}")


def read_part(located: Located, settings: Settings) -> VerdictPart:
    """The decision about looking at a file or folder."""
    if located.problem:
        return VerdictPart(located.path, "deny", located.problem, kind="path")
    if located.hidden_by:
        return VerdictPart(located.path, "deny", f"it is listed in {located.hidden_by}", located.hidden_by, "path")
    if not located.inside:
        reason = f"it is outside the workspace ({quoted(located.resolved)})"
        return VerdictPart(located.path, settings.reads_outside, reason, kind="path")
    if located.secret and settings.reads == "allow" and settings.reads_outside != "allow":
        return VerdictPart(located.path, settings.reads_outside, "credentials are kept there", kind="path")
    reason = inside_reason("reading", settings.reads)
    return VerdictPart(located.path, settings.reads, reason, kind="path", setting="reads")


def _command_parts(command: str, cwd: str | None, settings: Settings, workspace: Workspace) -> Iterable[VerdictPart]:
    base = workspace.join(workspace.root, cwd) if cwd else workspace.root
    if cwd:
        located = workspace.locate(cwd)
        if not located.inside or located.problem:
            yield VerdictPart(cwd, settings.writes_outside, "it would run outside the workspace", kind="path")
    yield from judge_line(command, settings, workspace, base)


def _page_part(url: str, settings: Settings) -> VerdictPart:
    host = host_of(url)
    if not host:
        return VerdictPart(url, "deny", "only http and https pages can be opened")
    if is_this_machine(host):
        return _plain(url, settings.pages.local, "opening a page of this machine")
    listed = settings.pages.elsewhere != "deny" and any(matches_host(host, each) for each in settings.pages.allow)
    return _plain(url, "allow" if listed else settings.pages.elsewhere, f"opening pages of {host}")


def _fetch_part(url: str, settings: Settings) -> VerdictPart:
    """A page that Joey itself fetches. A server of this machine or of a private network trusts whoever reaches it, so
    nothing but its own name on the list allows it."""
    host = host_of(url)
    if not host:
        return VerdictPart(url, "deny", "only http and https addresses can be fetched")
    inside = is_this_machine(host) or is_private(host)
    allow, elsewhere = settings.pages.allow, settings.pages.elsewhere
    listed = host in allow if inside else any(matches_host(host, each) for each in allow)
    doing = f"fetching from {host}{', which is this machine or a private network,' if inside else ''}"
    return _plain(url, "allow" if listed and elsewhere != "deny" else elsewhere, doing)


def _server_part(server: str, tool: str | None, settings: Settings) -> VerdictPart:
    if tool is None:
        return _plain(server, settings.servers.resources, "reading a resource of this server")
    listed = f"{server}/{tool}" in settings.servers.allow or f"{server}/*" in settings.servers.allow
    decision: Decision = "allow" if listed and settings.servers.tools != "deny" else settings.servers.tools
    return _plain(f"{server}/{tool}", decision, "calling this server's tool")
