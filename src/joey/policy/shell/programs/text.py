"""Programs that read, search, compare and transform text."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from joey.policy.shell.options import Program, Use, program
from joey.policy.shell.plain import Word

_HERE = Word(".")


# Words that are never options


def only_text(use: Use, words: Sequence[Word]) -> Iterator[str]:
    """Every word is text, also one with a dash (`echo --- done`). A pattern becomes names of files."""
    use.operands += words
    use.files += [("list", word) for word in words if word.glob]
    yield from ()


def _printf(use: Use) -> Iterator[str]:
    """The shell's own `printf` stores into a variable with `-v`, which is not in the table, and with `%n`."""
    form = use.operands[0].text if use.operands else ""
    if re.search(r"%[^A-Za-z%]*[hjlLtz]*n", form.replace("%%", "")):
        yield "`%n` in a format of `printf` sets a variable"


# Searching

_GREP = """
    -E -F -G -P -i -y -w -x -z -s -v -n -b -H -h -o -q -a -I -r -R -L -l -c -T -Z -U -V -#
    -e=t -f=r -m=t -A=t -B=t -C=t
    --extended-regexp --fixed-strings --basic-regexp --perl-regexp --ignore-case --no-ignore-case --word-regexp
    --line-regexp --null-data --no-messages --invert-match --line-number --byte-offset --with-filename --no-filename
    --only-matching --quiet --silent --text --recursive --dereference-recursive --files-without-match
    --files-with-matches --count --initial-tab --null --line-buffered --binary --version --help
    --regexp=t --file=r --max-count=t --after-context=t --before-context=t --context=t --label=t --binary-files=t
    --include=t --exclude=t --exclude-dir=t --exclude-from=r --color?t --colour?t
"""
_GREP_TREE = ("-r", "-R", "--recursive", "--dereference-recursive")


def _grep_operands(use: Use) -> str:
    """The first word is the pattern, unless an option gave one."""
    files = "L*" if use.has("-R", "--dereference-recursive") else "d*" if use.has(*_GREP_TREE) else "r*"
    return files if use.has("-e", "--regexp", "-f", "--file") else f"t {files}"


def _grep(use: Use) -> Iterator[str]:
    given = 0 if use.has("-e", "--regexp", "-f", "--file") else 1
    if use.has(*_GREP_TREE) and len(use.operands) <= given:
        use.files.append(("follow" if use.has("-R", "--dereference-recursive") else "tree", _HERE))
    yield from ()


_RG = """
    -e=t -f=r -g=t -t=t -T=t -m=t -A=t -B=t -C=t -M=t -d=t -j=t -E=t -r=t
    -i -s -S -n -N -v -w -x -F -P -o -c -l -q -H -I -0 -a -b -p -u -U -V -h -. -#
    --regexp=t --file=r --glob=t --iglob=t --type=t --type-not=t --type-add=t --type-clear=t --type-list --max-count=t
    --after-context=t --before-context=t --context=t --max-columns=t --max-columns-preview --max-depth=t --maxdepth=t
    --threads=t --encoding=t --replace=t --max-filesize=t --sort=t --sortr=t --engine=t --color=t --colors=t
    --context-separator=t --field-context-separator=t --field-match-separator=t --path-separator=t --ignore-file=r
    --ignore-case --case-sensitive --smart-case --line-number --no-line-number --invert-match --word-regexp
    --line-regexp --fixed-strings --pcre2 --only-matching --count --count-matches --include-zero --files
    --files-with-matches --files-without-match --quiet --with-filename --no-filename --null --null-data --text --binary
    --byte-offset --pretty --heading --no-heading --column --no-column --trim --vimgrep --json --stats --passthru
    --multiline --multiline-dotall --crlf --unrestricted --hidden --no-hidden --no-ignore --no-ignore-vcs
    --no-ignore-parent --no-ignore-dot --no-ignore-global --no-ignore-files --no-messages --no-config --no-pre
    --no-require-git --glob-case-insensitive --one-file-system --line-buffered --block-buffered --no-unicode --version
    --help
"""


def _rg_pattern(use: Use) -> bool:
    """Whether the first word is the pattern."""
    return not use.has("-e", "--regexp", "-f", "--file", "--files", "--type-list")


def _rg_operands(use: Use) -> str:
    files = "l*" if use.has("--files") else "d*"
    return f"t {files}" if _rg_pattern(use) else files


def _rg(use: Use) -> Iterator[str]:
    if len(use.operands) <= _rg_pattern(use) and not use.has("--version", "--help", "-V", "-h", "--type-list"):
        use.files.append(("list" if use.has("--files") else "tree", _HERE))
    yield from ()


# Scripts


def _sed_operands(use: Use) -> str:
    files = "w*" if use.has("-i", "--in-place") else "r*"
    return files if use.has("-e", "--expression") else f"s {files}"


def _sed(use: Use) -> Iterator[str]:
    """A suffix of `-i` names the copies that are kept: as long as it only ends their names."""
    for name, value in use.options:
        if name not in ("-i", "--in-place") or value is None:
            continue
        if not re.fullmatch(r"[.~_A-Za-z0-9-]+", value.text):
            yield f"the suffix `{value.text}` of `sed` is not simply the end of a name"
        use.files += [("write", Word(file.text + value.text)) for touch, file in use.files if touch == "write"]


_AWK = program("-F=t -v=t --field-separator=t --assign=t --version --help", "a r*")

_JQ = """
    -n -r -j -a -s -c -C -M -S -e -R -h -V --tab --indent=t --unbuffered --stream --stream-errors --seq --null-input
    --raw-output --raw-output0 --join-output --ascii-output --slurp --compact-output --color-output --monochrome-output
    --sort-keys --exit-status --raw-input --arg=tt --argjson=tt --slurpfile=tr --rawfile=tr --version --help
"""
_JQ_ELSEWHERE = re.compile(r'(?<![.\w$"])(?:import|include|modulemeta|get_search_list|env)\b|(?<![.\w"])ENV\b')
"""What reads files or the environment. A field with such a name (`.env`, `."import"`) is only data."""


def jq_filter_problems(text: str) -> Iterator[str]:
    """Why a filter for jq (also for `gh --jq`) may do more than transform its input."""
    if found := _JQ_ELSEWHERE.search(text):
        yield f"`{found[0]}` in a filter for `jq` reads files or the environment"


def _jq(use: Use) -> Iterator[str]:
    if use.operands:
        yield from jq_filter_problems(use.operands[0].text)


_YQ_PATH = re.compile(
    r"""(?:\.[\w-]*|\[(?:-?\d+|"[\w. -]+")?\]|\s*+\|\s*+(?:keys|length|type|sort|unique|first|last)?)*+"""
)


def _yq(use: Use) -> Iterator[str]:
    """Two programs have this name. To one of them, a filter that is the name of a file is that file (`.env`)."""
    if use.operands:
        use.files.append(("read", use.operands[0]))
        if not _YQ_PATH.fullmatch(use.operands[0].text):
            yield "a filter for `yq` that is more than a path may read files or the environment"


# Comparing, encoding, looking into binaries

_DIFF = """
    -q -s -c -u -e -n -y -p -t -T -r -N -i -E -Z -b -w -B -a -d -v -#
    -C=t -U=t -W=t -F=t -L=t -x=t -X=r -S=t -I=t -D=t
    --normal --brief --report-identical-files --context?t --unified?t --ed --rcs --side-by-side --width=t --left-column
    --suppress-common-lines --show-c-function --show-function-line=t --label=t --expand-tabs --initial-tab --tabsize=t
    --suppress-blank-empty --recursive --no-dereference --new-file --unidirectional-new-file --ignore-file-name-case
    --no-ignore-file-name-case --exclude=t --exclude-from=r --starting-file=t --ignore-case --ignore-tab-expansion
    --ignore-trailing-space --ignore-space-change --ignore-all-space --ignore-blank-lines --ignore-matching-lines=t
    --text --strip-trailing-cr --ifdef=t --line-format=t --minimal --horizon-lines=t --speed-large-files --color?t
    --palette=t --version --help
"""


def _diff_operands(use: Use) -> str:
    """Files in folders are compared with what links lead to."""
    return "d d" if use.has("--no-dereference") else "L L"


_DIGEST = program("-b -t -z --binary --tag --text --zero --version --help", "r*")
"""Without `--check`: which files are read then is written in the list."""
_DUMP = "-b -c -C -d -o -v -x -e=t -n=t -s=t"
_XXD = "-a -b -C -d -e -E -i -p -ps -plain -r -u -v -h -c=t -cols=t -g=t -l=t -len=t -n=t -o=t -s=t -seek=t"


def _strings(use: Use) -> Iterator[str]:
    """The programs of binutils take options from a file that is named with `@`."""
    values = [value for _, value in use.options if value is not None]
    if any(word.text.startswith("@") for word in (*use.operands, *values)):
        yield "`strings` reads options from a file"


def _iconv(use: Use) -> Iterator[str]:
    """A name with a slash is taken for a file that describes a character set."""
    for name, value in use.options:
        encoding = name in ("-f", "-t", "--from-code", "--to-code") and value
        if encoding and not re.fullmatch(r"[\w.:-]*(?://(?:TRANSLIT|IGNORE))*", encoding.text):
            yield f"`{encoding.text}` is not simply the name of an encoding"


PROGRAMS: dict[str, Program] = {
    "cat": program(
        "-A -b -e -E -n -s -t -T -u -v --show-all --number-nonblank --show-ends --number --squeeze-blank --show-tabs "
        "--show-nonprinting --help --version",
        "r*",
    ),
    "head": program(
        "-n=t -c=t -q -v -z -# --lines=t --bytes=t --quiet --silent --verbose --zero-terminated --help --version", "r*"
    ),
    "tail": program(
        "-n=t -c=t -f -F -q -v -z -s=t -# --lines=t --bytes=t --follow?t --pid=t --retry --sleep-interval=t --quiet "
        "--silent --verbose --zero-terminated --max-unchanged-stats=t --help --version",
        "r*",
    ),
    "tac": program("-b -r -s=t --before --regex --separator=t --help --version", "r*"),
    "nl": program(
        "-b=t -d=t -f=t -h=t -i=t -l=t -n=t -p -s=t -v=t -w=t --body-numbering=t --section-delimiter=t "
        "--footer-numbering=t --header-numbering=t --line-increment=t --join-blank-lines=t --number-format=t "
        "--no-renumber --number-separator=t --starting-line-number=t --number-width=t --help --version",
        "r*",
    ),
    "wc": program("-c -m -l -L -w --bytes --chars --lines --max-line-length --words --total=t --help --version", "r*"),
    "sort": program(
        "-b -d -f -g -i -M -h -n -R -r -V -c -C -m -s -u -z -k=t -t=t -S=t -o=w --ignore-leading-blanks "
        "--dictionary-order --ignore-case --general-numeric-sort --ignore-nonprinting --month-sort "
        "--human-numeric-sort --numeric-sort --random-sort --reverse --sort=t --version-sort --batch-size=t --check?t "
        "--debug --key=t --merge --output=w --stable --buffer-size=t --field-separator=t --parallel=t --unique "
        "--zero-terminated --help --version",
        "r*",
    ),
    "uniq": program(
        "-c -d -D -i -u -z -f=t -s=t -w=t --count --repeated --all-repeated?t --skip-fields=t --group?t --ignore-case "
        "--skip-chars=t --unique --zero-terminated --check-chars=t --help --version",
        "r w",
    ),
    "cut": program(
        "-b=t -c=t -d=t -f=t -n -s -z --bytes=t --characters=t --delimiter=t --fields=t --complement --only-delimited "
        "--output-delimiter=t --zero-terminated --help --version",
        "r*",
    ),
    "tr": program("-c -C -d -s -t --complement --delete --squeeze-repeats --truncate-set1 --help --version", "t t"),
    "paste": program("-d=t -s -z --delimiters=t --serial --zero-terminated --help --version", "r*"),
    "join": program(
        "-a=t -e=t -i -j=t -o=t -t=t -v=t -1=t -2=t -z --ignore-case --check-order --nocheck-order --header "
        "--zero-terminated --help --version",
        "r r",
    ),
    "comm": program(
        "-1 -2 -3 -z --check-order --nocheck-order --output-delimiter=t --total --zero-terminated --help --version",
        "r r",
    ),
    "column": program(
        "-t -x -c=t -s=t -o=t -N=t -R=t -J -H=t -E=t -T=t -W=t --table --fillrows --output-width=t --separator=t "
        "--output-separator=t --table-columns=t --table-right=t --json --table-name=t --table-hide=t "
        "--table-noextreme=t --table-truncate=t --table-wrap=t --help --version",
        "r*",
    ),
    "fold": program("-b -s -w=t -# --bytes --spaces --width=t --help --version", "r*"),
    "fmt": program(
        "-c -s -t -u -w=t -g=t -# --crown-margin --prefix=t --split-only --tagged-paragraph --uniform-spacing "
        "--width=t --goal=t --help --version",
        "r*",
    ),
    "expand": program("-i -t=t -# --initial --tabs=t --help --version", "r*"),
    "unexpand": program("-a -t=t --all --first-only --tabs=t --help --version", "r*"),
    "rev": program("--help --version", "r*"),
    "grep": program(_GREP, _grep_operands, check=_grep),
    "egrep": program(_GREP, _grep_operands, check=_grep),
    "fgrep": program(_GREP, _grep_operands, check=_grep),
    "rg": program(_RG, _rg_operands, check=_rg),
    "sed": program(
        "-n -E -r -z -s -u -b -e=s -i?t --quiet --silent --regexp-extended --null-data --separate --unbuffered "
        "--binary --expression=s --line-length=t --in-place?t --posix --debug --sandbox --help --version",
        _sed_operands,
        check=_sed,
    ),
    "awk": _AWK,
    "gawk": _AWK,
    "mawk": program("-F=t -v=t --version --help", "a r*"),
    "jq": program(_JQ, "t r*", check=_jq),
    "yq": program("-r -y -c -P -M -C -N --raw-output --yaml-output --help --version", "t r*", check=_yq),
    "diff": program(_DIFF, _diff_operands),
    "colordiff": program(_DIFF, _diff_operands),
    "cmp": program(
        "-b -i=t -l -n=t -s -v --print-bytes --ignore-initial=t --verbose --bytes=t --quiet --silent --version --help",
        "r r t t",
    ),
    "md5sum": _DIGEST,
    "sha1sum": _DIGEST,
    "sha224sum": _DIGEST,
    "sha256sum": _DIGEST,
    "sha384sum": _DIGEST,
    "sha512sum": _DIGEST,
    "b2sum": _DIGEST,
    "cksum": program("-a=t --algorithm=t --untagged --tag --help --version", "r*"),
    "shasum": program("-a=t -b -t --algorithm=t --binary --text", "r*"),
    "base64": program("-d -D -i -w=t --decode --ignore-garbage --wrap=t --help --version", "r"),
    "base32": program("-d -i -w=t --decode --ignore-garbage --wrap=t --help --version", "r"),
    "od": program(
        "-a -b -c -d -f -i -l -o -s -v -x -A=t -j=t -N=t -S=t -t=t -w?t --address-radix=t --skip-bytes=t "
        "--read-bytes=t --strings?t --format=t --output-duplicates --width?t --endian=t --help --version",
        "r*",
    ),
    "hexdump": program(_DUMP, "r*"),
    "hd": program(_DUMP, "r*"),
    "xxd": program(_XXD, "r w", leading=True, words=True),
    "strings": program(
        "-a -f -n=t -t=t -e=t -o -w -# --all --print-file-name --bytes=t --radix=t --encoding=t "
        "--include-all-whitespace --help --version",
        "r*",
        check=_strings,
    ),
    "iconv": program(
        "-f=t -t=t -c -s -l -o=w --from-code=t --to-code=t --list --silent --verbose --output=w --help --version",
        "r*",
        check=_iconv,
    ),
    "echo": program(reader=only_text),
    "printf": program("--help --version", "t t*", leading=True, check=_printf),
    "expr": program(reader=only_text),
    "seq": program("-f=t -s=t -w -# --format=t --separator=t --equal-width --help --version", "t t t"),
    "tee": program("-a -i -p --append --ignore-interrupts --output-error?t --help --version", "w*"),
    "shuf": program(
        "-e -i=t -n=t -o=w -r -z --echo --input-range=t --head-count=t --output=w --repeat --zero-terminated --help "
        "--version",
        "r*",
    ),
    "numfmt": program(
        "-d=t -z --debug --delimiter=t --field=t --format=t --from=t --from-unit=t --grouping --header?t --invalid=t "
        "--padding=t --round=t --suffix=t --to=t --to-unit=t --zero-terminated --help --version",
        "t*",
    ),
}
