"""Programs that write what they find, and where a project's files say: through links, caches, outputs, modules."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from joey.policy import Settings, Workspace
from joey.policy.shell.lines import judge_line
from joey.policy.verdict import Verdict, combine

PROGRAMS = ("ruff", "black", "isort", "gofmt", "go fmt", "cargo", "make", "tsc", "prettier", "terraform", "uv format")
RULES = Settings(reads="allow", writes="allow", allow=(*PROGRAMS, "biome", "rubocop", "eslint"))


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "b.py").write_text("x=1\n")
    (tmp_path / "ws" / "src").mkdir(parents=True)
    (tmp_path / "ws" / "src" / "a.py").write_text("x=1\n")
    return tmp_path / "ws"


def judge(line: str, root: Path, rules: Settings = RULES) -> Verdict:
    workspace = replace(Workspace.of(root), home=str(root.parent / "home"))
    return combine(judge_line(line, rules, workspace, str(root)))


FORMATTERS = [
    "ruff format src", "ruff format", "ruff check --fix src", "black src", "isort .", "gofmt -w src",
    "go fmt ./src/...", "cargo fmt", "prettier --write src", "prettier --write 'src/**/*.py'", "terraform fmt src",
    "biome check --write src", "rubocop -a src", "eslint --fix src", "uv format",
]  # fmt: skip


@pytest.mark.parametrize("line", FORMATTERS)
def test_a_formatter_does_not_write_through_a_link_that_leads_out(root: Path, line: str) -> None:
    assert judge(line, root).allowed, judge(line, root).reason
    (root / "src" / "link.py").symlink_to("../../outside/b.py")
    assert "a link that leads out" in judge(line, root).reason


def test_nor_through_one_that_leads_to_what_is_protected_or_hidden(root: Path) -> None:
    (root / ".git" / "hooks").mkdir(parents=True)
    (root / ".git" / "hooks" / "pre-commit").write_text("")
    (root / "src" / "link.py").symlink_to("../.git/hooks/pre-commit")
    assert "protected" in judge("ruff format src", root).reason
    (root / "src" / "link.py").unlink()
    (root / "priv.py").write_text("")
    (root / "src" / "link.py").symlink_to("../priv.py")
    assert judge("ruff format src", root).allowed
    (root / ".joeyignore").write_text("priv.py\n")
    assert "hidden" in judge("ruff format src", root).reason


def test_a_line_that_was_allowed_exactly_asks_wherever_its_links_lead(root: Path) -> None:
    rules = replace(RULES, allow=("=black src", "=grep -R x src"))
    (root / ".git" / "hooks").mkdir(parents=True)
    (root / ".git" / "hooks" / "pre-commit").write_text("")
    (root / "priv.py").write_text("")
    assert judge("black src", root, rules).allowed and judge("grep -R x src", root, rules).allowed
    (root / "src" / "link.py").symlink_to("../.git/hooks/pre-commit")
    assert "a link to a protected file" in judge("black src", root, rules).reason
    (root / "src" / "link.py").unlink()
    (root / "src" / "link.py").symlink_to("../../outside/b.py")
    assert not judge("black src", root, rules).allowed and not judge("grep -R x src", root, rules).allowed
    (root / ".joeyignore").write_text("priv.py\n")
    (root / "src" / "hidden.py").symlink_to("../priv.py")
    assert not judge("black src", root, rules).allowed and not judge("grep -R x src", root, rules).allowed
    (root / "src" / "link.py").unlink()
    assert "hidden" in judge("black src", root, rules).reason and not judge("grep -R x src", root, rules).allowed


def test_one_whose_words_lead_out_may_follow_links_there(root: Path) -> None:
    (root.parent / "outside" / "link").symlink_to("b.py")
    assert judge("grep -R x ../outside", root, replace(RULES, allow=("=grep -R x ../outside",))).allowed


def test_a_second_file_of_a_pattern_counts_where_the_first_was_allowed(root: Path) -> None:
    rules = replace(RULES, allow=("=cat ../outside/*",))
    assert judge("cat ../outside/*", root, rules).allowed
    (root / "secret").write_text("")
    (root / ".joeyignore").write_text("secret\n")
    (root.parent / "outside" / "c").symlink_to(root / "secret")
    assert judge("cat ../outside/*", root, rules).decision == "deny"


def test_a_link_named_like_python_is_one_only_if_it_leads_to_a_program(root: Path) -> None:
    rules = replace(RULES, allow=("grep", "isort"))
    (root.parent / "outside" / "python").mkdir()
    (root.parent / "outside" / "python" / "a.py").write_text("SECRET = 1\n")
    (root / "src" / "python").symlink_to(root.parent / "outside" / "python")
    assert "leads out" in judge("grep -R SECRET src", root, rules).reason
    assert "leads out" in judge("isort src", root, rules).reason
    (root / "src" / "python").unlink()
    program = root.parent / "outside" / "python3.12"
    program.write_text("")
    (root / "src" / "python").symlink_to(program)
    assert "leads out" in judge("grep -R SECRET src", root, rules).reason
    program.chmod(0o755)
    assert judge("grep -R SECRET src", root, rules).allowed and judge("isort src", root, rules).allowed
    (root / ".joeyignore").write_text("python\n")
    assert not judge("grep -R SECRET src", root, rules).allowed


def test_reading_only_a_formatter_writes_nothing(root: Path) -> None:
    rules = replace(Settings.for_profile("read-only"), allow=("ruff",))
    assert judge("ruff format .", root, rules).decision == judge("ruff format", root, rules).decision == "deny"
    assert judge("ruff format --check .", root, rules).allowed


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("ruff.toml", 'cache-dir = "../outside/cache"'),
        ("src/.ruff.toml", 'cache-dir = "~/cache"'),
        ("pyproject.toml", '[tool.ruff]\ncache-dir = "/tmp/cache"'),
        ("pyproject.toml", '[tool.ruff]\nextend = "../outside/ruff.toml"'),
        ("ruff.toml", 'cache-dir = "${HOME}/cache"'),
        ("ruff.toml", "cache-dir = ["),
        ("ruff.toml", 'extend = "conf/base.toml"'),
        ("ruff.toml", 'cache-dir = ".git/hooks"'),
    ],
)
def test_the_cache_of_ruff_stays_in_the_workspace(root: Path, name: str, text: str) -> None:
    (root / "conf").mkdir()
    (root / "conf" / "base.toml").write_text('cache-dir = "../../outside"\n')
    (root / name).write_text(text)
    for line in ("ruff check src", "ruff check .", "ruff format --check src"):
        assert not judge(line, root).allowed, line
    (root / name).write_text("line-length = 100\n" if name != "pyproject.toml" else "[tool.ruff]\n")
    assert judge("ruff check .", root).allowed, judge("ruff check .", root).reason


def test_nor_elsewhere_if_npx_starts_it(root: Path) -> None:
    rules = replace(RULES, allow=("npx tsc", "pnpm exec tsc"))
    (root / "node_modules" / ".bin").mkdir(parents=True)
    (root / "node_modules" / ".bin" / "tsc").write_text("")
    (root / "tsconfig.json").write_text('{"compilerOptions": {"outDir": "dist"}}')
    for line in ("npx tsc", "npx tsc -p .", "pnpm exec tsc"):
        assert judge(line, root, rules).allowed, judge(line, root, rules).reason
        assert judge(line, root, replace(rules, writes="deny")).decision == "deny"
    (root / "tsconfig.json").write_text('{"compilerOptions": {"outDir": "../outside"}}')
    for line in ("npx tsc", "npx tsc -p .", "pnpm exec tsc"):
        assert not judge(line, root, rules).allowed, line


def test_a_configuration_is_found_however_ruff_is_called(root: Path) -> None:
    rules = replace(RULES, allow=("ruff", "python -m ruff"))
    lines = ["ruff check src/*", "ruff check src/e*", "python -m ruff check src", "python3 -m ruff check ."]
    lines.append("ruff check --stdin-filename src/evil/a.py -")
    (root / "src" / "evil").mkdir()
    for line in lines:
        assert judge(line, root, rules).allowed or line.startswith("python3"), judge(line, root, rules).reason
    (root / "src" / "evil" / "ruff.toml").write_text('cache-dir = "/tmp/cache"\n')
    for line in lines:
        assert not judge(line, root, rules).allowed, line


def test_the_search_for_a_configuration_ends_at_the_root(root: Path) -> None:
    assert judge("ruff check src", Path("/")).decision in ("allow", "ask"), "it ends there"
    (root.parent / "ws2").mkdir()
    (root.parent / "ws2" / "ruff.toml").write_text('cache-dir = "/tmp/cache"\n')
    anywhere = replace(RULES, reads_outside="allow", writes_outside="allow")
    assert judge("ruff check ../ws2/a.py", root, anywhere).allowed


@pytest.mark.parametrize(
    "text",
    [
        '{"compilerOptions": {"outDir": "../outside"}}',
        '{"compilerOptions": {"outdir": "../outside"}}',
        '{"compilerOptions": {"declarationDir": "/tmp/x"}}',
        '{"compilerOptions": {"tsBuildInfoFile": "../outside/x"}}',
        '{"compilerOptions": {"outDir": "${configDir}/../out"}}',
        '{"extends": "./conf/base.json"}',
        '{"extends": ["./conf/base"]}',
        '{"extends": "../outside/base.json"}',
        '{"extends": "missing-package"}',
        '{"extends": ["./conf/base", "pkg"]}',
        '{"extends": "pkg"}',
        '{"references": [{"path": "./conf/base.json"}]}',
        '{"references": [{"path": "../outside"}]}',
        '{"include": ["../outside/**/*"]}',
        '{"compilerOptions": // {"outDir": "dist"}\n{"outDir": /* "dist" */ "../outside"},}',
        "not an object",
    ],
)
def test_tsc_writes_in_the_workspace(root: Path, text: str) -> None:
    (root / "conf").mkdir()
    (root / "conf" / "base.json").write_text('{"compilerOptions": {"outDir": "../../outside"}}')
    package = root / "node_modules" / "pkg"
    package.mkdir(parents=True)
    (package / "tsconfig.json").write_text("{}")
    (package / "package.json").write_text('{"tsconfig": "other.json"}')
    (root / "tsconfig.json").write_text(text)
    for line in ("tsc", "tsc -b", "tsc -p .", "tsc -p tsconfig.json"):
        assert not judge(line, root).allowed, line
    assert not judge("tsc --noEmit", root).allowed, "what is incremental is written all the same"
    (root / "tsconfig.json").write_text(
        '{"compilerOptions": {"outDir": "dist"}, /* all */ "include": ["src/**/*.ts"],}'
    )
    for line in ("tsc", "tsc --noEmit", "tsc --noEmit -p ."):
        assert judge(line, root).allowed, judge(line, root).reason
    for line in ("tsc --noEmit false", "tsc --noEmit true", "tsc -v false", "tsc --showConfig false"):
        assert not judge(line, root).allowed, line


@pytest.mark.parametrize(
    "text",
    [
        '#[path = "../../outside/x.rs"]\nmod x;',
        '#[cfg_attr(all(), path = "/tmp/x.rs")] mod x;',
        '#[path /* "a.rs" */ = "../../outside/x.rs"] mod x;',
        '#[path = "\\x2e./../outside/x.rs"] mod x;',
        '#[path = concat!("..", "/../outside/x.rs")] mod x;',
    ],
)
def test_cargo_fmt_rewrites_only_modules_of_the_workspace(root: Path, text: str) -> None:
    (root / "src" / "lib.rs").write_text('#[path = "../common/mod.rs"] mod y;\nfn f() { let path = "../../x"; }\n')
    assert judge("cargo fmt", root).allowed, judge("cargo fmt", root).reason
    (root / "src" / "lib.rs").write_text(text)
    assert not judge("cargo fmt", root).allowed
    assert not judge("cargo fmt -- -l", root).allowed, "it lists what it rewrites"
    assert judge("cargo fmt -- --check", root).allowed and judge("cargo fmt --check", root).allowed


@pytest.mark.parametrize(
    "text",
    [
        '[lib]\npath = "../outside/lib.rs"',
        '[[bin]]\nname = "a"\npath = "/tmp/a.rs"',
        '[package]\nbuild = "../outside/build.rs"',
        '[workspace]\nmembers = ["a", "../outside"]',
        "[lib",
    ],
)
def test_nor_targets_outside(root: Path, text: str) -> None:
    (root / "Cargo.toml").write_text('[package]\nname = "a"\nbuild = false\n[lib]\npath = "src/main.rs"\n')
    assert judge("cargo fmt", root).allowed, judge("cargo fmt", root).reason
    (root / "Cargo.toml").write_text(text)
    assert not judge("cargo fmt", root).allowed


def test_cargo_fmt_is_judged_for_the_whole_package_and_never_for_others(root: Path) -> None:
    assert judge("cd src && cargo fmt", root).allowed
    (root / "tests").mkdir()
    (root / "tests" / "link.rs").symlink_to("../../outside/b.rs")
    for line in ("cargo fmt", "cd src && cargo fmt", "cargo fmt --manifest-path src/Cargo.toml"):
        assert "leads out" in judge(line, root).reason, line
    (root / "tests" / "link.rs").unlink()
    assert "depends on" in judge("cargo fmt --all", root).reason
    assert judge("cargo fmt --all -- --check", root).allowed


def test_make_writes_no_target_outside(root: Path) -> None:
    (root / "lnk").symlink_to("../outside")
    for line in ("make ../outside/tool", "make /tmp/tool", "make lnk/tool", "make .git/hooks/pre-commit"):
        assert not judge(line, root).allowed, line
    for line in ("make test", "make build/app", "make -j4 all", "make TEST=a/b test"):
        assert judge(line, root).allowed, judge(line, root).reason


def test_in_a_full_sandbox_the_walls_hold_it(root: Path) -> None:
    (root / "ruff.toml").write_text('cache-dir = "../outside"')
    (root / "src" / "link.py").symlink_to("../../outside/b.py")
    confined = Settings(reads="allow", writes="allow", confined=True)
    assert judge("ruff format src", root, confined).allowed


WRITERS = Settings(
    reads="allow", writes="allow", allow=("gcc", "clang", "javac", "git", "ruff", "tsc", "npx tsc", "python -m ruff")
)


@pytest.mark.parametrize(
    ("line", "link"),
    [
        ("gcc -S src/a.c", "a.s"),
        ("gcc -c src/*.c", "a.o"),
        ("cd src && gcc a.c", "src/a.out"),
        ("gcc src/a.h", "src/a.h.gch"),
        ("gcc -c src/*.h", "src/a.h.gch"),
        ("gcc -x c-header src/a.c", "src/a.c.gch"),
        ("clang src/a.h", "src/a.h.pch"),
        ("gcc -MD src/a.c", "a-a.d"),
        ("javac src/A.java", "src/A.class"),
        ("javac src/A.java", "lib/Imported.class"),
        ("javac -d out src/A.java", "out/A$Inner.class"),
        ("javac -d out src/A.java", "out/com"),
        ("git init sg", "sg/.git"),
        ("git init sg", "sg/.git/hooks"),
        ("ruff check rf", "rf/.ruff_cache"),
        ("ruff check rf", ".ruff_cache"),
        ("ruff check", "rf/deep/.ruff_cache"),
        ("ruff check rf/deep", "rf/.ruff_cache/0.1"),
        ("python -m ruff check rf", "rf/.ruff_cache"),
        ("tsc src/t.ts", "src/t.js"),
        ("tsc -p .", "src/imported.d.ts"),
        ("npx tsc", "src/t.js"),
    ],
)
def test_what_a_program_writes_without_being_told_is_not_written_through_a_link(
    root: Path, line: str, link: str
) -> None:
    for name in (
        "src/a.c",
        "src/a.h",
        "src/A.java",
        "src/t.ts",
        "lib/x",
        "out/x",
        "sg/x",
        "rf/deep/x",
        "node_modules/.bin/tsc",
    ):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("{}")
    (root / "tsconfig.json").write_text("{}")
    assert judge(line, root, WRITERS).allowed, judge(line, root, WRITERS).reason
    (root / link).parent.mkdir(parents=True, exist_ok=True)
    (root / link).symlink_to(root.parent / "outside")
    verdict = judge(line, root, WRITERS)
    assert verdict.decision == "ask", verdict.reason
    (root / link).unlink()
    (root / "inside").mkdir()
    if not line.startswith("git"):
        (root / link).symlink_to(root / "inside")
        assert judge(line, root, WRITERS).allowed, judge(line, root, WRITERS).reason


@pytest.mark.parametrize(
    "line",
    ["gcc -S src/a.c", "gcc -c a.c", "gcc a.c", "javac src/A.java", "uv add x", "uv sync", "coverage html",
     "coverage erase", "coverage xml", "python -m coverage html", "cargo rm x", "yarn", "yarn add x", "pnpm i",
     "poetry add x", "npx tsc", "tsc", "python -m compileall src"],
)  # fmt: skip
def test_reading_only_nothing_writes_that_a_rule_names(root: Path, line: str) -> None:
    names = ("gcc", "javac", "uv", "coverage", "cargo", "yarn", "pnpm", "poetry", "tsc", "npx tsc", "python")
    (root / "node_modules" / ".bin").mkdir(parents=True)
    (root / "node_modules" / ".bin" / "tsc").write_text("")
    rules = replace(Settings.for_profile("read-only"), allow=names)
    assert judge(line, root, rules).decision == "deny"
    for looks in ("gcc --version", "gcc -MM src/a.c", "coverage report", "yarn --version", "tsc --noEmit", "uv tree"):
        assert judge(looks, root, rules).allowed, judge(looks, root, rules).reason


@pytest.mark.parametrize(
    "line", ["gcc src/a.f90", "gcc -c src/a.adb", "gcc -x ada src/a.c", "gcc -x f95 src/a.c", "gcc src/*", "cc a.go"]
)
def test_what_is_compiled_from_another_language_writes_where_its_source_says(root: Path, line: str) -> None:
    assert "is not known" in judge(line, root, replace(RULES, allow=("gcc", "cc"))).reason


FIXERS = [
    "cargo clippy --fix", "cargo clippy --fix --allow-dirty -- -D warnings", "cargo fix", "cargo fmt", "ruff format",
    "ruff check --fix", "ruff check --fix-only src", "ruff check --add-noqa", "black src", "isort .", "go fmt ./...",
    "gofmt -w src", "go vet -fix ./...", "eslint --fix src", "npx eslint --fix src", "prettier --write src",
    "prettier -w .", "biome check --write", "biome lint --fix src", "rubocop -a", "rubocop --autocorrect-all",
    "terraform fmt", "uv format", "dotnet format", "python -m black src", "python -m isort src", "jest -u",
    "jest --updateSnapshot", "npx jest -u", "vitest --update", "playwright test -u",
    "node --test --test-update-snapshots",
    "bun test -u", "npm run lint -- --fix", "npm test -- --updateSnapshot", "npm test --updateSnapshot",
    "pnpm lint --fix", "yarn lint --fix", "stylelint --fix src", "pytest --snapshot-update",
    "pytest --inline-snapshot=fix",
    "bash -c 'cargo clippy --fix'", "timeout 60 cargo clippy --fix", "find src -exec eslint --fix {} +", "hatch fmt",
]  # fmt: skip
LOOKERS = [
    "cargo clippy", "cargo fmt --check", "ruff check src", "ruff format --check", "ruff format --diff",
    "black --check src",
    "isort --check src", "gofmt -l src", "go vet ./...", "eslint src", "prettier --check src", "biome check src",
    "rubocop", "terraform fmt -check", "uv format --check", "jest", "npm test", "npm run lint", "pytest -q",
    "eslint --fix-dry-run src", "cargo test -- --nocapture", "jest --ci", "npm run test:unit -- --watch",
]  # fmt: skip


def test_reading_only_nothing_rewrites_sources_or_what_tests_expect(root: Path) -> None:
    first = {line.split(" ")[0] for line in (*FIXERS, *LOOKERS)} - {"bash", "timeout"}
    for tool in ("eslint", "jest"):
        (root / "node_modules" / ".bin").mkdir(parents=True, exist_ok=True)
        (root / "node_modules" / ".bin" / tool).write_text("")
    rules = Settings.for_profile("read-only").changed(allow=(*sorted(first), "go vet -fix", "stylelint *", "bash"))
    assert [line for line in FIXERS if judge(line, root, rules).decision != "deny"] == []
    assert [line for line in LOOKERS if not judge(line, root, rules).allowed] == []
    assert judge("cargo clippy --fix", root, replace(RULES, allow=("cargo",))).allowed, "where edits are allowed"


def test_ruff_asks_where_its_configuration_makes_it_rewrite_files(root: Path) -> None:
    for text, name in (("fix = true", "ruff.toml"), ("fix-only = true", ".ruff.toml"), ("fix=true", "src/ruff.toml")):
        (root / name).write_text(text)
        for line in ("ruff check src", "ruff check -n src", "python -m ruff check src"):
            verdict = judge(line, root, replace(RULES, allow=("ruff", "python -m ruff")))
            assert "rewrite files" in verdict.reason, (line, name)
            assert not judge(line, root, Settings.for_profile("read-only").changed(allow=("ruff", "python"))).allowed
        for line in ("ruff check --diff src", "ruff check --isolated src", "ruff format src", "ruff check --fix src"):
            assert judge(line, root).allowed, judge(line, root).reason
        assert judge("ruff check --no-fix src", root).allowed == ("only" not in text)
        (root / name).unlink()


REMOVERS = (
    "find docs -name '*.md' -delete", "find docs -delete", "find docs -exec rm {} +", "find docs -exec rm -r {} ';'",
    "find docs -print0 | xargs -0 rm", "rm -r docs", "rm -rf ./docs", "git rm -r docs", "git clean -fd docs",
    "mv docs old", "git mv docs old", "npx rimraf docs", "bash -c 'rm -r docs'", "find docs/sub -delete",
)  # fmt: skip


@pytest.mark.parametrize("line", REMOVERS)
@pytest.mark.parametrize("name", ["AGENTS.md", ".envrc", ".vscode/tasks.json"])
def test_a_folder_is_not_removed_together_with_protected_files(root: Path, line: str, name: str) -> None:
    rules = replace(RULES, allow=("find", "rm", "git", "mv", "npx", "bash"))
    (root / "docs" / "sub").mkdir(parents=True)
    (root / "docs" / "sub" / "a.md").write_text("")
    (root / "node_modules" / ".bin").mkdir(parents=True)
    (root / "node_modules" / ".bin" / "rimraf").write_text("")
    assert judge(line, root, rules).allowed, judge(line, root, rules).reason
    (root / "docs" / "sub" / name).parent.mkdir(exist_ok=True)
    (root / "docs" / "sub" / name).write_text("")
    assert "protected files are in it" in judge(line, root, rules).reason
    assert judge(line, root, rules.changed(writes_protected="deny")).decision == "deny"


def test_find_is_held_to_everything_that_is_protected(root: Path) -> None:
    (root / "docs" / ".github").mkdir(parents=True)
    assert "protected" in judge("find docs -delete", root, replace(RULES, allow=("find",))).reason


def test_what_builds_and_installers_leave_is_removed_unasked(root: Path) -> None:
    for name in ("target/.fingerprint/x", "node_modules/a/.vscode/x", "build/_deps/a/AGENTS.md", "src/__pycache__/x"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("")
    (root / "build" / "_deps" / "a" / ".git").mkdir()
    rules = replace(RULES, allow=("rm", "find"))
    for line in ("rm -rf target node_modules build", "rm -r src/__pycache__", "find src -name '*.pyc' -delete"):
        assert judge(line, root, rules).allowed, judge(line, root, rules).reason


LATER = [
    ("cp src/x.json tsconfig.json && tsc", "cp src/x other.txt && tsc"),
    ("echo x > tsconfig.json; tsc -p .", "echo x > src/new.ts; tsc -p ."),
    ("mv src/x.json base.json; npx tsc", "mv src/a.ts src/b.ts && npx tsc"),
    ("sed -i s/a/b/ tsconfig.*; tsc", "sed -i s/a/b/ src/*.ts; tsc"),
    ("cp -r src/x . ; tsc", "mkdir x ; tsc"),
    ("mv src/x conf; tsc", "git mv src/a.ts src/b.ts && tsc --noEmit"),
    ("bash -c 'cp src/x.json tsconfig.json'; tsc", "bash -c 'cp src/x y'; tsc"),
    ("cp src/x.toml ruff.toml; ruff check", "ruff check --fix . && ruff format . && ruff check"),
    ("cp src/x.toml pyproject.toml; ruff format src", "black . && isort . && ruff check ."),
    ("cp src/x.toml Cargo.toml; cargo fmt", "cp src/x y; cargo fmt"),
    ("tee src/lib.rs < src/x; cargo fmt", "git stash && tsc && git stash pop"),
]


@pytest.mark.parametrize(("line", "other"), LATER)
def test_a_configuration_that_the_line_has_just_written_is_not_the_one_that_was_read(
    root: Path, line: str, other: str
) -> None:
    (root / "tsconfig.json").write_text("{}")
    (root / "src" / "new.ts").write_text("")
    (root / "src" / "a.ts").write_text("")
    (root / "node_modules" / ".bin").mkdir(parents=True)
    (root / "node_modules" / ".bin" / "tsc").write_text("")
    tools = ("cp", "mv", "sed", "echo", "bash", "mkdir", "tee", "npx tsc", "git", *PROGRAMS)
    assert "only known when the line has run so far" in judge(line, root, replace(RULES, allow=tools)).reason
    assert judge(other, root, replace(RULES, allow=tools)).allowed, judge(
        other, root, replace(RULES, allow=tools)
    ).reason


@pytest.mark.parametrize(
    "config",
    [
        '{"compilerOptions": {"outDir": "../outside"}, "compilerOptions": {}}',
        '{"compilerOptions": {"outDir": "../outside", "outdir": "dist"}}',
        '{"compilerOptions": {"baseUrl": ".."}}',
        '{"compilerOptions": {"paths": {"@/*": ["./src/*", "../outside/*"]}}}',
        '{"compilerOptions": {"rootDirs": ["src", "../outside"]}}',
    ],
)
def test_tsc_asks_where_its_configuration_leads_out_in_other_ways(root: Path, config: str) -> None:
    (root / "tsconfig.json").write_text(config)
    assert judge("tsc", root).decision == "ask"
    inside = (
        '{"compilerOptions": {"baseUrl": ".", "paths": {"@/*": ["./src/*"]}, "rootDirs": ["src"], "outDir": "dist"}}'
    )
    (root / "tsconfig.json").write_text(inside)
    assert judge("tsc", root).allowed, judge("tsc", root).reason


@pytest.mark.parametrize(
    "command",
    ["ls {} +", "ls -l {} ';'", "stat -L {} +", "du {} +", "tree {} +", "readlink -f {} +", "timeout 5 ls {} +"],
)
def test_what_links_lead_to_is_not_listed_by_find(root: Path, command: str) -> None:
    names = ("find", "ls", "stat", "du", "tree", "readlink", "xargs")
    lines = [f"find src -exec {command}"]
    lines += [f"find src -print0 | xargs -0 {command.split(' {}')[0]}"]
    for line in lines:
        assert judge(line, root, replace(RULES, allow=names)).allowed, judge(
            line, root, replace(RULES, allow=names)
        ).reason
    (root / "src" / "deep").mkdir()
    (root / "src" / "deep" / "link").symlink_to("../../../outside")
    for line in lines:
        assert "a link that leads out" in judge(line, root, replace(RULES, allow=names)).reason
