"""node, npm and the other package managers.

npm reads its options anywhere before `--`, and a value only if it does not look like an option. Scripts of the project
are run by their names; what follows `--` is for them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from joey.policy.shell.options import Program, Use, option_values, program, unknown_words

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
_NPM_SCRIPT = program(f"{_NPM} --if-present --ignore-scripts", "t*", project_code=True, check=option_values)
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

PROGRAMS: dict[str, Program] = {
    "node": _NODE,
    "npm": program(f"{_NPM} -v --version", subcommands=_NPM_COMMANDS, check=option_values),
}
