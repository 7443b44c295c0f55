"""Questions about files; nothing has to be changed."""

from __future__ import annotations

from evals.checks import answers
from evals.task import Eval, Solution

_LOG = (
    "10:00 INFO start\n10:01 ERROR disk\n10:02 INFO retry\n10:03 ERROR net\n"
    "10:04 ERROR disk\n10:05 WARN slow\n10:06 INFO stop\n"
)
_SHAPES = "def square(a):\n    return a * a\n\n\ndef box(a, b):\n    return a * b\n\n\ndef line(a):\n    return a\n"
_README = "# Garden\n\nA planner for gardens.\n\n- Author: Cleo Marsh\n- Licence: MIT\n"
_INI = "[server]\nhost = example.org\nport = 7070\n\n[database]\nhost = db.example.org\nport = 5433\n"

TASKS = (
    Eval(
        "author",
        "Who is the author according to README.md?",
        [answers("Cleo Marsh", rivals=["Licence"])],
        Solution(says="The author is Cleo Marsh."),
        {"README.md": _README},
        read_only=True,
    ),
    Eval(
        "database-port",
        "Which port does the database use according to server.ini?",
        [answers(r"\b5433\b", rivals=[r"\b7070\b"])],
        Solution(says="The database uses port 5433."),
        {"server.ini": _INI},
        read_only=True,
    ),
    Eval(
        "how-many-functions",
        "How many functions does shapes.py define?",
        [answers(r"\b(3|three)\b")],
        Solution(says="It defines 3 functions."),
        {"shapes.py": _SHAPES},
        read_only=True,
    ),
    Eval(
        "error-lines",
        "How many lines of app.log contain the word ERROR?",
        [answers(r"\b(3|three)\b")],
        Solution(says="3 lines contain ERROR."),
        {"app.log": _LOG},
        read_only=True,
    ),
    Eval(
        "where-is-the-class",
        "In which file is the class Parser defined?",
        [answers(r"reading\.py", rivals=[r"writing\.py", r"main\.py"])],
        Solution(says="Parser is defined in lib/reading.py."),
        {
            "main.py": "from lib.reading import Parser\n\nParser().run()\n",
            "lib/reading.py": "class Parser:\n    def run(self):\n        return 1\n",
            "lib/writing.py": "class Writer:\n    def run(self):\n        return 2\n",
        },
        read_only=True,
    ),
    Eval(
        "largest-number",
        "What is the largest number in numbers.txt?",
        [answers(r"\b97\b", rivals=[r"\b(12|45|61)\b"])],
        Solution(says="The largest number is 97."),
        {"numbers.txt": "12\n97\n45\n8\n61\n"},
        read_only=True,
    ),
    Eval(
        "constant",
        "What is the value of MAX_RETRIES in limits.py?",
        [answers(r"\b7\b", rivals=[r"\b30\b", r"\b100\b"])],
        Solution(says="MAX_RETRIES is 7."),
        {"limits.py": "TIMEOUT = 30\nMAX_RETRIES = 7\nMAX_SIZE = 100\n"},
        read_only=True,
    ),
    Eval(
        "which-mentions",
        "Which of the text files mentions the harbour?",
        [answers(r"two\.txt", rivals=[r"one\.txt", r"three\.txt"])],
        Solution(says="two.txt mentions the harbour."),
        {
            "one.txt": "The road goes north.\nIt is long.\n",
            "two.txt": "Boats lie still.\nThe harbour sleeps.\n",
            "three.txt": "Snow on the hills.\n",
        },
        read_only=True,
    ),
)
