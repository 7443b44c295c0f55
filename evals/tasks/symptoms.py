"""Bugs that are described by what goes wrong, and tests that fail: the place has to be found first."""

from __future__ import annotations

from evals.checks import calls, file_is, passes, prints
from evals.task import Eval, Solution

_PRICE_TEST = (
    "import unittest\n\nfrom price import total\n\n\nclass Totals(unittest.TestCase):\n"
    "    def test_no_discount(self):\n        self.assertEqual(total([10, 20], 0), 30)\n\n"
    "    def test_discount_in_percent(self):\n        self.assertEqual(total([50, 50], 10), 90)\n"
)
_INITIALS_TEST = (
    "import unittest\n\nfrom names import initials\n\n\nclass Initials(unittest.TestCase):\n"
    "    def test_two_names(self):\n        self.assertEqual(initials('ada lovelace'), 'AL')\n\n"
    "    def test_spaces_at_the_ends(self):\n        self.assertEqual(initials('  bo  diddley '), 'BD')\n"
)
_QUEUE_TEST = (
    "import unittest\n\nfrom waiting import Line\n\n\nclass Lines(unittest.TestCase):\n"
    "    def test_first_come_first_served(self):\n        line = Line()\n"
    "        line.join('a')\n        line.join('b')\n"
    "        self.assertEqual(line.serve(), 'a')\n\n"
    "    def test_nobody_waits(self):\n        self.assertIsNone(Line().serve())\n"
)
_REPORT = "from stock import load, low\n\nfor name in low(load('stock.csv'), 5):\n    print(name)\n"
_STOCK = "name,count\nnails,3\nscrews,40\nglue,4\ntape,12\n"

TASKS = (
    Eval(
        "last-row-missing",
        "report.py should print every item of which fewer than 5 are left, but it leaves out the glue. Find out why "
        "and fix it.",
        [prints("report.py", output="nails\nglue"), file_is("stock.csv", _STOCK), file_is("report.py", _REPORT)],
        Solution(
            {
                "stock.py": "def load(path):\n    with open(path) as file:\n        rows = file.read().split()[1:]\n"
                "    return [row.split(',') for row in rows]\n\n\n"
                "def low(rows, limit):\n    return [name for name, count in rows if int(count) < limit]\n"
            }
        ),
        {
            "stock.csv": _STOCK,
            "report.py": _REPORT,
            "stock.py": "def load(path):\n    with open(path) as file:\n        rows = file.read().split()[1:]\n"
            "    return [row.split(',') for row in rows]\n\n\n"
            "def low(rows, limit):\n    return [name for name, count in rows if int(count) < limit - 1]\n",
        },
    ),
    Eval(
        "failing-discount",
        "The tests in test_price.py fail. Find the mistake in price.py and fix it. Do not change the tests.",
        [passes("test_price.py", 2), file_is("test_price.py", _PRICE_TEST)],
        Solution({"price.py": "def total(prices, discount):\n    return sum(prices) * (100 - discount) / 100\n"}),
        {
            "price.py": "def total(prices, discount):\n    return sum(prices) - discount * len(prices)\n",
            "test_price.py": _PRICE_TEST,
        },
    ),
    Eval(
        "failing-initials",
        "python3 -m unittest test_names.py fails. Make it pass by changing names.py.",
        [passes("test_names.py", 2), file_is("test_names.py", _INITIALS_TEST)],
        Solution({"names.py": "def initials(name):\n    return ''.join(part[0].upper() for part in name.split())\n"}),
        {
            "names.py": "def initials(name):\n    return ''.join(part[0].upper() for part in name.split(' '))\n",
            "test_names.py": _INITIALS_TEST,
        },
    ),
    Eval(
        "failing-queue",
        "One of the tests in test_waiting.py fails and the other raises an error. Fix waiting.py.",
        [passes("test_waiting.py", 2), file_is("test_waiting.py", _QUEUE_TEST)],
        Solution(
            {
                "waiting.py": "class Line:\n    def __init__(self):\n        self.people = []\n\n"
                "    def join(self, name):\n        self.people.append(name)\n\n"
                "    def serve(self):\n        return self.people.pop(0) if self.people else None\n"
            }
        ),
        {
            "waiting.py": "class Line:\n    def __init__(self):\n        self.people = []\n\n"
            "    def join(self, name):\n        self.people.append(name)\n\n"
            "    def serve(self):\n        return self.people.pop()\n",
            "test_waiting.py": _QUEUE_TEST,
        },
    ),
    Eval(
        "wrong-average",
        "When I run grades.py, the average of 70, 80 and 90 is printed as 120.0. It should be 80.0.",
        [prints("grades.py", output="80.0"), calls("stats", ("mean([2, 4])", 3.0), ("mean([5])", 5.0))],
        Solution({"stats.py": "def mean(values):\n    return sum(values) / len(values)\n"}),
        {
            "grades.py": "from stats import mean\n\nprint(mean([70, 80, 90]))\n",
            "stats.py": "def mean(values):\n    return sum(values) / (len(values) - 1)\n",
        },
    ),
    Eval(
        "case-matters",
        "Searching for 'apple' with find_all in search.py does not find 'Apple pie'. Upper and lower case should not "
        "matter.",
        [
            calls(
                "search",
                ("find_all('apple', ['Apple pie', 'pear'])", ["Apple pie"]),
                ("find_all('PEAR', ['Apple pie', 'pear'])", ["pear"]),
            )
        ],
        Solution(
            {
                "search.py": "def find_all(word, texts):\n"
                "    return [text for text in texts if word.lower() in text.lower()]\n"
            }
        ),
        {"search.py": "def find_all(word, texts):\n    return [text for text in texts if word in text]\n"},
    ),
    Eval(
        "numbers-as-text",
        "ranking.py should print the scores from the highest to the lowest, but it prints 9 first. Fix it.",
        [prints("ranking.py", output="100\n25\n9"), file_is("scores.txt", "25\n9\n100\n")],
        Solution(
            {
                "ranking.py": "with open('scores.txt') as file:\n    scores = [int(line) for line in file]\n\n"
                "for score in sorted(scores, reverse=True):\n    print(score)\n"
            }
        ),
        {
            "scores.txt": "25\n9\n100\n",
            "ranking.py": "with open('scores.txt') as file:\n    scores = file.read().split()\n\n"
            "for score in sorted(scores, reverse=True):\n    print(score)\n",
        },
    ),
    Eval(
        "grows-with-each-call",
        "Each call of tags_for in tagging.py returns more tags than it should: the tags of earlier calls are still "
        "there. Fix it.",
        [calls("tagging", ("[tags_for('new book'), tags_for('old book')]", [["new", "book"], ["old", "book"]]))],
        Solution(
            {
                "tagging.py": "def tags_for(title):\n    tags = []\n    for word in title.split():\n"
                "        tags.append(word)\n    return tags\n"
            }
        ),
        {
            "tagging.py": "tags = []\n\n\ndef tags_for(title):\n    for word in title.split():\n"
            "        tags.append(word)\n    return list(tags)\n"
        },
    ),
)
