"""Python and its tools: the project's code runs, no other code does."""

# ruff: noqa: E501 - tables

from __future__ import annotations

import pytest

from joey.policy.shell.programs.python import PROGRAMS, PYTEST_OWN
from table_kit import summary, used

HARMLESS = [
    ("python script.py --input data.json -c x", "run script.py"),
    ("python3 -u -X dev -W ignore a.py", "run a.py"),
    ("python3.12 -m pytest -q tests/test_a.py::test_b", "run tests/test_a.py"),
    ("python --version", ""),
    ("python manage.py migrate", "run manage.py"),
    ("python -m pip install -U pip", ""),
    ("python -m venv .venv", "write .venv"),
    ("python -m unittest discover -s tests -v", "folder tests"),
    ("python -m unittest tests.test_a", ""),
    ("python -m json.tool data.json", "read data.json"),
    ("python -m http.server 8000", "follow ."),
    ("python -m compileall -q src", "tree src"),
    ("python -m mypy src", "read src"),
    ("python -m coverage run -m pytest -q", ""),
    ("python -m mypackage.cli --flag", ""),
    ("pytest", ""),
    ("pytest -x -q", ""),
    ("pytest -xvs tests/test_a.py", "run tests/test_a.py"),
    ("pytest -k 'not slow and (a or b)' -m unit", ""),
    ("pytest 'tests/test_a.py::test_b[x-1]' --tb=short -rA", "run tests/test_a.py"),
    ("pytest --lf --maxfail=1 --durations=10 -n 4", "run 4"),
    ("pytest -p no:randomly -p no:cacheprovider -n0", "run 0"),
    ("pytest --cov=src --cov-report=term-missing --cov-report=html:htmlcov", "run src, run term-missing, run html:htmlcov, write htmlcov"),
    ("pytest --junitxml=build/report.xml --basetemp=build/tmp", "write build/report.xml, remove build/tmp"),
    ("pytest -W error::DeprecationWarning -o log_cli=true", ""),
    ("pytest --collect-only -q tests", "run tests"),
    ("pip install -r requirements.txt -q", "read requirements.txt"),
    ("pip install -e '.[dev]'", "folder ."),
    ("pip install .", "folder ."),
    ("pip install 'requests>=2,<3' flask==2.0 'uvicorn[standard]'", ""),
    ("pip list --outdated --format=json", ""),
    ("pip show -f requests", ""),
    ("pip freeze", ""),
    ("pip check", ""),
    ("ruff check .", "read ."),
    ("ruff check --fix src", "read src, rewrite src"),
    ("ruff format --check .", "read ."),
    ("ruff format .", "read ., rewrite ."),
    ("ruff check --select F,E501 --output-format=concise src/a.py", "read src/a.py"),
    ("black --check --diff src", "read src"),
    ("black src/a.py", "read src/a.py, rewrite src/a.py"),
    ("isort --profile black --check-only .", "read ."),
    ("mypy --strict src", "read src"),
    ("pyright src", "read src"),
    ("flake8 src --max-line-length 100", "read src"),
    ("pylint src --disable=C0114 -f json", "read src"),
    ("coverage run --branch -m pytest tests", "run tests"),
    ("coverage report -m --fail-under=90", ""),
    ("coverage html -d htmlcov", "write htmlcov"),
    ("tox -e py311", ""),
    ("tox run -e lint -- tests/a.py", ""),
    ("nox -s tests", ""),
    ("pre-commit run --all-files", ""),
    ("pre-commit run ruff --files src/a.py src/b.py", "read src/a.py, read ruff, read src/b.py"),
    ("alembic upgrade head", ""),
    ("alembic revision --autogenerate -m 'Add a table'", ""),
    ("uv sync --all-extras --dev", ""),
    ("uv run pytest -q", "[pytest -q]"),
    ("uv run --frozen script.py -x", "[python script.py -x]"),
    ("uv run -m pytest tests", "[python -m pytest tests]"),
    ("uv run python -c x", "[python -c x]"),
    ("uv add requests 'httpx>=0.27'", ""),
    ("uv pip install -r requirements.txt", "read requirements.txt"),
    ("uv pip list", ""),
    ("uv lock --check", ""),
    ("uv tree --depth 1", ""),
    ("uv venv .venv -p 3.12", "write .venv"),
    ("poetry install --with dev", ""),
    ("poetry run pytest -q", "[pytest -q]"),
    ("poetry add requests@^2.31", ""),
    ("poetry show --tree", ""),
    ("pdm run pytest", "[pytest]"),
    ("pdm install -G dev", ""),
    ("pipenv run python a.py", "[python a.py]"),
    ("pipenv install requests", ""),
    ("hatch build", ""),
    ("hatch test --cover tests/test_a.py", "run tests/test_a.py"),
    ("uvicorn app.main:app --reload --port 8000", ""),
]  # fmt: skip


@pytest.mark.parametrize(("line", "found"), HARMLESS)
def test_everyday_python_has_no_problem(line: str, found: str) -> None:
    use = used(PROGRAMS, line)
    assert (use.problems, summary(use)) == ([], found)


HOSTILE = [
    "python", "python -", "python -i", "python -i a.py", "python -c 'import os'", "python3 -Ic 'import os'", "python -cx",
    "python3 -X importtime -c 'import os'", "python -X pycache_prefix=../outside a.py", "python -X presite=evil a.py",
    "python -X frozen_modules=x a.py", "python -W error::evil.Category a.py", "python -Werror::evil.Category a.py",
    "python -mtimeit 'import os'", "python3 -m timeit 'import os'", "python -m asyncio", "python -m pdb -c x y",
    "python -m pdb a.py", "python -m code", "python -m tarfile -e a.tar ../outside", "python -m zipfile -e a.zip x",
    "python -m trace -t x", "python -m cProfile -c x", "python -m profile a.py", "python -m runpy x", "python -m idlelib",
    "python -m pydoc -b", "python -m ensurepip", "python -m webbrowser x", "python -m smtplib", "python -m sqlite3 x",
    "python -m base64 -e .env", "python -m os", "python -m ../evil", "python -m 'evil x'", "python -m pip._internal",
    "python manage.py shell -c x", "python ./manage.py dbshell", "python -m http.server --cgi", "python -m venv --clear x", "python --check-hash-based-pycs always a.py",
    "pytest -p evil", "pytest -pevil", "pytest -p no:x -p evil", "pytest -c ../outside/evil.ini", "pytest -c x.ini",
    "pytest --rootdir=../outside", "pytest --rootdir ../outside", "pytest -qo addopts=-pevil", "pytest -o pythonpath=..",
    "pytest --override-ini=pythonpath=../outside", "pytest -o python_files=x", "pytest @evil.args", "pytest -k @evil.args",
    "pytest --confcutdir=..", "pytest --pdbcls=evil:X --pdb", "pytest --pdb", "pytest --trace", "pytest --pyargs evil",
    "pytest --debug=../outside/x", "pytest --pastebin=all", "pytest -W error::evil.X", "pytest --cov-config=x",
    "pytest --config-file=x", "pytest --tx popen//python=./evil", "pytest --rsyncdir=x", "pytest --dump-fixtures",
    "python -m pytest -p evil", "python -m pytest --roo=..", "coverage run -m pytest -p evil", "py.test -pevil",
    "pip install git+https://x/y", "pip install https://x/y.zip", "pip install evil.whl", "pip install x/y.tar.gz",
    "pip install --target ../outside x", "pip install --root ../outside x", "pip install --prefix ../outside x",
    "pip install --proxy http://127.0.0.1:9 x", "pip install -i http://127.0.0.1:9 x", "pip install --index-url=x y",
    "pip install --extra-index-url x y", "pip install -f x y", "pip install --user x", "pip install --src x y",
    "pip install -r https://x/y", "pip install -c file:///x y", "pip install 'x @ https://y'", "pip install 'x @ file:y'",
    "pip install -e git+https://x", "pip install -e evil", "pip install --global-option=x y", "pip install -C x=y z",
    "pip install --trusted-host h x", "pip install --cert x y", "pip install --log ../x y", "pip --python ./evil list",
    "pip install --break-system-packages x", "pip download x", "pip wheel x", "pip config set x y", "pip cache purge",
    "pip debug", "pip install /etc", "pip install --config-settings=x y",
    "ruff check --config evil.toml", "ruff server", "ruff analyze graph", "black -c x", "black --config ../x .",
    "isort --settings-path ../x .", "isort --formatter evil .", "mypy --python-executable ./evil src", "mypy -c x",
    "mypy --install-types", "mypy --custom-typeshed-dir x y", "mypy @x --shadow-file a b", "mypy --pdb src",
    "pyright --pythonpath ./evil", "pyright --venvpath x", "flake8 --config ../x", "flake8 --append-config x",
    "flake8 --format=x", "flake8 --enable-extensions x", "pylint --init-hook='import os' x", "pylint --load-plugins=evil x",
    "pylint --evaluation='evil()' x", "pylint --rcfile=../x y", "pylint -f evil.Reporter x", "pylint --msg-template=x y",
    "coverage run -", "coverage run -m timeit x", "coverage run --rcfile=../x y.py", "coverage debug sys",
    "coverage report --rcfile=x", "tox -- -p evil", "tox -c ../x", "tox -x testenv.commands=evil", "tox exec -- rm x",
    "tox devenv", "tox --workdir ../x", "nox -f ../x", "nox -k '__import__(1)'", "nox -s x -- -p evil", "nox --envdir ../x",
    "pre-commit run -c ../x", "pre-commit install", "pre-commit try-repo x", "pre-commit autoupdate",
    "alembic -c ../x upgrade head", "alembic -x a=b upgrade head", "alembic edit x",
    "uv run --with git+https://x pytest", "uv run --with evil pytest", "uv run --env-file x y", "uv run -s x",
    "uv run --directory .. x", "uv run --project ../x y", "uv run -p ./evil pytest", "uv run --config-file x y",
    "uv tool run x", "uv tool install x", "uv publish", "uv add --index http://x y", "uv add git+https://x", "uv sync -i x",
    "uv pip install --target ../x y", "uv pip install -r https://x/y", "uv self update", "uv --directory .. sync",
    "uv python install 3.12", "uv cache clean", "uv add --script x y",
    "poetry -C ../x install", "poetry add git+https://x", "poetry add ../x.whl", "poetry shell", "poetry config x y",
    "poetry publish", "poetry self add x", "poetry source add x y", "poetry -P ../x run y", "poetry add --source x y",
    "pdm -p ../x install", "pdm run --env A=b x", "pdm run --env-file x y", "pdm config x y", "pdm plugin add x",
    "pdm add -e git+https://x", "pdm add https://x", "pipenv install -e git+https://x", "pipenv install -i http://x y",
    "pipenv shell", "pipenv --python ./evil", "hatch run x", "hatch test -- -p evil", "hatch -p ../x test", "hatch shell", "hatch publish", "hatch env create",
    "uvicorn app:app --env-file .env", "uvicorn app:app --log-config x", "uvicorn app:app --loop evil.loop",
    "uvicorn app:app --app-dir ..",
]  # fmt: skip


@pytest.mark.parametrize("line", HOSTILE)
def test_hostile_python_has_a_problem(line: str) -> None:
    assert used(PROGRAMS, line).problems


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("python ../outside/evil.py", "run ../outside/evil.py"),
        ("python /dev/stdin", "run /dev/stdin"),
        ("python3 -m venv ../outside/v", "write ../outside/v"),
        ("python -m json.tool a.json AGENTS.md", "write AGENTS.md"),
        ("python -m json.tool .env", "read .env"),
        ("python -m unittest discover -s ../outside", "folder ../outside"),
        ("python -m unittest ../outside/test_x.py", "run ../outside/test_x.py"),
        ("python -m cProfile -o ../outside/pwn a.py", "write ../outside/pwn"),
        ("pytest --import-mode=importlib ../outside/test_x.py", "run ../outside/test_x.py"),
        ("pytest -k x ../outside/test_x.py::t", "run ../outside/test_x.py"),
        ("pytest --collect-only ../outside", "run ../outside"),
        ("pytest --log-file=../outside/pwn", "write ../outside/pwn"),
        ("pytest --log-file ../outside/pwn", "write ../outside/pwn"),
        ("pytest --basetemp ../outside", "remove ../outside"),
        ("pytest --junitxml=../outside/pwn", "write ../outside/pwn"),
        ("pytest --cov-report=xml:../outside/pwn", "write ../outside/pwn"),
        ("pip install ../outside", "folder ../outside"),
        ("pip install -e ../outside", "folder ../outside"),
        ("pip install -r ../outside/r.txt", "read ../outside/r.txt"),
        ("pip install --report AGENTS.md x", "write AGENTS.md"),
        ("ruff check .env", "read .env"),
        ("ruff check -o AGENTS.md", "write AGENTS.md"),
        ("ruff check --fix ../outside", "rewrite ../outside"),
        ("black ../outside/a.py", "rewrite ../outside/a.py"),
        ("mypy --junit-xml ../outside/pwn src", "write ../outside/pwn"),
        ("mypy --cache-dir ../outside src", "write ../outside"),
        ("flake8 --output-file=../outside/pwn", "write ../outside/pwn"),
        ("pylint --output=AGENTS.md src", "write AGENTS.md"),
        ("coverage run ../outside/x.py", "run ../outside/x.py"),
        ("coverage xml -o ../outside/pwn", "write ../outside/pwn"),
        ("uv run rm x", "[rm x]"),
        ("uv run ../outside/x.py", "[python ../outside/x.py]"),
        ("uv export -o AGENTS.md", "write AGENTS.md"),
        ("poetry run rm x", "[rm x]"),
    ],
)
def test_what_python_touches_is_found(line: str, found: str) -> None:
    assert found in summary(used(PROGRAMS, line)).split(", ")


def test_modules_that_must_be_the_projects_own_are_named() -> None:
    assert used(PROGRAMS, "python -m mypackage.cli x").modules == ["mypackage.cli"]
    assert used(PROGRAMS, "python -m unittest tests.test_a.T.test_x").modules == ["tests.test_a"]
    assert used(PROGRAMS, "python -m pytest").modules == []
    assert used(PROGRAMS, "uvicorn app.main:app").modules == ["app.main"]


def test_a_rule_for_python_allows_the_projects_code() -> None:
    assert PROGRAMS["python"].project_code
    assert PROGRAMS["pytest"].project_code
    assert not PROGRAMS["ruff"].project_code


PLUGINS = """
    --reruns --count --timeout --randomly-seed -n --dist --numprocesses --maxprocesses --max-worker-restart
    --asyncio-mode --session-timeout --cov-fail-under --max-warnings --reruns-delay --timeout-method --cov-report
    --cov-context --hypothesis-seed --browser --html --log-disable --verbosity --code-highlight --import-mode
""".split()  # noqa: SIM905


@pytest.mark.parametrize("option", PLUGINS)
@pytest.mark.parametrize("program", ["pytest", "python -m pytest", "coverage run -m pytest"])
def test_the_word_behind_an_option_that_may_be_missing_is_a_path(program: str, option: str) -> None:
    found = summary(used(PROGRAMS, f"{program} {option} ../outside/pt test_a.py")).split(", ")
    assert "run ../outside/pt" in found


def test_every_option_of_pytest_with_a_value_is_text_of_every_version_or_a_path() -> None:
    options = {name: option for name, option in PROGRAMS["pytest"].options.items() if option.kind == "t"}
    for name, option in options.items():
        line = f"pytest {name}=../outside" if option.attached else f"pytest {name} ../outside"
        assert name in PYTEST_OWN or "run ../outside" in summary(used(PROGRAMS, line))


@pytest.mark.parametrize(
    "line",
    ["pytest -k -pevil", "pytest --reruns -p evil", "pytest -- -pevil", "pytest -m -p evil", "pytest tests -- -p x"],
)
def test_a_plugin_is_no_value_of_another_option(line: str) -> None:
    assert used(PROGRAMS, line).problems
