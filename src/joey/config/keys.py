"""Every setting, declared once: one row of `KEYS` is all that a setting needs besides the code that uses it.

From a row come its line in `config.toml`, its environment variable, its flag on each command that takes it, its
validation, `joey config`, and its line in docs/settings.md.

A project's file came with the project, perhaps from somebody else. `in_project` says what it may do in a folder that
the user has not trusted: `free` is used, `stricter` is used as far as it allows less than before, and `trusted` is
ignored. `never` is ignored in trusted folders too, and so is a `tighter` that would loosen something. The default
is `trusted`; `free` is only what takes something away from the model, or changes nothing that matters. What spends
money, sends text elsewhere, chooses how the model is addressed or what it may do, or gives approval, is never `free`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from joey.config.kinds import COUNT, DECISION, HOOKS, LIST, NUMBER, SHARE, SWITCH, TEXT, WHOLE, Kind, one_of

InProject: TypeAlias = Literal["free", "stricter", "tighter", "trusted", "never"]

FRONT_ENDS = "front ends"
"""Commands that open tasks in a folder of the user's own, and take no flags of settings but what all of these take."""
ALL = ("interactive", "run", "resume", "scratch", "acp", FRONT_ENDS)
"""The commands that open a task."""
HEADLESS = ("run", "resume", "scratch")
IN_FOLDER = ("interactive", "run", "resume", "acp", FRONT_ENDS)
"""Those that work in a folder of the user's own."""


THEMES = (
    "dark", "light", "nord", "gruvbox", "dracula", "tokyo-night", "monokai", "flexoki", "catppuccin-mocha",
    "catppuccin-latte", "solarized-dark", "solarized-light", "rose-pine", "rose-pine-dawn", "atom-one-dark",
    "atom-one-light",
)  # fmt: skip
"""The colours of the terminal, by the names that Textual has for them; dark and light are its own two."""


@dataclass(frozen=True, slots=True)
class Flag:
    """How a setting is given on the command line, and to which commands."""

    name: str
    commands: tuple[str, ...]
    metavar: str = ""
    short: str = ""

    @property
    def option(self) -> str:
        """The name of the flag in Python: `--max-turns` is `max_turns`."""
        return self.name.lstrip("-").replace("-", "_")


@dataclass(frozen=True, slots=True)
class Key:
    """One setting."""

    name: str
    kind: Kind
    about: str
    default: Any = None
    in_project: InProject = "trusted"
    variable: str = ""
    """The environment variable that sets it."""
    flag: Flag | None = None
    sets: str = ""
    """The part and field that it sets, such as `task.max_turns` (see `Config.part`); without it, it is read by name."""
    order: tuple[str, ...] = ()
    """The values of a `tighter` one that is no number, the loosest first."""

    @property
    def adds_up(self) -> bool:
        """Whether the lists of all sources are joined; a single value replaces the one below it."""
        return self.kind in (LIST, HOOKS)

    def loosens(self, value: Any, below: Any) -> bool:
        """Whether a value would allow more than the one below it, or just as much."""
        if self.order:
            return self.order.index(value) < self.order.index(below)
        return below is not None and bool(below <= value)


def _decisions(**about: str) -> tuple[Key, ...]:
    return tuple(Key(f"approvals.{name}", DECISION, text, in_project="stricter") for name, text in about.items())


def _hooks(**about: str) -> tuple[Key, ...]:
    return tuple(Key(f"hooks.{name}", HOOKS, f"hooks that run {text}", ()) for name, text in about.items())


def _agent_models(*names: str) -> tuple[Key, ...]:
    about = "model that `model: {}` in the file of an agent stands for; if not set, the newest of Anthropic's"
    return tuple(Key(f"agents.{name}", TEXT, about.format(name)) for name in names)


EFFORTS = ("none", "minimal", "low", "medium", "high", "xhigh", "max")
"""How much a model may think, from least to most."""

KEYS: tuple[Key, ...] = (
    Key("model", TEXT, "model to use", variable="JOEY_MODEL", flag=Flag("--model", ALL, "PROVIDER/MODEL", "-m")),
    Key(
        "base_url",
        TEXT,
        "address of another server that speaks the provider's format",
        variable="JOEY_BASE_URL",
        flag=Flag("--base-url", ALL, "URL"),
    ),
    Key(
        "api",
        one_of("chat", "responses", "messages"),
        "API to use: Chat Completions, OpenAI's Responses or Anthropic's Messages; if not set, the one the model needs",
        variable="JOEY_API",
        flag=Flag("--api", ALL),
    ),
    Key(
        "protocol",
        TEXT,
        "how the model calls tools: native, xml, json_mix, morph_xml, yaml_xml, a dialect (`joey protocols`), or auto",
        variable="JOEY_PROTOCOL",
        flag=Flag("--protocol", ("interactive", "run", "scratch"), "NAME"),
    ),
    Key(
        "fallback_models",
        LIST,
        "models to continue with when the model is overloaded or cannot be reached, in this order",
        (),
        flag=Flag("--fallback-model", ALL, "PROVIDER/MODEL"),
    ),
    Key(
        "fast_model",
        TEXT,
        "smaller model that writes summaries of the conversation; where it is not set, or fails, the model does",
        variable="JOEY_FAST_MODEL",
        flag=Flag("--fast-model", ALL, "PROVIDER/MODEL"),
    ),
    *_agent_models("haiku", "sonnet", "opus"),
    Key(
        "reasoning.effort",
        one_of(*EFFORTS),
        "how much the model thinks; a level that the model does not have becomes the nearest",
        variable="JOEY_EFFORT",
        flag=Flag("--effort", ALL),
    ),
    Key("reasoning.fast_effort", one_of(*EFFORTS), "the same for the fast model"),
    Key("reasoning.fallback_effort", one_of(*EFFORTS), "the same for fallback models; if not set, as for the model"),
    Key("reasoning.budget", COUNT, "tokens for thinking, for models that take a budget (older Claude models)"),
    Key(
        "grammar",
        one_of("off", "llama.cpp", "vllm", "vllm-guided"),
        "constrain replies to valid calls on this kind of server (text protocols only; local/ models always do)",
        variable="JOEY_GRAMMAR",
        flag=Flag("--grammar", HEADLESS),
    ),
    Key(
        "mode",
        TEXT,
        "mode a task starts in: code, architect, ask, debug, orchestrator, or your own",
        "code",
        variable="JOEY_MODE",
        flag=Flag("--mode", ("interactive", "run"), "SLUG"),
    ),
    Key(
        "approvals.profile",
        one_of("ask", "edits", "read-only", "auto", "all", "plan", "strict"),
        "what may be done without asking",
        "ask",
        in_project="stricter",
        variable="JOEY_APPROVE",
        flag=Flag("--approve", (*IN_FOLDER, "approvals", "tools"), "PROFILE"),
    ),
    Key(
        "approvals.allow",
        LIST,
        "commands that may run without asking, such as 'git log' or pytest",
        (),
        flag=Flag("--allow", (*ALL, "approvals"), "RULE"),
    ),
    Key(
        "approvals.deny",
        LIST,
        "commands that never run",
        (),
        in_project="stricter",
        flag=Flag("--deny", (*IN_FOLDER, "approvals"), "RULE"),
    ),
    *_decisions(
        reads="reading files in the workspace",
        reads_outside="reading files elsewhere",
        writes="changing files in the workspace",
        writes_outside="changing files elsewhere",
        writes_protected="changing files that configure Joey, git or the editor",
        commands="commands that no rule names",
        widen="what a command needs beyond its sandbox: the network, another folder, or no sandbox",
        mcp="tools of MCP servers",
        mcp_resources="resources of MCP servers",
        browser="pages of other machines in the browser",
        browser_local="pages of this machine in the browser",
        custom_tools="custom tools",
        mode_switches="switching to another mode",
        subtasks="starting a subtask",
    ),
    Key("approvals.mcp_allow", LIST, "MCP tools that may be called without asking: server/tool, server/*", ()),
    Key("approvals.browser_allow", LIST, "hosts whose pages may be opened: example.com, *.example.com", ()),
    Key("approvals.custom_tools_allow", LIST, "custom tools that may be called without asking", ()),
    Key("approvals.followup_timeout", NUMBER, "seconds until a question is answered with its first suggestion"),
    Key("approvals.max_requests", WHOLE, "requests before you are asked to continue", in_project="stricter"),
    Key(
        "limits.max_turns",
        COUNT,
        "maximum number of turns in a task",
        in_project="stricter",
        flag=Flag("--max-turns", ("run", "resume"), "N"),
        sets="limits.max_turns",
    ),
    Key(
        "limits.max_cost",
        NUMBER,
        "maximum cost of a task, in dollars",
        in_project="stricter",
        flag=Flag("--max-cost", ("run", "resume"), "DOLLARS"),
    ),
    Key(
        "limits.parallel_subtasks",
        COUNT,
        "subtasks of a task that work at the same time",
        4,
        in_project="stricter",
        sets="limits.parallel_subtasks",
    ),
    Key(
        "limits.subtask_turns",
        COUNT,
        "maximum number of turns in a subtask",
        in_project="stricter",
        sets="limits.subtask_turns",
    ),
    Key(
        "limits.subtask_cost",
        NUMBER,
        "maximum cost of a subtask, in dollars",
        in_project="stricter",
        sets="limits.subtask_cost",
    ),
    Key(
        "limits.all_subtasks_turns",
        COUNT,
        "maximum number of turns in all subtasks of a task together",
        in_project="stricter",
        sets="limits.all_subtasks_turns",
    ),
    Key(
        "limits.all_subtasks_cost",
        NUMBER,
        "maximum cost of all subtasks of a task together, in dollars",
        in_project="stricter",
        sets="limits.all_subtasks_cost",
    ),
    Key(
        "limits.timeout",
        NUMBER,
        "maximum duration of a headless run, in seconds",
        in_project="stricter",
        flag=Flag("--timeout", HEADLESS, "SECONDS"),
    ),
    Key(
        "task.mistake_limit",
        WHOLE,
        "failed turns in a row before you are asked; 0 never asks",
        3,
        sets="limits.mistake_limit",
    ),
    Key(
        "task.plain_answers",
        one_of("remind", "finish"),
        "on a reply without a tool call: remind the model to call one, or finish its turn; if not set, remind small "
        "models",
        in_project="free",
        flag=Flag("--plain-answers", HEADLESS),
    ),
    Key(
        "task.text_calls",
        one_of("ignore", "offer", "run"),
        "on a call in another form than expected (as text, in another dialect): ignore it, offer to run it, or run it",
        "offer",
        flag=Flag("--text-calls", HEADLESS),
        sets="replies.text_calls",
    ),
    Key(
        "task.tool_choice",
        one_of("auto", "required"),
        "whether each reply must be exactly one call; if not set, required for small models",
        flag=Flag("--tool-choice", HEADLESS),
    ),
    Key(
        "task.prompt",
        one_of("auto", "small", "full"),
        "prompt and tools for the model: small is for small models, auto decides by the context window",
        "auto",
        flag=Flag("--prompt", ALL),
    ),
    Key(
        "task.compact_at",
        SHARE,
        "share of the context window that may be full before old turns are summarized",
        0.8,
        sets="limits.compact_at",
    ),
    Key("task.max_tokens", COUNT, "maximum number of tokens in a reply", 8192, sets="replies.max_tokens"),
    Key(
        "local.threads",
        COUNT,
        "threads for models on this machine",
        variable="JOEY_LOCAL_THREADS",
        sets="engine.threads",
    ),
    Key(
        "local.context",
        COUNT,
        "context window of models on this machine, in tokens",
        variable="JOEY_LOCAL_CONTEXT",
        sets="engine.context",
    ),
    *_hooks(
        SessionStart="when a task begins or is resumed; what they print is context for the model",
        UserPromptSubmit="before the model reads a message of yours",
        PreToolUse="before a call of a tool",
        PostToolUse="after a call that went well",
        PreCompact="before the conversation is summarized",
        Notification="when Joey needs you",
        Stop="when the model ends its turn",
        SubagentStop="when a subtask ends its turn",
        SessionEnd="when a task ends",
    ),
    Key("hooks.timeout", NUMBER, "seconds until a hook that has no `timeout` of its own is ended", 60),
    Key("hooks.claude_files", SWITCH, "run the hooks in .claude/settings.json of a trusted project, too", True),
    Key(
        "checks.after_edits",
        LIST,
        "commands that run in the sandbox after the edits of a turn; {files} and {*.py} stand for the changed files",
        (),
        sets="checks.commands",
    ),
    Key("checks.rounds", COUNT, "runs with complaints in a row before the checks stop", 3, sets="checks.rounds"),
    Key("checks.timeout", NUMBER, "seconds until a check is ended", 120.0, sets="checks.timeout"),
    Key("checks.offer", SWITCH, "offer once to run the checks that the project's files name", True),
    Key(
        "language_servers.use",
        one_of("trusted", "on", "off"),
        "where language servers may be started: in folders that you trust, in every folder, or nowhere",
        "trusted",
        in_project="tighter",
        order=("on", "trusted", "off"),
    ),
    Key(
        "language_servers.commands",
        LIST,
        "further language servers, each for some files, such as '*.rb = solargraph stdio'; before those that are known",
        (),
    ),
    Key(
        "language_servers.timeout",
        NUMBER,
        "seconds to wait for what a language server says of edited files, or finds",
        10.0,
        sets="languages.timeout",
    ),
    Key("check", TEXT, "command whose output @problems inserts, such as a linter"),
    Key("tools.disabled", LIST, "tools that are never offered", (), in_project="free", sets="choices.disabled"),
    Key("tools.include", LIST, "tools offered to the model in addition", (), sets="choices.include"),
    Key("tools.exclude", LIST, "tools not offered to the model", (), in_project="free", sets="choices.exclude"),
    Key(
        "tools.completion_needs_closed_todos",
        SWITCH,
        "refuse completion while todos are open",
        False,
        in_project="free",
        sets="limits.needs_closed_todos",
    ),
    Key(
        "tools.custom_patch",
        SWITCH,
        "offer apply_patch as a custom tool with its grammar to models trained on it (Responses API only)",
        False,
    ),
    Key(
        "tools.kill_commands_after",
        NUMBER,
        "seconds after which a command is stopped",
        sets="tools.kill_commands_after",
    ),
    Key(
        "tools.edit_likeness",
        SHARE,
        "how similar lines must be for apply_diff to accept them",
        sets="tools.edit_likeness",
    ),
    Key(
        "environment.keep",
        LIST,
        "variables that commands get although they look like secrets or sockets: GITHUB_TOKEN, AWS_*",
        (),
        in_project="never",
        sets="environment.keep",
    ),
    Key(
        "environment.withhold",
        LIST,
        "further variables that commands do not get",
        (),
        in_project="free",
        sets="environment.withhold",
    ),
    Key(
        "sandbox",
        one_of("auto", "require", "off"),
        "confine commands: as far as this machine can, only if it can fully, or not at all",
        "auto",
        in_project="tighter",
        variable="JOEY_SANDBOX",
        flag=Flag("--sandbox", IN_FOLDER),
        sets="sandbox.mode",
        order=("off", "auto", "require"),
    ),
    Key(
        "sandbox_network",
        one_of("none", "approved", "on"),
        "which commands may use the network: none, those you approved yourself, or all",
        "approved",
        in_project="tighter",
        variable="JOEY_SANDBOX_NETWORK",
        sets="sandbox.network",
        order=("on", "approved", "none"),
    ),
    Key(
        "sandbox_hosts",
        LIST,
        "hosts that commands without network may still reach, through a proxy: pypi.org, *.example.com",
        (),
        in_project="never",
        sets="sandbox.hosts",
    ),
    Key(
        "sandbox_writable",
        LIST,
        "folders outside the workspace that commands may write to",
        (),
        in_project="never",
        sets="sandbox.writable",
    ),
    Key(
        "sandbox_hide",
        LIST,
        "further files and folders that commands cannot see: ~/notes",
        (),
        in_project="free",
        sets="sandbox.hide",
    ),
    Key(
        "sandbox_show",
        LIST,
        "files that commands can see although they are on the list of secrets: ~/.npmrc",
        (),
        in_project="never",
        sets="sandbox.show",
    ),
    Key(
        "sandbox_memory",
        COUNT,
        "maximum memory of one process of a command, in megabytes",
        8192,
        in_project="tighter",
        sets="sandbox_limits.memory",
    ),
    Key(
        "sandbox_processes",
        COUNT,
        "maximum number of processes that commands may have at a time",
        4096,
        in_project="tighter",
        sets="sandbox_limits.processes",
    ),
    Key(
        "sandbox_file_size",
        COUNT,
        "maximum size of a file that a command writes, in megabytes",
        16384,
        in_project="tighter",
        sets="sandbox_limits.file_size",
    ),
    Key(
        "browser.program",
        TEXT,
        "Chromium to start, by path or name",
        variable="JOEY_BROWSER",
        sets="tools.browser_program",
    ),
    Key(
        "terminal.theme",
        one_of("auto", *THEMES),
        "colours of the terminal; auto asks the terminal whether it is dark or light. /theme sets it",
        "auto",
        in_project="never",
    ),
    Key(
        "terminal.notify",
        one_of("auto", "bell", "osc9", "osc777", "off"),
        "how you are told that it is your turn: by the bell, by a desktop notification of the terminal, or both (auto)",
        "auto",
        in_project="never",
    ),
    Key(
        "terminal.notify_when",
        one_of("unfocused", "always"),
        "when you are told: if the terminal does not have the focus, or always",
        "unfocused",
        in_project="never",
    ),
    Key(
        "terminal.notify_command",
        TEXT,
        "command that is run as well, with the words as its last argument, such as 'notify-send Joey'",
        in_project="never",
    ),
    Key(
        "terminal.status_command",
        TEXT,
        "command whose first line of output is shown in the status line; it reads JSON in the form of Claude Code's",
        in_project="never",
    ),
    Key("terminal.vim", SWITCH, "vim's keys in the input of the terminal", False, in_project="never"),
    Key(
        "terminal.share_commands",
        SWITCH,
        "give the output of your own !commands to the model with your next message",
        True,
        in_project="never",
    ),
    Key(
        "editor.buffers",
        SWITCH,
        "in an editor: read files as they are there, unsaved changes included, and write through the editor",
        False,
        in_project="never",
        flag=Flag("--editor-buffers", ("acp",)),
    ),
    Key(
        "fleet.url",
        TEXT,
        "database of the fleet (joey fleet), such as postgresql://joey@db/fleet; if not set, a SQLite file of your own",
        in_project="never",
        variable="JOEY_FLEET_URL",
    ),
    Key("fleet.folder", TEXT, "folder for the fleet's clones and journals on this machine", in_project="never"),
    Key(
        "fleet.requests_per_minute",
        NUMBER,
        "how many turns a minute all workers of the fleet together take with one provider and key",
        in_project="never",
    ),
    Key(
        "mcp.tool_budget",
        COUNT,
        "tokens that the tools of MCP servers may take in each request; beyond, the model searches for them",
        10_000,
    ),
    Key("web.fetch", SWITCH, "offer web_fetch, which reads web pages; each host needs approval", True),
    Key(
        "web.search_url",
        TEXT,
        "endpoint of web_search: the /search of a SearXNG server, or of another that answers with its JSON",
        sets="tools.search_url",
    ),
    Key("images.model", TEXT, "model that generates images; generate_image is offered only if this is set"),
    Key("images.base_url", TEXT, "address of another server that speaks OpenAI's images API"),
    Key(
        "browser.sandbox",
        SWITCH,
        "start Chromium in its own sandbox (not possible as root)",
        True,
        sets="tools.browser_sandbox",
    ),
)

BY_NAME = {key.name: key for key in KEYS}
SECTIONS = tuple(dict.fromkeys(key.name.partition(".")[0] for key in KEYS if "." in key.name))
OLD_NAMES = {"task.condense_at": "task.compact_at"}
"""Names that settings had in earlier versions. They are still read, and the user gets a note."""
OLD_VALUES = {"task.prompt": {"compact": "small"}}
"""The same for values, by the name of the setting."""
PRICES = "prices"
"""`[prices."my-model"]`: dollars for a million tokens, one table a model."""
PRICE_PARTS = ("input", "output", "cache_write", "cache_read")
MODELS = "models"
"""`[models."my-model"]`: what is known of a model, and how it is to think, over what the catalogue has."""
MODEL_PARTS: dict[str, Kind] = {
    "window": COUNT,
    "max_output": COUNT,
    "tools": SWITCH,
    "images": SWITCH,
    "temperature": SWITCH,
    "streaming": SWITCH,
    "system": one_of("system", "developer", "none"),
    "api": one_of("chat", "responses", "messages"),
    "efforts": Kind(
        f"a list of {', '.join(EFFORTS)}", lambda value: isinstance(value, list) and set(value) <= set(EFFORTS)
    ),
    "effort": one_of(*EFFORTS),
    "budget": COUNT,
    "thinking": one_of("budget", "adaptive", "both"),
    "custom_tools": SWITCH,
    "namespaces": SWITCH,
    "echo_reasoning": SWITCH,
    "dialect": TEXT,
}
UPSTREAMS = "upstreams"
"""`[upstreams."my-model"]`: a model that `joey gateway` serves under this name."""
UPSTREAM_PARTS: dict[str, Kind] = {
    "model": TEXT,
    "url": TEXT,
    "api": one_of("chat", "responses", "messages"),
    "protocol": TEXT,
    "grammar": TEXT,
    "key_variable": TEXT,
    "aliases": LIST,
    "slots": COUNT,
    "window": COUNT,
}
TABLES = (PRICES, MODELS, UPSTREAMS)
"""Tables whose settings are named by the user: one for each model."""
