"""Linters, formatters, environments and builders of Python.

Their configuration is the project's own; an option that takes it from elsewhere, loads a plugin or names an interpreter
is not in the tables. What follows `run` of an environment is a command of its own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from joey.policy.shell.options import Program, Use, option_values, option_words, program, unknown_words
from joey.policy.shell.plain import Word

_VERSION = r"\s*(?:===?|[<>~!]=|[<>])\s*[\w.*+!-]+"
_REQUIREMENT = re.compile(
    rf"[A-Za-z0-9](?:[\w.-]*\w)?(?:\[[\w., -]*\])?(?:{_VERSION}(?:\s*,{_VERSION})*|@[\w^~<>=*][\w.^~<>=*,]*)?"
)
_ARCHIVE = re.compile(r".*\.(?:zip|whl|tar|tgz|tbz|txz|tlz|gz|bz2|xz|lz|lzma)", re.IGNORECASE)
_FOLDER = re.compile(r"(\.(?:/[^\[\]:@]*)?|\.\.(?:/[^\[\]:@]*)?)(?:\[[\w., -]*\])?")
_PYTHON = re.compile(r"(?:python)?\d[\d.]*")


def formats(use: Use) -> Iterator[str]:
    """A formatter rewrites what it is given, or what is here, also through links; the whole project is what it is for.
    A quoted pattern is expanded by some."""
    for word in use.operands or [Word(".")]:
        found = None if word.glob else re.search(r"[*?\[{]", word.text)
        folder = word.text[: found.start()].rpartition("/")[0] or "." if found else word.text
        if word.text != "-":
            use.files.append(("rewrite", Word(folder, word.glob)))
    yield from unknown_words(use)


def installs(use: Use) -> Iterator[str]:
    """Packages by name from the index, or the project itself; no address, archive or other folder."""
    yield from unknown_words(use)
    editable = [value for name, value in use.options if name in ("-e", "--editable") and value]
    for word in [*editable, *use.operands]:
        if (folder := _FOLDER.fullmatch(word.text)) and not _ARCHIVE.fullmatch(word.text):
            use.files.append(("folder", Word(folder[1])))
        elif word in editable or not is_package(word):
            yield f"`{word.text}` is not the plain name of a package"
    for _, value in use.options:
        if value and re.match("[A-Za-z+]+:", value.text):
            yield f"`{value.text}` is an address"


def is_package(word: Word) -> bool:
    named = _REQUIREMENT.fullmatch(word.text) and not _ARCHIVE.fullmatch(word.text)
    return bool(named) and not word.glob and not word.below


def _uv_run(use: Use) -> Iterator[str]:
    """A command, or with `-m` a module, or a script by its name."""
    yield from _uv(use)
    if not use.inner:
        return
    words = use.inner[0]
    if use.has("-m", "--module"):
        use.inner[0] = (Word("python"), Word("-m"), *words)
    elif words[0].text.endswith(".py") and "://" not in words[0].text:
        use.inner[0] = (Word("python"), *words)


def _uv(use: Use) -> Iterator[str]:
    yield from option_values(use)
    for name, value in use.options:
        if name in ("-p", "--python") and value and not _PYTHON.fullmatch(value.text):
            yield f"`{value.text}` is not the version of a Python"


def _uv_format(use: Use) -> Iterator[str]:
    if not use.has("--check", "--diff"):
        yield from formats(use)


def _uv_add(use: Use) -> Iterator[str]:
    yield from _uv(use)
    yield from installs(use)


def _tox(use: Use) -> Iterator[str]:
    """What follows `--` is put into commands of the project: only plain words."""
    yield from option_words(use)
    before = use.operands if use.separated is None else use.operands[: use.separated]
    for word in before:
        if word.text not in ("run", "r", "run-parallel", "p", "list", "l", "auto", "all"):
            yield f"`tox {word.text}` is not known to be harmless"


def _nox(use: Use) -> Iterator[str]:
    yield from option_words(use)
    yield from option_values(use)


_UV = """
    -q --quiet -v --verbose --color=t --offline --no-progress -n --no-cache --no-config --managed-python
    --no-managed-python --no-python-downloads -h --help
"""
_UV_SYNC = f"""
    {_UV} --extra=t --all-extras --no-extra=t --dev --no-dev --only-dev --group=t --no-group=t --no-default-groups
    --only-group=t --all-groups --no-editable --exact --inexact --active --no-install-project --no-install-workspace
    --locked --frozen --dry-run --all-packages --package=t --no-sync --check -U --upgrade -P=t --upgrade-package=t
    --resolution=t --prerelease=t --exclude-newer=t --reinstall --reinstall-package=t --link-mode=t --compile-bytecode
    --no-build --refresh -p=t --python=t
"""
_UV_PIP = f"{_UV} -p=t --python=t --strict"
_UV_COMMANDS: dict[str, Program] = {
    "run": program(
        f"{_UV_SYNC} -m --module --isolated --no-project --no-env-file", "c", leading=True, check=_uv_run
    ),
    "sync": program(_UV_SYNC, project_code=True, check=_uv),
    "lock": program(_UV_SYNC, project_code=True, check=_uv),
    "add": program(
        f"{_UV_SYNC} --optional=t --bounds=t -r=r --requirements=r --raw",
        "t*", project_code=True, check=_uv_add,
    ),
    "remove": program(f"{_UV_SYNC} --optional=t", "t+", project_code=True, check=_uv_add),
    "tree": program(f"{_UV_SYNC} -d=t --depth=t --prune=t --no-dedupe --invert --outdated --universal", check=_uv),
    "export": program(
        f"{_UV_SYNC} --format=t --no-header --no-annotate --no-hashes --no-emit-project -o=w --output-file=w", check=_uv
    ),
    "venv": program(f"{_UV} -p=t --python=t --seed --prompt=t --system-site-packages --allow-existing", "w", check=_uv),
    "build": program(
        f"{_UV} --sdist --wheel --all-packages --package=t -o=w --out-dir=w",
        "p", project_code=True, check=_uv,
    ),
    "version": program(f"{_UV} --short --output-format=t"),
    "python": program(_UV, subcommands={
        "list": program(f"{_UV} --all-versions --only-installed"),
        "find": program(_UV, "t"),
    }),
    "cache": program(_UV, subcommands={"dir": program(_UV)}),
    "format": program(f"{_UV} --check --diff", check=_uv_format),
    "pip": program(_UV, subcommands={
        "install": program(
            f"""{_UV_PIP} -r=r --requirements=r --requirement=r -c=r --constraints=r -e=t --editable=t --extra=t
            --all-extras -U --upgrade -P=t --upgrade-package=t --reinstall --no-deps --dry-run --pre --require-hashes
            --no-build-isolation --only-binary=t --no-binary=t --compile-bytecode --resolution=t --prerelease=t""",
            "t*", project_code=True, check=_uv_add,
        ),
        "sync": program(f"{_UV_PIP} --dry-run --require-hashes --reinstall", "r+", project_code=True, check=_uv_add),
        "uninstall": program(f"{_UV_PIP} -r=r --requirements=r --dry-run", "t*", check=_uv_add),
        "list": program(f"{_UV_PIP} -e --editable --exclude-editable --exclude=t --format=t --outdated", check=_uv),
        "freeze": program(f"{_UV_PIP} --exclude-editable", check=_uv),
        "show": program(f"{_UV_PIP} -f --files", "t*", check=_uv),
        "tree": program(f"{_UV_PIP} -d=t --depth=t --prune=t --no-dedupe --invert --outdated", check=_uv),
        "check": program(_UV_PIP, check=_uv),
        "compile": program(
            f"{_UV_PIP} -o=w --output-file=w --extra=t --all-extras -U --upgrade -P=t --generate-hashes --universal",
            "r+", project_code=True, check=_uv,
        ),
    }),
}  # fmt: skip

_POETRY = "-q --quiet -v -vv -vvv --verbose --ansi --no-ansi -n --no-interaction --no-cache -h --help -V --version"
_POETRY_GROUPS = f"{_POETRY} --without=t --with=t --only=t"
_POETRY_COMMANDS: dict[str, Program] = {
    "run": program(_POETRY, "c", leading=True),
    **dict.fromkeys(("install", "sync"), program(
        f"""{_POETRY_GROUPS} --sync --no-root --no-directory --dry-run -E=t --extras=t --all-extras --all-groups
        --only-root --compile""",
        project_code=True, check=option_values,
    )),
    "update": program(f"{_POETRY_GROUPS} --sync --dry-run --lock", "t*", project_code=True, check=installs),
    "lock": program(f"{_POETRY} --regenerate --no-update", project_code=True),
    "add": program(
        f"""{_POETRY} -G=t --group=t -D --dev -E=t --extras=t --optional=t --python=t --allow-prereleases --dry-run
        --lock""",
        "t+", project_code=True, check=installs,
    ),
    "remove": program(f"{_POETRY} -G=t --group=t -D --dev --dry-run --lock", "t+", project_code=True, check=installs),
    "show": program(
        f"{_POETRY_GROUPS} -t --tree --why -l --latest -o --outdated -a --all -T --top-level --no-truncate", "t*",
        check=option_values,
    ),
    "check": program(f"{_POETRY} --lock --strict"),
    "build": program(f"{_POETRY} -f=t --format=t --clean", project_code=True, check=option_values),
    "env": program(_POETRY, subcommands={
        "info": program(f"{_POETRY} -p --path -e --executable"),
        "list": program(_POETRY),
    }),
    "version": program(f"{_POETRY} -s --short --dry-run", "t"),
}  # fmt: skip

_PDM = "-h --help -v --verbose -q --quiet"
_PDM_SYNC = f"""{_PDM} --dry-run --clean -r --reinstall -G=t --group=t --with=t --no-default -d --dev --prod
    --production --no-editable --no-self -x --fail-fast --no-lock --frozen-lockfile --check"""
_PDM_COMMANDS: dict[str, Program] = {
    "run": program(_PDM, "c", leading=True),
    **dict.fromkeys(("install", "sync", "lock"), program(_PDM_SYNC, project_code=True, check=option_values)),
    **dict.fromkeys(
        ("add", "remove", "update"), program(f"{_PDM_SYNC} --pre --no-sync", "t*", project_code=True, check=installs)
    ),
    "list": program(f"{_PDM} --freeze --tree --graph -r --reverse --json --csv", "t*"),
    "info": program(f"{_PDM} --python --where --packages --env --json"),
    "build": program(f"{_PDM} --no-sdist --no-wheel -d=w --dest=w", project_code=True),
}  # fmt: skip

_PIPENV = "-h --help -v --verbose -q --quiet"
_PIPENV_COMMANDS: dict[str, Program] = {
    "run": program(_PIPENV, "c", leading=True),
    **dict.fromkeys(
        ("install", "uninstall", "update", "upgrade"),
        program(
            f"{_PIPENV} -d --dev --deploy --pre --ignore-pipfile", "t*", project_code=True, check=installs
        ),
    ),
    **dict.fromkeys(("sync", "lock", "verify"), program(f"{_PIPENV} -d --dev --pre", project_code=True)),
    "graph": program(f"{_PIPENV} --bare --json --json-tree --reverse"),
}  # fmt: skip

_RUFF = "-v --verbose -q --quiet -s --silent -h --help --color=t --isolated"
_RUFF_FILES = f"""{_RUFF}
    --diff --preview --no-preview --target-version=t --extension=t --exclude=t --extend-exclude=t --respect-gitignore
    --no-respect-gitignore --force-exclude --no-force-exclude -n --no-cache --cache-dir=w --stdin-filename=t
    --output-format=t --line-length=t
"""


def _ruff(use: Use) -> Iterator[str]:
    yield from option_values(use)
    writes = use.has("--fix", "--fix-only", "--add-noqa") or (use.path[:1] == ("format",) and not use.has("--check"))
    if writes and not use.has("--diff"):
        yield from formats(use)


def _black(use: Use) -> Iterator[str]:
    yield from option_values(use)
    if not use.has("--check", "-c", "--check-only", "--diff", "--df"):
        yield from formats(use)


def _pylint(use: Use) -> Iterator[str]:
    """A reporter with a dot is a class of some module."""
    yield from option_values(use)
    for name, value in use.options:
        if (
            name in ("--output-format", "-f")
            and value
            and not re.fullmatch(r"text|colorized|json2?|parseable", value.text)
        ):
            yield f"the reporter `{value.text}` is not one of pylint's"


def _app(use: Use) -> Iterator[str]:
    """`module:attribute` of the project."""
    yield from option_values(use)
    for name, value in use.options:
        if name in ("--loop", "--http") and value and not value.text.isalnum():
            yield f"`{value.text}` is a module"
    use.modules += [word.text.partition(":")[0] for word in use.operands]


_LINTER = "r*"
PROGRAMS: dict[str, Program] = {
    "ruff": program(f"{_RUFF} -V --version", subcommands={
        "check": program(
            f"""{_RUFF_FILES} --fix --no-fix --unsafe-fixes --no-unsafe-fixes --show-fixes --no-show-fixes -w --watch
            --fix-only --ignore-noqa -o=w --output-file=w --statistics --add-noqa?t --show-files --show-settings
            --select=t --ignore=t --extend-select=t --extend-ignore=t --per-file-ignores=t --fixable=t --unfixable=t
            -e --exit-zero --exit-non-zero-on-fix""",
            _LINTER, check=_ruff,
        ),
        "format": program(f"{_RUFF_FILES} --check --range=t --exit-non-zero-on-format", _LINTER, check=_ruff),
        "rule": program(f"{_RUFF} --all --output-format=t", "t"),
        "linter": program(f"{_RUFF} --output-format=t"),
        "config": program(f"{_RUFF} --output-format=t", "t"),
        "clean": program(_RUFF),
        "version": program(f"{_RUFF} --output-format=t"),
    }),
    "black": program(
        """-l=t --line-length=t -t=t --target-version=t --pyi --ipynb -x --skip-source-first-line -S
        --skip-string-normalization -C --skip-magic-trailing-comma --preview --unstable --check --diff --color
        --no-color --fast --safe --exclude=t --extend-exclude=t --force-exclude=t --include=t -W=t --workers=t -q
        --quiet -v --verbose --version --no-cache -h --help""",
        _LINTER, check=_black,
    ),
    "isort": program(
        """-V --version -v --verbose -q --quiet -c --check-only --check --df --diff --profile=t -j=t --jobs=t --ac
        --atomic -s=t --skip=t --extend-skip=t --sg=t --skip-glob=t --gitignore --skip-gitignore --filter-files
        --float-to-top --ca --combine-as -l=t -w=t --line-length=t --sl --force-single-line-imports --tc
        --trailing-comma --color --py=t --python-version=t --fss --force-sort-within-sections -h --help""",
        _LINTER, check=_black,
    ),
    "mypy": program(
        """-h --help -v --verbose -V --version -O=t --output=t --config-file=x --warn-unused-configs
        --no-namespace-packages --namespace-packages --ignore-missing-imports --follow-untyped-imports
        --follow-imports=t --no-site-packages --no-silence-site-packages --python-version=t --platform=t
        --always-true=t --always-false=t --disallow-any-expr --disallow-any-decorated --disallow-any-explicit
        --disallow-any-generics --disallow-any-unimported --disallow-subclassing-any --disallow-untyped-calls
        --disallow-untyped-defs --disallow-incomplete-defs --check-untyped-defs --disallow-untyped-decorators
        --implicit-optional --no-implicit-optional --no-strict-optional --strict-optional --warn-redundant-casts
        --warn-unused-ignores --no-warn-no-return --warn-return-any --warn-unreachable --allow-untyped-globals
        --allow-redefinition --no-implicit-reexport --implicit-reexport --strict-equality --extra-checks --strict
        --disable-error-code=t --enable-error-code=t --show-error-context --show-column-numbers --show-error-end
        --hide-error-codes --show-error-codes --show-error-code-links --pretty --no-pretty --no-color-output
        --no-error-summary --show-absolute-path --no-incremental --cache-dir=w --sqlite-cache --skip-version-check
        --show-traceback --tb --junit-xml=w --html-report=w --txt-report=w --xml-report=w --linecount-report=w
        --any-exprs-report=w --explicit-package-bases --exclude=t
        --scripts-are-modules""",
        _LINTER, project_code=True, check=option_values,
    ),
    "dmypy": program(subcommands={"status": program(), "stop": program()}),
    "pyright": program(
        """-h --help --outputjson -p=x --project=x --pythonplatform=t --pythonversion=t --skipunannotated --stats
        --verbose --verifytypes=t --ignoreexternal --version --warnings --level=t --dependencies -w --watch""",
        _LINTER, check=option_values,
    ),
    "flake8": program(
        """-h --help -v --verbose --output-file=w --isolated --version -q --quiet --color=t --count --exclude=t
        --extend-exclude=t --filename=t --hang-closing --ignore=t --extend-ignore=t --per-file-ignores=t
        --max-line-length=t --max-doc-length=t --indent-size=t --select=t --extend-select=t --disable-noqa --show-source
        --no-show-source --statistics --exit-zero -j=t --jobs=t --tee --benchmark --max-complexity=t --doctests""",
        _LINTER, project_code=True, check=option_values,
    ),
    "pylint": program(
        """-h --help --version --output=w -E --errors-only -v --verbose --ignore=t --ignore-patterns=t --ignore-paths=t
        --fail-under=t --fail-on=t -j=t --jobs=t --exit-zero --recursive=t --py-version=t --output-format=t -f=t
        --reports=t -r=t --score=t -s=t --enable=t -e=t --disable=t -d=t --max-line-length=t --list-msgs
        --list-msgs-enabled""",
        _LINTER, project_code=True, check=_pylint,
    ),
    "build": program(
        "-s --sdist -w --wheel -n --no-isolation -x -o=w --outdir=w -v --verbose -V --version",
        "p", project_code=True,
    ),
    "tox": program(
        """-e=t -f=t -m=t -q --quiet -v --verbose -r --recreate -p?t --parallel?t -l --listenvs --version -h --help -s=t
        --skip-missing-interpreters=t --notest -n --skip-pkg-install --colored=t""",
        "t*", project_code=True, check=_tox,
    ),
    "nox": program(
        """-h --help --version -s=t -e=t --session=t --sessions=t -t=t --tags=t -l --list --list-sessions --json -p=t
        --python=t --pythons=t -r --reuse-existing-virtualenvs -R -N -x --stop-on-first-error --install-only
        --no-install --no-venv --non-interactive --report=w -v --verbose --nocolor --no-color --forcecolor
        --force-color""",
        "t*", project_code=True, check=_nox,
    ),
    "pre-commit": program("--version -V -h --help", subcommands={
        "run": program(
            """--color=t -v --verbose -a --all-files --files=r --show-diff-on-failure --fail-fast --hook-stage=t
            --from-ref=t --source=t -s=t --to-ref=t --origin=t -o=t""",
            "r*", project_code=True, check=option_values,
        ),
        "validate-config": program("", "r*"),
    }),
    "alembic": program("--version -h --help -q --raiseerr", subcommands={
        **dict.fromkeys(("upgrade", "downgrade", "stamp"), program("--sql --tag=t", "t*", project_code=True)),
        **dict.fromkeys(("current", "heads", "branches", "check", "history", "show"), program(
            "-v --verbose -r=t --rev-range=t -i --indicate-current --resolve-dependencies", "t*", project_code=True
        )),
        "revision": program("-m=t --message=t --autogenerate --rev-id=t --head=t", "", project_code=True),
    }),
    "uv": program(f"{_UV} -V --version", subcommands=_UV_COMMANDS),
    "poetry": program(_POETRY, subcommands=_POETRY_COMMANDS),
    "pdm": program(f"{_PDM} -V --version", subcommands=_PDM_COMMANDS),
    "pipenv": program(f"{_PIPENV} --version --where --venv --py", subcommands=_PIPENV_COMMANDS),
    "hatch": program("-h --help --version -v --verbose -q --quiet", subcommands={
        "build": program("-t=t --target=t -c --clean", project_code=True),
        "version": program("", "t"),
        "test": program(
            """-r --randomize -p --parallel --retries=t --retry-delay=t -c --cover --cover-quiet --cover-xml -a --all -s
            --show""",
            "x*", project_code=True, check=_nox,
        ),
        "fmt": program("--check -l --linter -f --formatter", project_code=True),
        "env": program(subcommands={"show": program("--ascii --json", "t*")}),
    }),
    "uvicorn": program(
        """--reload --host=t --port=t --workers=t --log-level=t --factory --access-log --no-access-log --use-colors
        --no-use-colors --version --lifespan=t --loop=t --http=t --reload-dir=l --timeout-keep-alive=t""",
        "t", project_code=True, check=_app,
    ),
}  # fmt: skip
