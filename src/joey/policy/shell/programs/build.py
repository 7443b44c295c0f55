"""make, cargo and go: builders that run the project's own code.

What a line may choose is which of it runs. Variables of make end up in shell code of the Makefile, linker flags and
tools of compilers are programs: only plain values are known.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from joey.policy.shell.options import Check, Program, Use, option_values, program, read_use, unknown_words
from joey.policy.shell.plain import Word

# make

_TARGET = re.compile(r"[\w./%+@,][\w./%+@,-]*")
_VARIABLE = re.compile(r"(?:V|VERBOSE|Q|DEBUG|CI|COLOR|JOBS|NPROC|TEST|TESTS)=(?:\w(?:[\w-]|[./](?![./]))*)?")


def _make(use: Use) -> Iterator[str]:
    """A target, as a variable, may stand in shell code of the Makefile."""
    yield from unknown_words(use)
    for word in use.operands:
        if not (_VARIABLE if "=" in word.text else _TARGET).fullmatch(word.text):
            yield f"`{word.text}` may change what make runs"
        if "/" in word.text and "=" not in word.text:  # a rule of make's own may write it
            use.files.append(("write", word))
    if sum(name in ("-C", "--directory") for name, _ in use.options) > 1:
        yield "each `-C` starts from the one before"


_MAKE = program(
    """-j?t --jobs?t -k --keep-going -S --no-keep-going -s --silent --quiet -n --dry-run --just-print --recon -B
    --always-make -C=p --directory=p -i --ignore-errors -w --print-directory --no-print-directory -q --question -r
    --no-builtin-rules -R --no-builtin-variables -l?t --load-average?t -O?t --output-sync?t -v --version -d --debug?t
    --trace -p --print-data-base --warn-undefined-variables -h --help""",
    "t*",
    project_code=True,
    check=_make,
)

# cargo

_CARGO = """
    -v --verbose -q --quiet --color=t --locked --offline --frozen --manifest-path=x -h --help
"""
_CARGO_BUILD = f"""
    {_CARGO} -p=t --package=t --workspace --all --exclude=t --lib --bins --bin=t --examples --example=t --tests
    --test=t --benches --bench=t --all-targets -F=t --features=t --all-features --no-default-features -r --release
    --profile=t --target=t --target-dir=w --message-format=t -j=t --jobs=t --keep-going --future-incompat-report
    --timings
"""
_LIBTEST = program(
    """--nocapture --no-capture --show-output --test-threads=t --ignored --include-ignored --exact --skip=t -q --quiet
    --list --format=t --color=t --report-time --test --bench --shuffle --force-run-in-process""",
    "t*",
)
_LINTS = program("-D=t -W=t -A=t -F=t --deny=t --warn=t --allow=t --forbid=t --no-deps")
_CRATE = re.compile(r"[A-Za-z][\w-]*(?:@[\w.^~=<>*+-]+)?")


def _cargo(rest: Program | None = None) -> Check:
    """`rest` is the table for what follows `--`; without one it is for the project's own program."""

    def check(use: Use) -> Iterator[str]:
        for name, value in use.options:
            if name == "--target" and value and not re.fullmatch(r"[\w-]+", value.text):
                yield "a target of one's own names the linker"
        yield from option_values(use)
        if use.separated is not None and rest is not None:
            yield from read_use(rest, use.operands[use.separated :], "cargo … --").problems

    return check


def _crates(use: Use) -> Iterator[str]:
    yield from option_values(use)
    yield from unknown_words(use)
    yield from (f"`{word.text}` is not the plain name of a crate" for word in use.operands if not _is_crate(word))


def _is_crate(word: Word) -> bool:
    return _CRATE.fullmatch(word.text) is not None and not word.glob


def _cargo_code(options: str = "", operands: str = "", rest: Program | None = None) -> Program:
    return program(f"{_CARGO_BUILD} {options}", operands, project_code=True, check=_cargo(rest))


def _cargo_fmt(use: Use) -> Iterator[str]:
    """It formats the whole package, wherever in it it runs; with `--all` those that it depends on by a path, too."""
    yield from _cargo(program("--check -l --emit=t"))(use)
    use.rewrites_all = not only_checks(use)
    if use.has("--all") and use.rewrites_all:
        yield "with `--all` it rewrites packages outside the workspace that this one depends on"


def only_checks(use: Use) -> bool:
    """Whether `cargo fmt` writes nothing. `-l` alone lists what it writes."""
    return use.has("--check") or any(word.text == "--check" for word in use.operands)


_TEST = _cargo_code("--no-run --no-fail-fast --doc", "t*", _LIBTEST)
_CARGO_COMMANDS: dict[str, Program] = {
    **dict.fromkeys(("build", "b", "check", "c"), _cargo_code()),
    **dict.fromkeys(("test", "t"), _TEST),
    **dict.fromkeys(("run", "r"), program(_CARGO_BUILD, "t*", leading=True, project_code=True, check=_cargo())),
    "bench": _cargo_code("--no-run --no-fail-fast", "t*", _LIBTEST),
    "clippy": _cargo_code("--fix --allow-dirty --allow-staged --no-deps", "t*", _LINTS),
    "fix": _cargo_code("--edition --edition-idioms --allow-dirty --allow-staged --allow-no-vcs"),
    **dict.fromkeys(("doc", "d"), _cargo_code("--no-deps --document-private-items")),
    "fmt": program(
        "-v --verbose -q --quiet --manifest-path=x --all --check -p=t --package=t",
        "t*", check=_cargo_fmt,
    ),
    "clean": program(f"{_CARGO} -p=t --package=t -r --release --profile=t --doc -n --dry-run"),
    "tree": program(
        f"""{_CARGO} -p=t --package=t --workspace --exclude=t -i=t --invert=t --prune=t --depth=t --prefix=t --no-dedupe
        -d --duplicates -e=t --edges=t -f=t --format=t -F=t --features=t --all-features --no-default-features
        --target=t""",
        check=_cargo(),
    ),
    "metadata": program(
        f"""{_CARGO} --format-version=t --no-deps -F=t --features=t --all-features --no-default-features
        --filter-platform=t""",
        check=_cargo(),
    ),
    "fetch": program(f"{_CARGO} --target=t", check=_cargo()),
    "update": program(
        f"{_CARGO} -p=t --package=t --precise=t -n --dry-run -w --workspace --recursive",
        "t*", check=_crates,
    ),
    "add": program(
        f"""{_CARGO} --dev -D --build -B --optional --no-optional --default-features --no-default-features -F=t
        --features=t --rename=t -n --dry-run -p=t --package=t""",
        "t+", check=_crates,
    ),
    **dict.fromkeys(
        ("remove", "rm"), program(f"{_CARGO} --dev --build -n --dry-run -p=t --package=t", "t+", check=_crates)
    ),
    "search": program(f"{_CARGO} --limit=t", "t*", check=_cargo()),
    "init": program(f"{_CARGO} --bin --lib --edition=t --name=t --vcs=t", "w", check=_cargo()),
    "new": program(f"{_CARGO} --bin --lib --edition=t --name=t --vcs=t", "w", check=_cargo()),
    "verify-project": program(_CARGO),
    "locate-project": program(f"{_CARGO} --workspace --message-format=t"),
    "pkgid": program(f"{_CARGO} -p=t --package=t", "t"),
    "version": program(_CARGO),
}  # fmt: skip

# go

_GO_BUILD = """
    -C=p -v -x -n -a -race -msan -asan -cover -covermode=t -coverpkg=t -p=t -tags=t -trimpath -mod=t -buildvcs?t
    -buildmode=t -ldflags=t -work -json
"""
_GO_TEST = f"""{_GO_BUILD}
    -c -o=w -run=t -skip=t -bench=t -benchmem -benchtime=t -count=t -timeout=t -short -failfast -parallel=t -cpu=t
    -list=t -shuffle=t -vet=t -fuzz=t -fuzztime=t -fullpath -coverprofile=w -cpuprofile=w -memprofile=w -blockprofile=w
    -mutexprofile=w -trace=w -outputdir=w
"""
_LINKER = re.compile(r"(?:-s|-w|-X[ =][\w./-]++=[\w./:+-]*+| )*+")
_MODULE = re.compile(r"[A-Za-z0-9][\w./~-]*(?:@[\w.+-]+)?")


def _go(runs: Callable[[list[Word]], list[Word]] = list) -> Check:
    """Packages by path are the project's; by name they are libraries, which nothing here runs."""

    def check(use: Use) -> Iterator[str]:
        for name, value in use.options:
            if name == "-ldflags" and value and not _LINKER.fullmatch(value.text):
                yield "the linker's flags can name programs"
        yield from option_values(use, "-ldflags")
        yield from unknown_words(use)
        for word in runs(use.operands):
            if word.text.startswith((".", "/")) or word.text.endswith(".go"):
                use.files.append(("run", Word(word.text.removesuffix("...") or ".", word.glob)))
            elif not _MODULE.fullmatch(word.text):
                yield f"`{word.text}` is not the plain name of a package"

    return check


def _go_run(use: Use) -> Iterator[str]:
    """`go run NAME` fetches and runs; what follows the package belongs to the program."""
    yield from _go(lambda words: words[:1])(use)
    if not use.operands or not (use.operands[0].text.startswith(".") or use.operands[0].text.endswith(".go")):
        yield "it does not run a package of the project"


def _go_fmt(use: Use) -> Iterator[str]:
    yield from _go()(use)
    if not use.has("-n"):
        folders = [word.text.removesuffix("...") or "." for word in use.operands] or ["."]
        use.files += [("rewrite", Word(folder)) for folder in folders]


def _go_env(use: Use) -> Iterator[str]:
    if any("=" in word.text for word in use.operands):
        yield "it sets a variable of go"


_GO_COMMANDS: dict[str, Program] = {
    "build": program(f"{_GO_BUILD} -o=w", "t*", words=True, project_code=True, check=_go()),
    "test": program(_GO_TEST, "t*", words=True, project_code=True, check=_go()),
    "vet": program(f"{_GO_BUILD} -c=t", "t*", words=True, project_code=True, check=_go()),
    "run": program(_GO_BUILD, "t*", words=True, leading=True, project_code=True, check=_go_run),
    "generate": program("-v -n -x -run=t -skip=t", "t*", words=True, project_code=True, check=_go()),
    "fmt": program("-n -x -mod=t", "t*", words=True, check=_go_fmt),
    "list": program(
        f"{_GO_BUILD} -m -u -f=t -deps -test -e -versions -find -retracted -export", "t*", words=True, check=_go()
    ),
    "mod": program(subcommands={
        "tidy": program("-v -e -x -diff -go=t -compat=t", words=True, check=_go()),
        "download": program("-json -x", "t*", words=True, check=_go()),
        "verify": program(words=True),
        "graph": program("-x -go=t", words=True, check=_go()),
        "why": program("-m -vendor", "t*", words=True, check=_go()),
        "vendor": program("-v -e", words=True),
        "init": program("", "t", words=True, check=_go()),
    }),
    "get": program("-u -t -v -x -d", "t*", words=True, check=_go()),
    "doc": program("-all -c -cmd -short -src -u", "r*", words=True),
    "env": program("-json -changed", "t*", words=True, check=_go_env),
    "clean": program("-i -n -r -x -cache -testcache", "t*", words=True, check=_go()),
    "version": program("-m -v", "r*", words=True),
}  # fmt: skip


def _gofmt(use: Use) -> Iterator[str]:
    if use.has("-w"):
        use.files += [("rewrite", word) for word in use.operands]
    yield from ()


PROGRAMS: dict[str, Program] = {
    **dict.fromkeys(("make", "gmake"), _MAKE),
    "cargo": program(f"{_CARGO} -V --version --list", subcommands=_CARGO_COMMANDS),
    "rustc": program("-V --version -h --help"),
    "go": program(words=True, subcommands=_GO_COMMANDS),
    "gofmt": program("-l -d -s -e -w -r=t", "d*", words=True, check=_gofmt),
}
