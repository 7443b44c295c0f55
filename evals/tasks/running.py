"""Things that need a command, or code that runs."""

from __future__ import annotations

from evals.checks import answers, file_is, gone, prints
from evals.task import Eval, Solution

_GREET = "import sys\n\nprint('Good day,', sys.argv[1].upper())\n"
_MAKE = "with open('data.txt', 'w') as file:\n    for n in range(14):\n        file.write(f'row {n}\\n')\n"
_TESTS = (
    "import unittest\n\n\nclass Sums(unittest.TestCase):\n"
    "    def test_small(self):\n        self.assertEqual(1 + 1, 2)\n\n"
    "    def test_large(self):\n        self.assertEqual(20 + 20, 44)\n"
)

TASKS = (
    Eval(
        "script-with-argument",
        "Run greet.py with the argument Zoe and tell me what it prints.",
        [answers("Good day,? ?ZOE")],
        Solution(says="It prints: Good day, ZOE"),
        {"greet.py": _GREET},
    ),
    Eval(
        "which-exception",
        "Run load.py. Which exception does it end with?",
        [answers("KeyError")],
        Solution(says="It ends with a KeyError."),
        {"load.py": "settings = {'a': 1}\nprint(settings['b'])\n"},
    ),
    Eval(
        "remove-file",
        "Delete the file old.log.",
        [gone("old.log"), file_is("new.log", "new\n")],
        Solution({"old.log": None}),
        {"old.log": "old\n", "new.log": "new\n"},
    ),
    Eval(
        "copy-to-folder",
        "Make a folder called backup and copy notes.txt into it.",
        [file_is("backup/notes.txt", "seeds\nwater\n"), file_is("notes.txt", "seeds\nwater\n")],
        Solution({"backup/notes.txt": "seeds\nwater\n"}),
        {"notes.txt": "seeds\nwater\n"},
    ),
    Eval(
        "data-rows",
        "Run make_data.py, which writes data.txt. Then tell me how many lines data.txt has.",
        [answers(r"\b14\b"), file_is("data.txt", "".join(f"row {n}\n" for n in range(14)))],
        Solution({"data.txt": "".join(f"row {n}\n" for n in range(14))}, "data.txt has 14 lines."),
        {"make_data.py": _MAKE},
    ),
    Eval(
        "failing-test",
        "Run the tests in test_sums.py with python3 -m unittest and tell me the name of the test that fails.",
        [answers("test_large"), file_is("test_sums.py", _TESTS)],
        Solution(says="test_large fails."),
        {"test_sums.py": _TESTS},
    ),
    Eval(
        "big-sum",
        "Use Python to work out the sum of all whole numbers from 1 to 1000, and tell me the result.",
        [answers(r"\b500[,.  ]?500\b")],
        Solution(says="The sum is 500500."),
    ),
    Eval(
        "squares-to-file",
        "Write squares.py, a script that prints the squares of 1 to 5, one a line. Then run it and save its output "
        "as squares.txt.",
        [prints("squares.py", output="1\n4\n9\n16\n25"), file_is("squares.txt", "1\n4\n9\n16\n25\n")],
        Solution(
            {
                "squares.py": "for n in range(1, 6):\n    print(n * n)\n",
                "squares.txt": "1\n4\n9\n16\n25\n",
            }
        ),
    ),
)
