"""Compilers of C, and cmake, ninja, Maven, Gradle and others that build with a project's own description.

A compiler's option is either one of a few shapes that are known, or it is asked about: `-wrapper`, `-specs`, `-B` and
`-fplugin` run programs, `-Wp,-MD,x` writes. Properties (`-D`) of builders choose compilers and executables: only those
that are known to be switches may be set.

A compiler reads whatever `#include` names, and quotes it where it complains: a rule for one trusts the sources of the
project. Printing them (`-E`), or keeping what was made of them (`-save-temps`), asks all the same.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from posixpath import basename, dirname, join

from joey.policy.shell.options import Program, Use, option_values, program, unknown_words
from joey.policy.shell.plain import Word

# Compilers of C

_C_FLAG = re.compile(
    r"-(?:c|S|g\d?|ggdb\d?|O(?:[0-3sgz]|fast)?|W(?:all|extra|pedantic|error|no-[\w+=-]+|[a-z][a-z0-9+=-]+)"
    r"|w|std=[\w+]+|ansi|pedantic(?:-errors)?|f(?:PIC|pic|PIE|pie|openmp|sanitize=[\w,-]+|no-[\w-]+|visibility=\w+"
    r"|stack-protector(?:-\w+)?|fast-math|omit-frame-pointer|exceptions|rtti|permissive|diagnostics-color(?:=\w+)?)"
    r"|m(?:arch|tune|cpu)=[\w.+-]+|m(?:32|64|avx2?|sse[\d.]*|fma)|D\w+(?:=[\w.\"/+-]*)?|U\w+|l[\w.+-]+|pthread|shared"
    r"|static|s|pipe|v|M|MM|MD|MMD|MP|nostdlib|rdynamic|no-pie|pie|dumpversion|dumpmachine)|--version|--help"
)
_C_VALUES: dict[str, str] = {
    "-o": "write",
    "-MF": "write",
    "-I": "list",
    "-L": "list",
    "-isystem": "list",
    "-iquote": "list",
}


def _compile(use: Use, words: Sequence[Word]) -> Iterator[str]:
    """Options anywhere; a value is the next word or attached to a single letter."""
    rest = list(words)
    while rest:
        word = rest.pop(0)
        name = next((each for each in _C_VALUES if word.text.startswith(each)), None)
        if word.text == "-" or not word.text.startswith(("-", "@")):
            use.operands.append(word)
            use.files += [("read", word)] if word.text != "-" else []
        elif word.glob or word.below:
            yield "some of its options are only known when it runs"
        elif _C_FLAG.fullmatch(word.text):
            use.options.append((word.text, None))
        elif word.text in ("-x", "-D", "-U", "-l") and rest:
            use.options.append((word.text, rest.pop(0)))
        elif name and (word.text == name or len(name) == 2):
            yield from _c_value(use, name, Word(word.text[len(name) :]) if word.text != name else _next(rest))
        else:
            yield f"the option `{word.text}` of the compiler is not known to be harmless"
    yield from _c_outputs(use)


_C_LANGUAGES = frozenset({"c", "c++", "c-header", "c++-header", "assembler", "assembler-with-cpp", "none"})
_C_SOURCES = re.compile(
    r".*\.(?:c|cc|cp|cxx|cpp|c\+\+|C|i|ii|s|S|sx|o|a|so(?:\.\d+)*|lo|obj|dylib)|(?:.*/)?[^./*?]+|-", re.DOTALL
)
"""What is compiled to an object, or is one: a name without an ending is one for the linker. Of other languages (`.f90`,
`.adb`) more is written than the object, under names that are in the source."""
_C_HEADERS = re.compile(r".*\.(?:h|hh|H|hp|hxx|hpp|HPP|h\+\+|tcc)", re.DOTALL)
"""These are compiled to `x.h.gch` (clang: `x.h.pch`) beside themselves."""


def _c_kinds(use: Use) -> Iterator[str]:
    """Why more may be written than an object: for a language that is not C."""
    languages = [value.text for name, value in use.options if name == "-x" and value]
    for name in languages:
        if name not in _C_LANGUAGES:
            yield f"what the compiler writes for the language `{name}` is not known"
    for word in use.operands:
        header = _C_HEADERS.fullmatch(word.text) or any(name.endswith("-header") for name in languages)
        if not header and not languages and not _C_SOURCES.fullmatch(word.text):
            yield f"what the compiler makes of `{word.text}` is not known"
        if header:
            use.files += [("write", Word(word.text + end, word.glob)) for end in (".gch", ".pch")]


def _c_outputs(use: Use) -> Iterator[str]:
    """What is written where nothing says so: `a.out`, or files named as the sources, in the folder where it runs."""
    yield from unknown_words(use)
    yield from _c_kinds(use)
    named = [value for name, value in use.options if name == "-o" and value]
    ending = ".o" if use.has("-c") else ".s" if use.has("-S") else ""
    stems = [Word(_stem(word.text), word.glob) for word in use.operands]
    if use.operands and not named and not use.has("-M", "-MM"):
        use.files += [("write", Word(stem.text + ending, stem.glob)) for stem in stems if ending]
        use.files += [("write", Word("a.out"))] if not ending else []
    if use.has("-MD", "-MMD") and not use.has("-MF"):
        targets = [Word(join(dirname(value.text), _stem(value.text))) for value in named or [Word("a.out")]]
        both = [Word(f"{target.text}-{stem.text}", stem.glob) for target in targets for stem in stems]
        use.files += [("write", Word(each.text + ".d", each.glob)) for each in (*stems, *targets, *both)]


def _stem(path: str) -> str:
    """The name of a file without its folder and ending."""
    name = basename(path)
    return name.rpartition(".")[0] or name


def _next(rest: list[Word]) -> Word:
    return rest.pop(0) if rest else Word("")


def _c_value(use: Use, name: str, value: Word) -> Iterator[str]:
    use.options.append((name, value))
    use.files.append(("write" if _C_VALUES[name] == "write" else "list", value))
    if not value.text or value.glob or value.below or value.text.startswith(("-", "=", "@")):
        yield f"the value of `{name}` is not plain"


# cmake, ctest, ninja, meson

_CMAKE_SWITCH = re.compile(
    r"(?:CMAKE_BUILD_TYPE|CMAKE_EXPORT_COMPILE_COMMANDS|CMAKE_C_STANDARD|CMAKE_CXX_STANDARD|CMAKE_VERBOSE_MAKEFILE"
    r"|BUILD_TESTING|BUILD_TESTS|BUILD_SHARED_LIBS|BUILD_DOCS|BUILD_EXAMPLES|ENABLE_\w+|WITH_\w+)(?::\w+)?=\w*"
)
_TARGET = re.compile(r":?[\w.+@][\w./+@:-]*")


def _cmake(use: Use) -> Iterator[str]:
    yield from option_values(use)
    if use.separated is not None:
        yield "what follows `--` are options of the tool that builds"
    for name, value in use.options:
        if name == "-D" and value and not _CMAKE_SWITCH.fullmatch(value.text):
            yield f"`-D {value.text}` may change what cmake runs"


def targets(use: Use) -> Iterator[str]:
    """Names of targets or tasks, which may stand in code of the project."""
    yield from option_values(use)
    yield from unknown_words(use)
    for word in use.operands:
        if not _TARGET.fullmatch(word.text):
            yield f"`{word.text}` is not the plain name of a target"


_NINJA = "-C=p -j=t -k=t -l=t -n -v --verbose --quiet --version -h --help"
_MESON = {
    "setup": program("--buildtype=t --wipe --reconfigure -h --help", "w p", project_code=True, check=option_values),
    "compile": program("-C=p -j=t --clean -v --verbose", "t*", project_code=True, check=targets),
    "test": program(
        "-C=p -v --verbose -q --quiet --list --suite=t --no-rebuild --repeat=t",
        "t*", project_code=True, check=targets,
    ),
}  # fmt: skip

# Java

_MAVEN_GOALS = frozenset(
    {"clean", "validate", "compile", "test-compile", "test", "package", "verify", "integration-test", "install", "site"}
    | {"dependency:tree", "dependency:resolve", "dependency:go-offline", "dependency:analyze", "help:effective-pom"}
    | {"spotless:check", "spotless:apply", "checkstyle:check", "spring-boot:run", "quarkus:dev"}
)
_TESTS = re.compile(r"[\w.*#+,$!-]+")


def _maven(use: Use) -> Iterator[str]:
    """Any other goal names a plugin, which is fetched and run."""
    yield from option_values(use)
    for word in use.operands:
        if word.text not in _MAVEN_GOALS:
            yield f"the goal `{word.text}` is not known to be harmless"
    for name, value in use.options:
        if name.startswith("-D") and value and not _TESTS.fullmatch(value.text):
            yield f"`{name}={value.text}` is not known to be harmless"


def _java(use: Use) -> Iterator[str]:
    """A jar, a source file, or a class from folders and jars of the project."""
    for name, value in use.options:
        if name in ("-cp", "-classpath", "--class-path") and value:
            use.files += [("run", Word(part.removesuffix("/*") or ".")) for part in value.text.split(":")]
    if any(word.text.startswith("@") for word in use.operands[:1]) or option_like(use):
        yield "it takes options from a file"
    if use.operands and (use.operands[0].text.endswith(".java") or use.has("-jar")):
        use.files.append(("run", use.operands[0]))


def option_like(use: Use) -> bool:
    return any(value is not None and value.text.startswith(("-", "@")) for _, value in use.options)


def _javac(use: Use) -> Iterator[str]:
    yield from unknown_words(use)
    if any(word.text.startswith("@") for word in use.operands) or option_like(use):
        yield "it takes options from a file"
    if not use.has("-d"):
        use.files += [("write", Word(re.sub(r"\.java$", "", word.text) + ".class", word.glob)) for word in use.operands]


_MAVEN = program(
    """-am --also-make -amd --also-make-dependents -B --batch-mode -e --errors -fae --fail-at-end -ff --fail-fast -fn
    --fail-never -N --non-recursive -nsu --no-snapshot-updates -ntp --no-transfer-progress -o --offline -P=t -pl=t
    --projects=t -q --quiet -rf=t --resume-from=t -T=t --threads=t -U --update-snapshots -v --version -V --show-version
    -X --debug -h --help --color=t -DskipTests?t -DskipITs?t -Dmaven.test.skip?t -Dtest?t -Dit.test?t
    -DfailIfNoTests?t -Dsurefire.failIfNoSpecifiedTests?t""",
    "t*",
    words=True,
    project_code=True,
    check=_maven,
)
_GRADLE = program(
    """--info -i --debug -d --stacktrace -s --full-stacktrace -S -q --quiet -w --warn --tests=t --offline --no-daemon
    --daemon --rerun-tasks -x=t --exclude-task=t --continue --parallel --no-parallel --console=t --warning-mode=t
    --build-cache --no-build-cache --configuration-cache --no-configuration-cache --refresh-dependencies --version -v
    --status --stop -m --dry-run --profile --all -h --help --max-workers=t""",
    "t*",
    project_code=True,
    check=targets,
)

PROGRAMS: dict[str, Program] = {
    **dict.fromkeys(("gcc", "g++", "cc", "c++", "clang", "clang++"), program(reader=_compile, project_code=True)),
    "cmake": program(
        """-S=p -B=w -G=t -D=t --build=p --target=t -t=t --config=t -j?t --parallel?t --clean-first -v --verbose
        --version --preset=t --list-presets?t -Wno-dev -Wdev --fresh -N -LA -LAH -L --log-level=t -h --help
        --no-warn-unused-cli --warn-uninitialized""",
        "p", project_code=True, check=_cmake,
    ),
    "ctest": program(
        """--test-dir=p --preset=t --list-presets -C=t --build-config=t --progress -V --verbose -VV --extra-verbose
        --output-on-failure --stop-on-failure -j?t --parallel?t -Q --quiet -O=w --output-log=w --output-junit=w -N
        --show-only?t -L=t --label-regex=t -R=t --tests-regex=t -E=t --exclude-regex=t -LE=t --label-exclude=t
        --rerun-failed --repeat=t --timeout=t --schedule-random --version -h --help""",
        "t", project_code=True, check=targets,
    ),
    "ninja": program(_NINJA, "t*", project_code=True, check=targets),
    "meson": program("--version -v -h --help", subcommands=_MESON),
    **dict.fromkeys(("mvn", "mvnw", "./mvnw"), _MAVEN),
    **dict.fromkeys(("gradle", "gradlew", "./gradlew"), _GRADLE),
    "java": program(
        "-version --version -jar -cp=t -classpath=t --class-path=t -ea --enable-preview -showversion", "t b",
        leading=True, words=True, project_code=True, check=_java,
    ),
    "javac": program(
        """-d=w -g -nowarn -verbose -Xlint -deprecation -encoding=t -source=t -target=t --release=t -parameters -version
        --version -proc:none""",
        "r*", words=True, check=_javac,
    ),
}  # fmt: skip
