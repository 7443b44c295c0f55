"""What is wrong with files, as far as it can be seen without running them.

Facts only, each of them certain: a file that cannot be parsed, a name in Python that is bound nowhere, something
imported from a module of the workspace that does not have it, tests that were there and are gone. A small model does
not see such things by itself, and puts them right when it is shown the line.
"""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Callable, Iterator, Mapping

from joey.bounded.formats import FormatError
from joey.bounded.formats.json import read_json
from joey.bounded.formats.toml import read_toml
from joey.bounded.formats.yaml import read_yaml
from joey.system.filenames import quoted

_ALWAYS_BOUND = frozenset(dir(builtins)) | {"__file__", "__name__", "__doc__", "__path__", "__class__", "WindowsError"}
_READERS: Mapping[str, Callable[[str], object]] = {
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
_ASSERTION = re.compile(r"\bassert\w*")
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


def problem_in(path: str, text: str) -> str | None:
    """Why a file cannot be read as what its name says; None if it can, or nothing is known about such files."""
    try:
        if path.endswith(".py"):
            return _unbound(path, ast.parse(text))
        if path.endswith(_SHELL) and (problem := miscount(text)):
            return f"{quoted(path)} counts wrongly: {problem}"
        if path.endswith("Makefile") and (found := _SPACES.search(text)):
            return f"{quoted(path)} has spaces before `{found[1].strip()}`: a tab has to stand there"
        if reader := _READERS.get(path.rpartition(".")[2]):
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
    tree = _parsed(path, text)
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


def _tests(text: str) -> set[str]:
    return set(re.findall(r"def (test\w*)", text))


def collateral(path: str, before: str, after: str, request: str) -> str | None:
    """A definition that changed although the request names others of the file, and this one has nothing to do with
    them; None if there is none."""
    old, new = _definitions(path, before), _definitions(path, after)
    named = {name for name in old if re.search(rf"\b{re.escape(name)}\b", request)}
    for name in old if named else ():
        texts = f"{old[name]}\n{new.get(name, old[name])}"
        if name in named or new.get(name) in (None, old[name]) or any(each in texts for each in named):
            continue
        return f"{quoted(path)} has another {name} than before, and that was not asked for. It was:\n{old[name]}"
    return None


def _definitions(path: str, text: str) -> dict[str, str]:
    """The functions and classes of a file, with their source."""
    tree = _parsed(path, text)
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
    return None if absent is None else f"The request says {absent}, and nothing in {quoted(path)} is {absent}."


def missing_imports(files: Mapping[str, str]) -> Iterator[tuple[str, str, str]]:
    """What these files, by path, import from each other although it is not there: where, from where, and in words."""
    trees = {path: tree for path, text in files.items() if (tree := _parsed(path, text)) is not None}
    modules = {path.removesuffix(".py").removesuffix("/__init__").replace("/", "."): path for path in trees}
    for path, tree in trees.items():
        for node in ast.walk(tree):
            if not isinstance(node, ast.ImportFrom) or node.level or node.module not in modules:
                continue
            source = modules[node.module]
            known = _bound(trees[source])
            for alias in node.names:
                if alias.name != "*" and alias.name not in known and f"{node.module}.{alias.name}" not in modules:
                    here, there = quoted(path), quoted(source)
                    words = f"{here} imports {alias.name} from {node.module}, but {there} has no {alias.name}"
                    yield path, source, words


def imports_of(text: str) -> set[str]:
    """The paths at which modules that Python code imports may be, if they belong to the workspace."""
    tree = _parsed("a.py", text)
    found = set[str]()
    for node in ast.walk(tree) if tree is not None else ():
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return {f"{name.replace('.', '/')}{end}" for name in found for end in (".py", "/__init__.py")}


def _parsed(path: str, text: str) -> ast.Module | None:
    try:
        return ast.parse(text) if path.endswith(".py") else None
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _unbound(path: str, tree: ast.Module) -> str | None:
    """The first name that is used and bound nowhere in the file. Where names may come from elsewhere, none is."""
    if any(isinstance(node, ast.ImportFrom) and node.names[0].name == "*" for node in ast.walk(tree)):
        return None
    known = _bound(tree) | _ALWAYS_BOUND
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id not in known:
            return f"{quoted(path)} uses {node.id} in line {node.lineno}, which is neither defined nor imported"
    return None


def _bound(tree: ast.Module) -> set[str]:
    """Every name that is bound anywhere in the file, in whatever scope."""
    found = set[str]()
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name, ctx=ast.Store() | ast.Del()):
                found.add(name)
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                found.add(name)
            case ast.arg(arg=name) | ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
                found.add(name)
            case ast.ExceptHandler(name=str(name)) | ast.MatchMapping(rest=str(name)):
                found.add(name)
            case ast.Import(names=names) | ast.ImportFrom(names=names):
                found |= {alias.asname or alias.name.partition(".")[0] for alias in names}
            case ast.Global(names=names) | ast.Nonlocal(names=names):
                found |= set(names)
    return found
