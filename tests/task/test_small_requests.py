"""Small models do what is requested, or it is not called done: each test is a way in which one went wrong."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from joey.actions import RunCommand, WritePath
from joey.commands import Answer
from joey.events import TaskCompleted, ToolRunFinished
from joey.messages import Message, TextBlock, ToolResult
from joey.policy.paths import Workspace
from joey.policy.settings import Settings
from joey.task.profiles.small import Small
from joey.task.profiles.small.beside import Beside, FileBeside, readable
from joey.task.profiles.small.command_runs import CommandRun
from joey.task.profiles.small.deletions import unwanted_deletion
from joey.task.profiles.small.demands import printed_values
from joey.task.profiles.small.exact import lost_setting, missing_heading, missing_words
from joey.task.profiles.small.intent import Intent, intent_of
from joey.task.profiles.small.problems import (
    collateral,
    miscount,
    missing_colour,
    missing_imports,
    problem_in,
    weakened,
)
from joey.task.profiles.small.python_source import python_source
from joey.task.profiles.small.runaway import runs_away
from joey.task.profiles.small.steps import Steps
from joey.task.profiles.small.wrong_calls import wrong_calls
from joey.task.settings import TaskLimits
from joey.testing.script import Scripted, ScriptedProvider, reply
from joey.tools.options import BuiltinOptions
from joey.tools.toolset import ToolChoices, build_toolset
from task_kit import SMALL, Kit, call, done

RATIO = "def percent(part, whole):\n    return part / whole * 100\n"
FIXED = "def percent(part, whole):\n    if whole == 0:\n        return 0\n    return part / whole * 100\n"
CRASHES = "percent in ratio.py crashes when whole is 0. Make it return 0 in that case."
PROFILE = Small(8192)
TOOLS = PROFILE.tools(BuiltinOptions())


def small(folder: Path, *script: Scripted, files: dict[str, str] | None = None, **changes: Any) -> Kit:
    """A task of a small model with its own tools, and nobody there."""
    kit = Kit(folder, script, **SMALL, headless=True, policy="all", **changes)
    choices = PROFILE.choices(ToolChoices(), "")
    kit.change(tools=lambda mode: build_toolset(mode, TOOLS, choices=choices))
    for name, text in (files or {}).items():
        (kit.workspace / name).write_text(text, encoding="utf-8")
    return kit


def write(call_id: str, path: str, text: str) -> Scripted:
    return reply(call(call_id, "write_to_file", path=path, file_text=text))


def run(call_id: str, command: str) -> Scripted:
    return reply(call(call_id, "execute_command", command=command))


def answers(kit: Kit) -> dict[str, str]:
    return {event.call_id: event.result.text for event in kit.of(ToolRunFinished)}


def text_of(message: Message) -> str:
    return "\n".join(block.text for block in message.content if isinstance(block, TextBlock))


# What is shown


async def test_the_files_that_a_request_names_are_shown_with_it_and_need_not_be_read(tmp_path: Path) -> None:
    kit = small(tmp_path, write("w", "ratio.py", FIXED), done("d"), files={"ratio.py": RATIO})
    assert (await kit.run(CRASHES)).outcome == "completed"
    assert f"ratio.py:\n```\n{RATIO}```" in text_of(kit.provider.requests[0].messages[0])
    assert (kit.workspace / "ratio.py").read_text() == FIXED


async def test_what_is_hidden_from_the_model_is_not_shown(tmp_path: Path) -> None:
    kit = small(tmp_path, done("d", "It is secret."), files={"key.txt": "hunter2", ".env": "KEY=hunter2"})
    (kit.workspace / ".joeyignore").write_text("key.txt\n")
    await kit.run("What is in key.txt?")
    assert "hunter2" not in text_of(kit.provider.requests[0].messages[0])


async def test_where_reading_needs_approval_nothing_is_shown(tmp_path: Path) -> None:
    kit = small(tmp_path, done("d", "It is one."), files={"a.txt": "hunter2\n"})
    kit.change(approvals=Settings.for_profile("edits").changed(reads="ask"))
    await kit.run("What is in a.txt?")
    assert "hunter2" not in text_of(kit.provider.requests[0].messages[0])


async def test_what_a_named_file_imports_is_shown_and_what_is_wrong_is_named(tmp_path: Path) -> None:
    files = {"main.py": "from lib import tax\nprint(tax(1), totl)\n", "lib.py": "def vat(x):\n    return x\n"}
    kit = small(tmp_path, done("d", "Nothing."), files={**files, "big.txt": "x" * 5000})
    await kit.run("What does main.py print?")
    shown = text_of(kit.provider.requests[0].messages[0])
    assert "lib.py:\n```\ndef vat" in shown and "xxxx" not in shown
    assert "main.py uses totl in line 2" in shown and "main.py imports tax from lib, but lib.py has no tax" in shown


async def test_the_next_request_of_a_conversation_is_shown_with_its_files_too(tmp_path: Path) -> None:
    texts = iter(["What is in b.txt?", ""])
    kit = small(tmp_path, done("one", "It is a."), done("two", "It is b."), files={"b.txt": "bee\n" + "b" * 3000})
    kit.user = lambda request: Answer(request.request_id, yes=not (text := next(texts)), text=text)
    kit.change(headless=False)
    await kit.run("What is two and two?")
    assert "b.txt:\n```\nbee" in answers(kit)["one"]


# A change that was requested and did not happen


async def test_a_change_that_is_only_claimed_is_never_accepted(tmp_path: Path) -> None:
    claims = [done(f"c{n}", "percent is defined correctly now.") for n in range(5)]
    kit = small(tmp_path, *claims, files={"ratio.py": RATIO})
    assert (await kit.run(CRASHES)).outcome == "limit"
    assert "nothing was changed" in answers(kit)["c0"] and not kit.of(TaskCompleted)


async def test_a_command_that_has_nothing_to_do_with_it_is_no_change(tmp_path: Path) -> None:
    kit = small(tmp_path, run("r", "ls"), *(done(f"c{n}") for n in range(4)), files={"ratio.py": RATIO})
    assert (await kit.run(CRASHES)).outcome == "limit"


async def test_a_command_that_changes_the_file_is_one(tmp_path: Path) -> None:
    kit = small(tmp_path, run("r", "sort names.txt -o names.txt"), done("c"), files={"names.txt": "b\na\n"})
    assert (await kit.run("Sort the lines of names.txt.")).outcome == "completed"


async def test_the_same_text_written_back_is_tried_again_from_a_clean_beginning_and_less_greedily(
    tmp_path: Path,
) -> None:
    kit = small(tmp_path, write("one", "ratio.py", RATIO), write("two", "ratio.py", FIXED), done("d"),
                files={"ratio.py": RATIO})  # fmt: skip
    assert (await kit.run(CRASHES)).outcome == "completed"
    first, second, third = kit.provider.requests
    assert (first.temperature, second.temperature, third.temperature) == (0.0, 0.5, 0.0)
    assert len(second.messages) == 1, "the attempt that led nowhere is not shown again"
    assert text_of(second.messages[0]).startswith(text_of(first.messages[0]))
    assert "holds exactly this already" in text_of(second.messages[0])
    assert len(third.messages) == 3


async def test_what_is_written_again_as_it_was_is_answered_with_what_is_wrong_and_chosen_less_greedily(
    tmp_path: Path,
) -> None:
    page, red = "<button>Hello</button>\n", "<button style='color: red'>Hello</button>\n"
    script = [write("w1", "a.html", page), write("w2", "a.html", page), write("w3", "a.html", red), done("d")]
    kit = small(tmp_path, *script)
    assert (await kit.run("Write a.html with a red button.")).outcome == "completed"
    assert "nothing in a.html is red" in answers(kit)["w1"] and "nothing in a.html is red" in answers(kit)["w2"]
    assert [request.temperature for request in kit.provider.requests] == [0.0, 0.0, 0.5, 0.0]
    third = kit.provider.requests[2].messages
    assert len(third) == 1 and 'with style="background-color: red"' in text_of(third[0]), "without what it copies"


async def test_a_conversation_that_was_shortened_since_is_sent_as_it_is(tmp_path: Path) -> None:
    one, two, three, four = (Message("user", (TextBlock(text),)) for text in ("one", "two", "three", "four"))
    watching = PROFILE.supervisor(tmp_path, Workspace.of(tmp_path), TaskLimits())
    watching.new_request("Fix it.")
    assert watching.sent((one,)) == (one,)
    assert watching.ends_reply("\n" * 20)
    assert [text_of(each)[:3] for each in watching.sent((one, two, three))] == ["one"]
    assert [text_of(each)[:3] for each in watching.sent((one, two, three, four))] == ["one", "fou"]
    assert watching.sent((four, two, three, one)) == (four, two, three, one)


async def test_a_file_whose_lines_are_only_changed_a_little_may_be_written_at_once(tmp_path: Path) -> None:
    shop = "RATE = 0.2\n\n\ndef calc_tax(price):\n    return price * RATE\n\n\ncalc_tax(3)\n"
    script = [write("w", "shop.py", shop.replace("calc_tax", "tax")), run("r", "python3 shop.py"), done("d")]
    kit = small(tmp_path, *script, files={"shop.py": shop})
    assert (await kit.run("Rename calc_tax to tax in shop.py.")).outcome == "completed"
    assert len(kit.provider.requests) == 3, "and no confirmation is asked for"


async def test_tests_that_were_there_stay(tmp_path: Path) -> None:
    tests = "import unittest\n\n\nclass T(unittest.TestCase):\n    def test_a(self):\n        self.assertEqual(1, 2)\n"
    weak = tests.replace("assertEqual(1, 2)", "assertEqual(1, 1)")
    kit = small(tmp_path, write("w", "test_a.py", weak), done("c1"), write("w2", "test_a.py", tests), done("c2"),
                files={"test_a.py": tests}, max_turns=3)  # fmt: skip
    await kit.run("The test in test_a.py fails. Fix it.")
    assert "self.assertEqual(1, 2)\nThe tests that were there have to stay" in answers(kit)["c1"]


async def test_what_no_longer_goes_together_is_to_be_put_right(tmp_path: Path) -> None:
    files = {"lib.py": "def vat(x):\n    return x\n", "main.py": "from lib import vat\n\nprint(vat(1))\n"}
    kit = small(tmp_path, write("w", "lib.py", "def tax(x):\n    return x\n"), done("c1"), done("c2"), files=files,
                max_turns=2)  # fmt: skip
    await kit.run("Rename vat to tax in lib.py.")
    assert "main.py imports vat from lib, but lib.py has no vat" in answers(kit)["c1"]


RENAMES = {
    "api.py": "from users import get_user\n\nprint(get_user(1))\n",
    "users.py": "def get_user(number):\n    return number\n",
    "test_users.py": "from users import get_user\n\n\ndef test_it():\n    assert get_user(1) == 1\n",
}


async def test_a_name_is_changed_in_every_file(tmp_path: Path) -> None:
    new = {path: text.replace("get_user", "fetch_user") for path, text in RENAMES.items()}
    script = [write(path, path, text) for path, text in new.items()]
    runs = [run("r", "python3 -m pytest -q test_users.py"), run("s", "python3 api.py")]
    kit = small(tmp_path, *script, *runs, done("d"), files=RENAMES)
    assert (await kit.run("Rename the function get_user to fetch_user everywhere.")).outcome == "completed"
    assert answers(kit)["api.py"].endswith("users.py still has get_user. Write it with fetch_user in its place.")
    assert answers(kit)["users.py"].endswith("test_users.py still has get_user. Write it with fetch_user in its place.")
    assert "have to stay" not in answers(kit)["test_users.py"], "a test with the new name is the same test"


async def test_what_is_imported_and_not_there_yet_is_written_where_it_belongs(tmp_path: Path) -> None:
    files = {"main.py": "print(1)\n", "lib.py": "A = 1\n"}
    kit = small(tmp_path, files=files, protocol="xml")
    xml = "<write_to_file>\n<path>{}</path>\n<file_text>\n{}\n</file_text>\n</write_to_file>"
    main, lib = xml.format("main.py", "from lib import B\n\nprint(B)"), xml.format("lib.py", "A = 1\nB = 2")
    ended = "<attempt_completion>\n<result>Done.</result>\n</attempt_completion>"
    tried = "<execute_command>\n<command>python3 main.py</command>\n</execute_command>"
    provider = ScriptedProvider([*map(reply, (main, lib, tried, ended))], takes_grammar=True)
    kit.change(provider=provider)
    assert (await kit.run("Let main.py print a new constant B of lib.py.")).outcome == "completed"
    assert '"lib.py"' in (provider.requests[1].grammar or "") and '"main.py"' not in (
        provider.requests[1].grammar or ""
    )


async def test_each_file_that_the_request_changes_is_changed(tmp_path: Path) -> None:
    files = {"a.py": "VERSION = 1\n", "b.py": "VERSION = 1\n", "c.py": "import a\n"}
    script = [write("w1", "a.py", "VERSION = 2\n"), done("c"), write("w2", "b.py", "VERSION = 2\n"), done("d")]
    kit = small(tmp_path, *script, files=files)
    assert (await kit.run("Set VERSION to 2 in a.py and change b.py in the same way. See c.py.")).outcome == "completed"
    assert answers(kit)["w1"].endswith("b.py is as it was. Change it as well, as the request says.")
    assert "b.py is as it was" in answers(kit)["c"] and "is as it was" not in answers(kit)["w2"]


async def test_a_further_file_that_is_written_back_as_it_was_is_left(tmp_path: Path) -> None:
    files = {"a.py": "VERSION = 1\n", "b.py": "VERSION = 1\n"}
    kit = small(
        tmp_path, write("w1", "a.py", "VERSION = 2\n"), write("w2", "b.py", files["b.py"]), done("d"), files=files
    )
    assert (await kit.run("Set VERSION to 2 in a.py and update what b.py does.")).outcome == "completed"


async def test_tests_that_are_wanted_are_written_although_no_file_is_named(tmp_path: Path) -> None:
    tests = "import unittest\n\nfrom a import f\n\n\nclass T(unittest.TestCase):\n    def test_f(self):\n        f()\n"
    script = [write("w1", "a.py", "def f():\n    pass\n"), write("w2", "test_a.py", tests)]
    kit = small(tmp_path, *script, run("r", "python3 -m unittest test_a.py"), done("d"))
    assert (await kit.run("Write a function f with a unittest.")).outcome == "completed"
    assert answers(kit)["w1"].endswith("There is no test yet. Write test_a.py with unittest now.")


# Questions and commands


async def test_a_question_changes_nothing(tmp_path: Path) -> None:
    kit = small(tmp_path, write("w", "a.txt", "x\n"), done("d", "It is one."), files={"a.txt": "one\n"})
    assert (await kit.run("What is in a.txt?")).message == "It is one."
    assert (kit.workspace / "a.txt").read_text() == "one\n" and "Nothing is to be written" in answers(kit)["w"]


async def test_what_is_only_copied_is_not_written_again(tmp_path: Path) -> None:
    kit = small(tmp_path, run("r", "cp a.txt b.txt"), write("w", "b.txt", "x\n"), done("d", "I copied it."),
                files={"a.txt": "one\n"})  # fmt: skip
    assert (await kit.run("Copy a.txt to b.txt.")).outcome == "completed"
    assert (kit.workspace / "b.txt").read_text() == "one\n"


async def test_what_was_read_is_not_forgotten_when_it_is_read_again(tmp_path: Path) -> None:
    reads = [reply(call(f"r{number}", "read_file", path="b.txt")) for number in range(2)]
    kit = small(tmp_path, *reads, done("d", "It is long."), files={"b.txt": "long\n" * 3000})
    assert (await kit.run("What is in it?")).message == "It is long."
    assert len(kit.provider.requests[2].messages) == 5


async def test_a_refusal_that_is_given_as_the_answer_is_none(tmp_path: Path) -> None:
    refusal = "Nothing is to be written here. Call attempt_completion with the result."
    kit = small(tmp_path, write("w", "a.txt", "x\n"), done("d", refusal), done("e", "It is one."),
                files={"a.txt": "one\n"})  # fmt: skip
    assert (await kit.run("What is in a.txt?")).message == "It is one."
    assert answers(kit)["d"].startswith("That is no result. The request is: What is in a.txt?")


async def test_what_is_to_be_run_is_run_and_its_output_is_shown(tmp_path: Path) -> None:
    kit = small(tmp_path, done("c", "It prints the numbers 0 to 34."), run("r", "python3 fib.py"),
                done("d", "fib.py prints the numbers 0 1 1 2 3 5 8 13 21 34."),
                done("e", "fib.py prints the numbers 0 1 1 2 3 5 8 13 21 34."),
                files={"fib.py": "print(55)\n"})  # fmt: skip
    finished = await kit.run("Run fib.py and show me the output.")
    assert "It was not run" in answers(kit)["c"] and "That was not printed" in answers(kit)["d"]
    assert finished.message == "`python3 fib.py` printed:\n55"


async def test_a_command_that_printed_nothing_is_followed_by_one_that_prints_the_answer(tmp_path: Path) -> None:
    kit = small(tmp_path, run("r", "true"), done("d", "It is 391."),
                run("s", 'python3 -c "print(17 * 23)"'), done("e", "It is 391."))  # fmt: skip
    finished = await kit.run("What is 17 times 23?")
    assert answers(kit)["d"].endswith("printed nothing.\nRun a command that prints what you report.")
    assert finished.message.startswith("It is 391.")


async def test_a_script_that_does_not_print_what_the_model_expected_may_be_written_again(tmp_path: Path) -> None:
    right = "print(*[11, 12, 13])\n"
    script = [write("w1", "a.py", "print(13)\n"), run("r1", "python3 a.py"), done("c", "It prints 11 12 13.")]
    again = [write("w2", "a.py", right), run("r2", "python3 a.py"), done("d", "It prints 11 12 13.")]
    kit = small(tmp_path, *script, *again)
    assert (await kit.run("Write a.py, which prints three numbers, and run it.")).message == "It prints 11 12 13."
    assert "`python3 a.py` printed:\n13\nThat is not what you report." in answers(kit)["c"]


async def test_what_is_to_be_shown_is_printed(tmp_path: Path) -> None:
    mean = "def mean(*numbers):\n    return sum(numbers) / len(numbers)\n"
    script = [
        write("w1", "a.py", mean),
        run("r1", "python3 a.py"),
        write("w2", "a.py", mean + "\n\nprint(mean(3, 5))\n"),
    ]
    kit = small(tmp_path, *script, run("r2", "python3 a.py"), done("d", "The mean is 4."))
    finished = await kit.run("Write a.py with a mean function, then show me the mean of 3 and 5.")
    silent = "It printed nothing. Write it again, with a last line that prints what is to be shown."
    assert answers(kit)["r1"].endswith(silent)
    assert finished.message == "The mean is 4.\n\n`python3 a.py` printed:\n4.0"


async def test_what_printed_nothing_is_written_again_and_not_run_again(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("A = 1\n")
    steps = Steps("Write a.py, then show me the sum of 3 and 5.", tmp_path, {"a.py": "A = 1\n"}.get)
    steps.ran([WritePath("a.py")], ToolResult((TextBlock("Written."),)))
    steps.ran([RunCommand("python3 a.py")], ToolResult((TextBlock("Command executed.\n\nOutput:\n(none)"),)))
    assert steps.next is not None and set(steps.next.calls) == {"write_to_file"}


async def test_an_output_that_was_wanted_and_left_out_is_added(tmp_path: Path) -> None:
    kit = small(tmp_path, run("r", "echo hello"), done("d", "I ran it."))
    assert (await kit.run("Run echo hello and show me its output.")).message == (
        "I ran it.\n\n`echo hello` printed:\nhello"
    )


async def test_a_script_that_fails_is_written_again_and_run_again(tmp_path: Path) -> None:
    kit = small(tmp_path, write("w1", "a.py", "print(len(3))\n"), run("r1", "python3 a.py"), done("c", "Done."),
                write("w2", "a.py", "print(3)\n"), run("r2", "python3 a.py"), done("d", "It prints 3."))  # fmt: skip
    assert (await kit.run("Write a.py, which prints 3, and run it.")).message == "It prints 3."
    assert answers(kit)["r1"].endswith("It fails. Put it right: write the file again.")
    assert "python3 a.py fails:" in answers(kit)["c"] and "TypeError" in answers(kit)["c"]


async def test_where_the_user_does_not_approve_nothing_is_demanded(tmp_path: Path) -> None:
    kit = small(tmp_path, run("r", "python3 a.py"), done("d", "It is not allowed here."), files={"a.py": "print(1)\n"})
    kit.change(approvals=Settings.for_profile("read-only"))
    assert (await kit.run("Run a.py.")).message == "It is not allowed here."


async def test_that_a_call_failed_is_no_answer(tmp_path: Path) -> None:
    script = [run("r", "echo 391 | bc"), done("c", "The tool failed: no rule."), done("d", "It is 391.")]
    kit = small(tmp_path, *script, files={"a.txt": "x\n"})
    kit.change(approvals=Settings.for_profile("edits"))
    assert (await kit.run("What is 17 times 23?")).message == "It is 391."
    assert "That is no result" in answers(kit)["c"]


async def test_a_script_that_is_to_be_run_is_written(tmp_path: Path) -> None:
    script = [write("w1", "a.json", "[1]\n"), write("w2", "a.py", "print(open('a.json').read())\n")]
    kit = small(tmp_path, *script, run("r", "python3 a.py"), done("d", "It prints [1]."))
    request = "Create a JSON file with a number, and a script that prints it. Run it."
    assert (await kit.run(request)).outcome == "completed"
    assert answers(kit)["w1"].endswith("There is no script yet. Write it now.")


# Under a grammar


async def test_under_a_grammar_only_the_next_step_can_be_written(tmp_path: Path) -> None:
    files = {"ratio.py": RATIO, "test_ratio.py": "from ratio import percent\n"}
    kit = small(tmp_path, files=files, protocol="xml")
    xml = "<write_to_file>\n<path>ratio.py</path>\n<file_text>\n" + FIXED + "</file_text>\n</write_to_file>"
    tested = "<execute_command>\n<command>python3 -m unittest test_ratio.py</command>\n</execute_command>"
    ended = "<attempt_completion>\n<result>Fixed.</result>\n</attempt_completion>"
    kit.change(provider=(provider := ScriptedProvider([reply(xml), reply(tested), reply(ended)], takes_grammar=True)))
    assert (await kit.run(CRASHES)).outcome == "completed"
    first, second, third = (request.grammar or "" for request in provider.requests)
    assert first.startswith('root ::= "<write_to_file>"') and '"ratio.py"' in first and "test_ratio" not in first
    assert second.startswith('root ::= "<execute_command>"') and '"python3 -m unittest test_ratio.py"' in second
    assert third.startswith('root ::= "<attempt_completion>"')


async def test_a_reply_that_runs_away_is_ended_and_made_again(tmp_path: Path) -> None:
    endless = "<attempt_completion>\n<result>Fine." + "\n" * 5000 + "</result>\n</attempt_completion>"
    four = "<attempt_completion>\n<result>Four.</result>\n</attempt_completion>"
    pieces = (endless[at : at + 5] for at in range(0, len(endless), 5))
    kit = small(tmp_path, reply(*pieces), reply(four), protocol="xml")
    assert (await kit.run("What is two and two?")).message == "Four."
    assert "repeated itself" in text_of(kit.provider.requests[1].messages[0])
    assert len(kit.provider.requests[1].messages) == 1 and kit.provider.requests[1].temperature == 0.5


@pytest.mark.parametrize(
    ("tail", "away"),
    [
        ("x" + "\n" * 8, True),
        ("x\n\n\ny\n\n\n", False),
        ("numbers: " + "0, " * 200, True),
        ("for x in y:\n    print(x)\n" * 13 + "for", True),
        ("\n".join(f"row {n}" for n in range(300)), False),
        ("\n".join(f"line {n % 8} of a song" for n in range(42)), True),
        ("\n".join(f"line {n % 8} of a song" for n in range(34)), False),
        ("-" * 80 + "\n", False),
        ("a line of 24 characters\n" + "-" * 300, False),
        ("a line of 24 characters\n" + "-" * 301, True),
    ],
)
def test_what_runs_away(tail: str, away: bool) -> None:
    assert runs_away(tail) is away


# What a request demands


@pytest.mark.parametrize(
    ("request_", "kinds"),
    [
        ("What does main.py do?", "asks"),
        ("Who wrote a.py, and when?", "asks"),
        ("In which file is the class Parser defined?", "asks"),
        ("Tell me what is in a.txt.", "asks"),
        ("Explain how to add a key to app.json.", "asks"),
        ("Is a.py correct? Don't change it.", "asks"),
        ("Count the lines in data.csv", "asks"),
        ("Run a.py.", "runs"),
        ("Could you please run the tests?", "runs"),
        ("Run load.py. Which exception does it end with?", "asks runs"),
        ("Calculate the sum of 1 to 100 and tell me the result.", "asks runs shows"),
        ("Fix it.", "writes"),
        ("Can you fix the bug in a.py?", "writes"),
        ("Is there a bug in a.py? If so, fix it.", "asks writes"),
        ("a.py crashes when x is 0.", "writes"),
        ("When I run a.py, it prints 3. It should print 4.", "writes"),
        ("a.py lists the oldest first. People want the newest first.", "writes"),
        ("In a.py change the timeout to 30.", "writes"),
        ("a page with a red button", "writes"),
        ("Move the function f from a.py to b.py.", "writes"),
        ("Write a script that prints 3, and run it.", "runs writes shows"),
        ("Write a module with a mean function, then show me the mean of 3 and 5.", "runs writes shows"),
        ("Add type hints to a.py and run mypy", "runs writes"),
        ("Delete the file old.log.", "moves"),
        ("Make a folder called backup and copy notes.txt into it.", "moves"),
        ("Rename the module a.py to b.py, and change c.py so that it works.", "writes moves"),
        ("hello", ""),
    ],
)
def test_what_a_request_demands_is_read_off_its_words(request_: str, kinds: str) -> None:
    found = intent_of(request_)
    assert " ".join(each for each in ("asks", "runs", "writes", "moves", "shows") if getattr(found, each)) == kinds


def test_a_file_for_the_output_of_a_command_is_not_written_by_the_model() -> None:
    assert intent_of("Write a.py, run it and save its output as a.txt.").outputs == ("a.txt",)
    assert intent_of("Be brief.") == Intent()


# Problems in files


@pytest.mark.parametrize(
    ("path", "text", "problem"),
    [
        ("a.py", "x = 1\nprint(y)\n", "uses y in line 2"),
        ("a.py", "import math\nprint(math.pi, __name__, len([z for z in (1,)]))\n", None),
        ("a.py", "from b import *\nprint(y)\n", None),
        ("a.py", "def f(a, *b, **c):\n    global g\n    return [a, b, c, g]\n", None),
        ("a.py", "try:\n    pass\nexcept E as e:\n    print(e)\n", "uses E"),
        ("a.toml", "a = \n", "not valid"),
        ("a.yaml", "a: [1\n", "not valid"),
        ("a.yml", "a: 1\n", None),
        ("a.txt", "{", None),
        ("Makefile", "all: a\n    echo hello\n", "spaces before `echo hello`: a tab"),
        ("Makefile", "all: a\n\techo hello\n", None),
        ("Makefile", "X := 1\nall:\n  Y = 2\n", None),
        ("count.sh", "ls -l | wc -l\n", "counts wrongly"),
        ("count.sh", "ls | wc -l\n", None),
    ],
)
def test_what_is_wrong_with_a_file(path: str, text: str, problem: str | None) -> None:
    found = problem_in(path, text)
    assert found is None if problem is None else problem in (found or "")


def test_imports_are_held_against_what_there_is() -> None:
    files = {"p/__init__.py": "", "p/a.py": "A = 1\n", "b.py": "from p.a import A, B\nfrom p import a\nimport os\n"}
    assert list(missing_imports(files)) == [("b.py", "p/a.py", "b.py imports B from p.a, but p/a.py has no B")]


def test_tests_are_weakened_by_losing_a_test_or_an_assertion() -> None:
    tests = "def test_a():\n    assert f() == 1\n"
    assert weakened("test_a.py", tests, tests + "\ndef test_b():\n    assert True\n") is None
    assert "no longer has test_a" in (weakened("test_a.py", tests, "def test_b():\n    assert f() == 1\n") or "")
    assert "assert f() == 1" in (weakened("test_a.py", tests, "def test_a():\n    assert True\n") or "")
    assert weakened("a.py", tests, "") is None


def test_what_the_request_has_nothing_to_do_with_stays_as_it_was() -> None:
    before = "def even(n):\n    return n % 2\n\n\ndef odd(n):\n    return n % 2\n\n\ndef both(n):\n    return even(n)\n"
    fixed = before.replace("return n % 2", "return not n % 2", 1)
    assert collateral("a.py", before, fixed, "even in a.py is wrong. Fix it.") is None
    worse = fixed.replace("def odd(n):\n    return n", "def odd(n):\n    return not n")
    assert "another odd than before" in (collateral("a.py", before, worse, "even is wrong. Fix it.") or "")
    assert "def odd(n):\n    return n % 2" in (collateral("a.py", before, worse, "even is wrong. Fix it.") or "")
    assert collateral("a.py", before, worse, "Improve a.py.") is None, "where nothing is named, anything may change"
    renamed = fixed.replace("even", "is_even")
    assert collateral("a.py", before, renamed, "Rename even to is_even.") is None


def test_a_definition_that_is_lost_is_demanded_back() -> None:
    before = "def add(a, b):\n    return a + b\n"
    lost = "def subtract(a, b):\n    return a - b\n"
    problem = collateral("calc.py", before, lost, "Add a function subtract(a, b) to calc.py. Keep the function add.")
    assert problem is not None and "no longer has add" in problem and before.strip() in problem
    assert collateral("calc.py", before, before + lost, "Add a function subtract.") is None
    assert collateral("calc.py", before, lost, "Replace add by subtract in calc.py.") is None, "it was to go"


async def test_what_may_not_be_run_as_a_command_may_be_written_as_a_script(tmp_path: Path) -> None:
    kit = small(tmp_path, run("r", "python3 -c 'print(6 * 7)'"), write("w", "sum.py", "print(6 * 7)\n"),
                run("s", "python3 sum.py"), done("d", "It is 42."))  # fmt: skip
    kit.change(approvals=Settings.for_profile("edits").changed(allow=("python3",)))
    assert (await kit.run("Calculate 6 times 7 and tell me the result.")).message == "It is 42."
    assert "denied" in answers(kit)["r"] and "It was not run" in answers(kit)["w"]


async def test_under_a_grammar_a_calculation_that_may_not_be_run_is_written_and_run(tmp_path: Path) -> None:
    kit = small(tmp_path, protocol="xml")
    denied = "<execute_command>\n<command>echo '6 * 7' | bc</command>\n</execute_command>"
    script = "<write_to_file>\n<path>calculate.py</path>\n<file_text>\nprint(6 * 7)\n</file_text>\n</write_to_file>"
    command = "<execute_command>\n<command>python3 calculate.py</command>\n</execute_command>"
    ended = "<attempt_completion>\n<result>It is 42.</result>\n</attempt_completion>"
    provider = ScriptedProvider([*map(reply, (denied, script, command, ended))], takes_grammar=True)
    kit.change(provider=provider, approvals=Settings.for_profile("edits").changed(allow=("python3",)))
    assert (await kit.run("What is 6 times 7?")).message == "It is 42."
    second, third = (request.grammar or "" for request in provider.requests[1:3])
    assert second.startswith('root ::= "<write_to_file>"') and '"calculate.py"' in second
    assert third.startswith('root ::= "<execute_command>"') and '"python3 calculate.py"' in third


async def test_a_model_that_insists_answers_without_the_script(tmp_path: Path) -> None:
    kit = small(tmp_path, run("r", "echo 391 | bc"), done("c", "It is 391."), done("d", "It is 391."))
    kit.change(approvals=Settings.for_profile("edits"))
    assert (await kit.run("What is 17 times 23?")).message == "It is 391."
    assert answers(kit)["c"] == "Write calculate.py, which prints the result, and run it."


async def test_each_request_begins_with_all_of_the_one_before_so_that_a_server_reads_only_what_is_new(
    tmp_path: Path,
) -> None:
    script = [write("w", "ratio.py", FIXED), run("r", "python3 -m unittest test_ratio.py"), done("d")]
    tests = "import unittest\n\nfrom ratio import percent\n\n\nprint(percent(1, 2))\n"
    kit = small(tmp_path, *script, files={"ratio.py": RATIO, "test_ratio.py": tests})
    await kit.run(CRASHES)
    first, second, third = kit.provider.requests
    assert first.system == second.system == third.system
    assert second.messages[: len(first.messages)] == first.messages
    assert third.messages[: len(second.messages)] == second.messages


def test_a_page_has_the_colours_that_were_requested() -> None:
    page = "<button>Hello</button>"
    assert "nothing in a.html is red" in (missing_colour("a.html", page, "A page with a red button.") or "")
    for right in ("<button style='background: red'>", "<style>button { color: #f00 }</style>", "rgb(1, 2, 3)"):
        assert missing_colour("a.html", right, "A page with a red button.") is None
    body = "<style>body { background: red }</style><button class='b'>Hello</button>"
    assert "The button in a.html is not red." in (missing_colour("a.html", body, "A page with a red button.") or "")
    for selector in ("button", ".b", "body, button:hover"):
        assert missing_colour("a.html", body.replace("body", selector), "A page with a red button.") is None
    assert missing_colour("a.txt", page, "A red text.") is missing_colour("a.html", page, "A button.") is None


@pytest.mark.parametrize(
    "filling",
    ["A", "{", "}", "a{b", "<button ", "<style>", "<style>a{", "</style>", "<button class='a"],
)
def test_a_page_of_a_megabyte_is_looked_at_once(filling: str) -> None:
    """A page with an image in it is such a one. What goes back over it for each character takes hours."""
    page = f"<button>Hello</button> blue {filling * (1_000_000 // len(filling))}"
    assert missing_colour("a.html", page, "Add a blue button.") is not None


def test_only_what_is_in_a_style_is_a_rule() -> None:
    page = "<button>Hello</button><script>button {{ blue }}</script><p>button { blue }</p>"
    assert "The button in a.html is not blue." in (missing_colour("a.html", page, "Add a blue button.") or "")
    styles = "<style>p { color: red }</style><STYLE media='screen'>@media print { p > button { color: blue } }"
    assert missing_colour("a.html", page + styles, "Add a blue button.") is None


async def test_of_an_empty_folder_nothing_is_sent_that_could_be_copied(tmp_path: Path) -> None:
    kit = small(tmp_path, write("w", "haiku.txt", "The sea.\n"), done("d"))
    await kit.run("Write a haiku into haiku.txt.")
    assert text_of(kit.provider.requests[0].messages[0]) == "Write a haiku into haiku.txt."


def test_only_what_the_model_may_see_is_readable(tmp_path: Path) -> None:
    for name in ("key.txt", "a.txt"):
        (tmp_path / name).write_text("x\n")
    (tmp_path / ".joeyignore").write_text("key.txt\n")
    paths = Workspace.of(tmp_path)
    assert readable(tmp_path / "a.txt", paths) == (tmp_path / "a.txt").resolve()
    assert readable(tmp_path / "key.txt", paths) is readable(tmp_path.parent / "b.txt", paths) is None


async def test_what_is_to_be_explained_and_is_shown_is_neither_read_again_nor_run(tmp_path: Path) -> None:
    kit = small(tmp_path, files={"a.py": "import sys\n\nprint(sys.argv[1])\n"}, protocol="xml")
    ended = "<attempt_completion>\n<result>It prints its argument.</result>\n</attempt_completion>"
    kit.change(provider=(provider := ScriptedProvider([reply(ended)], takes_grammar=True)))
    assert (await kit.run("explain this script")).outcome == "completed"
    assert (provider.requests[0].grammar or "").startswith('root ::= "<attempt_completion>"')


@pytest.mark.parametrize(("size", "can_read"), [(10, False), (3_000, True)])
async def test_only_what_was_not_shown_can_be_read(tmp_path: Path, size: int, can_read: bool) -> None:
    kit = small(tmp_path, files={"a.txt": "one\n", "b.txt": "b" * size}, protocol="xml")
    ended = "<attempt_completion>\n<result>One.</result>\n</attempt_completion>"
    kit.change(provider=(provider := ScriptedProvider([reply(ended)], takes_grammar=True)))
    await kit.run("What is in a.txt?")
    assert ("<read_file>" in (provider.requests[0].grammar or "")) is can_read


async def test_a_file_in_another_format_is_a_new_file(tmp_path: Path) -> None:
    kit = small(tmp_path, done("c"), write("w", "data.json", '[{"a": 1}]\n'), done("d"), files={"data.csv": "a\n1\n"})
    assert (await kit.run("Convert data.csv to JSON")).outcome == "completed"
    assert "data.json does not exist yet" in answers(kit)["c"]
    assert (kit.workspace / "data.csv").read_text() == "a\n1\n"


async def test_what_something_new_is_made_from_is_not_to_be_changed(tmp_path: Path) -> None:
    script = [write("w", "sum.py", "print(sum(map(int, open('n.txt'))))\n"), run("r", "python3 sum.py"), done("d")]
    kit = small(tmp_path, *script, files={"n.txt": "1\n2\n"})
    assert (await kit.run("Write sum.py, which prints the sum of the numbers in n.txt.")).outcome == "completed"
    assert "as it was" not in answers(kit)["w"]


async def test_a_script_that_counts_one_too_many_is_to_be_put_right(tmp_path: Path) -> None:
    wrong, right = "#!/bin/bash\necho $(ls -l | wc -l)\n", "#!/bin/bash\nls | wc -l\n"
    kit = small(tmp_path, write("w1", "count.sh", wrong), write("w2", "count.sh", right), done("d"))
    assert (await kit.run("write a bash script that counts the files in a folder")).outcome == "completed"
    assert "count.sh counts wrongly: the first line that ls -l prints is a total" in answers(kit)["w1"]


async def test_a_command_that_counts_one_too_many_is_answered_with_that(tmp_path: Path) -> None:
    kit = small(tmp_path, run("r1", "ls -l | wc -l"), run("r2", "ls | wc -l"), done("d", "There is 1 file."),
                files={"a.txt": "x\n"})  # fmt: skip
    assert (await kit.run("How many files are here?")).message == "There is 1 file."
    assert (
        "one too many. This counts the files: find . -maxdepth 1" in answers(kit)["r1"]
        and "too many" not in answers(kit)["r2"]
    )


@pytest.mark.parametrize(
    ("command", "wrong"),
    [
        ("ls -la src | wc -l", True),
        ("find . | wc -l", True),
        ("find src/ -type f | wc -l", False),
        ("ls -1 | wc -l", False),
        ("ls *.py | wc -l", False),
        ("wc -l a.txt; ls -l", False),
    ],
)
def test_what_counts_one_too_many(command: str, wrong: bool) -> None:
    assert (miscount(command) is not None) is wrong


async def test_an_output_that_is_in_the_result_in_other_words_is_not_added(tmp_path: Path) -> None:
    kit = small(tmp_path, run("r", "printf '1\n1\n2\n'"), done("d", "It printed 1, 1 and 2: no; 1, 1, 2."))
    assert (await kit.run("Run it and show me the output.")).message == "It printed 1, 1 and 2: no; 1, 1, 2."


async def test_what_was_to_be_put_right_and_still_fails_is_not_called_done(tmp_path: Path) -> None:
    tests = "import unittest\n\nimport a\n\n\nclass T(unittest.TestCase):\n    def test_a(self):\n"
    tests += "        self.assertEqual(a.A, 3)\n"
    check = "python3 -m unittest test_a.py"
    script = [each for n in range(4, 9) for each in (write(f"w{n}", "a.py", f"A = {n}\n"), run(f"r{n}", check))]
    kit = small(tmp_path, *script, *(done(f"d{n}", "It is fixed.") for n in range(4)),
                files={"a.py": "A = 1\n", "test_a.py": tests})  # fmt: skip
    assert (await kit.run("test_a.py fails. Fix a.py.")).outcome == "limit"
    assert answers(kit)["d0"] == f"This is not done: `{check}` fails." and not kit.of(TaskCompleted)


async def test_a_number_that_stands_nowhere_is_to_be_worked_out(tmp_path: Path) -> None:
    kit = small(tmp_path, done("c", "It is 381."), run("r", "echo $((17 * 23))"), done("d", "It is 391."))
    assert (await kit.run("What is 17 times 23?")).message == "It is 391."
    assert answers(kit)["c"] == "381 stands nowhere. Run a command that works it out, and print it."


@pytest.mark.parametrize("claim", ["It is 627121885.", "It is 627,121,885.", "It prints 627 and 627121885."])
async def test_numbers_may_be_written_with_commas(tmp_path: Path, claim: str) -> None:
    kit = small(tmp_path, run("r", "echo 627121885; echo 627"), done("d", claim))
    assert (await kit.run("Calculate it.")).message == claim


async def test_what_a_program_does_wrong_is_put_right_in_code_and_not_in_its_data(tmp_path: Path) -> None:
    files = {"total.py": "print(sum(map(int, list(open('n.txt'))[:-1])))\n", "n.txt": "1\n2\n"}
    kit = small(tmp_path, files=files, protocol="xml")
    xml = "<write_to_file>\n<path>total.py</path>\n<file_text>\nprint(3)\n</file_text>\n</write_to_file>"
    ended = "<attempt_completion>\n<result>Done.</result>\n</attempt_completion>"
    look = "<execute_command>\n<command>python3 total.py</command>\n</execute_command>"
    provider = ScriptedProvider([*map(reply, (look, xml, look, ended))], takes_grammar=True)
    kit.change(provider=provider)
    finished = await kit.run("The total is too low: the last number is missing. Fix that.")
    assert (finished.outcome, finished.message) == ("completed", "Done."), "another output than before verifies it"
    second = provider.requests[1].grammar or ""
    assert '"total.py"' in second and '"n.txt"' not in second
    steps = Steps("Fix the order of n.txt: it is wrong.", tmp_path, files.get)
    steps.beside = Beside(tuple(FileBeside(path, text, path == "n.txt") for path, text in files.items()))
    steps.runs.append(CommandRun("python3 total.py", "1", 0))
    assert steps.next is not None and "n.txt" in steps.next.calls["write_to_file"]["path"], (
        "where it is named, it is meant"
    )


STACK_TESTS = "import unittest\n\nimport a\n\n\nclass T(unittest.TestCase):\n    def test_a(self):\n"
STACK_TESTS += "        self.assertEqual(a.A, 3)\n"
FILE = "<write_to_file>\n<path>{}</path>\n<file_text>\n{}\n</file_text>\n</write_to_file>"
COMMAND = "<execute_command>\n<command>{}</command>\n</execute_command>"
ENDED = "<attempt_completion>\n<result>{}</result>\n</attempt_completion>"


async def test_a_failing_test_is_run_before_the_change_and_after_it(tmp_path: Path) -> None:
    files = {"a.py": "A = 1\n", "test_a.py": STACK_TESTS}
    check = COMMAND.format("python3 -m unittest test_a.py")
    # Of another length: what Python compiled of a file of this size in this second would still count.
    fixed = FILE.format("a.py", "A = 2 + 1")
    replies = (check, fixed, check, ENDED.format("A is 3 now."))
    kit = small(tmp_path, files=files, protocol="xml")
    kit.change(provider=(provider := ScriptedProvider([*map(reply, replies)], takes_grammar=True)))
    assert (await kit.run("test_a.py fails. Find out why and fix it.")).outcome == "completed"
    first, second = (request.grammar or "" for request in provider.requests[:2])
    assert first.startswith('root ::= "<execute_command>"') and '"python3 -m unittest test_a.py"' in first
    assert second.startswith('root ::= "<write_to_file>"')
    assert "AssertionError" in text_of(provider.requests[1].messages[-1])


async def test_after_a_file_was_written_back_as_it_was_the_others_come_first(tmp_path: Path) -> None:
    files = {"show.py": "from b import B\n\nprint(B)\n", "b.py": "B = 1\n", "c.py": "C = 1\n"}
    check = COMMAND.format("python3 show.py")
    replies = (check, FILE.format("c.py", "C = 1"), FILE.format("b.py", "B = 1 + 1"), check)
    kit = small(tmp_path, files=files, protocol="xml")
    provider = ScriptedProvider([*map(reply, (*replies, ENDED.format("It is 2 now.")))], takes_grammar=True)
    kit.change(provider=provider)
    assert (await kit.run("The number is wrong, there is a bug. Fix it.")).outcome == "completed"
    first, second, third = (request.grammar or "" for request in provider.requests[:3])
    assert '"python3 show.py"' in first and '"c.py"' in second and '"b.py"' in third and '"c.py"' not in third


@pytest.mark.parametrize(
    ("tests", "command"),
    [
        (STACK_TESTS, "python3 -m unittest test_a.py"),
        ("import a\n\n\ndef test_a():\n    assert a.A\n", "python3 -m pytest -q test_a.py"),
    ],
)
async def test_the_tests_are_run_as_tests(tmp_path: Path, tests: str, command: str) -> None:
    kit = small(tmp_path, files={"a.py": "A = 1\n", "test_a.py": tests}, protocol="xml")
    replies = (COMMAND.format(command), ENDED.format("test_a fails."))
    kit.change(provider=(provider := ScriptedProvider([*map(reply, replies)], takes_grammar=True)))
    await kit.run("Run the tests and tell me which one fails and why.")
    assert f'"{command}"' in (provider.requests[0].grammar or "")


async def test_what_a_model_cannot_write_is_done_by_a_command(tmp_path: Path) -> None:
    replies = (FILE.format("names.txt", "b\na"), COMMAND.format("sort names.txt -o names.txt"), ENDED.format("Sorted."))
    kit = small(tmp_path, files={"names.txt": "b\na\n"}, protocol="xml")
    kit.change(provider=(provider := ScriptedProvider([*map(reply, replies)], takes_grammar=True)))
    assert (await kit.run("sort the names in names.txt alphabetically")).outcome == "completed"
    assert (provider.requests[1].grammar or "").startswith('root ::= "<execute_command>"')
    assert (kit.workspace / "names.txt").read_text() == "a\nb\n"


async def test_a_question_deletes_nothing(tmp_path: Path) -> None:
    kit = small(tmp_path, run("r", "python3 a.py"), run("s", "rm a.py"), done("d", "The key is not there."),
                files={"a.py": "print({}['cocoa'])\n"})  # fmt: skip
    assert (await kit.run("why does my script crash?")).message == "The key is not there."
    assert (kit.workspace / "a.py").exists() and "a.py is to stay" in answers(kit)["s"]


@pytest.mark.parametrize(
    ("request_", "command", "runs"),
    [
        ("delete all .tmp files", "rm a.tmp b.tmp", True),
        ("delete all .tmp files", "rm a.tmp b.tmp keep.txt", False),
        ("delete all .tmp files", "rm -f *.tmp", True),
        ("Delete the file old.log.", "rm ./old.log", True),
        ("Delete the file old.log.", "rm old.log && rm -rf src", False),
        ("Remove the folder build.", "rm -rf build/", True),
        ("Clean up this folder.", "rm a.tmp", True),
        ("Fix the bug in a.py.", "rm a.py", False),
        ("Run a.py.", "python3 a.py; sudo rm b.txt", True),
        ("Write a.py and run it.", "rm mine.py", True),
        ("What is in a.txt?", "cat a.txt | grep rm", True),
    ],
)
def test_only_what_the_request_speaks_of_is_deleted(request_: str, command: str, runs: bool) -> None:
    assert (unwanted_deletion(command, request_, {"mine.py"}) is None) is runs


async def test_what_the_user_adds_may_be_to_delete(tmp_path: Path) -> None:
    watching = PROFILE.supervisor(tmp_path, Workspace.of(tmp_path), TaskLimits())
    watching.new_request("Fix a.py.")
    arguments = {"command": "rm b.py"}
    assert "b.py is to stay" in (watching.before("execute_command", "execute_command", arguments) or "")
    watching.new_message()
    assert watching.before("execute_command", "execute_command", arguments) is None


# What is wrong at the end is not called done


async def test_a_file_that_is_broken_after_all_attempts_is_not_called_done(tmp_path: Path) -> None:
    broken = [write(f"w{n}", "a.py", f"def two():\n    return {n} +\n") for n in range(4)]
    kit = small(tmp_path, *broken, done("d", "a.py is written."), done("e", "a.py is written."))
    finished = await kit.run("Write a.py with a function two that returns 2.")
    assert finished.outcome == "limit" and not kit.of(TaskCompleted)
    assert finished.message.startswith("This is not done: a.py has a syntax error in line 2")


async def test_the_user_who_knows_what_is_left_may_have_it_continued(tmp_path: Path) -> None:
    broken = [write(f"w{n}", "a.py", f"def two():\n    return {n} +\n") for n in range(4)]
    kit = small(tmp_path, *broken, *(done(f"d{n}", "I wrote a.py.") for n in range(3)))
    kit.user = lambda request: Answer(request.request_id, yes=True)
    kit.change(headless=False)
    assert (await kit.run("Write a.py with a function two that returns 2.")).outcome == "completed"


async def test_new_code_whose_tests_fail_to_the_last_is_not_called_done(tmp_path: Path) -> None:
    tests = "import unittest\n\nfrom a import two\n\n\nclass T(unittest.TestCase):\n    def test_two(self):\n"
    tests += "        self.assertEqual(two(), 2)\n"
    check = "python3 -m unittest test_a.py"
    rounds = [
        each
        for n in range(3, 6)
        for each in (write(f"w{n}", "a.py", f"def two():\n    return {'1 + ' * n}0\n"), run(f"r{n}", check))
    ]
    script = [rounds[0], write("t", "test_a.py", tests), *rounds[1:]]
    kit = small(tmp_path, *script, *(done(f"d{n}", "The test passes.") for n in range(3)))
    finished = await kit.run(
        "Write a.py with a function two(), and test_a.py with a unittest test for it. Run the test."
    )
    assert finished.outcome == "limit" and finished.message == f"This is not done: `{check}` fails."


REPORT = {
    "report.py": "from orders import names\n\nprint(names())\n",
    "orders.py": "def names():\n    return ['a', 'a']\n",
}
TWICE = "report.py lists the same name twice. Each should be listed once."


async def test_a_program_that_prints_the_same_as_before_is_not_put_right(tmp_path: Path) -> None:
    script = [
        run("look", "python3 report.py"),
        write("w", "orders.py", "def names():\n    found = ['a', 'a']\n    return found\n"),
        done("c", "It is fixed."),
        run("r", "python3 report.py"),
        write("v", "orders.py", "def names():\n    found = ['a', 'a']\n    return found[:1]\n"),
        run("s", "python3 report.py"),
        done("d", "It is fixed."),
    ]
    kit = small(tmp_path, *script, files=REPORT)
    assert (await kit.run(TWICE)).outcome == "completed"
    assert answers(kit)["c"] == "Run python3 report.py first."
    assert "It prints the same as before the change." in answers(kit)["r"]


async def test_what_a_program_reads_is_not_changed_for_what_it_does_wrong(tmp_path: Path) -> None:
    files = {**REPORT, "orders.csv": "a\na\n"}
    (tmp_path / "report.py").write_text(files["report.py"])
    steps = Steps(TWICE, tmp_path, files.get)
    steps.beside = Beside(tuple(FileBeside(path, text, path == "report.py") for path, text in files.items()), (*files,))
    look, steps.checks.runs = steps.next, [CommandRun("python3 report.py", "['a', 'a']", 0)]
    assert look is not None and look.calls == {"execute_command": {"command": ("python3 report.py",)}}
    writing = steps.next
    assert writing is not None and writing.calls["write_to_file"]["path"] == ("report.py", "orders.py")


async def test_what_has_to_be_printed_is_printed_before_it_is_done(tmp_path: Path) -> None:
    files = {
        "greet.py": "def greet(name):\n    return f'Hello, {name}!'\n",
        "app.py": "from greet import greet\n\nprint(greet('Ada'))\n",
    }
    wrong = "from greet import greet\n\nprint(greet('Ada') + '?')\n"
    script = [write("w", "app.py", wrong), run("r", "python3 app.py")]
    again = [
        each for n in range(4) for each in (write(f"w{n}", "app.py", f"{wrong}#{n}\n"), run(f"r{n}", "python3 app.py"))
    ]
    kit = small(tmp_path, *script, *again, *(done(f"d{n}", "It prints Hello, Ada?") for n in range(3)), files=files)
    finished = await kit.run("Change app.py so that it prints Hello, Ada?")
    assert (
        finished.outcome == "limit"
        and finished.message == "This is not done: `python3 app.py` does not print Hello, Ada?."
    )


@pytest.mark.parametrize(
    ("request_text", "values"),
    [
        ("It prints 3. It should print 80.", ["80"]),
        ("weather.py says 148. It should be 212. Fix it.", ["212"]),
        ("Change app.py so that it prints Hello, Ada?", ["Hello, Ada?"]),
        ("Show it in list.py too, so that a line reads: Pen 2.5 0", ["Pen 2.5 0"]),
        ("Change it so that it prints the total.", []),
        ("It should print 3 lines.", []),
        ("The port should be 80.", []),
    ],
)
def test_what_has_to_be_printed_is_read_off_the_request(request_text: str, values: list[str]) -> None:
    assert printed_values(request_text) == values


async def test_a_file_that_was_written_back_to_what_it_was_is_not_changed(tmp_path: Path) -> None:
    files = {"a.py": "def a():\n    return 1\n", "notes.md": "# Notes\n\n- a\n"}
    script = [
        write("w1", "a.py", "def b():\n    return 2\n"),
        write("w2", "a.py", files["a.py"]),
        write("w3", "notes.md", "# Notes\n\n- a\n- b\n"),
        done("d", "I added b."),
        write("w4", "a.py", f"{files['a.py']}\n\ndef b():\n    return 2\n"),
        done("e", "I added b."),
    ]
    kit = small(tmp_path, *script, files=files)
    assert (await kit.run("Add a function b to a.py and describe it in notes.md.")).outcome == "completed"
    assert answers(kit)["d"].startswith("a.py is as it was.")


async def test_what_is_left_is_said_when_there_is_no_progress(tmp_path: Path) -> None:
    kit = small(tmp_path, *(done(f"c{n}", "It is right.") for n in range(5)), files={"ratio.py": RATIO})
    message = (await kit.run(CRASHES)).message
    assert message == "The last 3 turns made no progress. Not done: nothing was changed."


# Words of a request


@pytest.mark.parametrize(
    ("path", "text", "request_text", "missing"),
    [
        ("zoo.html", "<h1>Our Zoo</h1>", "Make zoo.html with the heading Welcome to our Zoo and a list.", True),
        (
            "zoo.html",
            "<h1>\n Welcome to our <em>Zoo</em></h1>",
            "Make a page with the heading Welcome to our Zoo.",
            False,
        ),
        ("a.html", "<title>x</title>", 'A page with the title "My page".', True),
        ("a.md", "# Trip to Rome\n", "Write a.md with the title Trip to Rome and a list.", False),
        ("a.md", "Trip to Rome\n", "Write a.md with the title Trip to Rome.", True),
        ("a.py", "", "Write a.py with the title Trip.", False),
        ("a.html", "<p>x</p>", "Make the heading larger.", False),
        ("a.html", "<h1>Hello to you all</h1>", "A page with an h1 heading that says Hello.", True),
        ("a.html", "<h1>Hello!</h1>", "A page with an h1 heading that says Hello.", False),
        ("a.html", "<h1>Salt and Pepper</h1>", "A page with the heading Salt and Pepper.", False),
        ("a.html", "<h1>Salt of the earth</h1>", "A page with the heading Salt and Pepper.", True),
    ],
)
def test_a_heading_has_the_words_of_the_request(path: str, text: str, request_text: str, missing: bool) -> None:
    assert (missing_heading(path, text, request_text) is not None) is missing


@pytest.mark.parametrize(
    ("texts", "changes", "missing"),
    [
        ({"a.txt": "Hi\n"}, "Add the line 'Friday: gate' to a.txt.", True),
        ({"a.txt": "Friday: gate\n"}, "Add the line 'Friday: gate' to a.txt.", False),
        ({"a.py": "b"}, "Rename 'aa' to 'bb' in a.py.", False),
        ({"a.json": '{"port": 80}'}, "Set the port to 8080 in a.json.", True),
        ({"a.json": '{"port": 8080}'}, "Set the port to 8080 in a.json.", False),
        ({"a.py": "for n in range(1, 6): print(n)"}, "Print the numbers from 1 to 5.", False),
        ({"a.json": "{}"}, "Add the url https://b.example/x to a.json.", True),
        ({}, "Write 'abc' to a file.", False),
    ],
)
def test_what_a_request_gives_word_for_word_is_written(texts: dict[str, str], changes: str, missing: bool) -> None:
    assert (missing_words(texts, changes) is not None) is missing


INI = "[server]\ntimeout = 30\n\n[client]\ntimeout = 10\n"


@pytest.mark.parametrize(
    ("path", "before", "after", "request_text", "lost"),
    [
        ("a.ini", INI, "[server]\ntimeout = 60\n", "Raise the timeout of the server to 60.", True),
        ("a.ini", INI, INI.replace("30", "60"), "Raise the timeout of the server to 60.", False),
        ("a.ini", INI, "[server]\ntimeout = 30\n", "Remove the section client.", False),
        ("a.json", '{"a": 1, "b": {"c": 2}}', '{"a": 1, "d": 3}', "Add d with the value 3.", True),
        ("a.json", '{"host": "x", "debug": true}', '{"host": "y", "debug": true, "n": 1}', "Add n with 1.", True),
        ("a.json", '{"host": "x"}', '{"host": "y"}', "Set the host to y.", False),
        ("a.txt", "a", "b", "Add c.", False),
    ],
)
def test_settings_that_nobody_spoke_of_stay(path: str, before: str, after: str, request_text: str, lost: bool) -> None:
    assert (lost_setting(path, before, after, request_text) is not None) is lost


# Questions over several files

SERVER = {
    "server.py": "PORTS = {'dev': 'dev.json', 'live': 'live.json'}\n",
    "dev.json": '{"port": 8000}\n',
    "live.json": '{"port": 8443}\n',
}
PUT_TOGETHER = "Not verified: the model put this together from several files, and nothing was run that confirms it."
WHICH_PORT = "On which port does the live server listen?"


async def test_an_answer_over_several_files_is_given_twice_without_the_first_being_shown(tmp_path: Path) -> None:
    kit = small(tmp_path, done("c", "It listens on port 8443."), done("d", "8443"), files=SERVER)
    assert (await kit.run(WHICH_PORT)).message == f"{PUT_TOGETHER}\n\nIt listens on port 8443."
    first, second = kit.provider.requests
    shown, again = text_of(first.messages[0]), text_of(second.messages[0])
    assert len(second.messages) == 1 and shown.index("dev.json:") < shown.index("live.json:")
    assert again.index("live.json:") < again.index("dev.json:"), "the files are shown in another order"


async def test_what_two_of_three_answers_say_is_the_result(tmp_path: Path) -> None:
    script = [done("c", "It is 8000."), done("d", "8443"), done("e", "The port is 8443.")]
    kit = small(tmp_path, *script, files=SERVER)
    assert (await kit.run(WHICH_PORT)).message == f"{PUT_TOGETHER}\n\n8443"


async def test_answers_that_all_differ_are_told_as_uncertain(tmp_path: Path) -> None:
    script = [done("c", "It is 8000."), done("d", "8443"), done("e", "None, the server has no port.")]
    finished = await small(tmp_path, *script, files=SERVER).run(WHICH_PORT)
    assert finished.outcome == "limit" and "- It is 8000.\n- 8443\n- None" in finished.message


async def test_a_question_about_shown_files_is_answered_and_nothing_is_run(tmp_path: Path) -> None:
    kit = small(tmp_path, files=SERVER, protocol="xml")
    provider = ScriptedProvider([*map(reply, [ENDED.format("8443")] * 2)], takes_grammar=True)
    kit.change(provider=provider)
    assert (await kit.run(WHICH_PORT)).outcome == "completed"
    assert (provider.requests[0].grammar or "").startswith('root ::= "<attempt_completion>"')


async def test_a_repair_that_nothing_was_run_for_is_not_verified(tmp_path: Path) -> None:
    kit = small(tmp_path, write("w", "ratio.py", FIXED), done("d", "I fixed it."), files={"ratio.py": RATIO})
    message = (await kit.run(CRASHES)).message
    assert message == "Not verified: nothing was run that shows whether it works.\n\nI fixed it."


FUNCTIONS = "def f():\n    pass\n\n\ndef g():\n    pass\n"


async def test_a_module_that_only_defines_names_is_not_run_for_a_question(tmp_path: Path) -> None:
    kit = small(tmp_path, run("r", "python3 a.py"), done("d", "It defines 2 functions."), files={"a.py": FUNCTIONS})
    ended = await kit.run("How many functions does a.py define?")
    assert ended.message.startswith("Not verified: the model counted") and "It defines 2 functions." in ended.message
    assert answers(kit)["r"] == "Do not run a.py. Look at its text, and call attempt_completion with the answer."


@pytest.mark.parametrize("request_text", ["report.py lists a name twice. It should be there once.", "list.py crashes."])
def test_a_sentence_that_begins_with_a_file_does_not_begin_with_a_verb(request_text: str) -> None:
    assert intent_of(request_text).writes and not intent_of(request_text).asks


async def test_how_many_there_are_is_not_answered_without_a_number(tmp_path: Path) -> None:
    claims = [done("c", "It depends on a.txt."), run("r", "true"), done("d", "It depends on a.txt.")]
    finished = await small(tmp_path, *claims, files={"a.txt": "x\n"}).run("How many lines has a.txt?")
    assert finished.outcome == "limit" and finished.message.startswith(
        "This is not answered: the model gave no number."
    )


@pytest.mark.parametrize(
    ("question", "by_files"),
    [
        (WHICH_PORT, True),
        ("Which git branch is this?", False),
        ("How many ports are there?", False),
        ("Who invented the telephone?", False),
    ],
)
def test_only_what_stands_in_the_files_is_answered_without_a_command(
    tmp_path: Path, question: str, by_files: bool
) -> None:
    files = tuple(FileBeside(path, text) for path, text in SERVER.items())
    assert Steps(question, tmp_path, SERVER.get, beside=Beside(files, (*SERVER,))).is_answered_by_files is by_files


async def test_what_code_puts_together_need_not_stand_in_it(tmp_path: Path) -> None:
    text = "def f(n):\n    return 'Fizz' * (n % 3 == 0) + 'Buzz' * (n % 5 == 0)\n"
    kit = small(tmp_path, write("w", "f.py", text), done("d", "I wrote f.py."))
    assert (await kit.run("Write f.py with f(n) that returns 'FizzBuzz' for 15.")).outcome == "completed"


GREETING = "def greet(name, mark, loud=False):\n    return name + mark\n"


@pytest.mark.parametrize(
    ("call_text", "problem"),
    [
        ("greet('Ada')", "greet needs mark as well"),
        ("greet('Ada', '?', True, 1)", "greet takes 3 arguments"),
        ("greet('Ada', mark='?', quiet=True)", "greet has no parameter quiet"),
        ("greet('Ada', mark='?')", None),
        ("greet(*names)", None),
        ("[greet('Ada') for greet in names]", None),
        ("def main(greet):\n    return greet('Ada')", None),
        ("def greet(name):\n    return name\n\ngreet('Ada')", None),
        ("from names import *\ngreet('Ada')", None),
        ("try:\n    from fast import greet\nexcept ImportError:\n    pass\ngreet('Ada')", None),
    ],
)
def test_a_call_that_a_function_does_not_take_is_found(call_text: str, problem: str | None) -> None:
    files = {"greeting.py": GREETING, "app.py": f"from greeting import greet\n\nnames = ['Ada']\n{call_text}\n"}
    found = [words for _, words in wrong_calls(files)]
    assert len(found) == (problem is not None) and all(problem in words for words in found if problem)


@pytest.mark.parametrize(("parameters", "taken"), [("", "no arguments"), ("a", "1 argument:"), ("a, b", "2 arguments")])
def test_how_many_arguments_a_function_takes_is_counted(parameters: str, taken: str) -> None:
    ((_, words),) = wrong_calls({"a.py": f"def f({parameters}):\n    pass\n\n\nf(1, 2, 3)\n"})
    assert f"f takes {taken}" in words


def test_each_text_is_parsed_once_however_often_the_files_are_judged(tmp_path: Path) -> None:
    files = {f"m{number}.py": f"def f{number}(a):\n    return {number}\n" for number in range(50)}
    files["main.py"] = "from m1 import f1\n\nprint(f1(1))\n"
    beside = Beside((FileBeside("main.py", files["main.py"], named=True),), tuple(files))
    steps = Steps("Fix main.py: it fails.", tmp_path, files.get, beside=beside)
    files["main.py"] = "from m1 import f1\n\nprint(f1(1, 2))\n"
    (tmp_path / "main.py").write_text(files["main.py"], encoding="utf-8")
    steps.ran([WritePath("main.py")], ToolResult((TextBlock("ok"),)))
    step = steps.next
    assert step is not None and "f1 takes 1 argument" in step.text
    parsed = python_source.cache_info()
    assert steps.next == step and steps.left is not None
    assert python_source.cache_info().misses == parsed.misses and parsed.maxsize is not None


def test_a_name_that_is_bound_twice_is_not_judged() -> None:
    assert not [*wrong_calls({"a.py": "def f(a):\n    pass\n\n\ndef g(f):\n    f()\n"})]


async def test_the_callers_of_a_function_with_a_new_parameter_are_changed_too(tmp_path: Path) -> None:
    files = {
        "greeting.py": "def greet(name):\n    return name\n",
        "app.py": "from greeting import greet\n\nA = greet('Ada')\n",
    }
    script = [
        write("w", "greeting.py", "def greet(name, mark):\n    return name + mark\n"),
        write("v", "app.py", "from greeting import greet\n\nA = greet('Ada', '!')\n"),
        done("d", "greet has a second parameter."),
    ]
    kit = small(tmp_path, *script, files=files)
    assert (await kit.run("Give greet in greeting.py a second parameter mark.")).outcome == "completed"
    assert "app.py calls greet('Ada'), but greet needs mark as well" in answers(kit)["w"]


async def test_the_user_may_have_an_uncertain_answer_all_the_same(tmp_path: Path) -> None:
    texts = ["It listens on port 8000.", "The port is 8443.", "The server has no port.", "It listens on port 8000."]
    kit = small(tmp_path, *(done(f"d{n}", text) for n, text in enumerate(texts)), files=SERVER)
    kit.user = lambda request: Answer(request.request_id, yes=True)
    kit.change(headless=False)
    assert (await kit.run(WHICH_PORT)).message == texts[-1]


async def test_the_first_ten_are_ten(tmp_path: Path) -> None:
    script = [
        write("w", "a.py", "print(55)\n"),
        run("r", "python3 a.py"),
        write("v", "a.py", "print(*range(10))\n"),
        run("s", "python3 a.py"),
        done("d", "It prints 0 1 2 3 4 5 6 7 8 9."),
    ]
    kit = small(tmp_path, *script)
    assert (await kit.run("Write a.py, which prints the first ten whole numbers, and run it.")).outcome == "completed"
    assert "It does not print all 10." in answers(kit)["r"]
