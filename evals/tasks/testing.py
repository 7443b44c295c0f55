"""A little more: modules with behaviour, and tests for them."""

from __future__ import annotations

from evals.checks import calls, passes, prints
from evals.task import Eval, Solution

_SLUG = "def slugify(text):\n    return text.strip().lower().replace(' ', '-')\n"

TASKS = (
    Eval(
        "stack",
        "Write stack.py with a class Stack that has the methods push(item), pop() and is_empty().",
        [
            calls(
                "stack",
                ("Stack().is_empty()", True),
                ("[s := Stack(), s.push(1), s.push(2), s.pop(), s.is_empty()][3:]", [2, False]),
            )
        ],
        Solution(
            {
                "stack.py": "class Stack:\n    def __init__(self):\n        self.items = []\n\n"
                "    def push(self, item):\n        self.items.append(item)\n\n"
                "    def pop(self):\n        return self.items.pop()\n\n"
                "    def is_empty(self):\n        return not self.items\n"
            }
        ),
    ),
    Eval(
        "test-for-slugify",
        "Write test_slug.py with unittest: at least two tests for the function slugify in slug.py. Run them.",
        [passes("test_slug.py", 2), calls("slug", ("slugify(' Big Tree ')", "big-tree"))],
        Solution(
            {
                "test_slug.py": "import unittest\n\nfrom slug import slugify\n\n\nclass Slugs(unittest.TestCase):\n"
                "    def test_spaces(self):\n        self.assertEqual(slugify('a b'), 'a-b')\n\n"
                "    def test_case(self):\n        self.assertEqual(slugify('A'), 'a')\n"
            }
        ),
        {"slug.py": _SLUG},
    ),
    Eval(
        "fizzbuzz",
        "Write fizz.py with a function fizzbuzz(n) that returns a list for the numbers 1 to n: 'Fizz' for multiples "
        "of 3, 'Buzz' for multiples of 5, 'FizzBuzz' for multiples of both, and otherwise the number as a string.",
        [calls("fizz", ("fizzbuzz(5)", ["1", "2", "Fizz", "4", "Buzz"]), ("fizzbuzz(15)[-1]", "FizzBuzz"))],
        Solution(
            {
                "fizz.py": "def fizzbuzz(n):\n    words = []\n    for i in range(1, n + 1):\n"
                "        word = 'Fizz' * (i % 3 == 0) + 'Buzz' * (i % 5 == 0)\n"
                "        words.append(word or str(i))\n    return words\n"
            }
        ),
    ),
    Eval(
        "adding-arguments",
        "Write add.py, a script that prints the sum of the two whole numbers given as arguments: "
        "python3 add.py 2 3 prints 5.",
        [prints("add.py", "2", "3", output="5"), prints("add.py", "40", "2", output="42")],
        Solution({"add.py": "import sys\n\nprint(int(sys.argv[1]) + int(sys.argv[2]))\n"}),
    ),
    Eval(
        "factorial-and-test",
        "Write factorial.py with a function factorial(n), and test_factorial.py with a unittest test for it. "
        "Run the test.",
        [calls("factorial", ("factorial(5)", 120), ("factorial(0)", 1)), passes("test_factorial.py")],
        Solution(
            {
                "factorial.py": "def factorial(n):\n    return 1 if n < 2 else n * factorial(n - 1)\n",
                "test_factorial.py": "import unittest\n\nfrom factorial import factorial\n\n\n"
                "class Factorial(unittest.TestCase):\n    def test_five(self):\n"
                "        self.assertEqual(factorial(5), 120)\n",
            }
        ),
    ),
    Eval(
        "leap-year",
        "Write leap.py with a function is_leap(year) that says whether a year is a leap year, with the rules for "
        "centuries.",
        [
            calls(
                "leap",
                ("is_leap(2024)", True),
                ("is_leap(1900)", False),
                ("is_leap(2000)", True),
                ("is_leap(2023)", False),
            )
        ],
        Solution(
            {"leap.py": "def is_leap(year):\n    return year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)\n"}
        ),
    ),
    Eval(
        "word-count",
        "Write words.py with a function count_words(text) that returns a dictionary from each lower-case word to how "
        "often it occurs.",
        [calls("words", ("count_words('a b A') == {'a': 2, 'b': 1}", True), ("count_words('') == {}", True))],
        Solution(
            {
                "words.py": "def count_words(text):\n    counts = {}\n    for word in text.lower().split():\n"
                "        counts[word] = counts.get(word, 0) + 1\n    return counts\n"
            }
        ),
    ),
    Eval(
        "vowels-and-test",
        "Write vowels.py with a function count_vowels(text) that counts a, e, i, o and u in either case, and "
        "test_vowels.py with a unittest test for it. Run the test.",
        [calls("vowels", ("count_vowels('Apple pie')", 4), ("count_vowels('')", 0)), passes("test_vowels.py")],
        Solution(
            {
                "vowels.py": "def count_vowels(text):\n    return sum(text.lower().count(v) for v in 'aeiou')\n",
                "test_vowels.py": "import unittest\n\nfrom vowels import count_vowels\n\n\n"
                "class Vowels(unittest.TestCase):\n    def test_some(self):\n"
                "        self.assertEqual(count_vowels('Idea'), 3)\n",
            }
        ),
    ),
)
