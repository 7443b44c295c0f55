"""Ruby, PHP, .NET, Swift and Terraform: the part of each that people run all day in a project of their own."""

from __future__ import annotations

import re
from collections.abc import Iterator

from joey.policy.shell.options import Check, Program, Use, option_values, program, unknown_words
from joey.policy.shell.plain import Word
from joey.policy.shell.programs.compilers import targets
from joey.policy.shell.programs.python_tools import formats

_GEM = re.compile(r"[A-Za-z0-9][\w.-]*")
_COMPOSER = re.compile(r"[a-z0-9][\w.-]*/[a-z0-9][\w.-]*(?::[\w.^~*|-]+)?|php|ext-\w+", re.IGNORECASE)
_NUGET = re.compile(r"[A-Za-z0-9][\w.-]*")
_FORMATS = frozenset(
    {"p", "progress", "d", "documentation", "doc", "j", "json", "h", "html", "f", "failures", "simple", "emacs"}
)


def _script(use: Use) -> Iterator[str]:
    shows = use.has("-v", "--version", "-h", "--help", "-i", "-m")
    if (not use.operands and not shows) or any(word.text == "-" for word in use.operands[:1]):
        yield "it takes the code it runs from its input"
    if [word.text.rsplit("/", 1)[-1] for word in use.operands[:2]] == ["artisan", "tinker"]:
        yield "`artisan tinker` runs code that it is given"


def _names(pattern: re.Pattern[str]) -> Check:
    def check(use: Use) -> Iterator[str]:
        yield from option_values(use)
        yield from unknown_words(use)
        for word in use.operands:
            if not pattern.fullmatch(word.text):
                yield f"`{word.text}` is not the plain name of a package"

    return check


_PLACES_BACKWARDS = re.compile(r"(?:\d++:)++|\][\d:,]+\[")


def _rspec(use: Use) -> Iterator[str]:
    """Files with lines or ids: `spec/a_spec.rb:12`, `spec/a_spec.rb[1:2]`."""
    yield from option_values(use)
    yield from unknown_words(use)
    for name, value in use.options:
        if name in ("-f", "--format") and value and value.text not in _FORMATS:
            yield f"the format `{value.text}` may be a class that is loaded"
    for word in use.operands:
        places = _PLACES_BACKWARDS.match(word.text[::-1])
        name = word.text[: -places.end()] if places else word.text
        use.files.append(("run", Word(name, word.glob)))


def _rubocop(use: Use) -> Iterator[str]:
    yield from option_values(use)
    for name, value in use.options:
        if name in ("-f", "--format") and value and value.text not in _FORMATS:
            yield f"the format `{value.text}` may be a class that is loaded"
    if use.has("-a", "-A", "--autocorrect", "--autocorrect-all"):
        yield from formats(use)


def _dotnet(use: Use) -> Iterator[str]:
    """Options of MSBuild have one dash (`-flp:…`) or begin with `/`, and `@` names a file of them."""
    yield from option_values(use)
    before = use.operands if use.separated is None else use.operands[: use.separated]
    for word in before:
        if word.text.startswith(("/", "@")):
            yield f"`{word.text}` may be an option"


def _terraform_fmt(use: Use) -> Iterator[str]:
    if not use.has("-check"):
        yield from formats(use)


_BUNDLE_INSTALL = "--jobs=t -j=t --retry=t --quiet --local --frozen --full-index --prefer-local"
_BUNDLE: dict[str, Program] = {
    "install": program(_BUNDLE_INSTALL, project_code=True, check=option_values),
    "exec": program("", "c", leading=True),
    "check": program("--dry-run"),
    "list": program("--name-only --paths --only-group=t --without-group=t"),
    "outdated": program("--strict --parseable --only-explicit", "t*"),
    "show": program("--paths", "t"),
    "info": program("--path", "t"),
    "update": program(
        f"{_BUNDLE_INSTALL} --all --patch --minor --conservative",
        "t*", project_code=True, check=_names(_GEM),
    ),
    "add": program(
        "--version=t -v=t --group=t -g=t --skip-install --strict --optimistic",
        "t+", project_code=True, check=_names(_GEM),
    ),
    "lock": program("--update --local"),
}  # fmt: skip

_COMPOSER_GLOBAL = (
    "-q --quiet -v -vv -vvv --verbose -n --no-interaction --ansi --no-ansi --no-cache -h --help -V --version"
)
_COMPOSER_INSTALL = f"""
    {_COMPOSER_GLOBAL} --prefer-dist --prefer-source --dry-run --dev --no-dev --no-scripts --no-progress
    --no-autoloader -o --optimize-autoloader -a --classmap-authoritative --no-suggest --ignore-platform-reqs
"""
_COMPOSER_COMMANDS: dict[str, Program] = {
    "install": program(_COMPOSER_INSTALL, project_code=True),
    **dict.fromkeys(
        ("require", "remove", "update"),
        program(
            f"{_COMPOSER_INSTALL} -w --with-dependencies -W --no-update --lock", "t*", project_code=True,
            check=_names(_COMPOSER),
        ),
    ),
    "validate": program(f"{_COMPOSER_GLOBAL} --strict --no-check-all --no-check-publish"),
    **dict.fromkeys(("show", "outdated", "why", "depends", "audit", "check-platform-reqs", "diagnose"), program(
        f"{_COMPOSER_GLOBAL} -D --direct -t --tree -i --installed -l --latest --format=t", "t*", check=option_values
    )),
    **dict.fromkeys(("dump-autoload", "dumpautoload"), program(f"{_COMPOSER_GLOBAL} -o --optimize -a --no-scripts")),
    **dict.fromkeys(("test", "lint", "analyse", "format"), program(_COMPOSER_GLOBAL, project_code=True)),
    **dict.fromkeys(("run-script", "run"), program(f"{_COMPOSER_GLOBAL} -l --list --no-dev", "t", project_code=True)),
}  # fmt: skip
_PHPUNIT = program(
    """--filter=t --testsuite=t --exclude-testsuite=t --group=t --exclude-group=t --testdox --stop-on-failure
    --stop-on-error --stop-on-defect --order-by=t --random-order --coverage-text --no-coverage --no-progress --colors?t
    --debug --list-tests --list-suites --version -h --help --log-junit=w --fail-on-warning --fail-on-risky
    --display-warnings --display-deprecations --no-output""",
    "x*",
    project_code=True,
    check=option_values,
)

_DOTNET = "-v=t --verbosity=t --nologo -h --help --interactive?t --no-restore --tl?t"
_DOTNET_BUILD = f"""{_DOTNET}
    -c=t --configuration=t -f=t --framework=t -r=t --runtime=t --no-build --no-dependencies --force -o=w --output=w
"""
_DOTNET_COMMANDS: dict[str, Program] = {
    **dict.fromkeys(
        ("build", "clean", "publish", "pack"), program(_DOTNET_BUILD, "x", words=True, project_code=True, check=_dotnet)
    ),
    "restore": program(
        f"{_DOTNET} --force --no-cache --locked-mode --use-lock-file",
        "x", words=True, project_code=True, check=_dotnet,
    ),
    "test": program(
        f"{_DOTNET_BUILD} --filter=t --list-tests --results-directory=w",
        "x", words=True, project_code=True, check=_dotnet,
    ),
    "run": program(
        f"{_DOTNET_BUILD} --project=x --no-launch-profile --launch-profile=t --",
        "t*", leading=True, words=True, project_code=True, check=_dotnet,
    ),
    "format": program(
        f"{_DOTNET} --verify-no-changes --include=r --exclude=t --severity=t",
        "x", words=True, project_code=True, check=_dotnet,
    ),
    "list": program(subcommands={
        "package": program("--outdated --vulnerable --deprecated --include-transitive"),
        "reference": program(),
    }),
    "sln": program(subcommands={"list": program()}),
    "add": program(subcommands={
        "package": program("-v=t --version=t --prerelease --no-restore", "t", project_code=True, check=_names(_NUGET)),
    }),
}  # fmt: skip

_SWIFT = "-c=t --configuration=t -v --verbose -q --quiet -j=t --jobs=t --product=t --target=t"
_FMT = "-check -recursive -diff -list?t -no-color"


def _perl(use: Use) -> Iterator[str]:
    """A script of the project; modules by name only, since `-M` takes code as well."""
    for name, value in use.options:
        if name == "-M" and (value is None or not re.fullmatch(r"strict|warnings|utf8|feature=say", value.text)):
            yield "what `-M` of perl loads is not known to be harmless"
    if not use.operands and not use.has("-v", "-V", "-h"):
        yield "perl takes the code it runs from its input"


PROGRAMS: dict[str, Program] = {
    "perl": program("-w -W -X -c -T -t -v -V -h -M=t", "x b", leading=True, project_code=True, check=_perl),
    "ruby": program("-c -w -W -v --version -h --help", "x b", leading=True, project_code=True, check=_script),
    "rake": program(
        "-T?t --tasks?t -P --prereqs -q --quiet -s --silent -v --verbose -n --dry-run --trace -A --all -m --multitask "
        "-V --version -h --help",
        "t*", project_code=True, check=targets,
    ),
    "rspec": program(
        """-f=t --format=t -o=w --out=w --fail-fast -e=t --example=t -t=t --tag=t --order=t --seed=t --only-failures -n
        --next-failure -b --backtrace -c --color --no-color --dry-run -v --version -h --help -w --warnings
        --bisect?t""",
        "t*", project_code=True, check=_rspec,
    ),
    "rubocop": program(
        """-a --autocorrect -A --autocorrect-all -f=t --format=t -o=w --out=w --only=t --except=t -D
        --display-cop-names -P --parallel --no-parallel -F --fail-fast --fail-level=t -L --list-target-files -v
        --version -V --cache=t --color --no-color""",
        "r*", project_code=True, check=_rubocop,
    ),
    "bundle": program("--version -v --help -h --verbose", subcommands=_BUNDLE),
    "rails": program("--version -v", subcommands={
        "test": program(
            "-n=t --name=t -v --verbose -f --fail-fast -s=t --seed=t",
            "x*", project_code=True, check=_rspec,
        ),
        "routes": program("-c=t -g=t -E --expanded", project_code=True),
        **dict.fromkeys(
            ("db:migrate", "db:rollback", "db:seed", "db:migrate:status", "db:version", "zeitwerk:check"),
            program("--trace", project_code=True),
        ),
    }),
    "php": program("-l -v --version -i -m -n -h --help", "x b", leading=True, project_code=True, check=_script),
    "composer": program(_COMPOSER_GLOBAL, subcommands=_COMPOSER_COMMANDS),
    **dict.fromkeys(("phpunit", "vendor/bin/phpunit", "./vendor/bin/phpunit"), _PHPUNIT),
    "dotnet": program("--version --info --list-sdks --list-runtimes -h --help", subcommands=_DOTNET_COMMANDS),
    "swift": program("--version -h --help", subcommands={
        "build": program(f"{_SWIFT} --build-tests", project_code=True, check=option_values),
        "test": program(
            f"{_SWIFT} --filter=t --skip=t --parallel --enable-code-coverage -l",
            project_code=True, check=option_values,
        ),
        "run": program(_SWIFT, "t*", leading=True, project_code=True, check=option_values),
    }),
    "terraform": program("-version -v -help", words=True, subcommands={
        "fmt": program(f"{_FMT} -write?t", "r*", words=True, check=_terraform_fmt),
        "validate": program("-json -no-color -no-tests", words=True),
        "version": program("-json", words=True),
    }),
}  # fmt: skip
