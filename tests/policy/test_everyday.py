"""Lines people run all day: under sensible rules none of them is asked about."""

from __future__ import annotations

from joey.policy import Settings, Workspace
from joey.policy.lines import judge_line
from joey.policy.verdict import combine

WORKSPACE = Workspace("/nonexistent/ws", home="/nonexistent/home", exists=lambda _path: True, expand=lambda _text: ())

SENSIBLE = Settings(
    allow=(
        "git", "ls", "cat", "head", "tail", "grep", "rg", "wc", "sort", "uniq", "cut", "tr", "echo", "printf", "find",
        "sed", "awk", "diff", "mkdir", "touch", "cp", "mv", "rm", "python", "python3", "pytest", "ruff", "mypy", "pip",
        "npm", "npx tsc", "npx eslint", "node", "make", "cargo", "go", "tar", "curl", "jq", "which", "tree", "date",
        "xargs", "tee", "chmod", "docker compose", "uv", "./gradlew", "file", "stat", "du", "sleep", "seq", "ps",
        "basename", "dirname", "read", "type", "env", "source", "bash",
    ),
    deny=("sudo", "git push", "rm -rf /", "shutdown", "mkfs", "dd"),
)  # fmt: skip

EVERYDAY = [
    "git status",
    "git --no-pager log --oneline -20",
    "git -C packages/api status",
    "git log --format='%h %s' | head -n 5",
    'git commit -m "Fix the parser; it lost a tag"',
    "git commit -m \"$(cat <<'EOF'\nAdd tests\n\nThey cover `rm` and $(things).\nEOF\n)\"",
    "git add -A && git commit -m 'wip' && git log -1",
    "git diff HEAD~1 -- src/joey",
    "git stash && git checkout main && git stash pop",
    "git show HEAD:README.md | head -50",
    "git rev-parse --abbrev-ref HEAD",
    "git grep -n 'def main' -- '*.py'",
    "git rebase main",
    "git checkout -b feature/x",
    "git config user.name",
    "git config user.email me@example.com",
    "git blame -L 10,20 src/a.py",
    "git ls-files | wc -l",
    "ls -la src tests",
    "ls *.py | wc -l",
    "cat README.md | grep -n install",
    "head -c 200 file.bin | tail -c 100",
    "grep -rn 'TODO' src --include='*.py'",
    "grep -E 'a|b' file.txt || echo none",
    "rg -n 'class .*Error' -g '*.py'",
    "find . -name '*.pyc' -not -path './.venv/*'",
    "find src -name '*.py' -exec grep -l asyncio {} +",
    "find . -type f | xargs grep -n foo",
    "find . -name '*.md' -print0 | xargs -0 wc -l",
    "sed -n '10,20p' src/a.py",
    "sed -i 's/foo/bar/g' src/a.py",
    "sed -e 's/a/b/' -e '/x/d' notes.txt",
    "awk '{print $1}' data.txt | sort | uniq -c | sort -rn",
    "awk -F, '$3 > 5 {print $2}' data.csv",
    "awk 'NR==FNR{a[$1];next} $1 in a || $2 in a' x y",
    "diff <(sort a.txt) <(sort b.txt)",
    "mkdir -p src/{api,web}/tests && touch src/api/__init__.py",
    "cp src/a.py src/b.py",
    "mv old.txt new.txt",
    "rm -rf build dist *.egg-info",
    "rm -f output.log",
    "python script.py --input data.json",
    "python3 -m pytest -q tests/test_a.py::test_b",
    "python -m http.server 8000 &",
    "python --version",
    "pytest -x -q 2>&1 | tail -20",
    "timeout 60 pytest -k 'not slow'",
    "time pytest -q",
    "pytest -p no:randomly -p no:cacheprovider -n0 tests/test_a.py",
    "python -m pytest -p xdist -n 4 -o addopts_are=x -o log_cli=true --rootdir=. -c pyproject.toml",
    "pytest --junitxml=build/report.xml --basetemp=build/tmp -pno:warnings",
    "PYTHONPATH=src pytest tests",
    "CI=1 npm test -- --coverage",
    "NODE_ENV=test npm run build && npm run lint",
    "npm install --save-dev typescript",
    "npm run build > build.txt 2>&1",
    "npx tsc --noEmit",
    "npx eslint src --ext .ts",
    "node scripts/build.js --watch=false",
    "make -j4 test",
    "make test VERBOSE=1",
    "cargo test --workspace -- --nocapture",
    "RUST_BACKTRACE=1 cargo run --release",
    "go test ./... -run TestFoo -v",
    "go build -o bin/app ./cmd/app",
    "tar -czf out.tgz src",
    "tar xzf archive.tar.gz -C build",
    "curl -s https://example.com/api | jq '.items[] | .name'",
    "curl -sSL -o data.json https://example.com/data.json",
    "echo 'hello > world; rm -rf x'",
    'echo "done: $?"',
    "echo $((1 + 2))",
    "echo hi > notes.txt && cat notes.txt",
    "echo one >> log.txt; echo two 1>&2",
    "cd src && ls && pytest",
    "cd src; python -m pytest; cd ..",
    "(cd web && npm test)",
    "for f in *.py; do echo \"$f\"; wc -l \"$f\"; done",
    "for i in $(seq 1 3); do echo $i; sleep 1; done",
    "while read -r line; do echo \"$line\"; done < input.txt",
    "if [ -f package.json ]; then npm ci; else echo 'no package'; fi",
    "[[ -d .venv ]] && echo yes || echo no",
    "test -f x && cat x",
    "set -euo pipefail; make lint; make test",
    "export NODE_ENV=production && npm run build",
    "x=$(git rev-parse HEAD); echo \"at $x\"",
    "cat > notes.md <<'EOF'\n# Notes\n$(not run) `nor this`\nEOF",
    "cat <<EOF | tee config.txt\nname=$USER\nEOF",
    "command -v node && which python3",
    "ls -la | tee listing.txt",
    "uv sync && uv pip list",
    "docker compose up -d",
    "docker compose \\\n  -f compose.yml \\\n  logs --tail=20",
    "./gradlew test --info",
    "/usr/bin/git log -1",
    "git log --since='2 weeks ago' --author=\"$(git config user.name)\"",
    "ps aux | grep node",
    "du -sh * | sort -h",
    "chmod +x scripts/run.sh",
    "nohup npm start > server.log 2>&1 &",
    "bash -c 'git status && ls'",
    "case $1 in a) echo a;; *) echo b;; esac",
    "f() { echo hi; }; f",
    "git log | grep -v 'rm -rf' # not a command",
    "ls 2>/dev/null || true",
    "pip install -r requirements.txt -q",
    "jq -r '.scripts | keys[]' package.json",
    "env | sort",
    "awk '/foo|bar/ {print $2}' log.txt",
    "awk -F'|' '{print $1 \" | \" $2}' t.txt",
    "sed 's#/usr/local#/opt#g; /^$/d' a.conf",
    "sed -E 's/(a|b)+/x/' f | sed '$!N;P;D'",
    "sed -n '/start/,/end/p' f",
    "cargo run -- --config x.toml",
    "source .venv/bin/activate && pytest -q",
    "bash scripts/build.sh --fast",
    "if ! git diff --quiet; then git commit -am 'Save'; fi",
    "(cd api && make) & (cd web && make) & wait",
    "npm test || true; echo $?",
    "pushd web && npm test; popd",
    "awk 'NR>1 && $3 >= 10 { c[$1]++ } END { for (k in c) print k, c[k] }' f",
    "sed -n 's/.*\"version\": \"\\(.*\\)\".*/\\1/p' package.json",
    "find . -name node_modules -prune -o -name '*.js' -print",
    "while ! curl -s localhost:3000 >/dev/null; do sleep 1; done",
    "ls nonexistent 2>&1 | head; echo \"exit: ${PIPESTATUS[0]}\"",
    "git stash list && git tag -l 'v*' && git fetch --all",
    "cp -r src/* build/ && mv build/{a,b}.txt src/",
    "printf '%s\\n' a b c | sort -u",
]  # fmt: skip


def refused(settings: Settings) -> dict[str, str]:
    """The lines that are not simply allowed, and why."""
    verdicts = {line: combine(judge_line(line, settings, WORKSPACE, WORKSPACE.root)) for line in EVERYDAY}
    return {line: verdict.reason for line, verdict in verdicts.items() if not verdict.allowed}


def test_no_everyday_line_is_asked_about() -> None:
    assert refused(SENSIBLE) == {}
    assert len(set(EVERYDAY)) >= 80


def test_every_one_of_them_is_asked_about_without_rules() -> None:
    assert set(refused(Settings(allow=()))) == set(EVERYDAY)


def test_none_is_asked_about_when_everything_is_allowed() -> None:
    assert refused(Settings.for_profile("all")) == {}
