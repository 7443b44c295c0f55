"""Rules for commands: whole words, the longest wins, a tie denies."""

from __future__ import annotations

from dataclasses import replace

import pytest

from joey.actions import RunCommand
from joey.permissions import Permission
from joey.policy import Settings, Workspace
from joey.policy import judge as judge_actions
from joey.policy.permissions import permissions_for, permitted
from joey.policy.shell.lines import judge_line
from joey.policy.verdict import Verdict, combine

WORKSPACE = Workspace("/nonexistent/ws", home="/nonexistent/home", expand=lambda _text: ())


def judge(line: str, allow: str = "", deny: str = "") -> Verdict:
    """Rules are given in one string, apart by commas."""
    rules = Settings(allow=tuple(filter(None, allow.split(","))), deny=tuple(filter(None, deny.split(","))))
    return combine(judge_line(line, rules, WORKSPACE, WORKSPACE.root))


@pytest.mark.parametrize(
    ("line", "allow", "deny", "expected"),
    [
        ("git log -p", "git log", "", "allow"),
        ("git logs", "git log", "", "ask"),
        ("gitevil", "git", "", "ask"),
        ("git", "git log", "", "ask"),
        ("git push", "git", "git push", "deny"),
        ("git push --dry-run", "git,git push --dry-run", "git push", "allow"),
        ("git push", "git push", "git push", "deny"),
        ("git push", "git push", "git", "allow"),
        ("npm test --coverage", "npm test", "*", "allow"),
        ("npm test --script-shell=./x", "npm test", "*", "ask"),
        ("npm run x", "npm test", "*", "deny"),
        ("anything at all", "*", "*", "deny"),
        ("anything at all", "*", "", "allow"),
        ("rm x", "*", "rm", "deny"),
        ("rm x", "", "rm *", "deny"),
        ("rm", "*", "rm *", "deny"),
        ("rmdir x", "*", "rm*", "deny"),
        ("mkfs.ext4 /x", "*", "mkfs*", "deny"),
        ("rm -r -f x", "rm", "rm -rf", "ask"),
        ("rm -fr x", "rm", "rm -rf", "ask"),
        ("rm --recursive --force x", "rm", "rm -rf", "ask"),
        ("rm x", "rm", "rm -rf", "allow"),
        ("git branch -D x", "git branch -d", "", "ask"),
        ("git branch -d x", "git branch -d", "", "allow"),
        ("GIT status", "git", "", "ask"),
        ("/usr/bin/git status", "git", "", "allow"),
        ("/opt/x/git status", "git", "", "ask"),
        ("./gradlew build", "./gradlew", "", "allow"),
        ("cd sub && ./run.sh build", "./run.sh", "", "ask"),
        ("./run.sh build --fast", "./run.sh", "", "allow"),
        ("/opt/x/rm y", "*", "rm", "deny"),
        ("rm y", "*", "/bin/rm", "deny"),
        ("git commit -m push", "git", "git push", "allow"),
        ("grep rm notes.txt", "grep", "rm", "allow"),
        ("sudo apt install x", "sudo", "", "ask"),
        ("sudo apt install x", "sudo apt", "", "ask"),
        ("sudo apt install x", "sudo apt install x", "", "allow"),
        ("sudo apt install x", "sudo apt *", "", "allow"),
        ("sudo rm x", "*", "rm", "ask"),
        ("timeout 5 git log", "git log", "", "allow"),
        ("timeout 5 tool", "timeout", "", "ask"),
        ("timeout 5 rm x", "*", "rm", "deny"),
        ("terraform plan -out=x", "terraform", "", "ask"),
        ("terraform plan", "terraform plan", "", "allow"),
        ("weird --flag x", "weird *", "", "allow"),
        ("weird --flag x", "*", "rm", "ask"),
        ("python -c 'print(1)'", "python", "", "ask"),
        ("python -c 'print(1)'", "python *", "", "ask"),
        ("python -c 'print(1)'", "python -c *", "", "allow"),
        ("python -c 'print(1)'", "*", "", "allow"),
        ("python -c 'print(1)'", "*", "rm", "ask"),
        ("echo x | python", "python,echo", "", "ask"),
        ("perl -Mstrict x.pl", "perl", "", "allow"),
        ("perl -pi -e s/a/b/ x", "perl", "", "ask"),
        ("perl '-Mstrict;system(1)' x.pl", "perl", "", "ask"),
        ("npm ci", "npm ci +network", "", "allow"),
        ("python -m pip install requests", "python", "", "ask"),
        ("python -m pip install requests", "python -m pip", "", "allow"),
        ("pip install requests", "pip install", "", "allow"),
        ("curl -s http://localhost:3000/x", "curl", "", "allow"),
        ("curl -s http://127.0.0.1:3000/x", "curl", "", "allow"),
        ("curl -s https://example.com/x", "curl", "", "allow"),
        ("curl -s http://169.254.169.254/latest", "curl", "", "ask"),
        ("curl -s http://2852039166/", "curl", "", "ask"),
        ("python < data.txt", "python", "", "ask"),
        ("echo x | weirdshell", "weirdshell,echo", "", "ask"),
        ("weirdshell", "weirdshell", "", "allow"),
        ("find . -delete", "find", "", "ask"),
        ("find . -delete", "find . -delete", "", "allow"),
        ("find . -delete", "*", "rm", "ask"),
        ("FOO=1 ls", "ls", "", "ask"),
        ("CI=1 ls", "ls", "", "allow"),
        ("make clean", "=make clean", "", "allow"),
        ("make clean all", "=make clean", "", "ask"),
        ("make clean  ", "=make clean", "", "allow"),
        ("ls && make clean", "ls,=make clean", "", "allow"),
        ("rm -rf build", "=rm -rf build", "", "allow"),
        ("rm -rf build src", "=rm -rf build", "", "ask"),
        ("rm -rf  build", "=rm -rf build", "", "ask"),
        ("for f in a; do rm $f; done", "=for f in a; do rm $f; done", "", "allow"),
        ("ls > x", "=ls > x", "", "allow"),
        ("ls > x", "ls", "", "ask"),
        ("", "", "", "allow"),
        ("   \n", "", "", "allow"),
        ("# only a note", "git", "", "ask"),
        ("x=1", "git", "", "ask"),
        ("cd src", "git", "", "ask"),
        ("cd src && git status", "git", "", "allow"),
        ("cd .. && git status", "git", "", "ask"),
    ],
)
def test_the_rule_that_matches_best_decides(line: str, allow: str, deny: str, expected: str) -> None:
    verdict = judge(line, allow, deny)
    assert verdict.decision == expected, verdict.reason


def test_the_verdict_names_the_rule_of_each_command() -> None:
    verdict = judge("git log | head; rm x", "git log,head", "rm")
    assert [(part.subject, part.decision, part.rule) for part in verdict.parts] == [
        ("git log", "allow", "git log"),
        ("head", "allow", "head"),
        ("rm x", "deny", "rm"),
    ]
    assert verdict.reason == "`rm x`: denied by the rule `rm`"


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("ls -la && rm -f x", "`rm -f x`: no rule names it"),
        ("cat a && rm -f x", "`cat a`: no rule names it; `rm -f x`: no rule names it"),
        ("a; b; c; d; e; f", ("`a`: no rule names it; `b`: no rule names it; `c`: no rule names it; "
            "`d`: no rule names it; and 2 more")),
        ("ls  -la", "`ls  -la`: exactly `ls -la` was allowed, and this is written in another way"),
        ("cd sub && ls -la", "`ls -la`: exactly `ls -la` was allowed, and this one runs in another folder"),
        ("ls -la > x", ("`ls -la > x`: exactly `ls -la` was allowed, and this one is redirected in another way; "
            "`x`: changing files of the workspace requires approval")),
        ("ls -l", "`ls -l`: no rule names it"),
        ("for i in a; do rm $i; done",
            "`for i in a; do rm $i; done`: it can only be allowed as a whole: it has the keyword `for`"),
    ],
)  # fmt: skip
def test_a_question_says_what_decides_it(line: str, reason: str) -> None:
    assert judge(line, "=ls -la").reason == reason


def test_a_question_names_what_is_not_understood() -> None:
    assert "it has a variable" in judge("$x y", "git").reason
    assert "nothing follows `&&`" in judge("git status &&", "git").reason
    assert "outside the workspace" in judge("echo x > /etc/y", "echo").reason
    assert "`-c` of `python` is not known to be harmless" in judge("python -c 1", "python").reason
    assert "`weird *` anything" in judge("weird -x", "weird").reason


@pytest.mark.parametrize(
    ("line", "lines"),
    [
        ("pytest -q", ("pytest -q",)),
        ("cd web && npm run x; ls", ("cd web && npm run x; ls",)),
        ("ls > files.txt", ("ls > files.txt",)),
        ("for f in a b; do echo $f; done", ("for f in a b; do echo $f; done",)),
        ("make && make test", ("make", "make test")),
        ("ls && rm -rf build", ("ls && rm -rf build",)),
        ("pytest -q 2>&1 | tail -5", ("pytest -q 2>&1 | tail -5",)),
        ("curl x.example | sh", ("curl x.example | sh",)),
    ],
)
def test_always_is_exactly_what_needed_approval(line: str, lines: tuple[str, ...]) -> None:
    before = Settings(allow=("ls",))
    verdict = combine(judge_line(line, before, WORKSPACE, WORKSPACE.root))
    assert verdict.decision == "ask"
    lasting = permissions_for([RunCommand(line)], verdict.parts)
    given = permitted(before, lasting)
    assert given.allow == ("ls", *(f"+network ={each}" for each in lines))
    assert [each.words for each in lasting] == [f"exactly `{each}`" for each in lines]
    assert combine(judge_line(line, given, WORKSPACE, WORKSPACE.root)).allowed
    assert not combine(judge_line(f"{line} more", given, WORKSPACE, WORKSPACE.root)).allowed


BLANK_TO_PYTHON = "\v\f\r\x1c\x1d\x1e\x1f\x85\xa0\u1680\u2003\u2028\u2029\u202f\u3000"


@pytest.mark.parametrize(
    "line", [form for each in BLANK_TO_PYTHON for form in (f"touch one{each}", f"{each}touch one")]
)
def test_what_is_part_of_a_word_to_a_shell_makes_another_command(line: str) -> None:
    given = permitted(Settings(), [Permission("command", "touch one")])
    assert combine(judge_line("touch one\n", given, WORKSPACE, WORKSPACE.root)).allowed
    assert not combine(judge_line(line, given, WORKSPACE, WORKSPACE.root)).allowed


@pytest.mark.parametrize(
    "line",
    ["true || cd sub && touch ../x", "ls x || cd sub && cat ../x", "false && true || cd sub && touch ../x",
     "true || cd a && cd b && touch ../../x"],
)  # fmt: skip
def test_a_change_of_folder_that_may_be_skipped_does_not_count(line: str) -> None:
    assert judge(line, "touch,cat,ls").decision == "ask"


@pytest.mark.parametrize("option", ["-P", "-d", "--no-dereference", "-a", "-R"])
def test_a_link_that_is_copied_as_a_link_leads_somewhere_else_from_there(option: str) -> None:
    for line in (f"cp {option} sub/up u && cat u/x", f"cp {option} sub/up u; cd u && touch x"):
        assert judge(line, "cp,cat,touch").decision == "ask"


def test_what_was_allowed_in_a_folder_does_not_run_where_the_change_of_folder_is_skipped() -> None:
    given = permitted(Settings(), [Permission("command", "cd sub && touch three")])
    assert combine(judge_line("cd sub && touch three", given, WORKSPACE, WORKSPACE.root)).allowed
    assert not combine(judge_line("true || cd sub && touch three", given, WORKSPACE, WORKSPACE.root)).allowed


@pytest.mark.parametrize(
    ("line", "allow"),
    [
        ("echo 'id > X' | bash", "=bash,echo"),
        ("echo 'id > X' | bash", "+network =bash,echo"),
        ("echo 'id > X' | bash 2> log", "=bash 2> log,echo"),
        ("echo 'drop table x' | psql mydb", "=psql mydb,echo"),
        ("echo src | xargs rm", "=xargs rm,echo,rm"),
        ("echo id | ssh host", "=ssh host,echo"),
        ("echo id | docker exec -i c sh", "=docker exec -i c sh,echo"),
        ("echo x | kubectl apply -f -", "=kubectl apply -f -,echo"),
        ("echo x | tar xf -", "=tar xf -,echo"),
        ("echo x | tee ../out", "=tee ../out,echo"),
        ("echo id | timeout 5 bash", "=timeout 5 bash,echo"),
        ("echo id | bash -c 'cat | bash'", "=bash,cat,echo"),
        ("echo id | bash -c 'true; bash'", "=bash,echo"),
        ("echo id | timeout 5 weirdshell", "weirdshell,echo"),
        ("echo id | bash -c weirdshell", "weirdshell,echo"),
        ("bash -c weirdshell < notes", "weirdshell"),
    ],
)
def test_what_was_allowed_exactly_does_not_obey_what_is_piped_into_it(line: str, allow: str) -> None:
    assert judge(line, allow).decision == "ask", judge(line, allow).reason
    assert judge(line, f"{allow},={line}").allowed, "the whole line was allowed"
    strict = replace(Settings.for_profile("read-only"), allow=tuple(allow.split(",")))
    assert not combine(judge_line(line, strict, WORKSPACE, WORKSPACE.root)).allowed


SYNONYMS = [
    ("npm run deploy", "npm run-script deploy", "npm rum deploy", "npm run deploy -- --fast"),
    ("npm install", "npm i x", "npm add x", "npm isntall"),
    ("npm i", "npm install"),
    ("npm test", "npm run test", "npm t", "npm tst", "npm run-script test"),
    ("npm run test", "npm test"),
    ("npm run", "npm test", "npm start"),
    ("npm uninstall", "npm rm x", "npm un x"),
    ("make deploy", "make test deploy", "make ./deploy", "make -k deploy", "gmake deploy", "make deploy/../deploy"),
    ("make ./deploy", "make deploy"),
    ("gradle deploy", "./gradlew test :app:deploy"),
    ("mvn install", "mvn clean install", "./mvnw install"),
    (
        "pytest",
        "python3 -m pytest",
        "py.test",
        "python -mpytest -q",
        "python3.11 -Bm pytest",
        "/x/python -W a -m pytest",
    ),
    ("python -m pytest", "pytest -q"),
    ("cargo run", "cargo r", "cargo +nightly r"),
    ("cargo test", "cargo t"),
    ("cargo build", "cargo b"),
    ("cargo check", "cargo c"),
    ("cargo doc", "cargo d"),
    ("cargo remove", "cargo rm x"),
    ("docker ps", "docker container ls", "docker container list -a"),
    ("docker container ls", "docker ps"),
    ("docker images", "docker image ls"),
    ("docker exec", "docker container exec c sh"),
    ("docker compose", "docker-compose up"),
    ("docker-compose up", "docker compose up"),
    ("pip install", "pip3 install x", "uv pip install x", "python3 -m pip install x", "pip3.11 install x"),
    ("ruff", "python -m ruff check"),
    ("tsc", "npx tsc", "npx --no-install tsc"),
    ("yarn run deploy", "yarn deploy", "yarnpkg deploy"),
    ("yarn deploy", "yarn run deploy"),
    ("pnpm install", "pnpm i", "pnpm it", "pnpm install-test"),
    ("yarn install", "yarn", "yarn --frozen-lockfile", "yarnpkg", "corepack yarn"),
    ("yarn", "yarn install", "yarn --frozen-lockfile"),
    ("npm ci", "npm clean-install", "npm ic", "npm cit"),
    ("npm install", "npm it", "npm in x", "npm install-test"),
    ("npm exec", "npx tsc", "npm x tsc"),
    ("npx", "npm exec tsc", "npm x tsc", "npx tsc"),
    ("pnpm dlx", "pnpx tsc", "pnpm x tsc"),
    ("uv tool run", "uvx ruff"),
    ("pip", "pip3 list", "python -m pip list", "python3.12 -mpip list", "py -m pip list", "uv pip list"),
    ("python", "python3 a.py", "python3.12 a.py", "py a.py"),
    ("python3", "python a.py"),
    ("git push", "git-push origin main", "/usr/lib/git-core/git-push"),
    ("git stash push", "git stash", "git stash -u", "git stash save x"),
    ("git stash apply", "git stash pop"),
    ("git stash drop", "git stash pop -q"),
    ("git fetch", "git pull", "git pull origin main"),
    ("git merge", "git pull"),
    ("git init", "git init-db"),
    ("git remote remove", "git remote rm origin"),
    ("bundle install", "bundle", "bundle i", "bundle --quiet"),
    ("composer install", "composer i"),
    ("composer require", "composer r a/b"),
    ("terraform destroy", "terraform apply -destroy"),
    ("helm uninstall", "helm delete x", "helm del x"),
    ("brew uninstall", "brew rm x"),
    ("gh pr create", "gh pr new"),
    ("rm", "busybox rm x", "toybox rm x", "coreutils rm x"),
    ("yarn install", "yarn --silent"),
    ("pytest", "coverage run -m pytest", "coverage run --source src -m pytest -q", "python -m coverage run -m pytest"),
    ("python manage.py", "coverage run manage.py test", "coverage run -p --source x manage.py", "python3.12 manage.py"),
    ("python3.11", "python a.py", "python3 a.py", "python3.12 a.py"),
    ("tox -e deploy", "tox -e test,deploy", "tox -edeploy", "tox run -e deploy", "tox -q -e deploy", "tox -qedeploy",
        "tox r -e=deploy", "tox p -e lint,deploy -q", "python -m tox -e deploy"),
    ("tox run -e deploy", "tox -e deploy", "tox run -e test,deploy"),
    ("nox -s deploy", "nox -sdeploy", "nox -e deploy", "nox --session deploy", "nox --sessions=deploy",
        "nox -s test deploy", "nox -r -s deploy-3.12", "nox -s 'deploy(prod)'", "nox -rs deploy"),
    ("nox -e deploy", "nox -s deploy"),
    ("make deploy", "cmake --build build -t deploy", "cmake --build build --target deploy",
        "cmake --build build --target=deploy", "cmake --build build -tdeploy", "cmake --build build -t all deploy",
        "cmake --build build -- deploy"),
    ("ninja deploy", "cmake --build build -t deploy"),
    ("cmake --build build --target deploy", "cmake --build build -t deploy", "cmake --build build -j 4 -t all deploy"),
    ("rake deploy", "rake 'deploy[prod]'"),
    ("source", ". env.sh"),
    (".", "source env.sh"),
    ("eslint", "node node_modules/eslint/bin/eslint.js .", "npx eslint", "node_modules/.bin/eslint", "yarn eslint",
        "node node_modules/.bin/eslint", "node --no-warnings ./node_modules/eslint/bin/eslint.js", "pnpm eslint",
        "bun eslint", "nodejs /x/node_modules/eslint/bin/eslint.js"),
    ("tsc", "node node_modules/typescript/bin/tsc"),
    ("pytest", "python .venv/bin/pytest", "python3 /usr/bin/pytest"),
    ("gradle deploy", "sh gradlew deploy", "bash ./gradlew deploy"),
    ("rails db:drop", "ruby bin/rails db:drop"),
    ("gcc", "cc a.c", "gcc-12 a.c", "x86_64-linux-gnu-gcc a.c"),
    ("cc", "gcc a.c", "clang a.c"),
    ("g++", "c++ a.cc", "g++-13 a.cc"),
    ("clang", "clang-15 a.c", "cc a.c"),
    ("egrep", "grep -E x a"),
    ("fgrep", "grep -F x a"),
    ("gunzip", "gzip -d a.gz", "gzip -kd a.gz", "gzip --decompress a.gz", "uncompress a.gz"),
    ("zcat", "gzip -cd a.gz", "gzip -dc a.gz", "gzip --decompress --stdout a.gz", "gunzip -c a.gz"),
    ("gzip -d", "gunzip a.gz"),
    ("unxz", "xz -d a.xz"),
    ("bunzip2", "bzip2 -d a.bz2"),
    ("unzstd", "zstd -d a.zst"),
    ("hd", "hexdump -C a"),
    ("test", "[ -f a ]"),
    ("[", "test -f a"),
    ("fd", "fdfind x"),
    ("awk", "gawk 1 a", "mawk 1 a"),
    ("chmod 777", "chmod 0777 a", "chmod a=rwx a", "chmod ugo+rwx a", "chmod u=rwx,go=xwr a"),
    ("chmod a=rwx", "chmod 777 a"),
]  # fmt: skip


@pytest.mark.parametrize(("deny", "line"), [(deny, line) for deny, *lines in SYNONYMS for line in lines])
def test_a_deny_rule_means_other_ways_to_write_the_same(deny: str, line: str) -> None:
    name = line.split()[0]
    for allow in (name, "*"):
        assert not judge(line, allow, deny).allowed
    assert judge(f"for x in a; do {line}; done", "*", deny).decision == "deny"


MAY_BE = [
    ("gradle publish", "gradle pub", "gradle :app:pub", "./gradlew test publ", "gradle -q p"),
    ("gradle publishToMavenLocal", "gradle pTML", "gradle pubToMavLoc"),
    ("gradle build", "gradle b", "gradle clean b"),
    ("npm publish", "npm publ", "npm pu"),
    ("composer require", "composer req a/b"),
    ("egrep", "grep -nE x a"),
    ("chmod 777", "chmod -R 00777 a"),
]


@pytest.mark.parametrize(("deny", "line"), [(deny, line) for deny, *lines in MAY_BE for line in lines])
def test_what_may_be_a_denied_command_asks(deny: str, line: str) -> None:
    for allow in (line.split()[0], "*"):
        assert judge(line, allow, deny).decision == "ask"


NARROWER = [
    ("grep", "egrep x a", "fgrep x a", "rgrep x a"),
    ("gunzip", "zcat a.gz"),
    ("gzip -d", "zcat a.gz"),
    ("unxz", "xzcat a.xz"),
    ("hexdump", "hd a"),
    ("ls", "dir", "vdir"),
]


@pytest.mark.parametrize(("deny", "line"), [(deny, line) for deny, *lines in NARROWER for line in lines])
def test_a_program_that_is_another_with_an_option_counts_as_the_longer_rule(deny: str, line: str) -> None:
    assert judge(line, "*", deny).decision == "deny"
    assert judge(line, line.split()[0], deny).decision != "deny"


def test_where_there_are_too_many_ways_to_write_it_any_deny_rule_may_match() -> None:
    line = f"npx {' '.join(f'-y a{number}' for number in range(80))} py.test"
    assert not judge(line, "npx *", "pytest").allowed
    assert "may match" in judge(f"make {' '.join(f'a{number}' for number in range(80))}", "make", "rm -rf x").reason


def test_of_two_ways_to_write_the_same_the_denied_one_decides() -> None:
    assert judge("npm run test", "npm run test", "npm test").decision == "deny"
    assert judge("npm test", "npm test", "npm run test").decision == "deny"


def test_a_word_behind_an_option_may_be_its_value_as_well() -> None:
    for line in ("npm -w web run-script deploy", "npm --silent run-script deploy"):
        assert judge(line, "npm", "npm run deploy").decision == "ask"


@pytest.mark.parametrize(
    ("line", "allow", "deny"),
    [
        ("npm test", "npm test", "npm run"),
        ("npm test", "npm", "npm run deploy"),
        ("make test", "make", "make deploy"),
        ("make test", "make", "make test deploy"),
        ("pip list", "pip", "pip install"),
        ("python -m pytest", "python -m pytest", "python"),
        ("cargo test", "cargo", "cargo run"),
        ("docker ps", "docker", "docker exec"),
        ("yarn build", "yarn", "yarn run deploy"),
        ("yarn build", "yarn build", "yarn"),
        ("yarn --version", "yarn", "yarn install"),
        ("npx tsc", "npx tsc", "npx"),
        ("npm install", "npm", "npm ci"),
        ("git stash list", "git", "git stash push"),
        ("git stash apply", "git", "git stash pop"),
        ("git fetch", "git", "git pull"),
        ("git stash pop", "git", "git stash push"),
        ("git merge-base HEAD main", "git", "git merge"),
        ("terraform fmt", "terraform", "terraform destroy"),
        ("coverage report", "coverage", "pytest"),
        ("gradle test", "gradle", "gradle publish"),
        ("gradle build", "gradle", "gradle b"),
        ("npm pack", "npm", "npm publish"),
        ("npm i", "npm", "npm init"),
        ("tox -e test", "tox", "tox -e deploy"),
        ("nox -s test", "nox", "nox -s deploy"),
        ("nox -s test-3.11", "nox", "nox -s test-3.12"),
        ("cmake --build build -t all", "cmake", "make deploy"),
        ("node tools/eslint.js", "node", "eslint"),
        ("yarn install", "yarn", "install"),
        ("yarn lint", "yarn", "eslint"),
        ("bash scripts/deploy.sh", "bash", "deploy"),
        ("grep x a", "grep", "egrep"),
        ("gzip -k a", "gzip", "gunzip"),
        ("gzip -d a.gz", "gzip", "zcat"),
        ("hexdump a", "hexdump", "hd"),
        ("chmod 644 a", "chmod", "chmod 777"),
        ("chmod u+rwx a", "chmod", "chmod 777"),
        ("gcc a.c", "gcc", "clang"),
    ],
)
def test_and_nothing_else(line: str, allow: str, deny: str) -> None:
    assert judge(line, allow, deny).allowed, judge(line, allow, deny).reason


def test_an_allow_rule_means_its_words_alone() -> None:
    for line, allow in (("npm run-script x", "npm run"), ("py.test", "pytest"), ("uv pip install x", "pip install")):
        assert judge(line, allow).decision == "ask"


def test_what_was_allowed_exactly_may_read_a_pipe_if_its_program_only_looks() -> None:
    for line, allow in (("echo x | grep -c x", "=grep -c x"), ("echo x | tee log | sort -r", "=tee log,=sort -r")):
        assert judge(line, f"{allow},echo").allowed, judge(line, f"{allow},echo").reason
    assert judge("bash < x.sh", "=bash < x.sh").allowed
    assert judge("echo x | bash < x.sh", "=bash < x.sh,echo").allowed
    reason = judge("echo id | bash", "=bash,echo").reason
    assert "exactly `bash` was allowed, and not what it reads here: the shell runs code" in reason


def test_always_in_a_folder_holds_in_that_folder() -> None:
    settings = Settings()
    action = RunCommand("./run.sh", "sub")
    given = permitted(settings, permissions_for([action], judge_actions([action], settings, WORKSPACE).parts))
    assert given.allow == ("+network =cd sub && ./run.sh",)
    assert judge_actions([action], given, WORKSPACE).allowed
    assert not judge_actions([RunCommand("./run.sh")], given, WORKSPACE).allowed


def test_where_nobody_can_answer_a_question_is_a_refusal() -> None:
    verdict = judge("ls", "git").unattended()
    assert verdict.decision == "deny"
    assert "no rule names it" in verdict.reason


def test_a_rule_may_give_the_network() -> None:
    assert judge("npm ci", "npm ci +network").network
    assert judge("timeout 60 npm ci && true", "npm ci +network").network
    assert not judge("npm ci", "npm ci").network
    assert not judge("npm ci && npm test", "npm ci +network,npm test").network, "one of them was not given it"


def test_a_deny_rule_for_modules_of_python_denies_nothing_else() -> None:
    """What is left of `python3 -m` without a module is no command."""
    assert judge("rm old.log", "rm", "python3 -m").allowed
    assert judge("python3 -m venv v", "python3", "python3 -m").decision == "deny"
