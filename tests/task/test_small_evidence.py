"""What a small model reports is verified by something that ran, or the user reads that it is not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from joey.events import ToolRunFinished
from joey.messages import TextBlock
from joey.policy.settings import Settings
from joey.task.profiles.small import Small
from joey.task.profiles.small.beside import FileBeside
from joey.task.profiles.small.command_runs import CommandRun, checking_commands, uses
from joey.task.profiles.small.demands import moved_definitions, other_words
from joey.task.profiles.small.evidence import missing_evidence
from joey.task.profiles.small.examples import example_command, examples_in, wrong_example
from joey.task.profiles.small.opinions import agreed, counted_by_the_model, unknown_name
from joey.task.profiles.small.problems import lacks_new_test, missing_imports
from joey.testing.script import Scripted, ScriptedProvider, reply
from joey.tools.options import BuiltinOptions
from joey.tools.toolset import ToolChoices, build_toolset
from task_kit import SMALL, Kit, call, done

PROFILE = Small(8192)
TOOLS = PROFILE.tools(BuiltinOptions())
FILE = "<write_to_file>\n<path>{}</path>\n<file_text>\n{}\n</file_text>\n</write_to_file>"
COMMAND = "<execute_command>\n<command>{}</command>\n</execute_command>"
ENDED = "<attempt_completion>\n<result>{}</result>\n</attempt_completion>"
NOTHING_RAN = "Not verified: nothing was run that shows whether it works."


def small(folder: Path, *script: Scripted, files: dict[str, str], **changes: Any) -> Kit:
    """A task of a small model with its own tools, and nobody there."""
    kit = Kit(folder, script, **SMALL, headless=True, policy="all", **changes)
    choices = PROFILE.choices(ToolChoices(), "")
    kit.change(tools=lambda mode: build_toolset(mode, TOOLS, choices=choices))
    for name, text in files.items():
        (kit.workspace / name).parent.mkdir(exist_ok=True)
        (kit.workspace / name).write_text(text, encoding="utf-8")
    return kit


def constrained(folder: Path, *replies: str, files: dict[str, str]) -> tuple[Kit, ScriptedProvider]:
    """The same with a grammar, so that the model can make no other call than the next step."""
    kit = small(folder, files=files, protocol="xml")
    provider = ScriptedProvider([*map(reply, replies)], takes_grammar=True)
    kit.change(provider=provider)
    return kit, provider


def write(call_id: str, path: str, text: str) -> Scripted:
    return reply(call(call_id, "write_to_file", path=path, file_text=text))


def run(call_id: str, command: str) -> Scripted:
    return reply(call(call_id, "execute_command", command=command))


def answers(kit: Kit) -> dict[str, str]:
    return {event.call_id: event.result.text for event in kit.of(ToolRunFinished)}


# A symptom that the request states as a call


@pytest.mark.parametrize(
    ("request_text", "found"),
    [
        ("total([1, 2], 'X') should be 1.5 but it is 3. Fix it.", [("total([1, 2], 'X')", 1.5)]),
        ("cut('a b', 3) returns 'a b' instead of 'ab'.", [("cut('a b', 3)", "ab")]),
        ("f(2) is 4, but it should be 5.", [("f(2)", 5)]),
        ("f([1,2]) should return [2, 1], g(3) must be None", [("f([1, 2])", [2, 1]), ("g(3)", None)]),
        ("add(2, 3) gives -1. Fix it.", []),
        ("f(x) should be 3, and f(2) should be twice as big.", []),
    ],
)
def test_calls_with_their_right_value_are_read_off_a_request(request_text: str, found: list[tuple[str, Any]]) -> None:
    assert [(example.call, example.value) for example in examples_in(request_text)] == found


def test_such_a_call_is_made_where_its_function_is_and_its_value_is_compared() -> None:
    examples = examples_in("mean([1, 2]) should be 1.5, and word('a') should be 'A'.")
    files = (FileBeside("lib/stats.py", "def mean(x): ...\n"), FileBeside("text.py", "def word(x): ...\n"))
    assert example_command(examples, files) == (
        'python3 -c "from lib.stats import mean; from text import word; '
        "print(repr(mean([1, 2]))); print(repr(word('a')))\""
    )
    assert example_command(examples, files[:1]) is None
    assert wrong_example(examples, "loaded\n1.5000000000001\n'A'") is None
    assert wrong_example(examples, "1.5\n'a'") == "shows that word('a') is 'a', not 'A'"


def test_a_number_of_any_size_is_compared() -> None:
    examples = examples_in("power(2, 3) should be 8.")
    assert wrong_example(examples, str(10**400)) == f"shows that power(2, 3) is {10**400}, not 8"
    assert wrong_example(examples, "8.0") is None
    assert wrong_example(examples_in(f"power(10, 150) should be {10**150}."), f"+{10**150}") is None


ADD = "def add(a, b):\n    return a - b\n"
SHOULD = "add(2, 3) should be 5 but it is -1. Fix it."
ADDS = 'python3 -c "from calc import add; print(repr(add(2, 3)))"'


async def test_a_stated_symptom_is_run_after_each_change(tmp_path: Path) -> None:
    look = COMMAND.format(ADDS)
    wrong, right = (FILE.format("calc.py", f"def add(a, b):\n    return {sum_}") for sum_ in ("a * b", "(a + b)"))
    kit, provider = constrained(
        tmp_path, wrong, look, right, look, ENDED.format("It is fixed."), files={"calc.py": ADD}
    )
    finished = await kit.run(SHOULD)
    assert (finished.outcome, finished.message) == ("completed", "It is fixed.")
    starts = [(request.grammar or "").partition(">")[0] for request in provider.requests]
    assert [start.rpartition("<")[2] for start in starts] == [
        "write_to_file", "execute_command", "write_to_file", "execute_command", "attempt_completion",
    ]  # fmt: skip


async def test_a_symptom_that_is_still_there_is_not_called_done(tmp_path: Path) -> None:
    tries = [each for n in range(5) for each in (write(f"w{n}", "calc.py", f"{ADD}#{n}\n"), run(f"r{n}", ADDS))]
    kit = small(tmp_path, *tries, *(done(f"d{n}", "It is 5 now.") for n in range(3)), files={"calc.py": ADD})
    finished = await kit.run(SHOULD)
    assert finished.outcome == "limit"
    assert finished.message == f"This is not done: `{ADDS}` shows that add(2, 3) is -1, not 5."


async def test_a_check_that_is_not_approved_leaves_the_other_commands(tmp_path: Path) -> None:
    files = {"calc.py": ADD, "main.py": "from calc import add\n\nprint(add(2, 3))\n"}
    replies = (
        COMMAND.format("python3 main.py"),
        FILE.format("calc.py", "def add(a, b):\n    return (a + b)"),
        COMMAND.format(ADDS),
        COMMAND.format("python3 main.py"),
        ENDED.format("It is fixed."),
    )
    kit, provider = constrained(tmp_path, *replies, files=files)
    kit.change(approvals=Settings.for_profile("edits").changed(allow=("python3",)))
    finished = await kit.run(SHOULD)
    assert (finished.outcome, finished.message) == ("completed", "It is fixed.")
    assert [request.temperature for request in provider.requests] == [0.0] * 5


# What shows nothing

TESTS = "import unittest\n\nfrom calc import add\n\n\nclass T(unittest.TestCase):\n    def test_it(self):\n"
TESTS += "        self.assertEqual(add(2, 0), 2)\n"


async def test_tests_that_passed_before_as_well_verify_no_repair(tmp_path: Path) -> None:
    check = "python3 -m unittest test_calc.py"
    fixed = "def add(a, b):\n    return a + b + 0\n"
    script = [run("look", check), write("w", "calc.py", fixed), run("r", check), done("d", "It is fixed.")]
    kit = small(tmp_path, *script, files={"calc.py": ADD, "test_calc.py": TESTS})
    message = (await kit.run("add in calc.py gives wrong sums, although the tests pass. Fix it.")).message
    assert message == f"Not verified: `{check}` had the same result before the change.\n\nIt is fixed."


async def test_new_code_that_was_not_run_is_not_verified(tmp_path: Path) -> None:
    kit = small(tmp_path, write("w", "calc.py", ADD), done("d", "I wrote it."), files={})
    finished = await kit.run("Write calc.py with a function add.")
    assert (finished.outcome, finished.message) == ("completed", f"{NOTHING_RAN}\n\nI wrote it.")


async def test_a_request_that_is_not_understood_and_changed_nothing_is_not_called_done(tmp_path: Path) -> None:
    kit = small(tmp_path, run("r", "python3 a.py"), done("d", "It is blue now."), files={"a.py": "print('red')\n"})
    assert (await kit.run("a.py in blue")).message == "Not verified: no file was changed.\n\nIt is blue now."


async def test_new_tests_are_run(tmp_path: Path) -> None:
    script = [write("w", "calc.py", ADD), write("v", "test_calc.py", TESTS), done("c", "I wrote both.")]
    check = run("r", "python3 -m unittest test_calc.py")
    kit = small(tmp_path, *script, check, done("d", "I wrote both."), files={})
    finished = await kit.run("Write calc.py with a function add and test_calc.py with a unittest for it.")
    assert answers(kit)["c"] == "Run python3 -m unittest test_calc.py first."
    assert (finished.outcome, finished.message) == ("completed", "I wrote both.")


async def test_what_is_no_code_has_nothing_to_run(tmp_path: Path) -> None:
    kit = small(tmp_path, write("w", "a.txt", "a\n"), done("d", "I wrote it."), files={})
    assert (await kit.run("Write a.txt with an a in it.")).message == "I wrote it."


TEXTS = {"app.py": "import lib.tax\n", "lib/tax.py": "", "test_a.py": "from app import x\n", "b.py": ""}
TEXTS |= {"lib/run.py": "import tax\n"}


@pytest.mark.parametrize(
    ("command", "path", "used"),
    [
        ("python3 app.py", "app.py", True),
        ("python3 app.py", "lib/tax.py", True),
        ("python3 -m unittest test_a.py", "lib/tax.py", True),
        ("python3 -m pytest -q", "app.py", True),
        ('python3 -c "from lib.tax import rate; print(rate(1))"', "lib/tax.py", True),
        ("python3 lib/run.py", "lib/tax.py", True),
        ("python3 app.py", "b.py", False),
        ("ls", "b.py", False),
        ("cat my-app.py", "app.py", False),
    ],
)
def test_which_files_a_command_uses(command: str, path: str, used: bool) -> None:
    assert uses(command, path, TEXTS) is used


def test_each_file_that_was_changed_has_to_be_used() -> None:
    runs = [CommandRun("python3 app.py", "3", 0)]
    assert missing_evidence(["app.py", "lib/tax.py"], runs, {}, TEXTS, "Add a tax.") is None
    assert missing_evidence(["app.py", "b.py"], runs, {}, TEXTS, "Add a tax.") == "nothing was run that uses b.py."
    silent = [CommandRun("python3 app.py", "", 0)]
    assert missing_evidence(["app.py"], silent, {}, TEXTS, "Add a tax.") == NOTHING_RAN.removeprefix("Not verified: ")


async def test_what_is_to_be_printed_is_printed_by_one_of_the_scripts(tmp_path: Path) -> None:
    files = {"lib.py": "A = 1\n", "one.py": "from lib import A\nprint(A)\n", "two.py": "import lib\nprint(-lib.A)\n"}
    script = [write("w", "lib.py", "A = 40 + 40\n"), run("r", "python3 one.py"), run("s", "python3 two.py")]
    kit = small(tmp_path, *script, done("d", "Done."), files=files)
    assert (await kit.run("A in lib.py is too small: one.py should print 80.")).message == "Done."


async def test_a_script_that_lacks_what_it_always_imported_is_no_fault(tmp_path: Path) -> None:
    files = {"lib.py": "A = 1\n", "one.py": "import not_installed\nfrom lib import A\nprint(A)\n"}
    script = [write("w", "lib.py", "A = 2\n"), run("r", "python3 one.py"), done("d", "Done.")]
    finished = await small(tmp_path, *script, files=files).run("Set A in lib.py to 2.")
    assert (finished.outcome, finished.message) == ("completed", f"{NOTHING_RAN}\n\nDone.")


def test_what_passes_after_a_repair_and_was_not_run_before_shows_nothing() -> None:
    runs = [CommandRun("python3 app.py", "3", 0)]
    why = missing_evidence(["app.py"], runs, {}, TEXTS, "Fix app.py.")
    assert why == "`python3 app.py` succeeds, but was not run before the change."
    assert missing_evidence(["app.py"], runs, {"python3 app.py": CommandRun("", "2", 0)}, TEXTS, "Fix it.") is None
    assert missing_evidence(["app.py"], runs, {}, TEXTS, "app.py is wrong: it should print 3.") is None


def test_scripts_that_use_a_change_are_run_and_those_that_wait_are_not() -> None:
    texts = {
        "lib.py": "A = 1\n",
        "one.py": "from lib import A\nprint(A)\n",
        "two.py": "import lib\nprint(lib.A)\n",
        "ask.py": "from lib import A\nprint(A, input())\n",
        "other.py": "print(1)\n",
    }
    files = [FileBeside(path, text) for path, text in texts.items()]
    commands = checking_commands("Double A in lib.py.", ["lib.py"], files, texts)
    assert commands == ["python3 one.py", "python3 two.py"]


async def test_a_model_that_copies_its_failed_attempt_begins_again_with_what_goes_wrong(tmp_path: Path) -> None:
    wrong = FILE.format("fib.py", "print(55)")
    right = FILE.format("fib.py", "for n in range(10):\n    print(n)")
    look = COMMAND.format("python3 fib.py")
    kit, provider = constrained(tmp_path, wrong, look, wrong, right, look, ENDED.format("Done."), files={})
    assert (await kit.run("Write fib.py, which prints the first 10 numbers, and run it.")).outcome == "completed"
    again = provider.requests[3]
    assert len(again.messages) == 1 and again.temperature == 0.5, "its attempt is not shown again"
    shown = "".join(block.text for block in again.messages[0].content if isinstance(block, TextBlock))
    assert "python3 fib.py does not print all 10:\n55\nPrint each of them, in a loop." in shown
    assert (again.grammar or "").startswith('root ::= "<write_to_file>"')


async def test_where_it_begins_again_the_files_are_shown_as_they_are(tmp_path: Path) -> None:
    check = COMMAND.format("python3 -m unittest test_calc.py")
    wrong = FILE.format("calc.py", "def add(a, b):\n    return a * b")
    right = FILE.format("calc.py", "def add(a, b):\n    return (a + b)")
    files = {"calc.py": ADD.replace("a - b", "None"), "test_calc.py": TESTS}
    kit, provider = constrained(tmp_path, check, wrong, check, wrong, right, check, ENDED.format("Done."), files=files)
    finished = await kit.run("The tests fail. Fix calc.py.")
    assert (finished.outcome, finished.message) == ("completed", "Done.")
    shown = "".join(block.text for block in provider.requests[4].messages[0].content if isinstance(block, TextBlock))
    assert "return a * b" in shown and "return None" not in shown and "AssertionError: 0 != 2" in shown


# Names that are used elsewhere


def test_a_name_that_a_module_does_not_have_is_found_behind_a_dot_too() -> None:
    files = {"lib.py": "def tax(): ...\n", "main.py": "import lib\nimport os\n\nlib.vat()\nlib.tax()\nos.name\n"}
    assert [words for _, _, words in missing_imports(files)] == ["main.py uses vat from lib, but lib.py has no vat"]


async def test_a_file_that_was_not_shown_and_uses_a_lost_name_is_found(tmp_path: Path) -> None:
    files = {"lib.py": "def vat(x):\n    return x\n", "main.py": "import lib\n\nprint(lib.vat(1))\n" + "#\n" * 6000}
    kit = small(tmp_path, write("w", "lib.py", "def tax(x):\n    return x\n"), done("c"), files=files, max_turns=2)
    await kit.run("Rename vat to tax in lib.py.")
    assert "main.py uses vat from lib, but lib.py has no vat" in answers(kit)["c"]


async def test_where_an_old_name_still_stands_is_said(tmp_path: Path) -> None:
    files = {"a.json": '{"old_key": 1}\n', "notes.md": "word\n" * 3000 + "old_key is a key\n"}
    kit = small(tmp_path, write("w", "a.json", '{"new_key": 1}\n'), done("d", "I renamed it."), files=files)
    message = (await kit.run("Rename old_key to new_key everywhere.")).message
    assert message == "Not verified: old_key is still used in notes.md, line 3001.\n\nI renamed it."


# Answers

SHOP = {"shop.py": "from tax import RATE\n\n\ndef total(net):\n    return net * RATE\n", "tax.py": "RATE = 1.19\n"}


async def test_a_name_that_stands_nowhere_is_no_answer(tmp_path: Path) -> None:
    script = [done("a", "It is `get_total`."), done("b", "It is total in shop.py."), done("c", "total in shop.py")]
    kit = small(tmp_path, *script, files=SHOP)
    finished = await kit.run("Which function uses RATE?")
    assert answers(kit)["a"] == "get_total stands in none of the files. Answer from what stands in them."
    assert finished.message.endswith("It is total in shop.py.")


@pytest.mark.parametrize(
    ("answer", "name"),
    [
        ("It is `total`, in shop.py.", None),
        ("It is made by make_total.", "make_total"),
        ("It calls total().", None),
        ("It calls sums().", "sums"),
        ("Nothing that anybody would take for a name: a/b, 1.5, e.g. this.", None),
    ],
)
def test_names_in_an_answer_are_looked_up(answer: str, name: str | None) -> None:
    assert unknown_name(answer, "What is it?", (*SHOP, *SHOP.values())) == name


def test_other_numbers_and_a_yes_and_a_no_do_not_agree() -> None:
    texts = ["PORT = 80\nLIMIT = 90\n"]
    assert agreed(["Yes, it is.", "No, it is not."], "Is it open?", texts) is None
    assert agreed(["The LIMIT is 90.", "The LIMIT is 80."], "How far?", texts) is None
    assert agreed(["90", "The LIMIT is 90."], "How far?", texts) == "90"


async def test_answers_that_differ_in_part_are_not_verified(tmp_path: Path) -> None:
    script = [done("a", "total and net."), done("b", "total and tax.")]
    message = (await small(tmp_path, *script, files=SHOP).run("Which names belong to the price?")).message
    assert message.startswith("Not verified: asked twice, the model gave answers that differ in part.\n\n")


async def test_what_stands_in_the_only_file_that_is_named_needs_no_reservation(tmp_path: Path) -> None:
    script = [done("a", "RATE is 1.19."), done("b", "1.19")]
    assert (await small(tmp_path, *script, files=SHOP).run("Which RATE stands in tax.py?")).message == "RATE is 1.19."


# What has to be counted or compared


@pytest.mark.parametrize(
    ("question", "answer", "outputs", "verified"),
    [
        ("How many lines has a.txt?", "It has 3 lines.", ["3 a.txt"], True),
        ("How many lines has a.txt?", "It has 3 lines.", ["one\ntwo\nthree"], False),
        ("How many lines has a.txt?", "It has 3 lines.", [], False),
        ("Which name is the longest?", "Margarete", ["Margarete"], True),
        ("Which name is the longest?", "Anna", ["Anna\nMargarete"], False),
        ("On which day were there the most errors?", "On Monday.", ["monday 2\ntuesday 5"], False),
        ("Which port is used?", "8080", [], True),
        ("What is the latest version named in a.txt?", "1.2", [], False),
        ("Which of these do most people use?", "a", [], True),
    ],
)
def test_an_answer_that_is_counted_or_compared_is_verified_by_what_a_command_printed(
    question: str, answer: str, outputs: list[str], verified: bool
) -> None:
    files = [FileBeside("a.txt", "one\ntwo\nthree\n", named=True)]
    runs = [CommandRun("awk '{print}' a.txt", output, 0) for output in outputs]
    assert (counted_by_the_model(answer, runs, question, files) is None) is verified


@pytest.mark.parametrize(
    ("question", "command", "verified"),
    [
        ("In which month did the most parcels arrive? There is one file for each month.", "ls | tail -n 1", False),
        ("In which month did the most parcels arrive?", "cat may.txt | head -n 1", True),
        ("In which month did the most parcels arrive?", "find . -exec grep -c parcel {} +", True),
        ("In which month did the most parcels arrive?", "ls | xargs wc -l | tail -n 1", True),
        ("Which file is the largest?", "ls -S | head -n 1", True),
    ],
)
def test_names_of_files_show_nothing_of_what_is_in_them(question: str, command: str, verified: bool) -> None:
    files = [FileBeside("may.txt", "a\n", named=True)]
    runs = [CommandRun(command, "may.txt\n", 0)]
    assert (counted_by_the_model("may.txt", runs, question, files) is None) is verified


def test_a_total_that_stands_beside_its_name_in_the_file_is_read_off() -> None:
    files = [FileBeside("bill.txt", "bread 3\ntotal 23\n", named=True)]
    assert counted_by_the_model("It is 23.", [], "What is the total in bill.txt?", files) is None
    assert counted_by_the_model("It is 3.", [], "What is the total in bill.txt?", files) is not None


# What is printed in the place of something else

GREETS = {"main.py": "print('Hello, Ann!')\n"}
HI = "Change main.py so that it says Hi instead of Hello."


@pytest.mark.parametrize(
    ("request_text", "found"),
    [
        (HI, [("Hi", "Hello")]),
        ("main.py should print 'Yes' instead of 'No'.", [("Yes", "No")]),
        ("main.py prints Hello instead of Hi. Fix it.", []),
        ("It says Hello instead of Hi.", []),
        ("Use tabs instead of spaces.", []),
    ],
)
def test_a_word_that_takes_the_place_of_another_is_read_off_a_demand_only(
    request_text: str, found: list[tuple[str, str]]
) -> None:
    assert other_words(request_text) == found


@pytest.mark.parametrize("text", ["print('Hello, Hi!')\n", "print('Good day!')\n"])
async def test_a_program_that_still_prints_the_old_word_or_not_the_new_one_is_not_done(
    tmp_path: Path, text: str
) -> None:
    script = [
        write("w", "main.py", text),
        run("r", "python3 main.py"),
        *(done(f"d{n}", "It says Hi.") for n in range(9)),
    ]
    kit = small(tmp_path, *script, files=GREETS)
    ended = await kit.run(HI)
    assert ended.outcome != "completed" and "Not done" in ended.message


async def test_a_program_that_prints_the_new_word_is_done(tmp_path: Path) -> None:
    script = [write("w", "main.py", "print('Hi, Ann!')\n"), run("r", "python3 main.py"), done("d", "It says Hi.")]
    assert (await small(tmp_path, *script, files=GREETS).run(HI)).message == "It says Hi."


# A definition that is moved

TAXED = {"shop.py": "def tax(x):\n    return x * 2\n\n\nprint(tax(2))\n"}
MOVE = "Move the function tax from shop.py into a new module rates.py, and import it in shop.py."
RATES = "def tax(x):\n    return x * 2\n"


@pytest.mark.parametrize(
    "request_text",
    [
        "Move tax() from shop.py to rates.py.",
        "Please move the tax function out of `shop.py` into its own module `rates.py`.",
        MOVE,
    ],
)
def test_what_is_to_be_moved_is_read_off_a_request(request_text: str) -> None:
    assert moved_definitions(request_text) == [("tax", "shop.py", "rates.py")]


async def test_what_was_to_be_moved_and_is_still_there_is_not_done(tmp_path: Path) -> None:
    kit = small(tmp_path, write("w", "rates.py", RATES), done("d", "Moved."), files=TAXED)
    await kit.run(MOVE)
    assert "shop.py still defines tax" in str(kit.provider.requests[-1].messages)


async def test_what_was_moved_is_done(tmp_path: Path) -> None:
    imports = "from rates import tax\n\nprint(tax(2))\n"
    script = [write("w", "rates.py", RATES), write("v", "shop.py", imports), run("r", "python3 shop.py")]
    kit = small(tmp_path, *script, done("d", "Moved."), files=TAXED)
    assert (await kit.run(MOVE)).message == "Moved."


# A test that is added to others

TESTED = "from a import f\n\n\ndef test_f():\n    assert f(1) == 2\n"


def test_tests_that_were_to_get_another_one_have_more_than_before() -> None:
    more = f"{TESTED}    assert f(2) == 3\n"
    another = f"{TESTED}\n\ndef test_g():\n    f(2)\n"
    assert lacks_new_test("test_a.py", TESTED, TESTED.replace("test_f", "test_g")) is not None
    assert lacks_new_test("test_a.py", TESTED, more) is None and lacks_new_test("test_a.py", TESTED, another) is None
    assert lacks_new_test("test_a.py", "", TESTED) is None and lacks_new_test("a.py", "x = 1", "x = 1") is None
