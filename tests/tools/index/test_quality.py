"""The real model on a small corpus: questions that share few words with the code. `python -m bench search_quality`
measures on a thousand functions; this keeps what was measured from being lost unnoticed."""

from __future__ import annotations

from pathlib import Path

import pytest

from joey.tools.index import embedding, model
from joey.tools.index.search import CodebaseIndex, SearchRequest
from joey.tools.index.wordpiece import DamagedModelError

# ruff: noqa: E501 - a table: the name, the body, and a question in other words
CORPUS = {
    "slugify": ("return re.sub(r'[^a-z0-9]+', '-', title.lower()).strip('-')", "make a text fit for a web address"),
    "retry": ("for n in range(5):\n        try:\n            return call()\n        except OSError:\n            time.sleep(2 ** n)", "wait longer after each failed attempt"),
    "median": ("rows = sorted(values)\n    return rows[len(rows) // 2]", "the middle number of a list"),
    "hash_password": ("return hashlib.pbkdf2_hmac('sha256', secret, salt, 100000)", "protect a login secret before it is stored"),
    "send_mail": ("smtp.login(user, key)\n    smtp.send_message(message)", "deliver an email"),
    "flatten": ("return [leaf for branch in nested for leaf in branch]", "turn a list of lists into one list"),
    "is_leap": ("return year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)", "does February have 29 days"),
    "download": ("with urllib.request.urlopen(url) as answer:\n        return answer.read()", "fetch a page from the internet"),
    "rotate_log": ("os.replace(path, path + '.1')\n    open(path, 'w').close()", "begin a new journal and keep the old one"),
    "parse_args": ("parser.add_argument('--verbose')\n    return parser.parse_args()", "read the options typed on the command line"),
    "celsius": ("return (fahrenheit - 32) * 5 / 9", "convert a temperature"),
    "shuffle_deck": ("random.shuffle(cards)\n    return cards[:5]", "mix the playing cards and deal a hand"),
    "connect": ("return sqlite3.connect(path, timeout=5)", "open the database"),
    "thumbnail": ("image.resize((64, 64))\n    image.save(target)", "make a small version of an image"),
    "lock_file": ("fcntl.flock(handle, fcntl.LOCK_EX)", "keep two processes from writing at once"),
    "is_palindrome": ("return word == word[::-1]", "reads the same forwards and backwards"),
    "distance": ("return math.sqrt((a.x - b.x) ** 2 + (a.y - b.y) ** 2)", "how far apart are two points"),
    "tokenize": ("return text.lower().split()", "cut a sentence into words"),
    "cancel_order": ("order.status = 'cancelled'\n    refund(order.payment)", "give the customer the money back"),
    "compress": ("return zlib.compress(data, 9)", "make bytes smaller"),
    "spell": ("return difflib.get_close_matches(word, dictionary)", "suggest a correction for a typing mistake"),
    "schedule": ("heapq.heappush(queue, (when, job))", "run something at a later time"),
    "permissions": ("return bool(os.stat(path).st_mode & 0o200)", "may this file be written"),
    "currency": ("return f'{amount:,.2f} EUR'", "show an amount of money"),
    "memoize": ("if key not in store:\n        store[key] = compute(key)\n    return store[key]", "remember results so as not to calculate twice"),
    "escape_html": ("return text.replace('&', '&amp;').replace('<', '&lt;')", "make user input safe to put in a web page"),
    "binary_search": ("mid = (low + high) // 2\n    return mid if rows[mid] == wanted else -1", "find an item quickly in something sorted"),
    "kill_tree": ("os.killpg(os.getpgid(pid), signal.SIGTERM)", "stop a program and everything it started"),
    "validate_email": ("return bool(re.fullmatch(r'[^@]+@[^@]+', address))", "check that an address has an at sign"),
    "countdown": ("while left:\n        print(left)\n        left -= 1", "count backwards to zero"),
}  # fmt: skip


def rank(index: CodebaseIndex, name: str) -> int:
    found = index.search(SearchRequest(CORPUS[name][1], limit=30)).found
    return next((at for at, each in enumerate(found) if each.piece.path == f"{name}.py"), 99)


@pytest.fixture(scope="module")
def ranks(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[int]]:
    folder = tmp_path_factory.mktemp("quality")
    root = folder / "project"
    root.mkdir()
    for name, (body, _) in CORPUS.items():
        (root / f"{name}.py").write_text(f"def {name}(*given):\n    {body}\n")
    hybrid = CodebaseIndex(root, folder / "hybrid", model.load)
    keywords = CodebaseIndex(root, folder / "keywords", lambda: (None, ""))
    return {
        "hybrid": [rank(hybrid, name) for name in CORPUS],
        "keywords": [rank(keywords, name) for name in CORPUS],
    }


def within(ranks: list[int], limit: int) -> float:
    return sum(rank < limit for rank in ranks) / len(ranks)


def test_questions_in_other_words_are_answered_better_than_by_keywords(ranks: dict[str, list[int]]) -> None:
    for limit in (1, 5, 10):
        assert within(ranks["hybrid"], limit) >= within(ranks["keywords"], limit)
    assert within(ranks["hybrid"], 1) - within(ranks["keywords"], 1) > 0.2


def test_nearly_all_questions_in_other_words_are_answered_first(ranks: dict[str, list[int]]) -> None:
    assert within(ranks["hybrid"], 1) >= 0.6, ranks
    assert within(ranks["hybrid"], 10) >= 0.9, ranks


def test_weights_that_are_not_the_measured_ones_are_refused(tmp_path: Path) -> None:
    data = bytearray(embedding.weights_file().read_bytes())
    data[len(data) // 2] ^= 1
    changed = tmp_path / "model.onnx"
    changed.write_bytes(data)
    with pytest.raises(DamagedModelError, match="SHA-256"):
        embedding.LocalEmbedder(changed)
    with pytest.raises(DamagedModelError, match="cannot be read"):
        embedding.LocalEmbedder(tmp_path / "none.onnx")


def test_vectors_do_not_depend_on_what_is_embedded_with_them() -> None:
    embedder, why_not = model.load()
    assert embedder is not None, why_not
    texts = ["delete a user", "x = 1", "a much longer text that goes on " * 20]
    together, alone = embedder.embed(texts), embedder.embed(texts[:1])
    assert abs(float(together[0] @ alone[0]) - 1) < 1e-3
    assert all(abs(float(row @ row) - 1) < 1e-4 for row in together)
