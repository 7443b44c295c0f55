"""Tools that projects of JavaScript install: compilers, linters, formatters, test runners, bundlers.

Their configuration is code of the project. Reporters, formatters, environments and plugins are modules by name: only
those that come with the tool are known.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from joey.policy.shell.options import Check, Program, Use, option_values, program
from joey.policy.shell.programs.python_tools import formats

_REPORTERS = re.compile(
    r"(?:default|verbose|basic|dot|line|json|junit|tap|tap-flat|hanging-process|github-actions|tree|blob|agent|minimal"
    r"|spec|list|min|nyan|landing|progress|html|doc|markdown|json-stream|xunit|stylish|json-with-metadata|compact|unix)"
)


def _plain(*names: str) -> Check:
    """`names` are options whose value may be a module."""

    def check(use: Use) -> Iterator[str]:
        yield from option_values(use)
        for name, value in use.options:
            if name in names and value and not _REPORTERS.fullmatch(value.text):
                yield f"`{name} {value.text}` may load a module"

    return check


def _tsc(use: Use) -> Iterator[str]:
    yield from option_values(use)
    if any(word.text.startswith("@") for word in use.operands):
        yield "tsc takes options from a file"
    if any(word.text in ("true", "false") for word in use.operands):
        yield "`true` or `false` is the value of an option, as in `--noEmit false`"


def _eslint(use: Use) -> Iterator[str]:
    yield from _plain("-f", "--format")(use)
    if use.has("--fix"):
        yield from formats(use)


def _prettier(use: Use) -> Iterator[str]:
    yield from option_values(use)
    for name, value in use.options:
        if name == "--parser" and value and not value.text.isalnum():
            yield f"the parser `{value.text}` may be a module"
    if use.has("-w", "--write"):
        yield from formats(use)
        for word in use.operands:  # it also formats JSON, YAML and Markdown, in which protected files are written
            use.files += [("tree", word), ("fill", word)]


def _biome(use: Use) -> Iterator[str]:
    yield from option_values(use)
    if use.has("--write", "--fix"):
        yield from formats(use)


def _script(use: Use) -> Iterator[str]:
    """A script of the project; without one, or with `-`, the code comes from the input. `tsx watch X` runs X."""
    if use.has("-h", "--help", "-v", "--version"):
        return
    if not use.operands or use.operands[0].text in ("-", "watch"):
        yield "it is not given a script of the project"


_TSC_FLAGS = """
    --noEmit --watch -w --build -b --force -f --clean --dry --verbose --strict --skipLibCheck --pretty --incremental -i
    --composite --declaration -d --declarationMap --emitDeclarationOnly --sourceMap --inlineSourceMap --removeComments
    --noEmitOnError --esModuleInterop --allowSyntheticDefaultImports --allowJs --checkJs --resolveJsonModule
    --isolatedModules --noUnusedLocals --noUnusedParameters --noImplicitAny --noImplicitReturns --noImplicitThis
    --noImplicitOverride --noUncheckedIndexedAccess --noFallthroughCasesInSwitch --strictNullChecks
    --strictFunctionTypes --strictPropertyInitialization --exactOptionalPropertyTypes --experimentalDecorators
    --emitDecoratorMetadata --forceConsistentCasingInFileNames --allowImportingTsExtensions --verbatimModuleSyntax
    --listFiles --listFilesOnly --listEmittedFiles --explainFiles --diagnostics --extendedDiagnostics --traceResolution
    --showConfig --noErrorTruncation --preserveWatchOutput --version -v --help -h --all --init
"""
_TSC = program(
    f"""{_TSC_FLAGS} --project=r -p=r --target=t -t=t --module=t -m=t --moduleResolution=t --lib=t --jsx=t --types=t
    --outDir=w --outFile=w --declarationDir=w --rootDir=r --baseUrl=r --tsBuildInfoFile=w""",
    "r*",
    check=_tsc,
)
_ESLINT = program(
    """--ext=t --global=t --env=t --rule=t --fix --fix-dry-run --fix-type=t --no-ignore --ignore-pattern=t --quiet
    --max-warnings=t -o=w --output-file=w -f=t --format=t --color --no-color --no-inline-config
    --report-unused-disable-directives --cache --cache-file=w --cache-location=w --cache-strategy=t
    --no-error-on-unmatched-pattern --no-warn-ignored --pass-on-no-patterns --debug -h --help -v --version
    --print-config=r --stats --env-info -c=x --config=x --ignore-path=r --no-eslintrc --no-config-lookup
    --concurrency=t""",
    "r*",
    project_code=True,
    check=_eslint,
)
_PRETTIER = program(
    """-c --check -l --list-different -w --write --arrow-parens=t --bracket-same-line --no-bracket-spacing
        --end-of-line=t --html-whitespace-sensitivity=t --jsx-single-quote --object-wrap=t --parser=t --print-width=t
        --prose-wrap=t --quote-props=t --no-semi --single-attribute-per-line --single-quote --tab-width=t
        --trailing-comma=t --use-tabs --config=x --no-config --no-editorconfig --ignore-path=r --cache
        --cache-location=w --cache-strategy=t --no-color --no-error-on-unmatched-pattern -h --help -u --ignore-unknown
        --log-level=t --find-config-path=l --file-info=l --stdin-filepath=t --support-info -v --version""",
    "r*",
    project_code=True,
    check=_prettier,
)
_VITEST = """
    -v --version -h --help -u --update -w --watch --run -t=t --testNamePattern=t --silent?t --reporter=t --outputFile=w
    --coverage --coverage.enabled --mode=t --isolate --no-isolate --globals --maxWorkers=t
    --fileParallelism --no-file-parallelism --passWithNoTests --logHeapUsage --allowOnly --shard=t --changed?t
    --testTimeout=t --hookTimeout=t --bail=t --retry=t --exclude=t --typecheck --project=t --no-color --no-cache
    --printConsoleTrace --dom
"""
_JEST = program(
    """-h --help --version --all -b?t --bail?t --cache --no-cache --changedSince=t --ci --no-ci --clearCache
        --clearMocks --collectCoverage --collectCoverageFrom=t --color --colors --no-color --coverage --no-coverage
        --coverageDirectory=w --coverageProvider=t --debug --detectLeaks --detectOpenHandles -e --expand
        --findRelatedTests --forceExit --json --lastCommit --listTests --logHeapUsage --maxConcurrency=t -w=t
        --maxWorkers=t --noStackTrace -o --onlyChanged -f --onlyFailures --outputFile=w --passWithNoTests --randomize
        --resetMocks --restoreMocks -i --runInBand --seed=t --shard=t --showSeed --silent --testLocationInResults -t=t
        --testNamePattern=t --testPathIgnorePatterns=t --testPathPattern=t --testPathPatterns=t --testTimeout=t -u
        --updateSnapshot --useStderr --verbose --watch?t --watchAll?t --no-watchman""",
    "t*",
    project_code=True,
    check=option_values,
)
_MOCHA = program(
    """--extension=t --ignore=t --exclude=t --allow-uncaught -A --async-only -b --bail --check-leaks -c --color --colors
    --diff --no-diff --dry-run --exit --forbid-only --forbid-pending --full-trace --inline-diffs -i --invert
    --list-reporters -C --no-colors -p --parallel --recursive -S --sort -w --watch --retries=t -j=t --jobs=t -f=t
    --fgrep=t -g=t --grep=t -R=t --reporter=t -s=t --slow=t -t=t --timeout=t -h --help -V --version""",
    "x*",
    project_code=True,
    check=_plain("-R", "--reporter"),
)
_VITE = "-l=t --logLevel=t --clearScreen -m=t --mode=t --base=t -d?t --debug?t -f=t --filter=t -h --help -v --version"
_SERVER = f"{_VITE} --host?t --port=t --cors --strictPort --force"
_BIOME = program(
    """--write --fix --unsafe --staged --changed --since?t --only?t --skip?t --colors?t --verbose --max-diagnostics?t
    --skip-parse-errors --no-errors-on-unmatched --error-on-warnings --reporter?t --diagnostic-level?t
    --formatter-enabled?t --linter-enabled?t --assist-enabled?t -h --help""",
    "r*",
    check=_biome,
)

PROGRAMS: dict[str, Program] = {
    "tsc": _TSC,
    "vue-tsc": _TSC,
    "eslint": _ESLINT,
    "prettier": _PRETTIER,
    "vitest": program(_VITEST, "t*", project_code=True, check=_plain("--reporter")),
    "jest": _JEST,
    "mocha": _MOCHA,
    "playwright": program("-V --version -h --help", subcommands={
        "test": program(
            """--fail-on-flaky-tests --forbid-only --fully-parallel -g=t --grep=t -G=t --grep-invert=t
        --headed --ignore-snapshots -j=t --workers=t --last-failed --list --max-failures=t --no-deps --only-changed?t
        --output=w --pass-with-no-tests --project=t --quiet --repeat-each=t --reporter=t --retries=t --shard=t
        --timeout=t --trace=t -u --update-snapshots -x -h --help""",
            "t*", project_code=True, check=_plain("--reporter"),
        ),
    }),
    "vite": program(_SERVER, project_code=True, check=option_values, subcommands={
        "build": program(
            f"""{_VITE} --target=t --outDir=w --assetsDir=t --assetsInlineLimit=t --sourcemap?t --minify?t --manifest?t
            -w --watch""",
            "p", project_code=True, check=option_values,
        ),
        **dict.fromkeys(("dev", "serve", "preview"), program(_SERVER, "p", project_code=True, check=option_values)),
    }),
    "next": program("-v --version -h --help", subcommands={
        "build": program("-d --debug --no-lint --profile --turbo --turbopack --no-mangling", "p", project_code=True),
        **dict.fromkeys(
            ("dev", "start"),
            program("-p=t --port=t -H=t --hostname=t --turbo --turbopack", "p", project_code=True, check=option_values),
        ),
        "lint": program("-d=p --dir=p --file=r --quiet --strict --max-warnings=t", "p", project_code=True),
        "info": program(),
    }),
    "biome": program("--version -V --help -h", subcommands={
        **dict.fromkeys(("check", "lint", "format", "ci"), _BIOME),
        "version": program(),
    }),
    "tsx": program("-h --help --no-cache -v --version", "x b", leading=True, project_code=True, check=_script),
    "ts-node": program(
        "-h --help -v --version -T --transpileOnly --transpile-only --esm --files --swc", "x b", leading=True,
        project_code=True, check=_script,
    ),
    "nodemon": program(
        "-q --quiet -V --verbose -v --version -e=t --ext=t",
        "x b", leading=True, project_code=True, check=_script,
    ),
    "depcheck": program("--json --ignores=t", "p"),
    "rimraf": program("", "k+"),
}  # fmt: skip
