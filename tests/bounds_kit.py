"""One reading of a hostile file in a process of its own, and what it cost.

    python bounds_kit.py READER FOLDER

The process prints what the reader answered and by how much its memory grew over what it had before the file was
touched, plus what processes it started had over a process that does nothing. A test asserts the answer and the growth,
never a time: a reader that hangs runs into the timeout.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

MAX_GROWTH = 200
_TIMEOUT = 240


@dataclass(frozen=True, slots=True)
class Reading:
    answer: str
    """What the reader answered: its error, or the beginning of its result."""
    grown: int
    """Megabytes."""


def read_in_child(reader: str, folder: Path) -> Reading:
    """Raises if the process hangs or ends with a traceback."""
    done = subprocess.run(
        [sys.executable, "-P", __file__, reader, str(folder)], capture_output=True, text=True, timeout=_TIMEOUT
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return Reading(**json.loads(done.stdout.splitlines()[-1]))


def refused(reader: str, folder: Path, words: str) -> None:
    """Assert that it is refused in these words, within the memory allowed."""
    reading = read_in_child(reader, folder)
    assert words in reading.answer, reading.answer[:500]
    assert reading.grown < MAX_GROWTH, reading


# Below: what runs in the child. Imports come before the first measurement.


def _settings(folder: Path) -> Callable[[], str]:
    from joey.config.files import read_settings_file
    from joey.errors import UsageError

    def read() -> str:
        try:
            return str(read_settings_file(folder / "config.toml"))
        except UsageError as error:
            return str(error)

    return read


def _modes(folder: Path) -> Callable[[], str]:
    from joey.modes.files import load_modes

    return lambda: "; ".join(map(str, load_modes(folder, folder / "user").problems))


def _servers(folder: Path) -> Callable[[], str]:
    from joey.mcp.config import load_servers

    return lambda: "; ".join(map(str, load_servers(folder, folder / "user", trusted=True).problems))


def _library(folder: Path) -> Callable[[], str]:
    from joey.prompts.library import Library

    return lambda: "; ".join(Library(folder, folder / "user", folder / "home").flaws().values())


def _ignore_files(folder: Path) -> Callable[[], str]:
    from joey.errors import UsageError
    from joey.policy.paths import Workspace

    def read() -> str:
        try:
            hidden = Workspace.of(folder).locate("/".join(["a" * 100] * 30)).hidden_by
        except UsageError as error:
            return str(error)
        return f"a path is judged: {hidden}"

    return read


def _rules(folder: Path) -> Callable[[], str]:
    from joey.prompts.instructions import InstructionFiles

    return lambda: InstructionFiles(folder, folder / "user", folder / "home").for_modes(["code"])["code"]


def _custom_tools(folder: Path) -> Callable[[], str]:
    from joey.system.trust import TrustStore
    from joey.tools.custom import CustomToolLoader

    trust = TrustStore(folder / "trusted.json")
    trust.trust(folder)
    return lambda: "; ".join(map(str, CustomToolLoader(folder, folder / "user", trust).load().problems))


def _foreign_task(folder: Path) -> Callable[[], str]:
    from joey.errors import UsageError
    from joey.journal.foreign import read_foreign_task

    def read() -> str:
        try:
            return str(read_foreign_task(folder, "id", folder, "model"))
        except UsageError as error:
            return str(error)

    return read


def _read_file(folder: Path) -> Callable[[], str]:
    import asyncio

    from joey.tools.base import ToolContext
    from joey.tools.builtin.read_file import ReadFile, ReadFileParams

    asyncio.run(ReadFile().run(ReadFileParams(path="nothing"), ToolContext(folder, folder)))
    name = next(path.name for path in folder.iterdir())
    return lambda: asyncio.run(ReadFile().run(ReadFileParams(path=name), ToolContext(folder, folder))).text


def _search_files(folder: Path) -> Callable[[], str]:
    import asyncio

    from joey.tools.base import ToolContext
    from joey.tools.builtin.list_files import ListFiles, ListFilesParams
    from joey.tools.builtin.search_files import SearchFiles, SearchFilesParams

    context = ToolContext(folder, folder)

    def read() -> str:
        listed = asyncio.run(ListFiles().run(ListFilesParams(path=".", recursive=True), context)).text
        path = "pipe" if (folder / "pipe").exists() else "."
        pattern = (folder / "pattern").read_text()
        return f"{asyncio.run(SearchFiles().run(SearchFilesParams(path=path, regex=pattern), context)).text}\n{listed}"

    return read


def _edit(folder: Path) -> Callable[[], str]:
    from joey.tools.editing.matching import locate, nearest

    lines, wanted = ((folder / name).read_text().split("\n") for name in ("file", "wanted"))
    return lambda: f"{locate(lines, wanted, fuzzy=0.8)}, {nearest(lines, wanted)}"


def _image(folder: Path) -> Callable[[], str]:
    import base64

    from joey.images.limits import ImageLimits
    from joey.images.sizing import resize_image
    from joey.messages import ImageBlock

    data = next(folder.iterdir()).read_bytes()
    image = ImageBlock("image/png", base64.b64encode(data).decode())
    return lambda: str(resize_image(image, ImageLimits()))[:500]


def _schema(folder: Path) -> Callable[[], str]:
    """A server's schema as everybody reads it who gets to see it."""
    from joey.mcp.checking import SchemaChecker, UnusableSchemaError
    from joey.protocols.json_mix.protocol import JsonMixProtocol
    from joey.protocols.xml.protocol import XmlProtocol
    from joey.schema.coerce import coerce
    from joey.schema.example import example_arguments
    from joey.schema.normalise import normalise
    from joey.schema.repair import ArgumentRepair, expected
    from joey.toolspec import ToolSpec

    schema = json.loads((folder / "schema.json").read_text())
    value = json.loads((folder / "value.json").read_text())

    def read() -> str:
        try:
            checker = SchemaChecker(schema)
        except UnusableSchemaError as error:
            return str(error)
        normal = normalise(schema, close_objects=False).schema
        tool = ToolSpec("t", "d", normal)
        size = len(XmlProtocol().grammar([tool])) + len(JsonMixProtocol().grammar([tool]))
        size += len(str(example_arguments(normal))) + len(expected(normal, normal))
        size += len(str(coerce(value, normal))) + len(str(ArgumentRepair(normal).arguments(value)))
        return f"usable, {size}, {checker.problems(value)}"

    return read


def _mode_pattern(folder: Path) -> Callable[[], str]:
    from joey.actions import WritePath
    from joey.modes.files import load_modes
    from joey.tools.restrict import file_refusal

    def read() -> str:
        loaded = load_modes(folder, folder / "user")
        mode = loaded.get("slow")
        problems = "; ".join(map(str, loaded.problems))
        actions = [WritePath("a" * 60 + "/" + "a" * 60)]
        return problems if mode is None else str(file_refusal("write_to_file", "edit", mode, actions, folder))

    return read


def _message(folder: Path) -> Callable[[], str]:
    from joey.mcp.errors import ErrorOutput
    from joey.mcp.transports import _message

    words = ErrorOutput()
    line = (folder / "message.json").read_bytes()
    return lambda: f"{_message(line, words)} {words.text}"


READERS: dict[str, Callable[[Path], Callable[[], str]]] = {
    "settings": _settings,
    "modes": _modes,
    "servers": _servers,
    "library": _library,
    "rules": _rules,
    "ignore files": _ignore_files,
    "custom tools": _custom_tools,
    "foreign task": _foreign_task,
    "read_file": _read_file,
    "image": _image,
    "edit": _edit,
    "search_files": _search_files,
    "schema": _schema,
    "mode pattern": _mode_pattern,
    "message": _message,
}


def _main() -> None:
    read = READERS[sys.argv[1]](Path(sys.argv[2]))
    subprocess.run([sys.executable, "-P", "-c", "pass"], check=True)
    before = _peaks()
    answer = read()
    print(json.dumps({"answer": answer[:100_000], "grown": (_peaks() - before) // 1024}))


def _peaks() -> int:
    who = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    return sum(resource.getrusage(each).ru_maxrss for each in who)


if __name__ == "__main__":
    _main()
