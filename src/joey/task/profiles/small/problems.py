"""What is wrong with files, as far as it can be seen without running them.

Facts only, each of them certain: a file that cannot be parsed, a name in Python that is bound nowhere, something
imported from a module of the workspace that does not have it, tests that were there and are gone. A small model does
not see such things by itself, and puts them right when it is shown the line.
"""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import lru_cache

from joey.bounded.formats import FormatError
from joey.bounded.formats.json import read_json
from joey.bounded.formats.toml import read_toml
from joey.bounded.formats.yaml import read_yaml
from joey.system.filenames import quoted
from joey.task.profiles.small.python_source import PythonSource, python_source, source_of, sources

_ALWAYS_BOUND = frozenset(dir(builtins)) | {"__file__", "__name__", "__doc__", "__path__", "__class__", "WindowsError"}
READERS: Mapping[str, Callable[[str], object]] = {
    "json": read_json, "toml": read_toml, "yaml": read_yaml, "yml": read_yaml,
}  # fmt: skip
_TEST_FILE = re.compile(r"(?:^|/)(?:test_[^/]*|[^/]*_test)\.py$")
_QUIET = (
    ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Import, ast.ImportFrom, ast.Assign, ast.AnnAssign,
)  # fmt: skip
_COLOUR = re.compile(
    r"\b(red|green|blue|yellow|orange|purple|pink|black|white|gr[ae]y|brown|cyan|magenta|gold|silver)\b", re.IGNORECASE
)
_CODED_COLOUR = re.compile(r"#[0-9a-fA-F]{3,8}\b|\b(?:rgb|hsl)a?\(")
_TAGS = {"button": "button", "heading": "h[1-6]", "headline": "h[1-6]", "link": "a", "paragraph": "p", "table": "table"}
_COLOURED = re.compile(rf"{_COLOUR.pattern} ({'|'.join(_TAGS)})\b", re.IGNORECASE)
_STYLE, _STYLE_END = re.compile(r"<style\b", re.IGNORECASE), re.compile(r"</style\b", re.IGNORECASE)
_NAMES = re.compile(r"(?:class|id)=[\"']([^\"']*)")
_MAX_KEPT = 64
_PAGES = (".html", ".htm")
_ASSERTION = re.compile(r"\bassert\w*")
_TAKES_AWAY = re.compile(
    r"\b(clean|combin|convert|delet|drop|extract|inlin|merg|mov|refactor|remov|renam|replac|rewrit|simplif|split|turn)\w*",
    re.IGNORECASE,
)
"""A request in which a definition may well go."""
_SHELL = (".sh", ".bash", "Makefile")
_SPACES = re.compile(
    r"^[\w./% -]+:(?!=)[^\n\\]*\n +((?!#|ifn?eq|ifn?def|else|endif|include)[^\s=][^\n=]*)$", re.MULTILINE
)
"""The first command of a rule in a Makefile, after spaces, which make does not take."""
_COUNT = "find . -maxdepth 1 -type f | wc -l"
_MISCOUNTS = (
    (re.compile(r"\bls(?: -\w+)* -\w*l\w*[^|;&\n)]*\|\s*wc -l"), "the first line that ls -l prints is a total"),
    (re.compile(r"\bfind(?: [^-|;&\s)][^|;&\s)]*)?\s*\|\s*wc -l"), "find prints the folder itself as well"),
)


@lru_cache(maxsize=_MAX_KEPT)
def problem_in(path: str, text: str) -> str | None:
    """Why a file cannot be read as what its name says; None if it can, or nothing is known about such files."""
    try:
        if path.endswith(".py"):
            return _unbound(path, source_of(ast.parse(text)))
        if path.endswith(_SHELL) and (problem := miscount(text)):
            return f"{quoted(path)} counts wrongly: {problem}"
        if path.endswith("Makefile") and (found := _SPACES.search(text)):
            return f"{quoted(path)} has spaces before `{found[1].strip()}`: a tab has to stand there"
        if reader := READERS.get(path.rpartition(".")[2]):
            reader(text)
    except SyntaxError as error:
        return f"{quoted(path)} has a syntax error in line {error.lineno}: {error.msg}"
    except (FormatError, ValueError, RecursionError, MemoryError) as error:
        return f"{quoted(path)} is not valid: {error}"
    return None


def miscount(code: str) -> str | None:
    """Why a shell command counts one line more than there are files; None if nothing is known against it."""
    why = next((why for pattern, why in _MISCOUNTS if pattern.search(code)), None)
    return None if why is None else f"{why}, so it is one too many. This counts the files: {_COUNT}"


def is_test(path: str) -> bool:
    """Whether a file holds tests, by its name."""
    return bool(_TEST_FILE.search(path))


def is_script(path: str, text: str) -> bool:
    """Whether running a file of Python does something besides defining names."""
    tree = parsed(path, text)
    quiet = (
        ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Import | ast.ImportFrom | ast.Assign | ast.AnnAssign
    )
    if tree is None:
        return path.endswith(".py")
    return any(not isinstance(node, quiet) and not _is_words(node) for node in tree.body)


def _is_words(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def weakened(path: str, before: str, after: str) -> str | None:
    """What tests lost: functions that test, or assertions; None if they lost nothing."""
    if not is_test(path):
        return None
    gone = sorted(_tests(before) - _tests(after))
    if gone:
        return f"{quoted(path)} no longer has {', '.join(gone)}. The tests that were there have to stay."
    kept = {line.strip() for line in after.splitlines()}
    lost = [line.strip() for line in before.splitlines() if _ASSERTION.search(line) and line.strip() not in kept]
    if lost:
        return f"{quoted(path)} no longer has this: {lost[0]}\nThe tests that were there have to stay as they were."
    return None


def lacks_new_test(path: str, before: str, after: str) -> str | None:
    """Tests that were to get another one, and have as many tests and assertions as before."""
    if not before or not is_test(path) or len(_tests(after)) > len(_tests(before)):
        return None
    old, new = (sum(1 for line in text.splitlines() if _ASSERTION.search(line)) for text in (before, after))
    return None if new > old else f"{quoted(path)} has no new test. Add one, and keep those that are there."


def _tests(text: str) -> set[str]:
    return set(re.findall(r"def (test\w*)", text))


def collateral(path: str, before: str, after: str, request: str) -> str | None:
    """A definition that is gone although nothing was to go, or that changed although the request names others of the
    file and this one has nothing to do with them; None if there is none."""
    old, new = _definitions(path, before), _definitions(path, after)
    if lost := lost_definition(path, before, after, request):
        names = ", ".join((*old, *(name for name in new if name not in old)))
        return (
            f"{quoted(path)} no longer has {lost}. Write the whole file with all of these: {names}.\n"
            f"It has:\n{after.strip()}\n{lost} was:\n{old[lost]}"
        )
    named = {name for name in old if re.search(rf"\b{re.escape(name)}\b", request)}
    for name in old if named else ():
        texts = f"{old[name]}\n{new.get(name, old[name])}"
        if name in named or new.get(name) in (None, old[name]) or any(each in texts for each in named):
            continue
        return f"{quoted(path)} has another {name} than before, and that was not asked for. It was:\n{old[name]}"
    return None


def lost_definition(path: str, before: str, after: str, request: str) -> str | None:
    """A function or class that is gone although nothing was to go."""
    new = _definitions(path, after)
    if not new or _TAKES_AWAY.search(request):
        return None
    return next((name for name in _definitions(path, before) if name not in new), None)


def _definitions(path: str, text: str) -> dict[str, str]:
    """The functions and classes of a file, with their source."""
    tree = parsed(path, text)
    nodes = tree.body if tree is not None else []
    return {
        node.name: ast.get_source_segment(text, node) or ""
        for node in nodes
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
    }


def missing_colour(path: str, text: str, request: str) -> str | None:
    """A colour that the request names for a page, and that the page does not have in any notation."""
    if not path.endswith((".html", ".htm", ".css", ".svg")) or _CODED_COLOUR.search(text):
        return None
    wanted = [colour.lower() for colour in _COLOUR.findall(request)]
    absent = next((colour for colour in wanted if colour not in text.lower()), None)
    if absent is not None:
        how = f'\nIt is {absent} with style="background-color: {absent}".' if path.endswith(_PAGES) else ""
        return f"The request says {absent}, and nothing in {quoted(path)} is {absent}.{how}"
    return _other_colour(path, text, request) if path.endswith(_PAGES) else None


def _other_colour(path: str, text: str, request: str) -> str | None:
    """A part of a page that is to have a colour, and has not, although something else has."""
    rules = [*_rules(text)]
    for colour, part in _COLOURED.findall(request):
        colour, tag = colour.lower(), _TAGS[part.lower()]
        elements = [*_elements(text, tag)]
        heads = [head for head, body in rules if colour in body.lower()]
        if elements and not any(colour in each.lower() for each in elements) and not _selected(elements, tag, heads):
            how = f'It is with <{elements[0].strip("</> ").split()[0]} style="background-color: {colour}">.'
            return f"The {part} in {quoted(path)} is not {colour}. {how}"
    return None


def _selected(elements: Sequence[str], tag: str, heads: Sequence[str]) -> bool:
    """Whether one of these selectors is for one of the elements, by its tag, a class or an id."""
    names = {name for each in elements for value in _NAMES.findall(each) for name in value.split()}
    selector = re.compile(rf"(?<![\w.#-]){tag}\b")
    return any(selector.search(head) or not names.isdisjoint(re.findall(r"[.#]([\w-]+)", head)) for head in heads)


def _elements(text: str, tag: str) -> Iterator[str]:
    """The opening tags of a page."""
    end = 0
    for start in re.finditer(rf"<{tag}\b", text, re.IGNORECASE):
        if start.start() >= end:
            end = text.find(">", start.end()) + 1
            if not end:
                return
            yield text[start.start() : end]


def _rules(text: str) -> Iterator[tuple[str, str]]:
    """The rules in the styles of a page: the selector, after its last `>`, and what is between the braces. Each
    character is looked at a few times, however long the page is: it may have an image in it."""
    for style in _STYLE.split(text)[1:]:
        for part in _STYLE_END.split(style.partition(">")[2], maxsplit=1)[0].split("}"):
            head, brace, body = part.rpartition("{")
            if brace:
                yield head[max(head.rfind("{"), head.rfind(">")) + 1 :], body


def missing_imports(files: Mapping[str, str]) -> Iterator[tuple[str, str, str]]:
    """What these files, by path, take from each other although it is not there: where, from where, and in words."""
    known = sources(files)
    modules = {path.removesuffix(".py").removesuffix("/__init__").replace("/", "."): path for path in known}
    for path, source in known.items():
        for module, name, verb in _taken_from(source, modules):
            if name not in known[modules[module]].bound and f"{module}.{name}" not in modules:
                words = f"{quoted(path)} {verb} {name} from {module}, but {quoted(modules[module])} has no {name}"
                yield path, modules[module], words


def _taken_from(source: PythonSource, modules: Collection[str]) -> Iterator[tuple[str, str, str]]:
    """The names that code takes from these modules, and how."""
    for verb, place, name in source.taken:
        if verb == "imports" and place in modules:
            yield place, name, verb
        elif verb == "uses" and place not in source.stored and not name.startswith("__"):
            module = source.modules.get(place)
            if module is not None and module in modules:
                yield module, name, verb


def import_for(path: str, text: str, files: Mapping[str, str]) -> str | None:
    """The line that a file of Python lacks: it uses a name that is defined in another of these files."""
    source = python_source(text) if path.endswith(".py") else None
    name = _unbound_name(source) if source is not None else None
    if name is None:
        return None
    for other, defined in sources({each: files[each] for each in files if each != path and not is_test(each)}).items():
        if name in defined.definitions:
            module = other.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
            return f"from {module} import {name}"
    return None


def imports_of(text: str) -> set[str]:
    """The paths at which modules that Python code imports may be, if they belong to the workspace."""
    source = python_source(text)
    found = source.imports if source is not None else ()
    return {f"{name.replace('.', '/')}{end}" for name in found for end in (".py", "/__init__.py")}


def parsed(path: str, text: str) -> ast.Module | None:
    """A file of Python as a tree; None if it is something else, or cannot be parsed."""
    try:
        return ast.parse(text) if path.endswith(".py") else None
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _unbound(path: str, source: PythonSource) -> str | None:
    name = _unbound_name(source)
    if name is None:
        return None
    return f"{quoted(path)} uses {name} in line {source.loaded[name]}, which is neither defined nor imported"


def _unbound_name(source: PythonSource) -> str | None:
    """The first name that is used and bound nowhere in the file. Where names may come from elsewhere, none is."""
    if source.has_star:
        return None
    return next((name for name in source.loaded if name not in source.bound and name not in _ALWAYS_BOUND), None)
