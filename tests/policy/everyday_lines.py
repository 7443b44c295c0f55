"""Lines that people and coding agents really run, with the rules that a sensible user would have given. Data only.

EVERYDAY lines are plain: simple commands of literal words, `&&`, `||`, `;`, `|`, redirections to literal places. They
should not be asked about under their rules. NOT_PLAIN lines are as common, but hold a construct whose outcome only the
shell knows; they are asked about whatever the rules, and the third column names that construct.
"""

# ruff: noqa: E501 - tables

from __future__ import annotations

_EDITS = "--approve edits"
_GIT_LOOK = (
    f"{_EDITS} --allow 'git status' --allow 'git diff' --allow 'git log' --allow 'git show' --allow 'git branch'"
    " --allow 'git blame' --allow 'git grep' --allow 'git ls-files' --allow 'git rev-parse' --allow 'git remote'"
    " --allow 'git describe' --allow 'git shortlog' --allow 'git reflog' --allow 'git tag' --allow 'git stash list'"
    " --allow head --allow tail --allow cat --allow wc --allow grep --allow sort --allow cut --allow uniq"
)
_GIT_WORK = f"{_EDITS} --allow git --allow head"
_GIT_PUSH = f"{_EDITS} --allow 'git push' --allow 'git pull' --allow 'git add' --allow 'git commit' --allow 'git fetch'"
_LOOK = (
    f"{_EDITS} --allow ls --allow cat --allow head --allow tail --allow wc --allow sort --allow uniq --allow cut --allow tr"
    " --allow grep --allow rg --allow find --allow sed --allow awk --allow jq --allow diff --allow tree --allow du --allow df"
    " --allow stat --allow file --allow which --allow echo --allow printf --allow test --allow pwd --allow date"
    " --allow basename --allow dirname --allow realpath --allow column --allow nl --allow xargs --allow env --allow tee"
    " --allow cmp --allow comm --allow paste --allow md5sum --allow sha256sum --allow xxd --allow od --allow strings"
    " --allow less --allow fold --allow rev --allow tac --allow seq --allow yq --allow fd --allow id --allow uname --allow nproc"
)
_FILES = f"{_EDITS} --allow mkdir --allow touch --allow cp --allow mv --allow rm --allow chmod --allow ln --allow tar --allow echo --allow printf --allow cat --allow ls --allow sed --allow unzip --allow gzip"
_PYTHON = (
    f"{_EDITS} --allow pytest --allow python --allow python3 --allow ruff --allow mypy --allow black --allow isort"
    " --allow flake8 --allow coverage --allow tail --allow head --allow tee --allow grep"
)
_PIP = f"{_EDITS} --allow pip --allow 'python -m pip' --allow 'python -m venv' --allow uv --allow poetry --allow tox --allow nox --allow pre-commit --allow hatch"
_NODE = (
    f"{_EDITS} --allow 'npm test' --allow 'npm run' --allow 'npm ci' --allow 'npm install' --allow 'npm ls' --allow 'npm outdated'"
    " --allow 'npx tsc' --allow 'npx eslint' --allow 'npx prettier' --allow 'npx vitest' --allow 'npx jest' --allow 'npx playwright'"
    " --allow node --allow yarn --allow pnpm --allow bun --allow tail --allow head --allow grep"
)
_RUST = f"{_EDITS} --allow cargo --allow rustc --allow tail --allow head --allow grep"
_GO = f"{_EDITS} --allow go --allow gofmt --allow golangci-lint --allow tail --allow grep"
_NATIVE = f"{_EDITS} --allow make --allow cmake --allow ninja --allow ctest --allow gcc --allow g++ --allow clang-format --allow meson --allow tail --allow ./build/app"
_JAVA = f"{_EDITS} --allow mvn --allow gradle --allow ./gradlew --allow ./mvnw --allow javac --allow java --allow tail --allow grep"
_DOTNET = f"{_EDITS} --allow dotnet"
_RUBY = (
    f"{_EDITS} --allow 'bundle exec' --allow 'bundle install' --allow rake --allow ruby --allow bin/rails --allow tail"
)
_PHP = f"{_EDITS} --allow composer --allow vendor/bin/phpunit --allow vendor/bin/phpstan --allow php"
_OTHERS = f"{_EDITS} --allow mix --allow swift --allow zig --allow stack --allow sbt --allow dart --allow flutter --allow deno --allow terraform"
_SERVICES = (
    f"{_EDITS} --allow 'docker compose' --allow 'docker ps' --allow 'docker logs' --allow 'docker images' --allow 'docker build'"
    " --allow 'kubectl get' --allow 'kubectl describe' --allow 'kubectl logs' --allow 'helm list' --allow tail --allow grep"
    " --allow 'gh pr' --allow 'gh run' --allow 'gh issue'"
)
_SYSTEM = f"{_EDITS} --allow ps --allow lsof --allow kill --allow curl --allow sleep --allow jq --allow grep --allow head --allow pgrep --allow ss --allow free --allow uptime --allow echo"

_BY_RULES: dict[str, tuple[str, ...]] = {
    _GIT_LOOK: (
        "git status", "git status --short", "git status -sb", "git status --porcelain", "git diff", "git diff --stat",
        "git diff --cached", "git diff --staged --name-only", "git diff HEAD~1", "git diff main...HEAD", "git diff main..feature/login -- src",
        "git diff HEAD -- src/app.py", "git diff --name-status HEAD~3 HEAD", "git diff -U0 --word-diff README.md", "git diff --check",
        "git log", "git log --oneline -20", "git log -5 --stat", "git log --oneline --graph --decorate --all | head -40",
        "git log -p -2 -- src/auth/login.ts", "git log --since='2 weeks ago' --author=maria --format='%h %an %s'", "git log --pretty=format:'%h %ad %s' --date=short -10",
        "git log --follow -- docs/guide.md", "git log -S 'parse_config' --oneline", "git log origin/main..HEAD --oneline",
        "git log --grep='fix' -i --oneline | wc -l", "git --no-pager log -3", "git show HEAD", "git show --stat HEAD~2", "git show HEAD:package.json | head -30",
        "git show --name-only --format= HEAD", "git show v1.2.0:src/main.py", "git branch", "git branch -a", "git branch --show-current", "git branch -vv",
        "git blame -L 10,30 src/app.py", "git grep -n 'TODO' -- '*.py'", "git ls-files | grep test | wc -l", "git ls-files --others --exclude-standard",
        "git rev-parse HEAD", "git rev-parse --show-toplevel", "git rev-parse --abbrev-ref HEAD", "git remote -v", "git describe --tags --always",
        "git shortlog -sn HEAD", "git reflog -10", "git tag --list 'v1.*'", "git stash list", "git status && git diff --stat",
        "git log --format='%an' | sort | uniq -c | sort -rn | head -5", "git diff --stat 2>&1 | tail -3",
    ),
    _GIT_WORK: (
        "git add -p", "git add -A", "git add src tests/test_app.py", "git add .", "git add -u && git status --short", "git commit -m 'Fix off-by-one in pagination'",
        'git commit -m "Add login form; validate e-mail addresses"', "git commit --amend --no-edit", "git commit -am 'WIP'", "git add src/app.py && git commit -m 'Handle empty input'",
        "git commit -m 'Add tests' -m 'They cover the empty and the very long case.'", "git stash", "git stash push -m 'half done' src/app.py", "git stash pop",
        "git stash && git switch main && git stash pop", "git switch main", "git switch -c feature/login", "git checkout -b fix/typo", "git checkout main", "git checkout -- src/app.py",
        "git restore src/app.py", "git restore --staged .", "git reset HEAD~1", "git reset --soft HEAD~1", "git rebase main", "git rebase --continue", "git merge --no-ff feature/login",
        "git cherry-pick 3f2a91c", "git revert --no-edit HEAD", "git fetch", "git fetch origin --prune", "git tag -a v1.3.0 -m 'Version 1.3.0'", "git rm --cached notes.txt",
        "git mv old_name.py new_name.py", "git branch -d feature/login", "git worktree list", "git config --get user.email", "git config user.name", "git bisect start",
        "git submodule status", "git clean -n", "git apply --check fix.patch", "git merge-base main HEAD", "git init",
    ),
    _GIT_PUSH: (
        "git push", "git push origin main", "git push -u origin feature/login", "git push --tags", "git push --force-with-lease origin feature/login", "git pull --rebase",
        "git add . && git commit -m 'Release 1.3.0' && git push", "git fetch origin && git pull --ff-only",
    ),
    _LOOK: (
        "ls", "ls -la", "ls -la src", "ls -lh dist/", "ls -1 src/components", "ls -R docs | head -50", "ls src/*.py", "cat README.md", "cat package.json", "cat -n src/app.py",
        "cat src/a.py src/b.py", "head -50 src/app.py", "head -n 20 CHANGELOG.md", "tail -n 100 logs/app.log", "tail -20 build.log", "wc -l src/app.py", "wc -l src/*.py", "sort names.txt",
        "sort -u names.txt | wc -l", "sort -t, -k2 -n data.csv | head", "cut -d, -f1,3 data.csv | head -5", "cut -d: -f1 users.txt | sort | uniq -c", "tr 'a-z' 'A-Z' < names.txt",
        "grep -rn 'TODO' src", "grep -n 'def main' src/app.py", "grep -rln 'useState' src --include='*.tsx'", "grep -E 'error|warning' build.log | head -20", "grep -c '^test' results.txt",
        "grep -A3 -B3 'Traceback' logs/app.log", "grep -rn --include='*.py' 'import os' . | wc -l", "grep -v '^#' config.ini", "grep -q 'typescript' package.json && echo yes",
        "grep -i 'license' README.md || echo 'no license'", "rg -n foo src", "rg 'class \\w+Error' -g '*.py'", "rg -l 'deprecated' --type ts", "rg --files src | head -100",
        "rg -n -C2 'handleSubmit' src/components", "rg -i 'fixme|todo' -c", "rg --hidden -n 'API_URL' -g '!node_modules'", "find . -name '*.py'", "find src -type f -name '*.test.ts'",
        "find . -type d -name __pycache__ -not -path './.venv/*'", "find . -maxdepth 2 -type f | sort", "find . -name '*.md' -newer README.md", "find src -name '*.ts' -size +20k",
        "find . -type f -name '*.py' | xargs wc -l", "find . -name '*.json' -print0 | xargs -0 grep -l 'version'", "fd -e py test_", "sed -n 1,20p a.py", "sed -n '100,150p' src/app.py",
        "sed -n '/def parse/,/^def /p' src/parser.py", "sed 's/foo/bar/g' notes.txt | head", "awk '{print $1}' access.log | sort | uniq -c | sort -rn | head", "awk -F, '{sum += $3} END {print sum}' data.csv",
        "awk 'NR>=10 && NR<=20' src/app.py", "awk '/BEGIN/,/END/' notes.txt", "jq . package.json", "jq '.scripts' package.json", "jq -r '.dependencies | keys[]' package.json", "cat data.json | jq '.items | length'",
        "jq '.[] | select(.age > 30) | .name' people.json", "diff a.txt b.txt", "diff -u old.py new.py | head -40", "diff -rq src build/src", "tree -L 2", "tree -I 'node_modules|dist' -L 3 src", "du -sh .", "du -sh node_modules dist",
        "du -ah src | sort -rh | head -10", "df -h .", "stat package.json", "file assets/logo.png", "which python3", "which node npm", "pwd", "pwd && ls", "date", "date +%Y-%m-%d", "echo done",
        "echo 'no changes; nothing to do'", "printf '%s\\n' one two three", "test -f package.json && echo exists", "[ -d src ] && ls src", "test -d node_modules || echo 'not installed'", "cd src && ls -la",
        "cd packages/api && cat package.json", "cd src && grep -rn 'export default' . | head", "ls -la && cat README.md | head -20", "ls src 2>/dev/null || echo 'no src'", "find . -name '*.log' 2>/dev/null | head",
        "cat src/app.py | grep -n class", "cat logs/app.log | tail -50 | grep -i error", "basename src/app.py .py", "realpath src", "column -t -s, data.csv | head", "nl -ba src/app.py | sed -n '40,60p'",
        "LC_ALL=C sort words.txt | uniq -d", "xxd assets/icon.bin | head -5", "sha256sum dist/app.tar.gz", "cmp a.bin b.bin", "comm -12 a.sorted b.sorted", "strings build/app | grep version", "uname -a", "nproc",
        "echo '=== src ==='; ls src; echo '=== tests ==='; ls tests", "cat pyproject.toml | grep -A10 dependencies", "grep -rn 'logger' src | cut -d: -f1 | sort | uniq -c", "ls -lt | head -5", "head -1 data.csv | tr ',' '\\n'",
    ),
    _FILES: (
        "mkdir -p src/components", "mkdir build", "mkdir -p docs/guides tests/unit", "touch src/__init__.py", "cp config.example.json config.json", "cp -r templates/basic src/pages", "mv old.txt new.txt",
        "mv src/utils.js src/helpers.js", "rm notes.txt", "rm -f output.log", "rm -rf build dist", "rm -rf build && mkdir build", "chmod +x scripts/deploy.sh", "chmod 644 README.md", "ln -s v2 data/latest",
        "tar -czf release.tar.gz dist", "tar -tzf release.tar.gz", "unzip -l archive.zip", "gzip -k big.log", "echo 'hello' > hello.txt", "echo 'node_modules/' >> .gitignore", "echo '# Notes' > docs/notes.md && cat docs/notes.md",
        "printf 'a,b\\n1,2\\n' > data.csv", "cat a.txt b.txt > all.txt", "cat header.html body.html footer.html > index.html", "sed -i 's/foo/bar/g' src/app.py", "sed -i -e 's/1.2.0/1.3.0/' pyproject.toml setup.cfg", "sed -i.bak '/debug/d' src/app.py",
        "ls -la > listing.txt 2>&1", "echo start > run.log; ls src >> run.log; echo end >> run.log",
    ),
    _PYTHON: (
        "pytest", "pytest -q", "pytest -q -k name", "pytest -x -vv tests/test_app.py", "pytest tests/test_app.py::test_login", "pytest tests/test_app.py::TestLogin::test_wrong_password -s", "pytest -n 4 --maxfail=1",
        "pytest --cov=src --cov-report=term-missing", "pytest -m 'not slow' --durations=10", "pytest --lf", "pytest -q 2>&1 | tail -20", "pytest -q --tb=short > test.log 2>&1", "python -m pytest tests", "python -m pytest -q -k 'login and not slow'",
        "python3 -m pytest --collect-only -q | head -20", "cd backend && pytest -q", "timeout 120 pytest -x -q", "time pytest -q", "PYTHONPATH=src pytest tests", "PYTHONUNBUFFERED=1 python src/main.py", "python src/main.py --help",
        "python manage.py test accounts", "python manage.py makemigrations --check --dry-run", "python3 scripts/generate.py --out data/out.json", "python --version", "python3 -V", "python -m unittest discover -s tests", "python -m mypy src",
        "python -m compileall -q src", "python -m json.tool package.json", "ruff check .", "ruff check src --fix", "ruff format --check .", "mypy src", "mypy --strict src/app.py", "black --check src tests", "isort --diff src", "flake8 src --max-line-length 100",
        "coverage run -m pytest && coverage report", "ruff check . && ruff format --check . && mypy && pytest -q", "pytest tests/unit || pytest tests/unit --lf -vv", "python setup.py --version",
    ),
    _PIP: (
        "pip install -r requirements.txt", "pip install -e '.[dev]'", "pip install requests", "pip install 'django>=5.0'", "pip list", "pip show requests", "pip freeze > requirements.lock", "pip list --outdated", "pip --version", "python -m pip install --upgrade pip",
        "python -m venv env", "uv sync", "uv run pytest -q", "uv add httpx", "uv pip list", "poetry install", "poetry run pytest", "poetry add --group dev ruff", "poetry show --tree", "tox -e py311", "nox -s tests", "pre-commit run --all-files", "hatch test",
    ),
    _NODE: (
        "npm test", "npm test -- --coverage", "npm test -- --watchAll=false src/App.test.tsx", "npm ci", "npm install", "npm install --save-dev vitest", "npm install lodash", "npm run build", "npm run lint", "npm run lint -- --fix", "npm run dev",
        "npm run build && npm test", "npm run typecheck 2>&1 | head -50", "npm run build > build.log 2>&1", "npm ls --depth=0", "npm outdated", "CI=1 npm test", "CI=true npm run test:e2e", "NODE_ENV=test npm run build", "NODE_ENV=production npm run build",
        "npx tsc --noEmit", "npx tsc -p tsconfig.build.json --noEmit | grep error", "npx eslint src --ext .ts,.tsx", "npx eslint --fix src/app.ts", "npx prettier --check .", "npx prettier --write src/app.ts", "npx vitest run", "npx vitest run src/utils.test.ts -t 'parses dates'",
        "npx jest --coverage", "npx jest path/to/file.test.js -t 'adds'", "npx playwright test --project=chromium", "node scripts/build.js", "node --version", "node dist/index.js --port 3000", "node --test", "yarn", "yarn install --frozen-lockfile", "yarn test", "yarn build",
        "yarn workspace api test", "pnpm install", "pnpm test", "pnpm -r build", "pnpm --filter web lint", "bun install", "bun test", "cd frontend && npm ci && npm run build", "cd packages/ui && pnpm test -- --run",
    ),
    _RUST: (
        "cargo build", "cargo build --release", "cargo test", "cargo test parser::tests", "cargo test --workspace -- --nocapture", "cargo test -p core --lib", "cargo check", "cargo check --all-targets 2>&1 | tail -30", "cargo clippy -- -D warnings",
        "cargo clippy --all-targets --all-features", "cargo fmt", "cargo fmt --all -- --check", "cargo run", "cargo run --bin server -- --port 8080", "RUST_BACKTRACE=1 cargo test", "RUST_LOG=debug cargo run", "cargo add serde --features derive", "cargo tree -d", "cargo doc --no-deps",
        "cargo bench", "cargo clean", "cargo update -p tokio", "rustc --version",
    ),
    _GO: (
        "go build ./...", "go test ./...", "go test ./... -run TestParse -v", "go test -race -count=1 ./internal/...", "go test -cover ./pkg/parser", "go test -bench=. -benchmem ./pkg/parser", "go vet ./...", "go mod tidy", "go mod download", "go run ./cmd/server",
        "go run main.go --config config.yaml", "go fmt ./...", "gofmt -l .", "gofmt -w internal/app.go", "go list ./...", "go get github.com/stretchr/testify@latest", "go version", "go generate ./...", "CGO_ENABLED=0 go build -o bin/app ./cmd/app", "golangci-lint run", "go test ./... 2>&1 | grep -v 'no test files'",
    ),
    _NATIVE: (
        "make", "make test", "make -j4", "make -j8 all", "make clean", "make clean && make", "make lint test", "make build VERBOSE=1", "make -n install", "make check 2>&1 | tail -40", "time make test", "cmake -S . -B build", "cmake -B build -DCMAKE_BUILD_TYPE=Release", "cmake --build build -j4",
        "ctest --test-dir build --output-on-failure", "ninja -C build", "cd build && cmake .. && make -j4", "gcc -Wall -O2 -o build/app src/main.c", "g++ -std=c++20 -o build/app src/main.cpp", "clang-format -i src/main.cpp", "clang-format --dry-run --Werror src/main.cpp", "meson setup build", "meson test -C build", "./build/app --version",
    ),
    _JAVA: (
        "mvn test", "mvn -q clean verify", "mvn package -DskipTests", "mvn test -Dtest=LoginTest", "mvn dependency:tree | grep jackson", "./mvnw spring-boot:run", "gradle build", "./gradlew build", "./gradlew test --tests com.example.LoginTest", "./gradlew :app:assembleDebug", "./gradlew check --info 2>&1 | tail -50", "./gradlew clean test --no-daemon",
        "javac -d out src/Main.java", "java -cp out Main", "java -jar target/app.jar --server.port=8081", "java -version",
    ),
    _DOTNET: ("dotnet build", "dotnet test", "dotnet test --filter FullyQualifiedName~Login", "dotnet run --project src/Api", "dotnet restore", "dotnet format --verify-no-changes", "dotnet add package Serilog", "dotnet build -c Release && dotnet test --no-build", "dotnet --version"),
    _RUBY: ("bundle install", "bundle exec rspec", "bundle exec rspec spec/models/user_spec.rb:42", "bundle exec rake db:migrate", "bundle exec rubocop -a", "rake test", "rake -T", "ruby script/import.rb data.csv", "ruby -v", "bin/rails test", "bin/rails routes | tail -20"),
    _PHP: ("composer install", "composer require monolog/monolog", "composer test", "composer dump-autoload", "vendor/bin/phpunit", "vendor/bin/phpunit --filter LoginTest tests/Unit", "vendor/bin/phpstan analyse src", "php artisan migrate --pretend", "php -l src/index.php", "php -v"),
    _OTHERS: ("mix test", "mix format --check-formatted", "swift build", "swift test", "zig build test", "stack test", "sbt test", "dart analyze", "flutter test", "flutter pub get", "deno test", "deno fmt --check", "terraform fmt -check", "terraform validate"),
    _SERVICES: (
        "docker compose up -d", "docker compose ps", "docker compose logs --tail=50 api", "docker compose down", "docker compose build web", "docker compose exec db psql -U postgres -c 'select 1'", "docker compose run --rm api pytest -q", "docker ps", "docker ps -a | grep api", "docker logs --tail 100 api", "docker images", "docker build -t app:dev .",
        "kubectl get pods", "kubectl get pods -n staging -o wide", "kubectl describe pod api-7f9c", "kubectl logs deploy/api --tail=100 | grep ERROR", "kubectl get deploy,svc", "helm list -A", "gh pr list", "gh pr view 42 --comments", "gh pr diff 42", "gh run list --limit 5", "gh issue view 17",
    ),
    _SYSTEM: (
        "ps aux", "ps aux | grep node | head -5", "ps -ef | grep -v grep | grep uvicorn", "pgrep -fl vite", "lsof -i :3000", "lsof -ti tcp:8000", "ss -tlnp", "kill 12345", "kill -TERM 12345", "kill -9 4242", "sleep 2", "sleep 2 && curl -s localhost:8000/health", "curl -s localhost:3000", "curl -s http://localhost:8000/api/users | jq '.[0]'",
        "curl -sI http://localhost:8080 | head -1", "curl -s -o /dev/null -w '%{http_code}' http://localhost:3000/", "curl -s -X POST -H 'Content-Type: application/json' -d '{\"name\": \"test\"}' http://localhost:8000/api/users", "curl -fsS http://127.0.0.1:5000/ready || echo 'not ready'", "free -h", "uptime",
    ),
}  # fmt: skip

EVERYDAY: list[tuple[str, str]] = [(line, rules) for rules, lines in _BY_RULES.items() for line in lines]

_ANY = (
    f"{_EDITS} --allow echo --allow cat --allow ls --allow rm --allow mkdir --allow git --allow python --allow pytest --allow npm"
    " --allow node --allow grep --allow sed --allow wc --allow curl --allow make --allow cp --allow mv --allow test --allow kill"
    " --allow docker --allow sleep --allow find --allow diff --allow head --allow tail --allow seq --allow printf --allow read"
)

NOT_PLAIN: list[tuple[str, str, str]] = [
    (line, _ANY, construct)
    for construct, lines in {
        "variable": (
            "echo $HOME", "echo \"$PATH\"", "ls $HOME/projects", "cat \"$PWD/README.md\"", "echo $?", "pytest -q; echo \"exit code: $?\"", "rm -rf \"$TMPDIR/build\"", "echo ${USER}",
            "cat ${CONFIG:-config.json}", "kill $!", "echo \"Node: $NODE_ENV\" >> run.log", "ls -la $VIRTUAL_ENV/bin",
        ),
        "command substitution": (
            "git log --oneline $(git merge-base main HEAD)..HEAD", "kill $(lsof -ti :3000)", "echo \"Today is $(date)\"", "wc -l $(git ls-files '*.py')", "cd $(git rev-parse --show-toplevel) && ls", "echo `git rev-parse HEAD`", "grep -rn TODO $(find src -name '*.ts')",
            "docker rm $(docker ps -aq)", "git commit -m \"$(cat message.txt)\"",
        ),
        "loop": (
            "for f in src/*.py; do wc -l \"$f\"; done", "for i in 1 2 3; do curl -s localhost:3000; done", "while read -r line; do echo \"$line\"; done < names.txt", "until curl -s localhost:8000; do sleep 1; done", "for dir in packages/*/; do (cd \"$dir\" && npm test); done", "while true; do date; sleep 5; done",
            "for ((i=0; i<3; i++)); do echo hi; done",
        ),
        "here-document": (
            "cat > notes.md <<'EOF'\n# Notes\n\nHello\nEOF", "cat <<EOF > config.json\n{\"debug\": true}\nEOF", "python - <<'PY'\nprint('hi')\nPY", "git commit -F - <<'MSG'\nFix the parser\n\nIt lost a tag.\nMSG", "cat <<-'END' >> README.md\n\tMore\n\tEND",
        ),
        "here-string": ("grep foo <<< 'foo bar'", "python -m json.tool <<< '{\"a\": 1}'"),
        "process substitution": ("diff <(sort a.txt) <(sort b.txt)", "diff <(git show HEAD:a.py) a.py"),
        "condition": ("if [ -f package.json ]; then npm test; fi", "if grep -q foo a.txt; then echo yes; else echo no; fi", "[[ -f a.txt ]] && echo yes", "case linux in l*) echo linux;; esac"),
        "assignment": ("NAME=world; echo hello", "VERSION=1.2.3 && echo done", "export NODE_ENV=test && npm test", "files=(a b c); echo done"),
        "brace expansion": ("mkdir -p src/{components,hooks,utils}", "cp config.json{,.bak}", "mv src/app.{js,ts}", "echo {1..5}"),
        "glob that may become an option": ("rm -*.log", "ls -?", "cat -*.txt | wc -l", "cp -*.json backup"),
        "background": ("npm run dev &", "python -m http.server 8000 &", "node server.js > server.log 2>&1 & sleep 2"),
        "subshell": ("(cd web && npm test)", "(echo a; echo b) > out.txt"),
        "group": ("{ echo a; echo b; } > out.txt",),
        "function": ("build() { make clean; make; }; build",),
        "arithmetic": ("echo $((1 + 2))", "((1 > 0)) && echo yes"),
        "negation": ("! grep -q TODO src/app.py",),
        "ANSI-C string": ("echo $'a\\tb' > tabs.txt", "printf $'one\\ntwo\\n'"),
        "job control": ("kill %1",),
    }.items()
    for line in lines
]  # fmt: skip
