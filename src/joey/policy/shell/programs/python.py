"""Python, what `python -m` runs, pytest and pip.

They run the project's code by nature. What is not the project's is not in the tables: code on the command line (`-c`)
or from standard input, plugins by name, other settings, other package indexes, other targets.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator

from joey.policy.shell.options import Check, Program, Use, option_values, option_words, program, unknown_words
from joey.policy.shell.plain import Word
from joey.policy.shell.programs import python_tools

_X = re.compile(
    r"dev|utf8(?:=[01])?|importtime|faulthandler|tracemalloc(?:=\d+)?|no_debug_ranges|warn_default_encoding"
    r"|int_max_str_digits=\d+|showrefcount|frozen_modules=o(?:n|ff)"
)
_INI = re.compile(
    r"(?:log_cli|log_cli_level|log_level|log_auto_indent|console_output_style|asyncio_mode|faulthandler_timeout"
    r"|xfail_strict|strict_xfail|junit_family|junit_logging|truncation_limit_lines|truncation_limit_chars|verbosity_\w+"
    r"|timeout|timeout_method)=[\w.-]*"
)

_SHELLS = frozenset({"shell", "shell_plus", "dbshell"})
"""Commands of Django that take code from their words or their input."""


def _warnings(use: Use) -> Iterator[str]:
    """`-W action:message:category`: a category with a dot makes Python import a module."""
    for name, value in use.options:
        if name in ("-W", "--pythonwarnings") and value and "." in "".join(value.text.split(":")[2:3]):
            yield f"`{name} {value.text}` imports a module"


def _python(use: Use) -> Iterator[str]:
    """One script or module of the project. Without either, Python reads code from its input."""
    yield from _warnings(use)
    for name, value in use.options:
        if name == "-X" and value and not use.path and not _X.fullmatch(value.text):
            yield f"`-X {value.text}` of Python is not known to be harmless"
    for module in use.modules:
        yield from _own_module(module)
    if use.path or use.modules or use.has("-V", "--version", "-h", "--help"):
        return
    if not use.operands or use.operands[0].text == "-":
        yield "Python takes the code it runs from its input"
    words = [word.text for word in use.operands[:2]]
    if words[0:1] and words[0].endswith("manage.py") and words[1:] and words[1] in _SHELLS:
        yield f"`manage.py {words[1]}` runs code that it is given"


def _coverage_run(use: Use) -> Iterator[str]:
    for module in use.modules:
        yield from _own_module(module)
    if any(word.text == "-" for word in use.operands[:1]):
        yield "Python takes the code it runs from its input"


def _own_module(module: str) -> Iterator[str]:
    top = module.partition(".")[0]
    known = top in sys.stdlib_module_names or top in MODULES
    if known or not re.fullmatch(r"\w+(?:\.\w+)*", module):
        yield f"`python -m {module}` is not known to be harmless"


def _unittest(use: Use) -> Iterator[str]:
    """Tests by file, or by dotted name: of a module, or of a class in one, which begins with a capital."""
    yield from unknown_words(use)
    words = use.operands[1:] if use.operands and use.operands[0].text == "discover" else use.operands
    for word in words:
        if "/" in word.text or word.text.endswith(".py"):
            use.files.append(("run", word))
        else:
            module = re.split(r"\.(?=[A-Z])", word.text)[0]
            use.modules.append(module)
            yield from _own_module(module)


def _server(use: Use) -> Iterator[str]:
    """`http.server` hands out a folder with all it holds."""
    if not use.has("-d", "--directory"):
        use.files.append(("follow", Word(".")))
    yield from ()


PYTEST_OWN = frozenset(
    """-k -m --maxfail --capture --lfnf --last-failed-no-failures --durations -r --report-chars --tb --show-capture
    --color --junit-prefix -W --pythonwarnings --ignore --ignore-glob --deselect --doctest-report --doctest-glob -p -o
    --override-ini --assert --log-level --log-format --log-date-format --log-cli-level --log-cli-format
    --log-cli-date-format --log-file --log-file-level --log-file-format --junitxml --junit-xml
    --basetemp""".split()  # noqa: SIM905
)
"""Options of every pytest, whose next word is their value. Another one may be missing, with its plugin or in an older
version: then it takes no word, and the next one is a path of which `conftest.py` runs."""


def _pytest(use: Use) -> Iterator[str]:
    yield from _warnings(use)
    yield from unknown_words(use)
    yield from option_values(use)  # pytest looks for `-p` among all words before it reads any option
    yield from option_words(use)
    values = [value for name, value in use.options if value and name not in PYTEST_OWN]
    use.files += [("run", Word(value.text.partition("::")[0])) for value in values if value.text]
    for name, value in use.options:
        text = value.text if value else ""
        if name == "-p" and not re.fullmatch(r"no:[\w.-]+", text):
            yield f"pytest loads the plugin `{text}`"
        if name in ("-o", "--override-ini") and not _INI.fullmatch(text):
            yield f"pytest's setting `{text}` is not known to be harmless"
        if name == "--cov-report" and ":" in text:
            use.files.append(("write", Word(text.partition(":")[2])))
        if text.startswith("@"):
            yield f"`{text}` makes pytest read options from a file"
    for word in use.operands:
        if word.text.startswith("@"):
            yield f"`{word.text}` makes pytest read options from a file"
        use.files.append(("run", Word(word.text.partition("::")[0], word.glob)))


_PYTEST = program(
    """-k=t -m=t --markers -x --exitfirst --maxfail=t --strict --strict-config --strict-markers --fixtures --funcargs
    --fixtures-per-test --capture=t -s --runxfail --lf --last-failed --ff --failed-first --nf --new-first --cache-clear
    --lfnf=t --last-failed-no-failures=t --sw --stepwise --sw-skip --stepwise-skip --sw-reset --stepwise-reset
    --durations=t --durations-min=t -v --verbose --no-header --no-summary --no-fold-skipped --force-short-summary -q
    --quiet --verbosity=t -r=t --report-chars=t --disable-warnings --disable-pytest-warnings -l --showlocals
    --no-showlocals --tb=t --xfail-tb --show-capture=t --full-trace --color=t --code-highlight=t --junit-xml=w
    --junitxml=w --junit-prefix=t -W=t --pythonwarnings=t --max-warnings=t --collect-only --co --ignore=t
    --ignore-glob=t --deselect=t --noconftest --keep-duplicates --continue-on-collection-errors --import-mode=t
    --doctest-modules --doctest-report=t --doctest-glob=t --doctest-ignore-import-errors
    --doctest-continue-on-failure --basetemp=k -V --version -h --help -p=t -o=t --override-ini=t --assert=t
    --setup-only --setup-show --setup-plan --log-level=t --log-format=t --log-date-format=t --log-cli-level=t
    --log-cli-format=t --log-cli-date-format=t --log-file=w --log-file-mode=t --log-file-level=t --log-file-format=t
    --log-auto-indent=t --log-disable=t
    -n=t --numprocesses=t --maxprocesses=t --dist=t --loadscope-reorder --no-loadscope-reorder --max-worker-restart=t
    --cov?t --cov-report=t --cov-fail-under=t --cov-branch --no-cov --cov-append --no-cov-on-fail --cov-context=t
    --timeout=t --timeout-method=t --session-timeout=t --asyncio-mode=t --reruns=t --reruns-delay=t --randomly-seed=t
    --random-order --benchmark-only --benchmark-skip --benchmark-disable --html=w --self-contained-html
    --snapshot-update --hypothesis-seed=t --hypothesis-show-statistics --reuse-db --create-db --no-migrations --forked
    --count=t --headed --browser=t --run-slow --runslow""",
    "t*", project_code=True, check=_pytest,
)  # fmt: skip

_PIP_GENERAL = """
    -q --quiet -v --verbose -V --version -h --help --no-input --no-color --no-cache-dir --disable-pip-version-check
    --isolated --require-virtualenv --timeout=t --retries=t --progress-bar=t --no-python-version-warning
"""
_PIP = program(_PIP_GENERAL, subcommands={
    "install": program(
        f"""{_PIP_GENERAL} -r=r --requirement=r -c=r --constraint=r --no-deps --pre -e=t --editable=t --dry-run -U
        --upgrade --upgrade-strategy=t --force-reinstall -I --ignore-installed --no-build-isolation --use-pep517
        --no-binary=t --only-binary=t --prefer-binary --require-hashes --no-compile --compile --report=w
        --no-warn-script-location --no-warn-conflicts --root-user-action=t""",
        "t*", project_code=True, check=python_tools.installs,
    ),
    "uninstall": program(f"{_PIP_GENERAL} -y --yes -r=r --requirement=r", "t*"),
    "list": program(
        f"""{_PIP_GENERAL} -o --outdated -u --uptodate -e --editable -l --local --user --pre --format=t --not-required
        --exclude-editable --include-editable --exclude=t""",
    ),
    "show": program(f"{_PIP_GENERAL} -f --files", "t*"),
    "freeze": program(f"{_PIP_GENERAL} -l --local --user --all --exclude-editable --exclude=t"),
    "inspect": program(f"{_PIP_GENERAL} --local --user"),
    "check": program(_PIP_GENERAL),
    "hash": program(f"{_PIP_GENERAL} -a=t --algorithm=t", "r+"),
    "index": program(_PIP_GENERAL, subcommands={"versions": program(f"{_PIP_GENERAL} --pre --json", "t")}),
    "help": program("", "t*"),
})  # fmt: skip

MODULES: dict[str, Program] = {
    "pytest": _PYTEST,
    "pip": _PIP,
    "unittest": program(
        """-v --verbose -q --quiet -f --failfast -c --catch -b --buffer -k=t --locals --durations=t -s=p
        --start-directory=p -t=p --top-level-directory=p -p=t --pattern=t -h --help""",
        "t*", project_code=True, check=_unittest,
    ),
    "doctest": program("-v --verbose -f --fail-fast -o=t --option=t", "x+", project_code=True),
    "venv": program(
        "--without-pip --system-site-packages --prompt=t --upgrade-deps --symlinks --copies --upgrade", "w+"
    ),
    "http.server": program("-b=t --bind=t -d=L --directory=L -p=t --protocol=t", "t", check=_server),
    "json.tool": program("--indent=t --tab --no-indent --compact --sort-keys --json-lines --no-ensure-ascii", "r w"),
    "compileall": program("-q -f -l -r=t -j=t", "d*"),
    "py_compile": program("-q --quiet", "r+"),
    "cProfile": program("-o=w --outfile=w -s=t --sort=t", "x b", leading=True, project_code=True),
    **dict.fromkeys(("platform", "sysconfig", "site", "this"), program()),
    **python_tools.PROGRAMS,
}  # fmt: skip


def _coverage_writes(name: str) -> Check:
    """What is written if no option says where. The configuration may say so, too: it is the project's own."""

    def check(use: Use) -> Iterator[str]:
        if not use.has("-d", "--directory", "-o"):
            use.files.append(("write", Word(name)))
        yield from ()

    return check


_COVERAGE_FILES = "-i --ignore-errors --include=t --omit=t --precision=t --fail-under=t --data-file=r -q --quiet"
MODULES["coverage"] = program("--version --help -h", subcommands={
    "run": program(
        """-a --append --branch --concurrency=t --context=t --data-file=w --include=t --omit=t -p --parallel-mode
        --source=t --timid -m=m""",
        "x b", modules=MODULES, leading=True, project_code=True, check=_coverage_run,
    ),
    "report": program(
        f"{_COVERAGE_FILES} -m --show-missing --skip-covered --no-skip-covered --skip-empty --sort=t --format=t",
        "r*",
    ),
    "html": program(
        f"{_COVERAGE_FILES} -d=w --directory=w --title=t --skip-covered --skip-empty --show-contexts",
        "r*", project_code=True, check=_coverage_writes("htmlcov"),
    ),
    **{
        name: program(
            f"{_COVERAGE_FILES} -o=w --pretty-print", "r*",
            project_code=True, check=_coverage_writes(f"coverage.{name}"),
        )
        for name in ("xml", "json", "lcov")
    },
    "combine": program(
        "-a --append --keep -q --quiet", "r*", project_code=True, check=_coverage_writes(".coverage")
    ),
    "erase": program(check=_coverage_writes(".coverage")),
})  # fmt: skip

_PYTHON = program(
    "-b -B -d -E -I -O -P -q -s -S -u -v -V --version -x -h --help -W=t -X=t -m=m",
    "x b",
    modules=MODULES,
    leading=True,
    project_code=True,
    check=_python,
)

PROGRAMS: dict[str, Program] = {
    **dict.fromkeys(("python", "python3", *(f"python3.{minor}" for minor in range(8, 16))), _PYTHON),
    **dict.fromkeys(("pytest", "py.test"), _PYTEST),
    **dict.fromkeys(("pip", "pip3"), _PIP),
    "coverage": MODULES["coverage"],
    **python_tools.PROGRAMS,
}
