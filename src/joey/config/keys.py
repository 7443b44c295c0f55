"""Every setting there is: its name, what it takes, what it is for, and whether a project may decide it.

A project's file came with the project, perhaps from somebody else. `in_project` says what it may do in a folder that
the user has not trusted: `free` is used, `stricter` is used as far as it allows less than before, and `trusted` is
held back. `never` is held back in trusted folders too, and so is a `tighter` that would loosen something. The default
is `trusted`; `free` is only what takes something away from the model, or changes nothing that matters. What spends
money, sends text elsewhere, chooses how the model is addressed or what it may do, or gives approval, is never `free`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

InProject: TypeAlias = Literal["free", "stricter", "tighter", "trusted", "never"]


@dataclass(frozen=True, slots=True)
class Kind:
    """What a value must be, in words and as a test."""

    expected: str
    fits: Callable[[Any], bool]


def _number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value < float("inf")


def _words(value: Any) -> bool:
    return isinstance(value, (list, tuple)) and all(isinstance(item, str) and item.strip() for item in value)


def one_of(*values: str) -> Kind:
    return Kind("one of " + ", ".join(map(repr, values)), lambda value: isinstance(value, str) and value in values)


TEXT = Kind("a string", lambda value: isinstance(value, str) and bool(value.strip()))
WHOLE = Kind("a whole number of 0 or more", lambda value: _number(value) and isinstance(value, int))
COUNT = Kind("a whole number of 1 or more", lambda value: _number(value) and isinstance(value, int) and value > 0)
NUMBER = Kind("a number of 0 or more", _number)
SHARE = Kind("a number from 0 to 1", lambda value: _number(value) and value <= 1)
SWITCH = Kind("true or false", lambda value: isinstance(value, bool))
WORDS = Kind("a list of non-empty strings", _words)
DECISION = one_of("allow", "ask", "deny")


@dataclass(frozen=True, slots=True)
class Key:
    name: str
    kind: Kind
    about: str
    default: Any = None
    in_project: InProject = "trusted"
    variable: str = ""
    """The environment variable that sets it."""
    order: tuple[str, ...] = ()
    """The values of a `tighter` one, the loosest first."""

    def loosens(self, value: Any, below: Any) -> bool:
        """Whether a value would allow more than the one below it, or just as much."""
        if self.order:
            return self.order.index(value) < self.order.index(below)
        return below is not None and bool(below <= value)


def _decisions(**about: str) -> tuple[Key, ...]:
    return tuple(Key(f"approvals.{name}", DECISION, text, in_project="stricter") for name, text in about.items())


KEYS: tuple[Key, ...] = (
    Key("model", TEXT, "which model, as provider/model", variable="JOEY_MODEL"),
    Key("base_url", TEXT, "another server that speaks the provider's format", variable="JOEY_BASE_URL"),
    Key("protocol", TEXT, "how the model calls tools", variable="JOEY_PROTOCOL"),
    Key(
        "grammar",
        one_of("off", "llama.cpp", "vllm", "vllm-guided"),
        "the kind of server that is told what a legal reply is, for a protocol in text; models in local/ always are",
        variable="JOEY_GRAMMAR",
    ),
    Key("mode", TEXT, "the mode a task begins in", "code", variable="JOEY_MODE"),
    Key(
        "approvals.profile",
        one_of("ask", "edits", "read-only", "auto", "all"),
        "what may be done without asking",
        "ask",
        in_project="stricter",
        variable="JOEY_APPROVE",
    ),
    Key("approvals.allow", WORDS, "commands that may run, added to the profile's", ()),
    Key("approvals.deny", WORDS, "commands that never run", (), in_project="stricter"),
    *_decisions(
        reads="reading in the workspace",
        reads_outside="reading elsewhere",
        writes="changing files in the workspace",
        writes_outside="changing files elsewhere",
        writes_protected="changing files that steer Joey, git or the editor",
        commands="commands that no rule names",
        widen="what a command needs beyond its sandbox: the network, another folder, or none at all",
        mcp="tools of MCP servers",
        mcp_resources="resources of MCP servers",
        browser="pages of other machines in the browser",
        browser_local="pages of this machine in the browser",
        custom_tools="custom tools",
        mode_switches="going on in another mode",
        subtasks="beginning a subtask",
    ),
    Key("approvals.mcp_allow", WORDS, "MCP tools that may be called: server/tool", ()),
    Key("approvals.browser_allow", WORDS, "hosts whose pages may be opened: example.com, *.example.com", ()),
    Key("approvals.custom_tools_allow", WORDS, "custom tools that may be called", ()),
    Key("approvals.followup_timeout", NUMBER, "seconds until a question takes its first suggestion"),
    Key("approvals.max_requests", WHOLE, "requests before the user is asked to go on", in_project="stricter"),
    Key("limits.max_turns", COUNT, "turns a task may take", in_project="stricter"),
    Key("limits.max_cost", NUMBER, "dollars a task may cost", in_project="stricter"),
    Key("limits.timeout", NUMBER, "seconds a headless run may take", in_project="stricter"),
    Key("task.mistake_limit", WHOLE, "turns without success before the user is asked; 0 never asks", 3),
    Key(
        "task.plain_answers",
        one_of("remind", "finish"),
        "a reply without a tool call: remind the model, or take it as the result",
        "remind",
        in_project="free",
    ),
    Key(
        "task.text_calls",
        one_of("ignore", "offer", "run"),
        "a call that a native model wrote into its text",
        "offer",
    ),
    Key(
        "task.tool_choice",
        one_of("auto", "required"),
        "whether a reply may be words alone, or is exactly one call; left out, it is so for small models",
    ),
    Key(
        "task.prompt",
        one_of("auto", "compact", "full"),
        "what the model is told: compact is for small ones, auto goes by the size of the window",
        "auto",
    ),
    Key("task.condense_at", SHARE, "how full the window may be before old turns are condensed", 0.8),
    Key("task.max_tokens", COUNT, "tokens a reply may have", 8192),
    Key("local.threads", COUNT, "threads for a model on this machine", variable="JOEY_LOCAL_THREADS"),
    Key("local.context", COUNT, "tokens a conversation with it may have", variable="JOEY_LOCAL_CONTEXT"),
    Key("check", TEXT, "the command whose output @problems stands for, such as a linter"),
    Key("tools.disabled", WORDS, "tools nobody is offered", (), in_project="free"),
    Key("tools.include", WORDS, "tools the model is offered besides", ()),
    Key("tools.exclude", WORDS, "tools the model is not offered", (), in_project="free"),
    Key("tools.completion_needs_closed_todos", SWITCH, "no completion while todos are open", False, in_project="free"),
    Key("tools.kill_commands_after", NUMBER, "seconds after which a command is ended"),
    Key("tools.edit_likeness", SHARE, "how alike lines must be for apply_diff to take them"),
    Key(
        "environment.keep",
        WORDS,
        "variables that commands get although they look like secrets or sockets: GITHUB_TOKEN, AWS_*",
        (),
        in_project="never",
    ),
    Key("environment.withhold", WORDS, "more variables that commands do not get", (), in_project="free"),
    Key(
        "sandbox",
        one_of("auto", "require", "off"),
        "confine commands: as well as this machine can, only if it can do so fully, or not",
        "auto",
        in_project="tighter",
        variable="JOEY_SANDBOX",
        order=("off", "auto", "require"),
    ),
    Key(
        "sandbox_network",
        one_of("none", "approved", "on"),
        "which commands may use the network: none, those that you approved yourself, or all",
        "approved",
        in_project="tighter",
        variable="JOEY_SANDBOX_NETWORK",
        order=("on", "approved", "none"),
    ),
    Key(
        "sandbox_hosts",
        WORDS,
        "hosts that commands without network reach all the same, through a proxy: pypi.org, *.example.com",
        (),
        in_project="never",
    ),
    Key("sandbox_writable", WORDS, "folders outside the workspace that commands may write in", (), in_project="never"),
    Key("sandbox_hide", WORDS, "more files and folders that commands do not see: ~/notes", (), in_project="free"),
    Key(
        "sandbox_show",
        WORDS,
        "what commands see although it is on the list of secrets: ~/.npmrc",
        (),
        in_project="never",
    ),
    Key("sandbox_memory", COUNT, "megabytes of memory one process of a command may take", 8192, in_project="stricter"),
    Key("sandbox_processes", COUNT, "processes that commands may have at a time", 4096, in_project="stricter"),
    Key("sandbox_file_size", COUNT, "megabytes a file may have that a command writes", 16384, in_project="stricter"),
    Key("browser.program", TEXT, "the Chromium to start, by path or name", variable="JOEY_BROWSER"),
    Key("images.model", TEXT, "the model that makes pictures; generate_image is offered if it is set"),
    Key("images.base_url", TEXT, "another server for it that speaks OpenAI's images API"),
    Key("browser.sandbox", SWITCH, "start it in its own sandbox (which it cannot have as root)", True),
)

BY_NAME = {key.name: key for key in KEYS}
SECTIONS = tuple(dict.fromkeys(key.name.partition(".")[0] for key in KEYS if "." in key.name))
PRICES = "prices"
"""`[prices."my-model"]`: dollars for a million tokens, one table a model."""
PRICE_PARTS = ("input", "output", "cache_write", "cache_read")


def adds_up(key: Key) -> bool:
    """Whether the lists of all places hold together; a single value replaces the one below it."""
    return key.kind is WORDS
