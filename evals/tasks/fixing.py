"""Files that are there and wrong."""

from __future__ import annotations

from evals.checks import calls, json_is, prints
from evals.task import Eval, Solution

TASKS = (
    Eval(
        "wrong-parity",
        "is_even in parity.py gives the wrong answer. Fix it.",
        [calls("parity", ("is_even(4)", True), ("is_even(7)", False), ("is_odd(7)", True))],
        Solution({"parity.py": "def is_even(n):\n    return n % 2 == 0\n\n\ndef is_odd(n):\n    return n % 2 == 1\n"}),
        {"parity.py": "def is_even(n):\n    return n % 2 == 1\n\n\ndef is_odd(n):\n    return n % 2 == 1\n"},
    ),
    Eval(
        "missing-colon",
        "hello.py has a syntax error. Fix it so that python3 hello.py works.",
        [prints("hello.py", output="Hello\nHello\nHello")],
        Solution({"hello.py": 'for number in range(3):\n    print("Hello")\n'}),
        {"hello.py": 'for number in range(3)\n    print("Hello")\n'},
    ),
    Eval(
        "misspelled-name",
        "Running invoice.py fails with a NameError. Fix it.",
        [prints("invoice.py", output="Total: 30")],
        Solution({"invoice.py": "prices = [5, 10, 15]\ntotal = sum(prices)\nprint('Total:', total)\n"}),
        {"invoice.py": "prices = [5, 10, 15]\ntotal = sum(prices)\nprint('Total:', totl)\n"},
    ),
    Eval(
        "divide-by-zero",
        "percent(part, whole) in ratio.py crashes when whole is 0. Make it return 0 in that case.",
        [calls("ratio", ("percent(1, 0)", 0), ("float(percent(1, 4))", 25.0))],
        Solution(
            {
                "ratio.py": "def percent(part, whole):\n    if whole == 0:\n        return 0\n"
                "    return part / whole * 100\n"
            }
        ),
        {"ratio.py": "def percent(part, whole):\n    return part / whole * 100\n"},
    ),
    Eval(
        "missing-import",
        "circle.py does not work because an import is missing. Add it.",
        [prints("circle.py", output="5.0")],
        Solution({"circle.py": "import math\n\n\ndef root(x):\n    return math.sqrt(x)\n\n\nprint(root(25))\n"}),
        {"circle.py": "def root(x):\n    return math.sqrt(x)\n\n\nprint(root(25))\n"},
    ),
    Eval(
        "broken-json",
        "settings.json is not valid JSON because of a comma too many. Fix it and keep all the values.",
        [json_is("settings.json", {"theme": "dark", "size": 12})],
        Solution({"settings.json": '{\n  "theme": "dark",\n  "size": 12\n}\n'}),
        {"settings.json": '{\n  "theme": "dark",\n  "size": 12,\n}\n'},
    ),
    Eval(
        "smallest-not-largest",
        "The function largest in ranking.py returns the smallest number instead of the largest. Fix it.",
        [calls("ranking", ("largest([3, 9, 4])", 9), ("largest([-5, -2])", -2))],
        Solution(
            {
                "ranking.py": "def largest(values):\n    best = values[0]\n    for value in values:\n"
                "        if value > best:\n            best = value\n    return best\n"
            }
        ),
        {
            "ranking.py": "def largest(values):\n    best = values[0]\n    for value in values:\n"
            "        if value < best:\n            best = value\n    return best\n"
        },
    ),
    Eval(
        "shared-default",
        "In basket.py every call of add_item without a basket shares one list, because of the default argument. "
        "Fix add_item so that each such call gets a new list.",
        [calls("basket", ("[add_item('a'), add_item('b')]", [["a"], ["b"]]), ("add_item('c', ['x'])", ["x", "c"]))],
        Solution(
            {
                "basket.py": "def add_item(item, basket=None):\n    if basket is None:\n        basket = []\n"
                "    basket.append(item)\n    return basket\n"
            }
        ),
        {"basket.py": "def add_item(item, basket=[]):\n    basket.append(item)\n    return basket\n"},
    ),
)
