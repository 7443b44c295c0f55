"""Programs that run others: the command inside is found strictly from the front."""

from __future__ import annotations

from pathlib import Path

import pytest

from hostile_workspace import make_workspace, settings_of
from joey.policy.shell.lines import judge_line
from joey.policy.shell.programs.find import FIND
from joey.policy.shell.programs.wrappers import PROGRAMS, listed_below, with_input
from joey.policy.verdict import combine
from table_kit import summary, used

FINE = {
    "env": "",
    "env FOO=1 BAR=2 git log": "FOO=1, BAR=2, [git log]",
    "env -u CI git log": "[git log]",
    "env --unset NO_COLOR --unset=TERM ls": "[ls]",
    "env -0": "",
    "env A=1": "A=1",
    "timeout 60 pytest -k 'not slow'": "[pytest -k not slow]",
    "timeout -k 5 -s KILL 60 make": "[make]",
    "timeout --signal=INT 5s ls -la": "[ls -la]",
    "gtimeout 5 ls": "[ls]",
    "gtimeout -v 5 ls": "[ls]",
    "nice -n 10 make": "[make]",
    "nice make -n 5": "[make -n 5]",
    "nice -5 make": "[make]",
    "nohup npm start": "write nohup.out, [npm start]",
    "nohup ls -n": "write nohup.out, [ls -n]",
    "time pytest -q": "[pytest -q]",
    "time -p ls": "[ls]",
    "stdbuf -oL make": "[make]",
    "stdbuf -o0 -e 0 ls": "[ls]",
    "ionice -c 3 make": "[make]",
    "ionice -c2 -n7 ls": "[ls]",
    "setsid ls": "[ls]",
    "setsid -w ls": "[ls]",
    "chronic make": "[make]",
    "chronic -v make -v": "[make -v]",
    "command ls -la": "[ls -la]",
    "command -v node": "",
    "command -p ls": "[ls]",
    "xargs -0 wc -l": "[wc -l]",
    "xargs -0 -n 1 -P4 grep -l foo --": "[grep -l foo --]",
    "xargs -0 -I {} cp {} build/": "[cp {} build/]",
    "xargs -0": "[echo]",
    "bash -c 'git status && ls'": "<git status && ls>",
    "bash -euo pipefail -c 'make test'": "<make test>",
    "bash -ce 'make test'": "<make test>",
    "bash -c -e 'make test'": "<make test>",
    "bash -x scripts/build.sh --fast": "run scripts/build.sh",
    "bash -n scripts/build.sh": "read scripts/build.sh",
    "bash -- x.sh": "run x.sh",
    "sh build.sh": "run build.sh",
    "sh -c ls": "<ls>",
    "dash -e x.sh": "run x.sh",
    "dash -c ls x y": "<ls>",
}


@pytest.mark.parametrize(("line", "found"), FINE.items())
def test_it_is_understood(line: str, found: str) -> None:
    use = used(PROGRAMS, line)
    assert (use.problems, summary(use)) == ([], found)


UNKNOWN = [
    "env -i ls",
    "env - ls",
    "env --ignore-environment ls",
    "env -u HOME git log",
    "env -u PATH ls",
    "env -u GIT_CONFIG_COUNT git status",
    "env --unset GIT_CONFIG_KEY_0 git status",
    "env --unset=GIT_CONFIG_VALUE_0 git status",
    "env -u GIT_OPTIONAL_LOCKS git status",
    "env -u HTTPS_PROXY curl x.example",
    "env -S 'git log'",
    "env -vS'git log'",
    "env --split-string='git log'",
    "env -S 'git log -1' '#' --output=../outside/pwn",
    "env -C .. git log",
    "env --chdir=.. git log",
    "env -iu X ls",
    "env X=a* ls",
    "env --unse=X ls",
    "env --block-signal ls",
    "env -u",
    "timeout --foo 5 ls",
    "timeout --kill 5 5 ls",
    "timeout -x 5 ls",
    "timeout 5* ls",
    "gtimeout --foo 5 ls",
    "gtimeout -x 5 ls",
    "nice --adj=5 ls",
    "nice -x ls",
    "nohup -x ls",
    "nohup --foo ls",
    "time -o AGENTS.md ls",
    "time -f x ls",
    "stdbuf --out=L ls",
    "stdbuf -x ls",
    "ionice -p 1",
    "ionice --foo ls",
    "setsid -x ls",
    "setsid --for ls",
    "chronic -x ls",
    "chronic --foo ls",
    "command -x ls",
    "command --foo ls",
    "xargs rm",
    "xargs --replace rm ls",
    "xargs --max-lines ./evil.sh cat",
    "xargs -0 --max-lines ./evil.sh cat",
    "xargs -0 -i ./evil.sh",
    "xargs -0 -a .env cat",
    "xargs -0 --arg-file=.env cat",
    "xargs -0 -I X cp X y",
    "xargs -0 -I {} sh -c 'cat {}'",
    "xargs -d '\\n' cat",
    "xargs -0 --process-slot-var=PATH ls",
    "bash",
    "bash -",
    "bash -s",
    "bash -i x.sh",
    "bash -l x.sh",
    "bash -cls evil.sh",
    "bash --rcfile evil x.sh",
    "bash --init-file evil",
    "bash -o posix x.sh",
    "bash -o",
    "bash +e x.sh",
    "bash -O extglob x.sh",
    "bash -c",
    "bash x*.sh",
    "sh -s",
    "sh -",
    "dash",
    "dash -i",
]


@pytest.mark.parametrize("line", UNKNOWN)
def test_it_is_not_understood(line: str) -> None:
    assert used(PROGRAMS, line).problems


INSIDE = {
    'env ./evil.sh -S "git log"': './evil.sh -S git log',
    'env nice ./evil.sh -S "git log"': 'nice ./evil.sh -S git log',
    'env A=1 ./evil.sh --split-string="git log"': './evil.sh --split-string=git log',
    'env bash ./evil.sh -iS "git log"': 'bash ./evil.sh -iS git log',
    "env rm src/a.py -S ls": "rm src/a.py -S ls",
    "env a.b=c ls": "a.b=c ls",
    "time FOO=1 ls": "FOO=1 ls",
    "command rm x": "rm x",
    "timeout 5 ./evil.sh": "./evil.sh",
    "stdbuf -oL rm x": "rm x",
    "nohup ./evil.sh": "./evil.sh",
    "nice -n 5 ./evil.sh": "./evil.sh",
    "setsid ./evil.sh": "./evil.sh",
    "xargs -0 ./evil.sh": "./evil.sh",
}  # fmt: skip


@pytest.mark.parametrize(("line", "inner"), INSIDE.items())
def test_the_first_word_is_what_runs(line: str, inner: str) -> None:
    assert summary(used(PROGRAMS, line)).split(", ")[-1] == f"[{inner}]"


@pytest.mark.parametrize(
    "line", ["bash -c './evil.sh' git", "sh -c ./evil.sh", "bash -xc ./evil.sh", "bash --norc -c ./evil.sh ls"]
)
def test_code_for_a_shell_is_found(line: str) -> None:
    assert used(PROGRAMS, line).code == ["./evil.sh"]


@pytest.mark.parametrize(
    ("line", "inner"),
    [("xargs -0 wc -l", "wc -l src/** tests/**"), ("xargs -0 -I {} cp {} build/", "cp src/** tests/** build/")],
)
def test_files_that_find_lists_are_given_to_the_command_of_xargs(line: str, inner: str) -> None:
    found, use = used({"find": FIND}, "find src tests -name '*.md' -print0"), used(PROGRAMS, line)
    starts = listed_below("find", found)
    assert starts is not None
    use.inner = [with_input(use, starts)]
    assert use.appends_input
    assert summary(use) == f"[{inner}]"


@pytest.mark.parametrize(
    "line",
    [
        "find . -type f",
        "find . -printf '--pre=./evil.sh\\0'",
        "find . -print0 -printf '--pre=./evil.sh\\0'",
        "find . -print0 -exec printf x \\;",
        "find . -print0 -ls",
        "find . -print0 -delete",
    ],
)
def test_what_prints_more_than_names_is_not_taken_for_names(line: str) -> None:
    assert listed_below("find", used({"find": FIND}, line)) is None


@pytest.mark.parametrize(
    ("line", "decision"),
    [
        ("find src -name '*.py' -print0 | xargs -0 wc -l", "allow"),
        ("find src -name '*.py' -print0 | xargs -0 -I {} cp {} sub", "allow"),
        ("find payload -name '*.md' -print0 | xargs -0 -I {} cp {} .", "ask"),
        ("find . -name AGENTS.md -print0 | xargs -0 -I {} sort -o {} src/a.py", "ask"),
        ("find src -print0 | xargs -0 cat < src/names", "ask"),
        ("find src -print0 2> /dev/null | xargs -0 wc -l 2> /dev/null", "allow"),
        ("find src | xargs wc -l", "ask"),
        ("cat src/names | xargs -0 wc -l", "ask"),
        ("find . -print0 | xargs -0 cat", "ask"),
    ],
)
def test_xargs_on_a_line_gets_what_find_lists_and_nothing_else(tmp_path: Path, line: str, decision: str) -> None:
    workspace = make_workspace(tmp_path)
    rules = "--approve edits --allow find --allow xargs --allow wc --allow cat --allow cp --allow sort"
    assert combine(judge_line(line, settings_of(rules), workspace, workspace.root)).decision == decision
