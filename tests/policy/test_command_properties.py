"""No line that holds a denied program anywhere is allowed, and what is allowed does not run it in a real shell."""

from __future__ import annotations

import contextlib
import os
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from joey.policy import Settings, Workspace
from joey.policy.shell.lines import judge_line
from joey.policy.verdict import combine

WORKSPACE = Workspace("/nonexistent/ws", home="/nonexistent/home", expand=lambda _text: ())
EVERYTHING_BUT = Settings(allow=("*",), deny=("denied",))
SOME = Settings(
    allow=("echo", "cat", "true", "env", "bash", "xargs", "find", "timeout", "let", "eval", "trap"), deny=()
)

NAMES = [
    "denied", '"denied"', "'denied'", "den''ied", "den\\ied", 'd"en"ied', "$'denied'", "$'\\x64enied'", "\\denied",
    "den\\\nied", "/usr/bin/denied", "./denied",
]  # fmt: skip
LEAVES = ["{} x", "{}", "X=1 {} y", ">f {}", "{} >f 2>&1", "{} \"a b\" 'c'", "{} # note", "{} <<< a", "2>f {} a"]
AROUND = [
    "echo a; {}", "true && {}", "{} | cat", "cat f | {}", "echo $({})", 'echo "$({})"', "echo ${{x:-$({})}}",
    'echo "${{x:-$({})}}"', 'echo "${{x:-"$({})"}}"', "x=$({})", 'x="$({})"; echo $x', "arr=(a $({}))",
    "echo $(( 1 + $({}) ))", "({})", "{{ {}\n}}", "if true; then {}\nfi", "if {}\nthen echo; fi",
    "for i in 1 2; do {}\ndone", "for i in $({}); do echo; done", "while {}\ndo break; done",
    "case a in a) {}\n;; esac",
    "case $({}) in a) ;; esac", "f() {{ {}\n}}; f", "cat <({})", "echo > >({})", "cat <<EOF\n$({})\nEOF",
    'cat <<"EOF"\nx $(y)\nEOF\n{}', "echo hi # note\n{}", "echo a \\\n b; {}", "echo 'it''s' \"a\\\"b\" ; {}",
    "[[ -n $({}) ]]", '[ -n "$({})" ] || true', "! {}", "time {}", "export X=$({})", "echo \"a $(echo ')'; {})\"",
    "echo ${{x#$({})}}", "echo ${{x/a/$({})}}", "echo $#; {}", "echo ${{#x}} a#b; {}", "echo $'it\\'s'; {}",
    "cat <<A <<B\nx\nA\ny\nB\n{}", "cat <<-EOF\n\tx\n\tEOF\n{}", "((x++)); {}", "let x=1; {}", 'echo \\"; {}',
    "echo '\\'; {}", "echo a\\\\; {}", "until {}\ndo break; done", "echo $(case a in a) {}\n;; esac)",
    "[[ a =~ ^(a|b)$ ]] && {}", 'echo "${{a[$({})]}}"', "echo a >&2; {}", "echo a &>f; {}", "echo {{a,$({})}}",
]  # fmt: skip
QUOTED = ["bash -c {}", "env bash -c {}", "eval {}", "timeout 5 sh -c {}", "trap {} EXIT", "find . -exec sh -c {} \\;"]
SPLICED = [*"\"'`\\\n# $(){};|&<>=*~![]@-x\t", "\\\n", "$(", "${", "$'", "<<EOF\n", "\nEOF\n", "((", "))", "[["]

simple = st.builds(lambda leaf, name: leaf.replace("{}", name), st.sampled_from(LEAVES), st.sampled_from(NAMES))
lines = st.recursive(
    simple,
    lambda inner: st.one_of(
        st.builds(lambda around, line: around.format(line), st.sampled_from(AROUND), inner),
        st.builds(lambda around, line: around.replace("{}", shlex.quote(line)), st.sampled_from(QUOTED), inner),
    ),
    max_leaves=4,
)


@st.composite
def spliced(draw: st.DrawFn) -> str:
    """A line with a few characters put in, taken out or doubled, to be somewhere near the edge of the grammar."""
    line: str = draw(lines)
    for _ in range(draw(st.integers(1, 3))):
        at, count = draw(st.integers(0, len(line))), draw(st.integers(0, 8))
        kept = draw(st.sampled_from(["", line[at : at + count], line[at : at + count] * 2]))
        line = line[:at] + draw(st.sampled_from(SPLICED)) + kept + line[at + count :]
    return line


@pytest.mark.property
@given(lines)
@settings(max_examples=300 if not os.environ.get("JOEY_FUZZ") else 5_000)
def test_a_denied_program_anywhere_is_never_allowed(line: str) -> None:
    assert not combine(judge_line(line, EVERYTHING_BUT, WORKSPACE, WORKSPACE.root)).allowed
    assert not combine(judge_line(line, SOME, WORKSPACE, WORKSPACE.root)).allowed


@pytest.mark.property
@given(st.text(max_size=60) | st.text(alphabet="rm x;|&$(){}`'\"\\\n<>=#*[]-", max_size=40))
def test_any_text_gets_a_verdict(text: str) -> None:
    for rules in (EVERYTHING_BUT, SOME, Settings.for_profile("all"), Settings.for_profile("read-only")):
        assert combine(judge_line(text, rules, WORKSPACE, WORKSPACE.root)).decision in ("allow", "ask", "deny")


@pytest.fixture(scope="module")
def shell(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a shell's few programs and a denied one that leaves a trace."""
    base = tmp_path_factory.mktemp("shell")
    programs = base / "bin"
    programs.mkdir()
    (base / "ws").mkdir()
    for name in ("bash", "sh", "echo", "cat", "true", "env", "timeout", "find", "xargs"):
        found = shutil.which(name)
        if found is None:
            pytest.skip(f"there is no {name} here")
        (programs / name).symlink_to(found)
    denied = programs / "denied"
    denied.write_text(f"#!{shutil.which('sh')}\necho ran >> '{base}/trace'\n")
    denied.chmod(0o755)
    return base


@pytest.mark.property
@given(line=spliced())
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
def test_what_is_allowed_does_not_run_it_in_a_real_shell(shell: Path, line: str) -> None:
    workspace = Workspace(str(shell / "ws"), home=str(shell))
    if "\0" in line or not combine(judge_line(line, EVERYTHING_BUT, workspace, workspace.root)).allowed:
        return
    with contextlib.suppress(subprocess.TimeoutExpired):
        subprocess.run(
            ["bash", "-c", line], cwd=shell / "ws", env={"PATH": str(shell / "bin"), "HOME": str(shell)},
            stdin=subprocess.DEVNULL, capture_output=True, timeout=5, start_new_session=True,
        )  # fmt: skip
    assert not (shell / "trace").exists(), line


@pytest.mark.parametrize(
    "line",
    [
        f"PYTHONPATH={'a' * 2000}, pytest",
        f"ps -o '{'pid= pid ' * 1000}!'",
        f"go build -ldflags '{'-X=a=-s-s-s-s' * 1000}!'",
        f"yq '{' | ' * 2000}!' a.yml",
    ],
    ids=["PYTHONPATH", "ps", "go", "yq"],
)
def test_a_long_value_is_read_once(line: str) -> None:
    rules = Settings(allow=("pytest", "ps", "go", "yq"))
    assert combine(judge_line(line, rules, WORKSPACE, WORKSPACE.root)).decision == "ask"
