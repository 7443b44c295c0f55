"""Which command runs what was written or shows whether it works, and how a command went."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Reversible, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from joey.system.filenames import quoted
from joey.task.profiles.small.demands import printed_values
from joey.task.profiles.small.examples import example_command, examples_in
from joey.task.profiles.small.intent import Intent
from joey.task.profiles.small.problems import imports_of, is_script, is_test

if TYPE_CHECKING:
    from joey.task.profiles.small.beside import FileBeside

_COMMAND = re.compile(r"\bpython3?(?: -m \w+)?(?: [\w./-]+\.py)(?: (?:\d+|--?\w[\w-]*))*")
_PROGRAM = re.compile(r"(?:python3?(?: -m \w+)?|bash|sh|node|ruby|perl) [\w./-]*\w\.\w+|\./\w")
_MODULE = re.compile(r"python3? ([\w./-]+\.py)(?: [\w-]+)*")
_RUNNING = re.compile(r"\b(run\w*|prints?|printed|works?|fails?|python3?|crash\w*|raises?)\b", re.IGNORECASE)
_RUN_IT = re.compile(r"\b(run|execute|start) (it|them|the tests?|the script|the program)\b", re.IGNORECASE)
_RUN_TESTS = re.compile(r"\brun (?:the |all |my |its |our )*(?:unit ?)?tests\b", re.IGNORECASE)
_TESTS = re.compile(r"\btests?\b", re.IGNORECASE)
_ARGUMENTS = re.compile(r"\bargument|\bwith\b \S+ as\b")
_TEST_FUNCTION = re.compile(r"^(?:async )?def test", re.MULTILINE)
_WAITS = re.compile(
    r"\binput\(|\bwhile (?:True|1)\b|serve_forever|\bargv\b|argparse|\bmainloop\(|\bsleep\(|\bapp\.run\(|uvicorn"
    r"|socket|subprocess|shutil|os\.(?:remove|system|unlink)|\bopen\([^)]*['\"][wax]\+?b?['\"]"
)
"""A script that does not end by itself, or changes something besides what it prints."""
_MAX_SCRIPTS = 3
_NO_MODULE = re.compile(r"^ModuleNotFoundError: No module named '(\w+)", re.MULTILINE)
_NO_TEST_RAN = re.compile(
    r"^Ran 0 tests|^NO TESTS RAN|No module named '?pytest|^EOFError: EOF when reading", re.MULTILINE
)
"""Says nothing about the code."""


@dataclass(frozen=True, slots=True)
class CommandRun:
    command: str
    output: str
    code: int | None

    @property
    def failed(self) -> bool:
        return bool(self.code) and not _NO_TEST_RAN.search(self.output)

    def lacks_module(self, texts: Iterable[str]) -> bool:
        """Whether it failed for want of a module that these files imported from the beginning."""
        found = _NO_MODULE.search(self.output)
        imports = re.compile(rf"^\s*(?:import|from) {found[1]}\b", re.MULTILINE) if found is not None else None
        return imports is not None and any(map(imports.search, texts))

    def has_word(self, word: str) -> bool:
        return bool(re.search(rf"\b{re.escape(word)}\b", self.output))

    def has_printed(self, text: str) -> bool:
        """Whether this is in the output, and nothing right before or after it."""
        if re.fullmatch(r"[-\d.]+", text):
            return bool(re.search(rf"(?<![\w.-]){re.escape(text)}(?:\.0+)?(?!\w|\.\d)", self.output))
        return bool(re.search(rf"(?<!\S){re.escape(text)}(?!\S)", self.output))


def runs_program(command: str) -> bool:
    """Whether a command runs a file of the workspace, and does not only look at files."""
    return bool(_PROGRAM.match(command))


def silent_module(command: str, files: Sequence[FileBeside]) -> str | None:
    """Why there is nothing to see when a command runs, if it only runs one of these files, which defines things."""
    found = _MODULE.fullmatch(command.strip())
    text = next((each.text for each in files if found is not None and each.path == found[1]), None)
    if found is None or text is None or is_script(found[1], text):
        return None
    return f"Do not run {quoted(found[1])}. Look at its text, and call attempt_completion with the answer."


def output_of(text: str) -> str:
    """What a command printed, out of the words of its result."""
    output = text.partition("\nOutput:\n")[2] or text.partition("Output:\n")[2]
    return "" if output.strip() == "(none)" else output.strip("\n")


def running_commands(request: str, intent: Intent, written: Reversible[str], files: Sequence[FileBeside]) -> list[str]:
    """The commands that run what was just written; none where that is not clear."""
    if not intent.writes:
        every = tests_command({each.path: each.text for each in files}) if _RUN_TESTS.search(request) else None
        return [every] if every else []
    if _ARGUMENTS.search(request):
        return []
    found = [command for path in reversed(written) if (command := _command_for(path))]
    tests = [command for command in found if "unittest" in command]
    found = tests if tests and _TESTS.search(request) else found
    named = _COMMAND.findall(request)
    found = [*named, *found]
    if intent.outputs and found:
        found = [f"{command} > {intent.outputs[0]}" for command in found]
    return list(dict.fromkeys(found)) if named or _RUN_IT.search(request) else []


def checking_commands(
    request: str,
    written: Collection[str],
    files: Sequence[FileBeside],
    texts: Mapping[str, str],
    unwanted: Collection[str] = (),
) -> list[str]:
    """The commands that show whether a change works, or, before it, what goes wrong: the calls whose value the request
    states; the command that it names, or the tests; and the scripts that use what these do not. `texts` are the files
    as they are now, `unwanted` the commands that the user does not approve."""
    example = example_command(examples_in(request), files)
    first = [str(command) for command in _COMMAND.findall(request)[:1]] or tests_commands(texts)
    known = [*([example] if example and example not in unwanted else []), *first]
    code = [path for path in written if path.endswith(".py")]
    if written and not code and not printed_values(request):
        return known
    left = [path for path in code if not any(uses(command, path, texts) for command in known)]
    if known and not left:
        return known
    scripts = _scripts(request, files, texts)
    if code and len(scripts) > 1:
        scripts = [path for path in scripts if any(uses(f"python3 {quoted(path)}", each, texts) for each in left)]
    return list(dict.fromkeys([*known, *(f"python3 {quoted(path)}" for path in scripts[:_MAX_SCRIPTS])]))


def _scripts(request: str, files: Sequence[FileBeside], texts: Mapping[str, str]) -> list[str]:
    """The scripts that may be run for a look: those that were there, and new ones if it is about what they do. A script
    that waits for somebody only if it is the one that is spoken of."""
    is_about_running = bool(_RUNNING.search(request) or printed_values(request))
    there = {each.path: each.named for each in files}
    found = [path for path, text in texts.items() if is_script(path, text) and not is_test(path)]
    found = [path for path in found if path in there or is_about_running]
    only = len(found) == 1 and is_about_running and there.get(found[0], False)
    return [path for path in found if only or ends_by_itself(texts[path])]


def ends_by_itself(text: str) -> bool:
    """Whether a script neither waits for somebody, nor needs arguments, nor goes on for ever, as far as can be seen."""
    return not _WAITS.search(text)


def uses(command: str, path: str, texts: Mapping[str, str]) -> bool:
    """Whether a command runs a file, or something that imports it, of these files."""
    module = path.removesuffix(".py").replace("/", ".")
    reached = {each for each in (path, *texts) if re.search(rf"(?<![\w./-]){re.escape(each)}(?![\w/])", command)}
    if re.search(rf"\b(?:from|import) {re.escape(module)}\b", command):
        return True
    if re.search(r"-m (?:unittest|pytest)(?: -\w+)*(?: discover)?$", command):
        reached |= {each for each in texts if is_test(each)}
    while more := {to for each in reached for to in _imported_by(each, texts)} - reached:
        reached |= more
    return path in reached


def _imported_by(path: str, texts: Mapping[str, str]) -> Iterator[str]:
    """Those of the files that one of them imports, from its own folder or the first one."""
    folder = path[: path.rfind("/") + 1]
    found = (place for name in imports_of(texts.get(path, "")) for place in (name, f"{folder}{name}"))
    return (place for place in found if place in texts)


def tests_commands(texts: Mapping[str, str]) -> list[str]:
    command = tests_command(texts)
    return [command] if command else []


def tests_command(texts: Mapping[str, str]) -> str | None:
    """Runs the tests among these files, whatever they are written for."""
    tests = {path: text for path, text in texts.items() if is_test(path)}
    functions = all("unittest" not in text and _TEST_FUNCTION.search(text) for text in tests.values())
    module = "pytest -q" if functions else "unittest"
    return f"python3 -m {module} {' '.join(map(quoted, tests))}" if tests else None


def _command_for(path: str) -> str | None:
    if is_test(path):
        return f"python3 -m unittest {quoted(path)}"
    return {"py": f"python3 {quoted(path)}", "sh": f"bash {quoted(path)}"}.get(path.rpartition(".")[2])
