"""Files that are there and should become something else, with the rest of them left alone."""

from __future__ import annotations

from evals.checks import calls, file_has, file_is, json_is, prints
from evals.task import Eval, Solution

_CALC = "def add(a, b):\n    return a + b\n"
_SHOP = "RATE = 0.2\n\n\ndef calc_tax(price):\n    return price * RATE\n"
_MAIN = "from shop import calc_tax\n\nprint(calc_tax(100))\n"

TASKS = (
    Eval(
        "add-function",
        "Add a function subtract(a, b) to calc.py. Keep the function add.",
        [calls("calc", ("subtract(7, 2)", 5), ("add(7, 2)", 9))],
        Solution({"calc.py": f"{_CALC}\n\ndef subtract(a, b):\n    return a - b\n"}),
        {"calc.py": _CALC},
    ),
    Eval(
        "next-version",
        "Change the version in version.py from 1.2.0 to 1.3.0.",
        [file_is("version.py", 'NAME = "garden"\nVERSION = "1.3.0"\n')],
        Solution({"version.py": 'NAME = "garden"\nVERSION = "1.3.0"\n'}),
        {"version.py": 'NAME = "garden"\nVERSION = "1.2.0"\n'},
    ),
    Eval(
        "json-key",
        'Add the key "debug" with the value true to app.json. Leave the other keys as they are.',
        [json_is("app.json", {"name": "garden", "port": 8080, "debug": True})],
        Solution({"app.json": '{"name": "garden", "port": 8080, "debug": true}\n'}),
        {"app.json": '{\n  "name": "garden",\n  "port": 8080\n}\n'},
    ),
    Eval(
        "sorted-names",
        "Sort the lines of names.txt alphabetically.",
        [file_is("names.txt", "Ada\nBo\nCleo\nDan\n")],
        Solution({"names.txt": "Ada\nBo\nCleo\nDan\n"}),
        {"names.txt": "Cleo\nAda\nDan\nBo\n"},
    ),
    Eval(
        "one-more-line",
        "Add the line 'Friday: repair the gate' at the end of plan.txt.",
        [file_is("plan.txt", "Monday: buy seeds\nTuesday: dig\nFriday: repair the gate\n")],
        Solution({"plan.txt": "Monday: buy seeds\nTuesday: dig\nFriday: repair the gate\n"}),
        {"plan.txt": "Monday: buy seeds\nTuesday: dig\n"},
    ),
    Eval(
        "other-timeout",
        "In client.py change the default timeout from 10 to 30 seconds.",
        [calls("client", ("fetch('x')", ("x", 30)), ("fetch('x', 5)", ("x", 5)))],
        Solution({"client.py": "def fetch(url, timeout=30):\n    return (url, timeout)\n"}),
        {"client.py": "def fetch(url, timeout=10):\n    return (url, timeout)\n"},
    ),
    Eval(
        "no-debug-print",
        "Remove the print line from double.py, and nothing else.",
        [file_is("double.py", "def double(x):\n    return x * 2\n")],
        Solution({"double.py": "def double(x):\n    return x * 2\n"}),
        {"double.py": "def double(x):\n    print('debug', x)\n    return x * 2\n"},
    ),
    Eval(
        "name-in-two-files",
        "Rename the function calc_tax to tax in shop.py, and change main.py so that it uses the new name.",
        [
            file_has("shop.py", r"^def tax\(", r"^RATE = 0\.2"),
            calls("shop", ("tax(50)", 10.0), ("'calc_tax' in globals()", False)),
            prints("main.py", output="20.0"),
        ],
        Solution({"shop.py": _SHOP.replace("calc_tax", "tax"), "main.py": _MAIN.replace("calc_tax", "tax")}),
        {"shop.py": _SHOP, "main.py": _MAIN},
    ),
)
