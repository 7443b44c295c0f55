"""Files that are not there yet."""

from __future__ import annotations

from evals.checks import calls, file_has, file_is, prints
from evals.task import Eval, Solution

TASKS = (
    Eval(
        "greeting-module",
        "Create greet.py with a function greet(name) that returns the text Hello, NAME! with the name put in, "
        "for example Hello, Ada!",
        [calls("greet", ("greet('Ada')", "Hello, Ada!"), ("greet('Bo')", "Hello, Bo!"))],
        Solution({"greet.py": 'def greet(name):\n    return f"Hello, {name}!"\n'}),
    ),
    Eval(
        "shopping-list",
        "Write shopping.md, a Markdown checklist with three unchecked items: milk, eggs, bread.",
        [file_has("shopping.md", r"^[-*] \[ \] [Mm]ilk", r"^[-*] \[ \] [Ee]ggs", r"^[-*] \[ \] [Bb]read")],
        Solution({"shopping.md": "- [ ] milk\n- [ ] eggs\n- [ ] bread\n"}),
    ),
    Eval(
        "people-table",
        "Create people.csv with the header name,age and two rows: Ada is 36, Bo is 41.",
        [file_is("people.csv", "name,age\nAda,36\nBo,41\n")],
        Solution({"people.csv": "name,age\nAda,36\nBo,41\n"}),
    ),
    Eval(
        "temperature",
        "Create temperature.py with two functions: to_fahrenheit(celsius) and to_celsius(fahrenheit).",
        [
            calls(
                "temperature",
                ("float(to_fahrenheit(100))", 212.0),
                ("float(to_fahrenheit(0))", 32.0),
                ("round(float(to_celsius(212)), 6)", 100.0),
            )
        ],
        Solution(
            {
                "temperature.py": "def to_fahrenheit(celsius):\n    return celsius * 9 / 5 + 32\n\n\n"
                "def to_celsius(fahrenheit):\n    return (fahrenheit - 32) * 5 / 9\n"
            }
        ),
    ),
    Eval(
        "ignore-file",
        "Create a .gitignore file that ignores the folder __pycache__/ and all files that end in .log",
        [file_has(".gitignore", r"^__pycache__/?\s*$", r"^\*\.log\s*$")],
        Solution({".gitignore": "__pycache__/\n*.log\n"}),
    ),
    Eval(
        "web-page",
        "Create index.html: a page with the title Garden, and one h1 heading that says Welcome.",
        [file_has("index.html", r"<title>\s*Garden\s*</title>", r"<h1[^>]*>\s*Welcome[.!]?\s*</h1>")],
        Solution(
            {
                "index.html": "<!doctype html>\n<html><head><title>Garden</title></head>"
                "<body><h1>Welcome</h1></body></html>\n"
            }
        ),
    ),
    Eval(
        "counting-script",
        "Write a Python script count.py that prints the numbers from 1 to 5, each on a line of its own.",
        [prints("count.py", output="1\n2\n3\n4\n5")],
        Solution({"count.py": "for number in range(1, 6):\n    print(number)\n"}),
    ),
    Eval(
        "small-package",
        "Make a Python package called shapes: an empty shapes/__init__.py, and shapes/square.py with a function "
        "area(side) that returns the area of a square.",
        [file_has("shapes/__init__.py", r"\A"), calls("shapes.square", ("area(4)", 16), ("area(3)", 9))],
        Solution({"shapes/__init__.py": "", "shapes/square.py": "def area(side):\n    return side * side\n"}),
    ),
)
