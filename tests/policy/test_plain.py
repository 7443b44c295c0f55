"""Which lines are plain, how they are read, and what is named where they are not."""

# ruff: noqa: E501 - tables

from __future__ import annotations

import contextlib
import shutil
import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from joey.policy.shell.plain import Command, NotPlainError, read_plain


def texts(command: Command) -> list[str]:
    return [word.text for word in command.words]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("git log", [["git", "log"]]),
        ("git log | head -5 && ls -la 'a b' # note", [["git", "log"], ["head", "-5"], ["ls", "-la", "a b"]]),
        ("a;b\n\nc && \n d || e", [["a"], ["b"], ["c"], ["d"], ["e"]]),
        ("echo it\\'s 'a\"b' \"c'd\" e''f", [["echo", "it's", 'a"b', "c'd", "ef"]]),
        ('echo "a\\"b\\\\c\\$d\\`e\\n"', [["echo", 'a"b\\c$d`e\\n']]),
        ('grep "foo$" f; grep bar$ g', [["grep", "foo$", "f"], ["grep", "bar$", "g"]]),
        ("git log \\\n  -1", [["git", "log", "-1"]]),
        ("ec\\\nho a", [["echo", "a"]]),
        ("echo a#b # c; rm x", [["echo", "a#b"]]),
        ("find . -name '*.py' -exec grep -l x {} +", [["find", ".", "-name", "*.py", "-exec", "grep", "-l", "x", "{}", "+"]]),
        ("xargs -I{} cp {} b/{}", [["xargs", "-I{}", "cp", "{}", "b/{}"]]),
        ("find . ! -name x", [["find", ".", "!", "-name", "x"]]),
        ("git show stash@{0} HEAD~2 v1^{}".replace("^{}", ""), [["git", "show", "stash@{0}", "HEAD~2", "v1"]]),
        ("git show main@{1.day.ago} @{-1}", [["git", "show", "main@{1.day.ago}", "@{-1}"]]),
        ("[ -f x ] && cat x", [["[", "-f", "x", "]"], ["cat", "x"]]),
        ("[ a != b ]", [["[", "a", "!=", "b", "]"]]),
        ("", []),
        ("# only a comment", []),
        ("ls;", [["ls"]]),
    ],
)  # fmt: skip
def test_a_plain_line_is_its_words(line: str, expected: list[list[str]]) -> None:
    assert [texts(command) for command in read_plain(line)] == expected


def test_redirections_assignments_and_joints_are_kept_apart() -> None:
    (first, second, third) = read_plain("CI=1 A='b c' npm test > out.txt 2>&1 < in.txt | tee x &>> y; z >&2")
    assert first.assignments == (("CI", "1"), ("A", "b c"))
    assert [(each.target.text, each.writes) for each in first.redirects] == [("out.txt", True), ("in.txt", False)]
    assert [(each.target.text, each.writes) for each in second.redirects] == [("y", True)]
    assert (first.joint, second.joint, third.joint) == ("", "|", ";")
    assert (first.piped_on, second.piped_on) == (True, False)
    assert third.redirects == ()
    assert first.source == "CI=1 A='b c' npm test > out.txt 2>&1 < in.txt"


def test_wildcards_may_stand_where_no_option_can_come_of_them() -> None:
    (command,) = read_plain("cat src/*.py ./? a*")
    assert [word.glob for word in command.words] == [False, True, True, True]


@pytest.mark.parametrize("line", ["cat a\\ ", "cat a\\\t", "cat a\\\\", "cat a \\\n"])
def test_a_blank_behind_a_backslash_belongs_to_the_source(line: str) -> None:
    (command,) = read_plain(f" {line} \t")
    assert command.source == line
    assert read_plain(command.source) == (command,)


@pytest.mark.parametrize(
    ("line", "construct"),
    [
        ("echo $x", "a variable"), ("echo ${x}", "a variable"), ('echo "$x"', "a variable"), ("echo $1 $@", "a variable"),
        ('echo "a$b"', "a variable"), ("echo a$b", "a variable"), ("echo $", None), ("echo $;", None),
        ("echo $(a)", "a command substitution"), ("echo `a`", "a command substitution"), ('echo "`a`"', "a command substitution"),
        ("echo $((1))", "arithmetic"), ("echo $[1]", "arithmetic"),
        ("echo $'a'", "the shell decodes"), ('echo $"a"', "the shell decodes"),
        ("x=1", "sets a variable"), ("x=1; ls", "sets a variable"), ("x+=1 ls", "appends to a variable"), ("a[0]=1 ls", "bracket"),
        ("if a; then b; fi", "keyword `if`"), ("for x in a; do b; done", "keyword `for`"), ("while a; do b; done", "keyword `while`"),
        ("! ls", "bare `!`"), ("{ ls; }", "braces"), ("function f { a; }", "keyword `function`"), ("coproc a", "keyword"), ("[[ a ]]", "bracket"),
        ("i\\\nf a", "keyword `if`"), ("(ls)", "parentheses"), ("f() { a; }", "parentheses"), ("x=(a) ls", "parentheses"), ("((x))", "parentheses"),
        ("ls &", "background"), ("a & b", "background"), ("a |& b", "`|&`"), ("a ;; b", "`;;`"), ("a &&& b", "background"),
        ("cat <<E\nE", "here-document"), ("cat <<< a", "here-string"), ("cat <(a)", "process substitution"), ("a > >(b)", "nothing follows"),
        ("a >& f", "file descriptor"), ("a <& 3", "file descriptor"), ("a 3> f", "file descriptor"), ("a <> f", "reading and writing"), ("> f", "without a command"),
        ("cat ~/x", "`~`"), ("cat ~root/x", "`~`"), ("cat ~+/x", "`~`"), ("a=~/x ls", "`~`"), ("make x=~/y", "`~`"), ("a=b:~/x ls", "`~`"), ("ls > \\\n~/x", "`~`"),
        ("echo {a,b}", "braces"), ("echo a{1..3}", "braces"), ("echo }", "braces"), ("echo x > a@{b..b}", "braces"), ("git show HEAD@{1..3}", "braces"), ("ls [ab]", "bracket"), ("ls a[b]", "bracket"), ("ls @(a)", "parentheses"),
        ("ls *", None), ("ls *.py", None), ("ls ?x", None), ("ls -*", "begins with `-`"), ("ls ''*", None), ("ls ''-*", "begins with `-`"),
        ("ls a'*'*", "mixes quoted"), ("./a* x", "not written out"), ("'' x", "not written out"), ("ls > a*", "not written out"), ("ls > ''", "not written out"),
        ("a!b", "bare `!`"), ("echo !!", "bare `!`"), ("echo !x", "bare `!`"), ("'a", "not closed"), ('"a', "not closed"), ("a \\", "backslash"),
        ("a &&", "nothing follows"), ("&& a", "nothing stands before"), ("a | | b", "nothing"), ("; a", "nothing stands before"), ("a >", "nothing follows"),
        ("git log\r\nls", "U+000D"), ("git log \\\r\n./x", "U+000D"), ("git\u200blog", "U+200B"), ("a\u00a0b", "U+00A0"), ("a\x1b[2Kb", "U+001B"), ("a\x0c;b", "U+000C"), ("a\u202eb", "U+202E"),
        ("a\x00b", "U+0000"), ("a\ud800b", "U+D800"), ("a\u2028b", "U+2028"), ("x" * 30_000, "longer than"),
    ],
)  # fmt: skip
def test_what_is_not_plain_is_named(line: str, construct: str | None) -> None:
    if construct is None:
        assert read_plain(line)
        return
    with pytest.raises(NotPlainError) as problem:
        read_plain(line)
    assert construct in str(problem.value)


_PIECES = [
    *"abx01 \t\n;|&<>()$`'\"\\*?[]{}~!#=+-@/.,:%^", "&&", "||", ">>", "2>&1", "2>/dev/null", "$(", "${x}", "\\\n", "''", '""',
    "if ", "do ", " -n ", "a=b ", "x=", "@{1}", "@{a..b}", "{}", " # ", "=~", ":~", "é", "; args ", "\nargs ", " args ",
]  # fmt: skip
_lines = st.lists(st.sampled_from(_PIECES), max_size=14).map("".join)


@pytest.mark.property
@given(_lines)
def test_bash_reads_a_plain_line_as_it_is_read_here(line: str) -> None:
    """Each command is replaced by one that prints its words: bash must print what was read."""
    bash = shutil.which("bash")
    if bash is None:
        pytest.skip("there is no bash here")
    try:
        commands = read_plain(f"args {line}")
    except NotPlainError:
        return
    if any(word.glob or "/" in word.text for command in commands for word in command.words) or any(
        command.redirects or command.name != "args" for command in commands
    ):
        return
    script = f"args() {{ for word; do printf '%s\\0' \"$word\"; done; printf '\\1'; }}\nargs {line}"
    ran = subprocess.run([bash, "-c", script], capture_output=True, timeout=10, check=False)
    heard = [run.split(b"\0")[:-1] for run in ran.stdout.split(b"\1")[:-1]]
    if all(command.joint in ("", ";") for command in commands):
        assert heard == [[word.text.encode() for word in command.words[1:]] for command in commands]


@pytest.mark.property
@given(st.text(max_size=80) | _lines)
def test_any_text_is_read_or_refused(line: str) -> None:
    with contextlib.suppress(NotPlainError):
        assert all(command.words and command.source in line for command in read_plain(line))
