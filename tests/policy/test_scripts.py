"""Scripts for sed and awk: those that only print are known from those that do more, as the real programs read them."""

from __future__ import annotations

import random
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from joey.policy.shell.scripts import awk_problems, sed_problems

SED_FINE = [
    "10,20p",
    "$d",
    "s/foo/bar/g",
    "s|a|b|2gI",
    "/x/d",
    "/a/,/b/p",
    "/x/I,+2p",
    "1~2p",
    "$!N;P;D",
    "1!G;h;$!d",
    "/x/!s/a/b/",
    "s/[^\\/]*$//",
    "s/[[:space:]]*$//",
    "s/[]]/x/",
    "s/\\[/x/",
    "s/a/[/;p",
    "y/ab/cd/",
    "/x/{n;s/a/b/}",
    "/a/,/b/{//!d}",
    "$a foo",
    "1i\\foo",
    "a\\\nfoo",
    "2c new text; w is text",
    ":a;N;$!ba;s/\\n/ /g",
    "5q",
    "=",
    "s/x/\\\n/",
    "s,a,b,;p",
    "/^$/d; s/  */ /g",
    "s/'//g",
    "0,/re/s//x/",
    "b end;:end",
]

SED_NOT = [
    "1e ./evil.sh",
    "e",
    "s/a/b/e",
    "s/a/b/w f",
    "s/a/b/ge",
    "w f",
    "W f",
    "r f",
    "R f",
    "/x/w f",
    "1{w f\n}",
    "y/a/b/;e x",
    "s/[/]x/g;s/e;p;#/q/",
    "s/[/]x/g;s/w ./.joey/g",
    "/[/]x/p;s/e;p;#/q/",
    "s/[[:alpha:]/]x/g;s/e;p;#/q/",
    "s|[|]x|g;s|e;p;#|q|",
    # A `]` that stands first is one of the characters, and what follows is between the brackets, too.
    "s/[]/a]/;s/w d/x/p",
    "s/[^]/a]/;s/w d/x/p",
    "s/[]/a]/;s/e;s/b/g;s/p;=;/d/p",
    "/[]/a]/s/w d/x/p",
    "a\nw f",
    "a  \nw f",
    "i\ne x",
    "t\nw f",
    "b\ne x",
    ":\nw f",
    "q\nw f",
    "1,\nw f",
    "a\\\nfoo\\\nw f",
    "p;# x\nw f",
    "v",
]


@pytest.mark.parametrize("script", SED_FINE)
def test_a_sed_script_that_only_prints_is_known(script: str) -> None:
    assert list(sed_problems(script)) == []


@pytest.mark.parametrize("script", SED_NOT)
def test_a_sed_script_that_does_more_is_not_known(script: str) -> None:
    assert list(sed_problems(script))


_SED_PIECES = [
    *"sy////|[];;\n  {}pdxg1$,!btl:q#~&*.()nIMmFz=D-%",
    *(
        "[^",
        "[:alpha:]",
        "\\/",
        "\\]",
        "\\[",
        "\\",
        "\\n",
        "w f",
        "e",
        "e x",
        "r f",
        "a",
        "i",
        "c",
        "a foo",
        "a\\",
        "a\\\n",
    ),
    *("s/a/b/", "s/[a]/b/", "/x/", "s|a|b|", "y/a/b/", "s/[", "/g;s/", "[.", ".]", "[=", "\\c", "\\x2f", "\\o57"),
    *("s/[]/", "/[^]/", "a]/", ";s/w f/", ";s/e;s/"),
]


@pytest.mark.skipif(
    b"GNU sed" not in subprocess.run(["sed", "--version"], capture_output=True, check=False).stdout,
    reason="only GNU sed tells which scripts do more than print",
)
def test_sed_itself_finds_nothing_more_in_random_scripts_that_are_known() -> None:
    """`sed --sandbox` refuses scripts that run programs, and read or write files."""
    chance = random.Random(14)
    scripts = ("".join(chance.choices(_SED_PIECES, k=chance.randint(1, 9))) for _ in range(4000))
    known = [script for script in scripts if not list(sed_problems(script))]
    assert len(known) > 200
    for script in known:
        found = subprocess.run(
            ["sed", "--sandbox", "-n", "-e", script], input=b"abc\n", capture_output=True, check=False, timeout=10
        )
        assert b"sandbox" not in found.stderr, script


AWK_FINE = [
    "{print $1}",
    "$3 > 5 {print $2}",
    "NR==FNR{a[$1];next} $1 in a",
    "{a[$1]++} END{for(k in a)print k, a[k]}",
    "NR%2",
    "/x/",
    "{print length}",
    'BEGIN{x="a" "b"; print x}',
    "{print (1 > 2)}",
    "{s+=$2} END{print s/NR}",
    "{print ($1+$2)/2, a[1]/3, 10/4}",
    "{if ($1 ~ /x/) print; else print /y/ + 1}",
    '{gsub(/a/,"b"); print}',
    "/[]a]x[^]]/",
    "/^[[:alpha:]_][^:]*:/ {print}",
]


@pytest.mark.parametrize("problems", [sed_problems, awk_problems])
def test_a_long_script_is_read_once(problems: Callable[[str], Iterator[str]]) -> None:
    assert list(problems("/" + "[]a]" * 2000))


AWK_NOT = [
    'BEGIN{system("x")}',
    '{print > "f"}',
    '{print 1,\n "x" > "f"}',
    '{print 1 &&\n 2 > "f"}',
    '{print 1 ?\n 2 : 3 > "f"}',
    '{print | "x"}',
    '"x" | getline',
    'getline l < "f"',
    '{print "a" , # c\n "b" > "f"}',
    '@load "x"',
    '{printf("x") >> "f"}',
    '{print a /b > "f"; c/ 1}',
    '{print (1) (2) > "f"}',
    'BEGIN{print ENVIRON["KEY"]}',
    'BEGIN{ARGV[1]="f"}',
    "@f()",
    # After a condition a `/` begins an expression, and what looks like a string is code.
    'BEGIN { if (1) /"/; system("id"); y = /"/ }',
    'BEGIN { while (x++ < 1) /"/; system("id"); y = /"/ }',
    'BEGIN { for (;;i++) /"/; system("id"); y = /"/ }',
    'BEGIN { if ((1)) /"/; system("id"); y = /"/ }',
    'BEGIN { $ /"/; system("id"); y = /"/ }',
    'BEGIN { "x" /"/; system("id"); y = /"/ }',
    'BEGIN { length /"/; system("id"); y = /"/ }',
    # Between brackets a `/` ends nothing for some awks, and a `]` that stands first does not close them.
    '/[]/ { print "]/{system($0)}/" }/1/1',
    '/[^]/ { print "]/{system($0)}/" }/1/1',
    '/[[:alpha:]/ { print "]/{system($0)}/" }/1/1',
    '/[[]/ { print "]/{system($0)}/" }/1/1',
    '/[\\]/ { print "]/{system($0)}/" }/1/1',
]


@pytest.mark.parametrize("source", AWK_FINE)
def test_an_awk_program_that_only_prints_is_known(source: str) -> None:
    assert list(awk_problems(source)) == []


@pytest.mark.parametrize("source", AWK_NOT)
def test_an_awk_program_that_does_more_is_not_known(source: str) -> None:
    assert list(awk_problems(source))


_AWK_PIECES = [
    *(
        "(",
        ")",
        "{",
        "}",
        "[",
        "]",
        "$",
        "++",
        ";",
        "\n",
        " ",
        ",",
        "a",
        "1",
        "length",
        "~",
        "!",
        "&&",
        "?",
        ":",
        "=",
        "/",
    ),
    *(
        "if (1)",
        "while (a++ < 1)",
        "for (;a++ < 1;)",
        "else",
        "do",
        "print ",
        "a[1]",
        "(1)",
        '"x"',
        "/x/",
        "in a",
        "$1",
    ),
]


@pytest.mark.skipif(shutil.which("gawk") is None, reason="only GNU awk tells which programs do more than print")
def test_awk_itself_finds_no_code_in_what_is_read_as_a_string(tmp_path: Path) -> None:
    """Two quotes in slashes are two expressions with code between them, or one string, after random beginnings.

    `gawk --sandbox` refuses to run other programs."""
    chance = random.Random(15)
    begins = {"".join(chance.choices(_AWK_PIECES, k=chance.randint(1, 4))) for _ in range(4000)}
    programs = (f'BEGIN {{ {begin} /"/; system("x"); y = /"/ }}' for begin in sorted(begins))
    for program in (program for program in programs if not list(awk_problems(program))):
        found = subprocess.run(
            ["gawk", "--sandbox", program], input=b"", capture_output=True, check=False, timeout=10, cwd=tmp_path
        )
        assert b"sandbox" not in found.stderr, program
