"""A task as a person writes it down: a line of `tasks.jsonl`, or a prompt for each repository of a list.

    {"id": "login", "prompt": "Fix the login test", "repository": "/srv/shop", "commit": "main", "model": "…"}

`id` and `prompt` are needed. A task works in a clone of its `repository` at a `commit`, or in a `folder` that every
worker reaches, in place. `tenant` and `priority` are for the queue. Everything else is an option of `joey run`, such as
`max_turns`, or a setting by its full name, such as `task.prompt`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from joey.bounded.files import read_regular_text
from joey.config.files import check_value, settings_from
from joey.config.keys import BY_NAME, Key
from joey.errors import UsageError
from joey.policy.ignore import NAMES as IGNORE_FILES
from joey.providers import split_name
from joey.system.filenames import quoted
from joey.system.git import looking_at
from joey.system.git_trees import GitFailed, run_git

_MAX_FILE = 64 * 1024 * 1024
MAX_NAME = 80
_NAME = re.compile(r"\w[\w.-]*", re.ASCII)
_NOT_IN_NAMES = re.compile(r"[^\w.-]+", re.ASCII)
DEFAULT_TENANT = "default"


@dataclass(frozen=True, slots=True)
class TaskSpec:
    """What to do, where, and with which settings. `id` is unique in its batch."""

    id: str
    prompt: str
    repository: str = ""
    commit: str = ""
    folder: str = ""
    tenant: str = DEFAULT_TENANT
    priority: int = 0
    """The smaller, the sooner; 0 comes first."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Settings by full name, as the flags of `joey run` set them."""
    answer_hours: float = 24.0
    """How long the task waits for a person; then the answer is no. 0: nobody is asked."""

    @property
    def text(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def read(cls, text: str) -> TaskSpec:
        data = json.loads(text)
        settings = {name: tuple(each) if isinstance(each, list) else each for name, each in data["settings"].items()}
        return cls(**{**data, "settings": settings})

    def in_place_of(self, here: Path) -> TaskSpec:
        """With absolute paths: a worker runs elsewhere."""
        if self.folder:
            return replace(self, folder=str(here / Path(self.folder).expanduser()))
        local = Path(self.repository).expanduser()
        is_address = "://" in self.repository or re.match(r"[\w.-]+@[\w.-]+:", self.repository)
        return self if is_address else replace(self, repository=str((here / local).resolve()))


def read_tasks(path: Path, defaults: TaskSpec) -> list[TaskSpec]:
    """The tasks of a file, one JSON object a line. What a line leaves out is taken from `defaults`."""
    try:
        lines = read_regular_text(path, _MAX_FILE).splitlines()
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise UsageError(f"{path} is not UTF-8; save it as UTF-8") from None
    tasks = [_task(f"{path}, line {n}", line, defaults) for n, line in enumerate(lines, 1) if line.strip()]
    if not tasks:
        raise UsageError(f"{path} has no tasks; write one JSON object per line")
    return _checked(tasks, str(path))


def tasks_for(repositories: Path, prompt: str, defaults: TaskSpec) -> list[TaskSpec]:
    """One prompt for each repository of a list: a path or an address per line, perhaps with a commit after it."""
    try:
        lines = read_regular_text(repositories, _MAX_FILE).splitlines()
    except OSError as error:
        raise UsageError(f"cannot read {repositories}: {error.strerror}") from None
    found: list[TaskSpec] = []
    for words in (line.split() for line in lines if line.strip() and not line.lstrip().startswith("#")):
        name = _free(_name_of(words[0]), [task.id for task in found])
        commit = words[1] if len(words) > 1 else defaults.commit
        found.append(replace(defaults, id=name, prompt=prompt, repository=words[0], commit=commit, folder=""))
    if not found:
        raise UsageError(f"{repositories} names no repositories; write one path or address per line")
    return _checked(found, str(repositories))


def name_for_batch(text: str) -> str:
    """A name made of a file's name or of words. It has no dot: that stands between the batch and a task."""
    return _NOT_IN_NAMES.sub("-", text).replace(".", "-").strip("-_")[:40] or "batch"


def check_batch(name: str) -> None:
    if "." in name:
        raise UsageError(f"{name!r} cannot be the name of a batch: a dot stands between batch and task; use - or _")
    check_name(name, "name of a batch")


def check_name(name: str, kind: str, max_length: int = MAX_NAME) -> str:
    if not _NAME.fullmatch(name) or len(name) > max_length:
        raise UsageError(f"{name!r} cannot be the {kind}; use letters, digits, - _ and .")
    if ".." in name or name.endswith((".", ".lock")):
        raise UsageError(f"{name!r} cannot be the {kind}: git refuses such names (.. inside, . or .lock at the end)")
    return name


def _task(where: str, line: str, defaults: TaskSpec) -> TaskSpec:
    try:
        data = json.loads(line)
    except ValueError as error:
        raise UsageError(f"{where}: not JSON ({error})") from None
    if not isinstance(data, dict):
        raise UsageError(f"{where}: expected a JSON object with id and prompt")
    try:
        return _from_object(data, defaults)
    except UsageError as error:
        raise UsageError(f"{where}: {error}") from None


def _from_object(data: dict[str, Any], defaults: TaskSpec) -> TaskSpec:
    texts: dict[str, Any] = {name: _text(data, name) for name in _TEXTS if name in data}
    numbers = {name: _number(data, name) for name in ("priority", "answer_hours") if name in data}
    options = {name: value for name, value in data.items() if name not in (*_TEXTS, "priority", "answer_hours")}
    full = {name: check_value(_key(name), options.pop(name)) for name in [*options] if "." in name}
    settings = {**defaults.settings, **settings_from(options), **full}
    if "folder" in texts:
        defaults = replace(defaults, repository="", commit="")
    elif "repository" in texts:
        defaults = replace(defaults, folder="", commit="")
    task = replace(defaults, settings=settings, **texts, **numbers)
    if not task.id or not task.prompt.strip():
        raise UsageError("a task needs an id and a prompt")
    return task


def _key(name: str) -> Key:
    if name not in BY_NAME:
        raise UsageError(f"unknown setting {name!r}; `joey config` lists them")
    return BY_NAME[name]


_TEXTS = ("id", "prompt", "repository", "commit", "folder", "tenant")


def _text(data: Mapping[str, Any], name: str) -> str:
    value = data[name]
    if name == "id" and isinstance(value, int):
        value = str(value)
    if not isinstance(value, str):
        raise UsageError(f"{name} must be a text, not {value!r}")
    return value


def _number(data: Mapping[str, Any], name: str) -> Any:
    value = data[name]
    kinds = (int,) if name == "priority" else (int, float)
    if isinstance(value, bool) or not isinstance(value, kinds) or not 0 <= value < 2**31:
        raise UsageError(f"{name} must be a number from 0, not {value!r}")
    return value


def _checked(tasks: list[TaskSpec], where: str) -> list[TaskSpec]:
    seen: set[str] = set()
    for task in tasks:
        check_name(task.id, "id of a task")
        check_name(task.tenant, "name of a tenant")
        if task.id in seen:
            raise UsageError(f"{where} has two tasks with the id {task.id!r}; ids are unique in a batch")
        if bool(task.folder) == bool(task.repository):
            raise UsageError(f"task {task.id!r} needs a repository or a folder, one of them")
        if model := task.settings.get("model"):
            _check_model(task.id, model)
        seen.add(task.id)
    return tasks


def _check_model(task: str, model: str) -> None:
    try:
        split_name(model)
    except UsageError as error:
        raise UsageError(f"task {task!r}: {error}") from None


def check_here(tasks: Sequence[TaskSpec]) -> None:
    """For workers on this machine: what is a path must be there. Raises UsageError."""
    for task in tasks:
        if task.folder and not Path(task.folder).is_dir():
            raise UsageError(f"task {task.id!r}: {quoted(task.folder)} is not a folder")
        local = Path(task.repository)
        if task.repository and local.is_absolute() and not ((local / ".git").exists() or (local / "HEAD").is_file()):
            raise UsageError(
                f"task {task.id!r}: {quoted(task.repository)} is not a git repository; name one, or give it a folder"
            )
        if task.repository and local.is_absolute() and (name := _uncommitted_ignore_file(local, task.commit)):
            raise UsageError(
                f"task {task.id!r}: {name} in {quoted(task.repository)} is not committed as it is, and a clone has "
                "only what is committed; commit it, so that the model does not read what it lists"
            )


def _uncommitted_ignore_file(repository: Path, commit: str) -> str:
    """An ignore file that would not hold in a clone of this commit."""
    with looking_at(repository) as git:
        if git is None:
            return ""
        for name in IGNORE_FILES:
            file = repository / name
            text = file.read_bytes().decode("utf-8", "surrogateescape") if file.is_file() else ""
            try:
                if text.strip() and run_git(git, "show", "--end-of-options", f"{commit or 'HEAD'}:{name}") != text:
                    return name
            except GitFailed:  # the commit does not have it
                return name
    return ""


def _name_of(repository: str) -> str:
    last = repository.rstrip("/").removesuffix(".git").replace(":", "/").rpartition("/")[2]
    return name_for_batch(last)


def _free(name: str, taken: Sequence[str]) -> str:
    return next(each for each in _numbered(name) if each not in taken)


def _numbered(name: str) -> Iterator[str]:
    yield name
    number = 2
    while True:
        yield f"{name}-{number}"
        number += 1
