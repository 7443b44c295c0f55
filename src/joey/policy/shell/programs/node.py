"""node, npm and the other package managers.

npm reads its options anywhere before `--`, and a value only if it does not look like an option. Scripts of the project
are run by their names; what follows `--` is for them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from joey.policy.shell.options import Program, Use, option_values, program, unknown_words
from joey.policy.shell.programs import node_tools

_PACKAGE = re.compile(r"(?:@[a-z0-9~][\w.~-]*/)?[a-z0-9~][\w.~-]*(?:@(?:[\w^~<>=*][\w.^~<>=*| +-]*)?)?", re.IGNORECASE)
_ARCHIVE = re.compile(r".*\.(?:tgz|tar|tar\.gz)", re.IGNORECASE)
_REPORTERS = frozenset({"spec", "tap", "dot", "junit", "lcov"})


def _node(use: Use) -> Iterator[str]:
    """A script of the project, or its tests. Without either, node reads code from its input."""
    yield from option_values(use)
    for name, value in use.options:
        if name == "--test-reporter" and value and value.text not in _REPORTERS:
            yield f"the reporter `{value.text}` is a module"
    if use.has("--test"):
        use.files += [("run", word) for word in use.operands[1:]]
        return
    if use.has("-v", "--version", "-h", "--help"):
        return
    if not use.operands or use.operands[0].text in ("-", "inspect", "debug"):
        yield "node takes the code it runs from its input"


def npm_packages(use: Use) -> Iterator[str]:
    """Packages by name from the registry: no address, archive, folder or repository."""
    yield from option_values(use)
    yield from unknown_words(use)
    for word in use.operands:
        if word.glob or not _PACKAGE.fullmatch(word.text) or _ARCHIVE.fullmatch(word.text):
            yield f"`{word.text}` is not the plain name of a package"


def _npm_view(use: Use) -> Iterator[str]:
    fields, use.operands = use.operands[1:], use.operands[:1]
    yield from npm_packages(use)
    use.operands += fields


def _npm_init(use: Use) -> Iterator[str]:
    if not use.has("-y", "--yes"):
        yield "it asks questions; use `npm init -y`"


_NODE = program(
    """-v --version -h --help -c --check --test --test-only --test-name-pattern=t --test-skip-pattern=t
        --test-reporter=t --test-reporter-destination=w --test-concurrency=t --test-timeout=t --test-force-exit
        --test-update-snapshots --experimental-test-coverage --watch --watch-preserve-output --enable-source-maps
        --no-warnings --trace-warnings --trace-uncaught --trace-deprecation --no-deprecation --throw-deprecation
        --pending-deprecation --unhandled-rejections=t --max-old-space-size?t --stack-trace-limit?t
        --experimental-strip-types --experimental-vm-modules --experimental-sqlite --expose-gc --use-strict
        --preserve-symlinks""",
    "x b",
    leading=True,
    project_code=True,
    check=_node,
)

_NPM = """
    -s --silent -q --quiet -d --verbose --loglevel?t --json --no-color --color?t --no-progress --progress --no-fund
    --no-audit --no-update-notifier -w=t --workspace=t -ws --workspaces --include-workspace-root -h --help
"""
_NPM_INSTALL = f"""{_NPM}
    --ignore-scripts --omit?t --include?t --legacy-peer-deps --strict-peer-deps --prefer-offline --prefer-online
    --offline --no-package-lock --package-lock-only --production --dry-run --no-bin-links --foreground-scripts --no-save
"""
_NPM_ADD = f"""{_NPM_INSTALL}
    -D --save-dev -S --save -P --save-prod -O --save-optional -E --save-exact --save-peer
"""
# What people forget to put behind `--`: npm takes these for settings that it does not have, and the script sees them.
_FORGOTTEN = "--coverage --watch --watchAll --ci --bail --updateSnapshot --runInBand --headless"
_NPM_SCRIPT = program(
    f"{_NPM} --if-present --ignore-scripts {_FORGOTTEN}", "t*", project_code=True, check=option_values
)
_NPM_CI = program(_NPM_INSTALL, project_code=True, check=option_values)
_NPM_NAMES = program(_NPM_ADD, "t*", project_code=True, check=npm_packages)
_NPM_LIST = program(
    f"{_NPM} -a --all --depth?t -l --long -p --parseable --link --omit?t --include?t --package-lock-only", "t*",
    check=npm_packages,
)  # fmt: skip

_NPM_COMMANDS: dict[str, Program] = {
    **dict.fromkeys(("run", "run-script", "test", "t", "tst", "start", "stop", "restart"), _NPM_SCRIPT),
    **dict.fromkeys(("ci", "clean-install", "install-clean", "install-ci-test", "cit"), _NPM_CI),
    **dict.fromkeys(("install", "i", "add", "update", "up", "upgrade", "uninstall", "remove", "rm", "un"), _NPM_NAMES),
    **dict.fromkeys(("dedupe", "ddp", "prune", "rebuild"), _NPM_CI),
    **dict.fromkeys(("ls", "list", "la", "ll", "outdated", "why", "explain"), _NPM_LIST),
    "audit": program(
        f"{_NPM} --audit-level?t --omit?t --include?t --production --package-lock-only",
        subcommands={"signatures": program(_NPM)}, check=option_values,
    ),
    **dict.fromkeys(("view", "info", "show", "v"), program(_NPM, "t*", check=_npm_view)),
    "fund": program(_NPM),
    "root": program(_NPM),
    "prefix": program(_NPM),
    "ping": program(_NPM),
    "pkg": program(_NPM, subcommands={"get": program(_NPM, "t*")}),
    "init": program(f"{_NPM} -y --yes", check=_npm_init),
    "pack": program(f"{_NPM} --dry-run", project_code=True),
}  # fmt: skip

# yarn, pnpm, bun: `run NAME` falls back to a tool of that name, so the name must be a customary one, or have a colon.

_SCRIPT = re.compile(
    r"(?:test|tests|build|lint|format|fmt|dev|start|stop|check|typecheck|type-check|types|compile|clean|coverage|docs|e2e"
    r"|unit|generate|codegen|prepare|preview|ci|verify|validate|storybook|watch|serve)(?::[\w:.-]+)?"
)


def _script(use: Use) -> Iterator[str]:
    yield from option_values(use)
    if use.operands and not _SCRIPT.fullmatch(use.operands[0].text):
        yield f"`{use.operands[0].text}` may be a tool instead of a script of the project"


_PM = "-h --help -s --silent --verbose --color?t --no-color --no-progress --json"
_PM_INSTALL = f"""{_PM}
    --frozen-lockfile --no-frozen-lockfile --immutable --immutable-cache --check-cache --ignore-scripts --prefer-offline
    --offline --production --prod -P --dev --no-optional --non-interactive --pure-lockfile --lockfile-only --force
    --skip-builds --inline-builds --ignore-optional --check-files --flat --no-lockfile --fix-lockfile --dry-run -r
    --recursive
"""
_PM_ADD = (
    f"{_PM_INSTALL} -D --save-dev -E --exact --save-exact -O --optional --save-optional -T --tilde -W -w --save-peer"
)
_PM_RUN = program(
    f"{_PM} --if-present -r --recursive --parallel --stream", "t*", leading=True, project_code=True, check=_script
)
_PM_NAMED = program(project_code=True, reader=lambda _words, _use: iter(()))
"""A script by its name alone: all that follows is for it."""
_PM_COMMANDS: dict[str, Program] = {
    **dict.fromkeys(("install", "i"), program(_PM_INSTALL, project_code=True, check=option_values)),
    **dict.fromkeys(
        ("add", "remove", "upgrade", "up", "update"), program(_PM_ADD, "t*", project_code=True, check=npm_packages)
    ),
    **dict.fromkeys(("run", "run-script"), _PM_RUN),
    **dict.fromkeys(("test", "start", "build", "lint", "format", "dev", "typecheck", "check"), _PM_NAMED),
    **dict.fromkeys(("list", "ls", "why", "outdated"), program(
        f"{_PM} --depth=t --pattern=t -r --recursive --prod --dev --long -R", "t*", check=npm_packages
    )),
    **dict.fromkeys(("info", "view"), program(_PM, "t*", check=_npm_view)),
    "audit": program(f"{_PM} --level=t --audit-level=t --prod --dev", check=option_values),
}  # fmt: skip
_YARN = program(f"{_PM_INSTALL} -v --version", subcommands=_PM_COMMANDS, project_code=True)
_PNPM = program(
    f"{_PM} -v --version -r --recursive -F=t --filter=t -w --workspace-root", project_code=True, check=option_values,
    subcommands={**_PM_COMMANDS, "t": _PM_NAMED, "exec": program(_PM, "c", leading=True)},
)  # fmt: skip
_BUN = program("-v --version -h --help", project_code=True, subcommands={
    **{name: _PM_COMMANDS[name] for name in ("install", "i", "add", "remove", "update", "outdated")},
    "run": _PM_RUN,
    "test": program(
        "-t=t --test-name-pattern=t --timeout=t --coverage --bail?t -u --watch --only --todo",
        "x*", project_code=True,
    ),
})  # fmt: skip


def _npx(use: Use) -> Iterator[str]:
    """What is not installed would be fetched and run."""
    use.installed += use.path[:1]
    yield from ()
    if not use.path and not use.has("-h", "--help", "-v", "--version"):
        yield "npx takes what it runs from its input"


_NPX = program("--no-install --no -h --help --version -v", subcommands=node_tools.PROGRAMS, check=_npx)

PROGRAMS: dict[str, Program] = {
    "node": _NODE,
    "npm": program(f"{_NPM} -v --version", subcommands=_NPM_COMMANDS, check=option_values),
    **dict.fromkeys(("yarn", "yarnpkg"), _YARN),
    "pnpm": _PNPM,
    "bun": _BUN,
    **dict.fromkeys(("npx", "bunx", "pnpx"), _NPX),
    **node_tools.PROGRAMS,
}
