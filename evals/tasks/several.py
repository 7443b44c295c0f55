"""Changes that touch two or three files, and settings that are extended."""

from __future__ import annotations

from evals.checks import calls, file_has, file_is, file_lacks, gone, json_is, passes, prints
from evals.task import Eval, Solution

_APP_JSON = '{\n  "name": "garden",\n  "server": {\n    "port": 8000\n  }\n}\n'
_INI = "[paths]\ndata = /srv/data\n\n[limits]\nusers = 10\n"
_PROJECT = '[project]\nname = "garden"\nversion = "0.4.0"\ndependencies = [\n    "rich",\n]\n'
_SHOP = "from tax import add_tax\n\n\ndef price(net):\n    return add_tax(net)\n"
_CONVERT = "def to_km(miles):\n    return miles * 1.609\n"

TASKS = (
    Eval(
        "new-version-everywhere",
        "The version is 0.4.0 in pyproject.toml and in garden/__init__.py. Change it to 0.5.0 in both.",
        [
            file_is("pyproject.toml", _PROJECT.replace("0.4.0", "0.5.0")),
            file_is("garden/__init__.py", '__version__ = "0.5.0"\n'),
        ],
        Solution(
            {
                "pyproject.toml": _PROJECT.replace("0.4.0", "0.5.0"),
                "garden/__init__.py": '__version__ = "0.5.0"\n',
            }
        ),
        {"pyproject.toml": _PROJECT, "garden/__init__.py": '__version__ = "0.4.0"\n'},
    ),
    Eval(
        "logging-section",
        "Add to app.json a section logging with level set to info and file set to app.log. Keep everything else.",
        [
            json_is(
                "app.json",
                {"name": "garden", "server": {"port": 8000}, "logging": {"level": "info", "file": "app.log"}},
            )
        ],
        Solution(
            {
                "app.json": '{\n  "name": "garden",\n  "server": {\n    "port": 8000\n  },\n'
                '  "logging": {\n    "level": "info",\n    "file": "app.log"\n  }\n}\n'
            }
        ),
        {"app.json": _APP_JSON},
    ),
    Eval(
        "limit-from-settings",
        "load.py prints the limit of users from settings.ini. Add a limit of files, 200, to the same section of "
        "settings.ini, and let load.py print it on a second line.",
        [
            prints("load.py", output="10\n200"),
            file_has("settings.ini", r"^users\s*=\s*10$", r"^files\s*=\s*200$", r"^data = /srv/data$"),
        ],
        Solution(
            {
                "settings.ini": _INI + "files = 200\n",
                "load.py": "import configparser\n\nsettings = configparser.ConfigParser()\n"
                "settings.read('settings.ini')\nprint(settings['limits']['users'])\nprint(settings['limits']['files'])\n",
            }
        ),
        {
            "settings.ini": _INI,
            "load.py": "import configparser\n\nsettings = configparser.ConfigParser()\n"
            "settings.read('settings.ini')\nprint(settings['limits']['users'])\n",
        },
    ),
    Eval(
        "move-function",
        "Move the function add_tax from shop.py into a new module tax.py, and import it in shop.py.",
        [
            calls("shop", ("price(100)", 119.0)),
            calls("tax", ("add_tax(100)", 119.0)),
            file_lacks("shop.py", r"def add_tax"),
        ],
        Solution({"shop.py": _SHOP, "tax.py": "def add_tax(net):\n    return round(net * 1.19, 2)\n"}),
        {
            "shop.py": "def add_tax(net):\n    return round(net * 1.19, 2)\n\n\n"
            "def price(net):\n    return add_tax(net)\n"
        },
    ),
    Eval(
        "function-and-its-test",
        "Add a function to_miles(km) to convert.py, the inverse of to_km, and a test for it to test_convert.py. Keep "
        "what is there.",
        [
            calls("convert", ("round(to_miles(to_km(5)), 6)", 5.0), ("round(to_km(1), 3)", 1.609)),
            passes("test_convert.py", 2),
            file_has("test_convert.py", "to_miles", "test_to_km"),
        ],
        Solution(
            {
                "convert.py": _CONVERT + "\n\ndef to_miles(km):\n    return km / 1.609\n",
                "test_convert.py": "import unittest\n\nfrom convert import to_km, to_miles\n\n\n"
                "class Conversion(unittest.TestCase):\n"
                "    def test_to_km(self):\n        self.assertAlmostEqual(to_km(1), 1.609)\n\n"
                "    def test_to_miles(self):\n        self.assertAlmostEqual(to_miles(1.609), 1)\n",
            }
        ),
        {
            "convert.py": _CONVERT,
            "test_convert.py": "import unittest\n\nfrom convert import to_km\n\n\n"
            "class Conversion(unittest.TestCase):\n"
            "    def test_to_km(self):\n        self.assertAlmostEqual(to_km(1), 1.609)\n",
        },
    ),
    Eval(
        "constant-in-one-place",
        "Both entry.py and exit.py define GATE = 7. Define it once, in gate.py, and import it in both.",
        [
            prints("entry.py", output="enter by 7"),
            prints("exit.py", output="leave by 7"),
            file_has("gate.py", r"^GATE\s*=\s*7"),
            file_lacks("entry.py", r"GATE\s*=\s*7"),
            file_lacks("exit.py", r"GATE\s*=\s*7"),
        ],
        Solution(
            {
                "gate.py": "GATE = 7\n",
                "entry.py": "from gate import GATE\n\nprint('enter by', GATE)\n",
                "exit.py": "from gate import GATE\n\nprint('leave by', GATE)\n",
            }
        ),
        {
            "entry.py": "GATE = 7\n\nprint('enter by', GATE)\n",
            "exit.py": "GATE = 7\n\nprint('leave by', GATE)\n",
        },
    ),
    Eval(
        "one-more-parameter",
        "The function greet in greeting.py should take a second parameter, the word to greet with. Change main.py so "
        "that it says Hi instead of Hello.",
        [
            prints("main.py", output="Hi, Ada!"),
            calls("greeting", ("greet('Bo', 'Hello')", "Hello, Bo!")),
        ],
        Solution(
            {
                "greeting.py": "def greet(name, word):\n    return f'{word}, {name}!'\n",
                "main.py": "from greeting import greet\n\nprint(greet('Ada', 'Hi'))\n",
            }
        ),
        {
            "greeting.py": "def greet(name):\n    return f'Hello, {name}!'\n",
            "main.py": "from greeting import greet\n\nprint(greet('Ada'))\n",
        },
    ),
    Eval(
        "rename-module",
        "Rename the module utils.py to dates.py, and change report.py so that it still works.",
        [prints("report.py", output="2026-03-09"), gone("utils.py"), calls("dates", ("iso(2026, 3, 9)", "2026-03-09"))],
        Solution(
            {
                "utils.py": None,
                "dates.py": "def iso(year, month, day):\n    return f'{year}-{month:02}-{day:02}'\n",
                "report.py": "from dates import iso\n\nprint(iso(2026, 3, 9))\n",
            }
        ),
        {
            "utils.py": "def iso(year, month, day):\n    return f'{year}-{month:02}-{day:02}'\n",
            "report.py": "from utils import iso\n\nprint(iso(2026, 3, 9))\n",
        },
    ),
)
