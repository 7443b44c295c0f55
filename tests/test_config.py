from __future__ import annotations

import argparse
import json
import re
import tomllib
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

import joey
from joey.app.settings import approvals_in_force, environment_rules, notices
from joey.cli.flags import add_setting_flags, settings_in
from joey.config import Config, read_config
from joey.config.files import read_settings_text, settings_from
from joey.config.keys import BY_NAME, KEYS, Flag, Key
from joey.config.kinds import HOOKS
from joey.errors import UsageError
from joey.hooks.hook import HOOK_EVENTS
from joey.policy.settings import DECISIONS, NAMES, PROFILES
from joey.providers import EngineOptions
from joey.sandbox import ProcessLimits, SandboxSettings
from joey.task.settings import CheckSettings, Replies, TaskLimits
from joey.tools.languages.programs import LanguageSettings
from joey.tools.options import BuiltinOptions
from joey.tools.shell.environment import EnvironmentRules
from joey.tools.toolset import ToolChoices


class Places:
    """A user's folder and a project, with their settings files."""

    def __init__(self, folder: Path) -> None:
        self.user, self.project = folder / "user", folder / "project"

    def config(self, user: str = "", project: str = "", *, trusted: bool = False, **rest: Any) -> Config:
        for path, text in ((self.user, user), (self.project / ".joey", project)):
            path.mkdir(parents=True, exist_ok=True)
            (path / "config.toml").write_text(text)
        rest.setdefault("environment", {})
        return read_config(self.project, self.user, trusted=trusted, **rest)


@pytest.fixture
def places(tmp_path: Path) -> Places:
    return Places(tmp_path)


def test_flags_go_over_environment_over_project_over_user_over_defaults(places: Places) -> None:
    user, project = 'mode = "ask"\n', 'mode = "debug"\n'
    environment, flags = {"JOEY_MODE": "architect"}, {"mode": "orchestrator"}
    seen = [
        places.config(),
        places.config(user),
        places.config(user, project, trusted=True),
        places.config(user, project, environment=environment, trusted=True),
        places.config(user, project, environment=environment, flags=flags, trusted=True),
    ]
    found = [(each.settings["mode"].value, each.settings["mode"].origin, each.settings["mode"].where) for each in seen]
    assert found == [
        ("code", "default", ""),
        ("ask", "user", f"{places.user}/config.toml:1"),
        ("debug", "project", f"{places.project}/.joey/config.toml:1"),
        ("architect", "environment", "$JOEY_MODE"),
        ("orchestrator", "flag", "--mode"),
    ]


def test_lists_add_up_and_say_every_place(places: Places) -> None:
    config = places.config('[tools]\ndisabled = ["new_task"]\n', '[tools]\ndisabled = ["apply_patch"]\n')
    setting = config.settings["tools.disabled"]
    assert setting.value == ("new_task", "apply_patch")
    assert setting.where == f"{places.user}/config.toml:2, {places.project}/.joey/config.toml:2"


def test_settings_cannot_be_changed_after_reading(places: Places) -> None:
    with pytest.raises(TypeError):
        places.config().settings["mode"] = None  # type: ignore[index]


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ('modle = "x/y"', "f:1: unknown setting 'modle'; did you mean 'model'?"),
        ("\n[limits]\n# a comment\nmax_turn = 3", "f:4: unknown setting 'limits.max_turn'; did you mean 'limits.m"),
        ("max_turns = 3", "f:1: unknown setting 'max_turns'; did you mean 'limits.max_turns'?"),
        ("[approvals]\nmax_cost = 3", "f:2: unknown setting 'approvals.max_cost'; did you mean 'limits.max_cost'"),
        ("[approval]\nreads = 'ask'", "f:1: unknown setting 'approval'"),
        ('[limits]\nmax_turns = "3"', "f:2: limits.max_turns must be a whole number of 1 or more, got '3'"),
        ("[limits]\nmax_turns = true", "f:2: limits.max_turns must be a whole number of 1 or more, got true"),
        ("limits = 3", "f:1: limits is a table; write [limits]"),
        ('[approvals]\nreads = "yes"', "f:2: approvals.reads must be one of 'allow', 'ask', 'deny', got 'yes'"),
        ('[approvals]\nallow = "git"', "f:2: approvals.allow must be a list of non-empty strings, got 'git'"),
        (
            '[approvals]\nallow = ["git", ""]',
            "f:2: approvals.allow must be a list of non-empty strings, got ['git', '']",
        ),
        ("[approvals]\ndeny = [1]", "f:2: approvals.deny must be a list of non-empty strings, got [1]"),
        ("[approvals]\nreads = true", "f:2: approvals.reads must be one of 'allow', 'ask', 'deny', got true"),
        ("[approvals]\nmode-switches = 'ask'", "did you mean 'approvals.mode_switches'?"),
        ("[approvals]\nwrites_outsid = 'ask'", "did you mean 'approvals.writes_outside'?"),
        ('[approvals]\nprofile = "read_only"', "f:2: approvals.profile must be one of 'ask', 'edits', 'read-only', "),
        ("[approvals]\nprofile = 1", "f:2: approvals.profile must be one of 'ask', 'edits', 'read-only', "),
        ("[approvals]\nmax_requests = 1.5", "f:2: approvals.max_requests must be a whole number of 0 or more, got 1.5"),
        ("[approvals]\nmax_requests = -1", "f:2: approvals.max_requests must be a whole number of 0 or more, got -1"),
        ('[limits]\nmax_cost = "1"', "f:2: limits.max_cost must be a number of 0 or more, got '1'"),
        ("[limits]\nmax_cost = true", "f:2: limits.max_cost must be a number of 0 or more, got true"),
        ("[task]\ncompact_at = nan", "f:2: task.compact_at must be a number from 0 to 1, got nan"),
        ('mode = "a"\nmode = ', "f:2: invalid TOML"),
        ('approvals.reads = "x"', "f:1: approvals.reads must be one of"),
        ("limits = { max_turns = 0 }", "f:1: limits.max_turns must be"),
        (
            "[task]\ncondense_at = 0.5\ncompact_at = 0.6",
            "f:3: task.compact_at is set twice, by its old",
        ),
        ('\n[prices."m-1.2"]\ninput = 3', "f:2: prices.m-1.2 needs 'input' and 'output'"),
        ('[prices]\n"m" = {input = 1, output = "x"}', "f:2: output of prices.m must be a number of 0 or more, got 'x'"),
    ],
)
def test_a_mistake_is_named_with_file_line_and_the_nearest_right_key(text: str, complaint: str) -> None:
    with pytest.raises(UsageError) as caught:
        read_settings_text(text, "f")
    assert complaint in str(caught.value)


@pytest.mark.parametrize(
    "text",
    [
        'api_key = "abc"',
        'anthropic_api_key = "abc"',
        'model = "sk-ant-api03-abcdefghijklmnop"',
        'base_url = "https://me:hunter2@example.com"',
        'base_url = "https://example.com/v1?api_key=hunter2"',
        '[approvals]\nallow = ["curl -H x:ghp_abcdefghijklmnopqrst"]',
        '[keys]\nopenai = "sk-proj-abcdefghijklmnop"',
    ],
)
def test_a_secret_in_a_file_is_refused_and_never_repeated(text: str) -> None:
    with pytest.raises(UsageError) as caught:
        read_settings_text(text, "f")
    text_of_error = str(caught.value)
    assert "looks like a secret" in text_of_error and "environment" in text_of_error
    assert not any(word in text_of_error for word in ("abc", "hunter2", "ghp_", "sk-"))


@pytest.mark.parametrize("name", ["max_tokens", "task.max_tokens"])
def test_words_about_tokens_are_no_secrets(name: str) -> None:
    assert read_settings_text("[task]\nmax_tokens = 100", "f")["task.max_tokens"].value == 100


def test_a_wrong_variable_is_named(places: Places) -> None:
    with pytest.raises(UsageError, match=r"\$JOEY_APPROVE: approvals.profile must be one of"):
        places.config(environment={"JOEY_APPROVE": "everything"})


def test_there_need_be_no_file(tmp_path: Path) -> None:
    config = read_config(tmp_path, tmp_path / "nowhere", trusted=False, environment={})
    assert config.value("model") is None and notices(config) == ()


# What a project may decide


DANGEROUS = """\
model = "openai/expensive"
base_url = "https://elsewhere.example"
mode = "debug"

[approvals]
profile = "all"
allow = ["rm"]
deny = ["git push"]

[limits]
max_turns = 5
max_cost = 1000

[task]
text_calls = "run"
mistake_limit = 0

[prices."claude"]
input = 0
output = 0
"""


def test_a_project_nobody_trusts_cannot_choose_the_model_or_approve_anything(places: Places) -> None:
    config = places.config("[limits]\nmax_turns = 50\nmax_cost = 2.0\n", DANGEROUS)
    approvals = approvals_in_force(config).settings
    assert config.value("model") is None and config.value("base_url") is None and config.prices == {}
    assert config.value("task.text_calls") == "offer" and config.value("task.mistake_limit") == 3
    assert (config.value("limits.max_turns"), config.value("limits.max_cost")) == (5, 2.0)
    assert config.value("mode") == "code"
    assert approvals.writes == "ask" and approvals.commands == "ask" and approvals.attendance.max_cost == 2.0
    assert "rm" not in approvals.allow and "*" not in approvals.allow
    assert approvals.deny == ("git push",)
    held = {each.name for each in config.held_back}
    assert {"model", "base_url", "approvals.allow", "prices.claude", "task.text_calls"} <= held
    (notice,) = notices(config)
    assert "not trusted" in notice and "joey tools --trust" in notice and "approvals.profile" in notice
    assert "limits.max_cost" in notice and "limits.max_turns" not in notice
    assert "approvals.deny" not in notice and " mode," in notice


def test_a_trusted_project_decides_over_the_user(places: Places) -> None:
    config = places.config("[limits]\nmax_cost = 2.0\n", DANGEROUS, trusted=True)
    approvals = approvals_in_force(config).settings
    assert config.value("model") == "openai/expensive" and config.prices == {"claude": {"input": 0, "output": 0}}
    assert approvals.writes == "allow" and approvals.attendance.max_cost == 1000 and "rm" in approvals.allow
    assert notices(config) == ()


@pytest.mark.parametrize("trusted", [False, True])
def test_a_project_can_withhold_variables_from_commands_and_never_return_them(places: Places, *, trusted: bool) -> None:
    project = '[environment]\nkeep = ["AWS_*"]\nwithhold = ["PORT"]\n'
    config = places.config('[environment]\nkeep = ["GITHUB_TOKEN"]\n', project, trusted=trusted)
    assert environment_rules(config) == EnvironmentRules(("GITHUB_TOKEN",), ("PORT",))
    (notice,) = notices(config)
    assert notice.endswith("sets environment.keep: only your own file may")


def test_a_project_nobody_trusts_can_withdraw_approval(places: Places) -> None:
    config = places.config('[approvals]\nprofile = "all"\n', '[approvals]\nprofile = "read-only"\n')
    approvals = approvals_in_force(config).settings
    assert approvals.writes == "deny" and approvals.commands == "deny" and "*" not in approvals.allow
    assert approvals.reads_outside == "ask"


@pytest.mark.parametrize("user", list(PROFILES))
@pytest.mark.parametrize("project", list(PROFILES))
def test_no_profile_of_an_untrusted_project_allows_more_than_the_user_s(
    places: Places, user: str, project: str
) -> None:
    alone = approvals_in_force(places.config(f'[approvals]\nprofile = "{user}"\n')).settings
    both = approvals_in_force(
        places.config(f'[approvals]\nprofile = "{user}"\n', f'[approvals]\nprofile = "{project}"\n')
    ).settings
    order = ("allow", "ask", "deny")
    for name in DECISIONS:
        assert order.index(both.value(name)) >= order.index(alone.value(name)), name
    assert "*" in alone.allow or set(both.allow) <= set(alone.allow)


def test_a_profile_by_flag_means_just_that_and_deny_rules_stay(places: Places) -> None:
    config = places.config(
        '[approvals]\nwrites = "allow"\nreads_outside = "allow"\nallow = ["pytest"]\ndeny = ["git push"]\n',
        flags={"approvals.profile": "read-only", "approvals.allow": ("ls",)},
    )
    found = approvals_in_force(config)
    assert found.settings.writes == "deny" and found.settings.reads_outside == "ask"
    assert found.settings.allow[-2:] == ("pytest", "ls") and found.settings.deny == ("git push",)
    assert found.places["writes"] == "--approve"
    assert found.places["allow"] == f"{places.user}/config.toml:4, --allow"


# Where the model is


@pytest.mark.parametrize(
    ("user", "environment", "flags", "expected"),
    [
        ('base_url = "http://h"\nmodel = "vllm/a"\n', {}, {}, "http://h"),
        ('base_url = "http://h"\nmodel = "vllm/a"\n', {}, {"model": "vllm/b"}, "http://h"),
        ('base_url = "http://h"\nmodel = "vllm/a"\n', {}, {"model": "anthropic/c"}, None),
        ('base_url = "http://h"\nmodel = "vllm/a"\n', {"JOEY_MODEL": "openai/c"}, {}, None),
        ('base_url = "http://h"\n', {}, {"model": "anthropic/c"}, "http://h"),
        ('model = "vllm/a"\n', {"JOEY_BASE_URL": "http://e"}, {}, "http://e"),
        (
            'model = "vllm/a"\n',
            {"JOEY_BASE_URL": "http://e"},
            {"model": "openai/c", "base_url": "http://f"},
            "http://f",
        ),
    ],
)
def test_a_server_named_for_one_provider_does_not_get_another_s_key(
    places: Places, user: str, environment: dict[str, str], flags: dict[str, Any], expected: str | None
) -> None:
    config = places.config(user, environment=environment, flags=flags)
    assert config.base_url_for(config.value("model")) == expected


# What is written twice


def test_every_approval_of_the_policy_is_a_setting() -> None:
    named = {key.name.removeprefix("approvals.") for key in KEYS if key.name.startswith("approvals.")}
    assert named | {"max_cost", "confined"} == set(NAMES)


PARTS: dict[str, type] = {
    "replies": Replies, "limits": TaskLimits, "tools": BuiltinOptions, "choices": ToolChoices,
    "environment": EnvironmentRules, "sandbox": SandboxSettings, "sandbox_limits": ProcessLimits,
    "engine": EngineOptions, "checks": CheckSettings, "languages": LanguageSettings,
}  # fmt: skip


@pytest.mark.parametrize("key", [key for key in KEYS if key.sets], ids=lambda key: key.name)
def test_a_setting_and_the_field_it_sets_have_the_same_default(key: Key) -> None:
    part, _, name = key.sets.partition(".")
    defaults = {field.name: field.default for field in fields(PARTS[part])}
    assert key.default == defaults[name]


def test_every_setting_is_used() -> None:
    """A setting fills a field of a part, belongs to the policy, or is read by its name."""
    source = "".join(path.read_text() for path in Path(joey.__file__).parent.rglob("*.py") if path.name != "keys.py")
    by_event = {f"hooks.{event}" for event in HOOK_EVENTS}
    by_name = [key.name for key in KEYS if not key.sets and not key.name.startswith("approvals.")]
    by_name = [name for name in by_name if name not in by_event]
    assert [name for name in by_name if f'"{name}"' not in source] == []


def test_there_is_a_setting_for_the_hooks_of_each_event() -> None:
    assert [key.name for key in KEYS if key.kind is HOOKS] == [f"hooks.{event}" for event in HOOK_EVENTS]


def test_options_have_the_names_of_the_flags() -> None:
    options = {"approve": "edits", "max_turns": 5, "allow": ["ls"], "plain_answers": "finish", "model": None}
    assert settings_from(options) == {
        "approvals.profile": "edits", "limits.max_turns": 5, "approvals.allow": ("ls",), "task.plain_answers": "finish"
    }  # fmt: skip


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"aprove": "edits"}, "unknown option 'aprove'; did you mean 'approve'?"),
        ({"zzz": 1}, "unknown option 'zzz'; available options: model, base_url"),
        ({"max_turns": 0}, "limits.max_turns must be a whole number of 1 or more, got 0"),
        ({"allow": "ls"}, "approvals.allow must be a list of non-empty strings, got 'ls'"),
    ],
)
def test_a_wrong_option_is_named(options: dict[str, Any], complaint: str) -> None:
    with pytest.raises(UsageError, match=re.escape(complaint)):
        settings_from(options)


@pytest.mark.parametrize(
    ("key", "flag", "command"),
    [
        pytest.param(key, key.flag, command, id=f"{command} {key.flag.name}")
        for key in KEYS
        if key.flag
        for command in key.flag.commands
    ],
)
def test_a_flag_sets_its_setting_and_no_other(key: Key, flag: Flag, command: str) -> None:
    parser = argparse.ArgumentParser(exit_on_error=False)
    add_setting_flags(parser, command)
    value = json.loads(_sample(key))
    text = value[0] if isinstance(value, list) else str(value)
    expected = {key.name: tuple(value) if isinstance(value, list) else value}
    given = [flag.name] if value is True else [flag.name, text]
    assert settings_in(parser.parse_args(given)) == expected
    assert settings_in(parser.parse_args([])) == {}


def test_what_a_project_may_do_freely_spends_nothing_and_approves_nothing() -> None:
    assert {key.name for key in KEYS if key.in_project == "free"} == {
        "task.plain_answers", "tools.disabled", "tools.exclude", "tools.completion_needs_closed_todos",
        "environment.withhold", "sandbox_hide",
    }  # fmt: skip


_SAMPLES = (True, "x", 1, 0.5, ["x"], "ask", "off", "auto", "full", "ignore", "required", "finish")


def _sample(key: Key) -> str:
    """A value that the setting takes and that is not its default, as TOML has it."""
    if key.kind is HOOKS:
        return '[{ hooks = [{ command = "x" }] }]'
    default = list(key.default) if isinstance(key.default, tuple) else key.default
    matching = (
        value for value in (False, *_SAMPLES, *key.kind.choices) if key.kind.matches(value) and value != default
    )
    return json.dumps(next(matching))


@pytest.mark.parametrize(
    "key", [key for key in KEYS if key.in_project in ("trusted", "never")], ids=lambda key: key.name
)
def test_whatever_a_project_may_not_decide_is_held_back_and_named(places: Places, key: Key) -> None:
    table, dot, name = key.name.rpartition(".")
    project = f"{f'[{table}]' if dot else ''}\n{name} = {_sample(key)}\n"
    config, without = places.config("", project), places.config("", "")
    assert {name: each.value for name, each in config.settings.items()} == {
        name: each.value for name, each in without.settings.items()
    }
    assert approvals_in_force(config).settings == approvals_in_force(without).settings
    assert [each.name for each in config.held_back] == [key.name]
    assert any(key.name in notice for notice in notices(config))


@pytest.mark.parametrize("trusted", [False, True], ids=["not trusted", "trusted"])
@pytest.mark.parametrize(
    ("name", "looser", "tighter"),
    [
        ("sandbox", "off", "require"),
        ("sandbox_network", "on", "none"),
        ("sandbox_memory", 9000, 100),
        ("sandbox_processes", 9000, 100),
        ("sandbox_file_size", 90000, 100),
    ],
)
def test_a_project_can_only_tighten_the_sandbox(
    places: Places, name: str, looser: Any, tighter: Any, *, trusted: bool
) -> None:
    loosened = places.config("", f"{name} = {json.dumps(looser)}\n", trusted=trusted)
    assert loosened.value(name) == BY_NAME[name].default and [each.name for each in loosened.held_back] == [name]
    assert places.config("", f"{name} = {json.dumps(tighter)}\n", trusted=trusted).value(name) == tighter


def test_a_number_in_the_environment_is_a_number(places: Places) -> None:
    config = places.config(environment={"JOEY_LOCAL_THREADS": "2", "JOEY_MODEL": "ollama/7"})
    assert config.value("local.threads") == 2 and config.value("model") == "ollama/7"
    with pytest.raises(UsageError, match=r"\$JOEY_LOCAL_CONTEXT: local\.context must be a whole number of 1 or more"):
        places.config(environment={"JOEY_LOCAL_CONTEXT": "many"})


# Files of earlier versions


BEFORE = Path(__file__).parent / "config_before.toml"


def test_every_setting_of_the_version_before_is_read(places: Places) -> None:
    text = BEFORE.read_text()
    config, written = places.config(text), _flat(tomllib.loads(text))
    approvals = approvals_in_force(config).settings
    renamed = {"task.condense_at": ("task.compact_at", 0.5), "task.prompt": ("task.prompt", "small")}
    for old, value in written.items():
        name, value = renamed.get(old, (old, value))
        section, _, last = name.partition(".")
        found = approvals.value(last) if section == "approvals" else config.value(name)
        assert found == (tuple(value) if isinstance(value, list) else value), name
    assert config.prices == {"my-model": {"input": 0.5, "output": 1.5, "cache_read": 0.1, "cache_write": 0.6}}


def _flat(data: dict[str, Any]) -> dict[str, Any]:
    tables = {name: value for name, value in data.items() if isinstance(value, dict) and name != "prices"}
    single = {name: value for name, value in data.items() if not isinstance(value, dict)}
    return single | {f"{table}.{name}": value for table, inner in tables.items() for name, value in inner.items()}


def test_an_old_name_gets_a_note_with_its_place(places: Places) -> None:
    config = places.config('[task]\ncondense_at = 0.5\nprompt = "compact"\n')
    file = places.user / "config.toml"
    assert config.renamed == (
        f"{file}:2: task.condense_at is now called task.compact_at; the old name still works",
        f"{file}:3: task.prompt = 'compact' is now called 'small'; the old value still works",
    )
    assert set(config.renamed) <= set(notices(config))
    assert places.config('[task]\ncompact_at = 0.5\nprompt = "small"\n').renamed == ()


VARIABLES = {
    "JOEY_MODEL": ("model", "ollama/a"), "JOEY_BASE_URL": ("base_url", "http://h"), "JOEY_MODE": ("mode", "ask"),
    "JOEY_PROTOCOL": ("protocol", "xml"), "JOEY_GRAMMAR": ("grammar", "vllm"), "JOEY_SANDBOX": ("sandbox", "require"),
    "JOEY_SANDBOX_NETWORK": ("sandbox_network", "none"), "JOEY_LOCAL_THREADS": ("local.threads", 3),
    "JOEY_LOCAL_CONTEXT": ("local.context", 4096), "JOEY_BROWSER": ("browser.program", "chromium"),
}  # fmt: skip


def test_every_variable_of_the_version_before_is_read(places: Places) -> None:
    environment = {variable: str(value) for variable, (_, value) in VARIABLES.items()}
    config = places.config(environment=environment | {"JOEY_APPROVE": "edits"})
    assert {name: config.value(name) for name, _ in VARIABLES.values()} == dict(VARIABLES.values())
    assert approvals_in_force(config).settings.profile == "edits"
