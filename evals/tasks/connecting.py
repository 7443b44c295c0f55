"""Questions whose answer stands in several files, or comes from reading one and looking into another."""

from __future__ import annotations

from evals.checks import answers
from evals.task import Eval, Solution

TASKS = (
    Eval(
        "port-in-use",
        "Which port does the server listen on when it is started with run.py?",
        [answers(r"\b9400\b", rivals=[r"\b8000\b", r"\b5000\b"])],
        Solution(says="It listens on port 9400."),
        {
            "run.py": "from server import serve\nfrom settings import PRODUCTION\n\nserve(PRODUCTION)\n",
            "settings.py": "TESTING = {'port': 5000}\nPRODUCTION = {'port': 9400}\n",
            "server.py": "def serve(settings):\n    print('listening on', settings.get('port', 8000))\n",
        },
        read_only=True,
    ),
    Eval(
        "who-calls-it",
        "In which files is the function normalise called?",
        [answers(r"importing\.py", r"search\.py", rivals=[r"export\.py"])],
        Solution(says="It is called in importing.py and search.py."),
        {
            "text.py": "def normalise(text):\n    return text.strip().lower()\n",
            "importing.py": "from text import normalise\n\n\ndef add(line):\n    return normalise(line)\n",
            "search.py": "from text import normalise\n\n\ndef find(word, lines):\n"
            "    return [line for line in lines if normalise(word) in line]\n",
            "export.py": "def write(lines):\n    return '\\n'.join(lines)\n",
        },
        read_only=True,
    ),
    Eval(
        "owner-of-the-file",
        "Who is responsible for payments.py, and what is their e-mail address?",
        [answers("Mira", r"mira@example\.org", rivals=[r"jon@example\.org"])],
        Solution(says="Mira is responsible: mira@example.org."),
        {
            "OWNERS": "search.py: Jon\npayments.py: Mira\n",
            "people.csv": "name,email\nJon,jon@example.org\nMira,mira@example.org\n",
            "payments.py": "def pay(amount):\n    return amount\n",
            "search.py": "def find(word):\n    return []\n",
        },
        read_only=True,
    ),
    Eval(
        "total-of-orders",
        "What is the total price of the order in order.txt, with the prices in prices.csv?",
        [answers(r"\b23(\.0+)?\b")],
        Solution(says="The total is 23."),
        {"order.txt": "3 apple\n1 melon\n4 lemon\n", "prices.csv": "fruit,price\napple,2\nmelon,5\nlemon,3\npear,4\n"},
        read_only=True,
    ),
    Eval(
        "which-test-covers",
        "Which test file tests the class Basket?",
        [answers(r"test_shopping\.py", rivals=[r"test_users\.py"])],
        Solution(says="tests/test_shopping.py tests Basket."),
        {
            "shop/basket.py": "class Basket:\n    def total(self):\n        return 0\n",
            "shop/users.py": "class User:\n    name = ''\n",
            "tests/test_users.py": "from shop.users import User\n\n\ndef test_name():\n    assert User().name == ''\n",
            "tests/test_shopping.py": "from shop.basket import Basket\n\n\n"
            "def test_total():\n    assert Basket().total() == 0\n",
        },
        read_only=True,
    ),
    Eval(
        "default-language",
        "Which language does the program use when the user has chosen none?",
        [answers("Dutch", rivals=["French", "Danish"])],
        Solution(says="It uses Dutch."),
        {
            "languages.py": "NAMES = {'fr': 'French', 'nl': 'Dutch', 'da': 'Danish'}\n",
            "config.toml": '[user]\nname = ""\n\n[defaults]\nlanguage = "nl"\n',
            "main.py": "import tomllib\n\nfrom languages import NAMES\n\nwith open('config.toml', 'rb') as file:\n"
            "    config = tomllib.load(file)\n"
            "chosen = config['user'].get('language', config['defaults']['language'])\nprint(NAMES[chosen])\n",
        },
        read_only=True,
    ),
    Eval(
        "days-with-errors",
        "On which day were there the most errors? The logs are in the folder logs, one file for each day.",
        [answers("tuesday", rivals=["monday", "wednesday"])],
        Solution(says="On Tuesday."),
        {
            "logs/monday.log": "INFO start\nERROR disk\nINFO stop\n",
            "logs/tuesday.log": "INFO start\nERROR disk\nERROR net\nERROR disk\nINFO stop\n",
            "logs/wednesday.log": "INFO start\nERROR net\nERROR net\nINFO stop\n",
        },
        read_only=True,
    ),
    Eval(
        "unused-module",
        "Which of the modules is imported by none of the others? main.py is the program that is started.",
        [answers(r"\bcolours(\.py)?\b", rivals=[r"\bshapes(\.py)?\b", r"\bdrawing(\.py)?\b"])],
        Solution(says="Nothing imports colours.py."),
        {
            "main.py": "from drawing import draw\n\ndraw()\n",
            "drawing.py": "from shapes import square\n\n\ndef draw():\n    print(square(2))\n",
            "shapes.py": "def square(side):\n    return side * side\n",
            "colours.py": "RED = '#ff0000'\n",
        },
        read_only=True,
    ),
)
