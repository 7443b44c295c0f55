"""Things that need a command, or code that runs: what it prints cannot be read off the code."""

from __future__ import annotations

from evals.checks import answers, file_is, gone, prints
from evals.task import Eval, Solution

_GREET = (
    "import sys\nimport zlib\n\nname = sys.argv[1]\n"
    "print('Good day,', name.upper(), 'your number is', zlib.crc32(name.encode()) % 1000)\n"
)
_LOAD = "import zlib\n\nkinds = [KeyError, IndexError, ValueError]\nraise kinds[zlib.crc32(b'load') % 3]('settings')\n"
_MAKE = "with open('data.txt', 'w') as file:\n    for n in range(14):\n        file.write(f'row {n}\\n')\n"
_TESTS = (
    "import unittest\nimport zlib\n\n\nclass Sums(unittest.TestCase):\n"
    "    def test_small(self):\n        self.assertEqual(zlib.crc32(b'small') % 2, 1)\n\n"
    "    def test_large(self):\n        self.assertEqual(zlib.crc32(b'large') % 2, 1)\n"
)

TASKS = (
    Eval(
        "script-with-argument",
        "Run greet.py with the argument Zoe and tell me what it prints.",
        [answers("Good day,? ?ZOE", r"\b347\b")],
        Solution(says="It prints: Good day, ZOE your number is 347"),
        {"greet.py": _GREET},
        read_only=True,
    ),
    Eval(
        "which-exception",
        "Run load.py. Which exception does it end with?",
        [answers("KeyError", rivals=["IndexError", "ValueError"])],
        Solution(says="It ends with a KeyError."),
        {"load.py": _LOAD},
        read_only=True,
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
        [answers("test_large", rivals=["test_small"])],
        Solution(says="test_large fails."),
        {"test_sums.py": _TESTS},
        read_only=True,
    ),
    Eval(
        "big-sum",
        "Use Python to work out the sum of the squares of all whole numbers from 1 to 1234, and tell me the result.",
        [answers(r"\b627[,.  ]?121[,.  ]?885\b")],
        Solution(says="The sum is 627121885."),
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
