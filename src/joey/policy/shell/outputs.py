"""Where a project's configuration makes a program write, for programs whose rules do not mean that they run its code.

`ruff` keeps a cache where `ruff.toml` says, and rewrites what it checks if that says so; `tsc` writes where
`tsconfig.json` says (with `--noEmit`, too, if that is incremental), `cargo fmt` rewrites what `Cargo.toml` and an
attribute `#[path = "…"]` name. Such files are read as far as they are simple. A place outside the workspace, a
protected one, and whatever cannot be read are problems.
"""

from __future__ import annotations

import json
import os
import posixpath
import re
import tomllib
from collections.abc import Iterable, Iterator
from typing import Any

from joey.policy.paths import Workspace
from joey.policy.shell.options import Use
from joey.policy.shell.programs.build import only_checks
from joey.system.filenames import quoted

_MAX_ENTRIES = 100_000
_MAX_CONFIGS = 200
_TOO_MANY = "there are too many files to see where it writes"


def output_problems(name: str, use: Use, workspace: Workspace, folders: Iterable[str]) -> Iterator[str]:
    """Why a command may write somewhere else than its words say."""
    program = _program(name, use)
    for folder in sorted(folders):
        if program[:2] in RUNS_RUFF and not use.has("--isolated"):
            yield from _ruff(use, workspace, folder)
        elif program[:1] in (("tsc",), ("vue-tsc",)) and not use.has("-v", "--version", "-h", "--help"):
            yield from _tsc(use, workspace, folder)
        elif program[:2] == ("cargo", "fmt") and not only_checks(use):
            yield from _targets_elsewhere(workspace)
            yield from _modules_elsewhere(workspace)


def _program(name: str, use: Use) -> tuple[str, ...]:
    """The program with its subcommands, whoever starts it: `python -m ruff check`, `npx tsc`."""
    words = (name, *use.path)
    return next((words[at:] for at, word in enumerate(words) if word in _LOOKED_INTO), ())


_LOOKED_INTO = frozenset({"ruff", "uv", "tsc", "vue-tsc", "cargo"})


_READS: dict[tuple[str, ...], tuple[str, ...]] = {
    ("ruff",): (".toml",),
    ("uv", "format"): (".toml",),
    ("tsc",): (".json",),
    ("vue-tsc",): (".json",),
    ("cargo", "fmt"): (".toml", ".rs"),
}
"""The endings of the configuration that says where a program writes."""


def configured_by(name: str, use: Use, written: Iterable[str]) -> bool:
    """Whether one of the files that a line has written may be the configuration of a command in it."""
    program = _program(name, use)
    endings = _READS.get(program[:1]) or _READS.get(program[:2], ())
    names = (re.split(r"[*?]", posixpath.basename(path)) for path in written if endings)
    return any(parts[-1].endswith(end) or (parts[1:] and end.endswith(parts[-1])) for parts in names for end in endings)


def _place_problem(workspace: Workspace, source: str, value: object) -> str | None:
    """Why something may not be written at the place that a configuration file names, from its own folder."""
    where = quoted(posixpath.relpath(source, workspace.root))
    if not isinstance(value, str) or "$" in value:
        return f"where {where} makes it write is not known"
    located = workspace.locate(value, posixpath.dirname(source))
    if located.inside and not located.problem and not located.protected and not located.hidden_by:
        return None
    return f"{where} makes it write to `{value}`, which is outside the workspace or protected"


# Of ruff: the configuration that is nearest to a file holds for it

RUNS_RUFF = frozenset({("ruff", "check"), ("ruff", "format"), ("ruff", "clean"), ("uv", "format")})
_RUFF = ("ruff.toml", ".ruff.toml", "pyproject.toml")


def _ruff(use: Use, workspace: Workspace, folder: str) -> Iterator[str]:
    named = [*use.operands, *(value for name, value in use.options if name == "--stdin-filename" and value)]
    paths = [(word, workspace.join(folder, word.text)) for word in named]
    starts = [path for _, path in paths] or [folder]
    starts += [match for word, path in paths if word.glob for match in workspace.expand(path)]
    configs = {path for start in starts for path in _above(workspace, start)}
    for path in _files_below(starts):
        if path is None:
            yield _TOO_MANY
            return
        if posixpath.basename(path) in _RUFF:
            configs.add(path)
    yield from _ruff_configs(use, workspace, sorted(configs))


def _above(workspace: Workspace, start: str) -> Iterator[str]:
    for place in folders_above(workspace, start):
        yield from (path for name in _RUFF if workspace.exists(path := posixpath.join(place, name)))


def folders_above(workspace: Workspace, start: str) -> Iterator[str]:
    """A place and the folders above it, up to the workspace; none for one that is not in it."""
    root, place = posixpath.normpath(workspace.root), posixpath.normpath(start)
    while posixpath.commonpath((root, place)) == root:
        yield place
        if place == root:
            return
        place = posixpath.dirname(place)


def _files_below(starts: Iterable[str], ending: str = "") -> Iterator[str | None]:
    """The files below some folders; None for too many."""
    left = _MAX_ENTRIES
    for start in starts:
        for folder, folders, files in os.walk(start):
            folders[:] = [name for name in folders if name != ".git"]
            left -= len(folders) + len(files)
            if left < 0:
                yield None
                return
            yield from (posixpath.join(folder, name) for name in files if name.endswith(ending))


def _ruff_configs(use: Use, workspace: Workspace, paths: list[str]) -> Iterator[str]:
    seen: set[str] = set()
    while paths and len(seen) <= _MAX_CONFIGS:
        path = paths.pop()
        if path in seen:
            continue
        seen.add(path)
        settings = _ruff_settings(workspace, path)
        if settings is None:
            yield f"{quoted(posixpath.relpath(path, workspace.root))} cannot be read, so where it writes is not known"
            continue
        if _fixes_by_itself(use, settings):
            yield f"{quoted(posixpath.relpath(path, workspace.root))} makes `ruff check` rewrite files; use `--no-fix`"
        for key in ("extend",) if use.has("-n", "--no-cache") else ("cache-dir", "extend"):
            if key in settings and (problem := _place_problem(workspace, path, settings[key])):
                yield problem
            elif key == "extend" and key in settings:
                paths.append(posixpath.normpath(posixpath.join(posixpath.dirname(path), settings[key])))
    if paths:
        yield _TOO_MANY


def _fixes_by_itself(use: Use, settings: dict[str, Any]) -> bool:
    """Whether `ruff check` rewrites files without being told to. What it is told to rewrite is judged as that."""
    if "check" not in use.path or use.has("--fix", "--fix-only", "--diff"):
        return False
    return bool(settings.get("fix-only", False)) or (bool(settings.get("fix", False)) and not use.has("--no-fix"))


def _ruff_settings(workspace: Workspace, path: str) -> dict[str, Any] | None:
    table: Any = _toml(workspace, path)
    for name in ("tool", "ruff") if posixpath.basename(path) == "pyproject.toml" else ():
        table = table.get(name, {}) if isinstance(table, dict) else None
    return table if isinstance(table, dict) else None


def _toml(workspace: Workspace, path: str) -> dict[str, Any] | None:
    text = workspace.text_of(path)
    try:
        return tomllib.loads(text) if text is not None else None
    except (ValueError, RecursionError):
        return None


# Of tsc: a configuration may extend others, and refer to other projects

_WRITTEN = ("outDir", "outFile", "out", "declarationDir", "tsBuildInfoFile", "generateTrace", "generateCpuProfile")
_COMMENT = re.compile(r'("(?:[^"\\]|\\.)*")|/\*.*?\*/|//[^\n]*', re.DOTALL)
_TRAILING_COMMA = re.compile(r'("(?:[^"\\]|\\.)*")|,(?=\s*[}\]])', re.DOTALL)


def _tsc(use: Use, workspace: Workspace, folder: str) -> Iterator[str]:
    """With files as operands there is no configuration, except with `--build`, where they are projects."""
    given = [value.text for name, value in use.options if name in ("-p", "--project") and value]
    built = [word.text for word in use.operands] if use.has("-b", "--build") else []
    if use.operands and not built and not given:
        return
    named = [posixpath.join(folder, word) for word in (*given, *built)]
    nearest = _nearest_config(workspace, folder)
    paths = [_config_at(workspace, path) for path in named] or ([nearest] if nearest else [])
    seen: set[str] = set()
    while paths and len(seen) <= _MAX_CONFIGS:
        path = posixpath.normpath(paths.pop())
        if path not in seen:
            seen.add(path)
            table = _json(workspace.text_of(path))
            yield from _config_problems(workspace, path, table)
            paths += _further_configs(workspace, path, table or {})
    if paths:
        yield _TOO_MANY


def _config_at(workspace: Workspace, path: str) -> str:
    return posixpath.join(path, "tsconfig.json") if workspace.is_folder(path) else path


def _nearest_config(workspace: Workspace, folder: str) -> str | None:
    place = posixpath.normpath(folder)
    while not workspace.exists(posixpath.join(place, "tsconfig.json")):
        if place == posixpath.dirname(place):
            return None
        place = posixpath.dirname(place)
    return posixpath.join(place, "tsconfig.json")


def _json(text: str | None) -> dict[str, Any] | None:
    """An object with comments and trailing commas, as tsc takes it."""
    try:
        bare = _TRAILING_COMMA.sub(r"\1", _COMMENT.sub(r"\1", text or "").lstrip("\ufeff"))
        table = json.loads(bare, object_pairs_hook=_once)
    except (ValueError, RecursionError):
        return None
    return table if isinstance(table, dict) else None


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object of which tsc reads every member, also one whose name stands there twice. Raises ValueError."""
    if len({name.casefold() for name, _ in pairs}) < len(pairs):
        raise ValueError("a name stands there twice")
    return dict(pairs)


def _config_problems(workspace: Workspace, path: str, table: dict[str, Any] | None) -> Iterator[str]:
    options = (table or {}).get("compilerOptions", {})
    if table is None or not isinstance(options, dict) or not workspace.locate(path).inside:
        yield f"{quoted(posixpath.relpath(path, workspace.root))} cannot be read, so where tsc writes is not known"
        return
    wanted = {name.casefold() for name in _WRITTEN}
    places = [value for name, value in options.items() if name.casefold() in wanted]
    if packages := [name for name in _listed(table.get("extends", [])) if not _is_file_name(name)]:
        yield f"where the package {quoted(str(packages[0]))} makes tsc write is not known"
    sources = [each for name in ("files", "include") for each in _listed(table.get(name, []))]  # written beside them
    found = {name.casefold(): value for name, value in options.items()}
    mapped = found["paths"].values() if isinstance(found.get("paths"), dict) else ()
    roots = [
        each for value in (found.get("baseurl", []), found.get("rootdirs", []), *mapped) for each in _listed(value)
    ]
    for value in (*places, *sources, *roots):
        if problem := _place_problem(workspace, path, value):
            yield problem


def _listed(value: object) -> list[object]:
    return value if isinstance(value, list) else [value]


def _further_configs(workspace: Workspace, path: str, table: dict[str, Any]) -> Iterator[str]:
    folder = posixpath.dirname(path)
    for name in filter(_is_file_name, _listed(table.get("extends", []))):
        yield _extended(workspace, posixpath.join(folder, str(name)))
    for each in _listed(table.get("references", [])):
        name = each.get("path") if isinstance(each, dict) else each
        yield _config_at(workspace, posixpath.join(folder, str(name)))


def _is_file_name(name: object) -> bool:
    """Whether it is a path, and not the name of a package, of which many files say where its configuration is."""
    return isinstance(name, str) and name.startswith(("./", "../", "/"))


def _extended(workspace: Workspace, path: str) -> str:
    """The file that another extends."""
    paths = [path + end for end in ("", ".json", "/tsconfig.json")]
    return next((each for each in paths if workspace.exists(each) and not workspace.is_folder(each)), path)


# Of cargo fmt: targets and modules at a path of their own

_TARGETS = ("lib", "bin", "example", "test", "bench")

_SPACE = r"(?:\s|/\*.*?\*/|//[^\n]*\n)*"
_PATH = re.compile(rf'[\[,(]{_SPACE}(?:r#)?path{_SPACE}=(?![=>]){_SPACE}(?:"([^"\\]*)"|)', re.DOTALL)


def _targets_elsewhere(workspace: Workspace) -> Iterator[str]:
    for path in _files_below([workspace.root], "Cargo.toml"):
        table = _toml(workspace, path) if path else None
        if path is None or table is None:
            yield _TOO_MANY if path is None else f"{quoted(path)} cannot be read, so what it names is not known"
            return
        for place in _target_paths(table):
            if problem := _place_problem(workspace, path, place):
                yield problem
                return


def _target_paths(manifest: dict[str, Any]) -> Iterator[object]:
    """What a manifest names: the files of targets, the build script, and members."""
    targets = (each for name in _TARGETS for each in _listed(manifest.get(name, [])))
    yield from (each["path"] for each in targets if isinstance(each, dict) and "path" in each)
    for name, key in (("package", "build"), ("workspace", "members")):
        table = manifest.get(name)
        found = table.get(key, []) if isinstance(table, dict) else []
        yield from (each for each in _listed(found) if not isinstance(each, bool))


def _modules_elsewhere(workspace: Workspace) -> Iterator[str]:
    """In a module that is written inline a path begins further inside, so that from the file's folder it is furthest
    out."""
    for path in _files_below([workspace.root], ".rs"):
        text = workspace.text_of(path) if path else None
        if path is None or text is None:
            yield _TOO_MANY if path is None else f"{quoted(path)} cannot be read, so what it names is not known"
            return
        for found in _PATH.finditer(text) if "path" in text else ():
            if problem := _place_problem(workspace, path, found[1]):
                yield problem
                return
