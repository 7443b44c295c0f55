"""Paths that were written to get past the policy, and more of the kind. None is ever read or written without asking."""

# ruff: noqa: E501 - tables

from __future__ import annotations

import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from joey.actions import ReadPath, WritePath
from joey.policy import Settings, Workspace, judge
from joey.policy.protected import PROTECTED
from vectors_data import cases

EDITS = Settings.for_profile("edits")


def make_workspace(folder: Path, links: dict[str, str]) -> Workspace:
    """The workspace that the cases assume: see `hostile/` in vectors/README.md."""
    root, home, outside = folder / "ws", folder / "home", folder / "outside"
    for each in ("src", "bin", "deep", "sub", "secrets", "conf", "hk", "fixtures/e/objects", "fixtures/e/refs", ".git"):
        (root / each).mkdir(parents=True)
    for place in (home / ".ssh", home / ".aws", outside):
        place.mkdir(parents=True)
    files = {
        root: (
            ".env",
            "secrets/k.txt",
            "src/a.py",
            "evil.sh",
            "bin/git",
            "fixtures/e/config",
            "fixtures/e/HEAD",
            "AGENTS.md",
        ),
        home: (".ssh/id_rsa", ".aws/credentials", ".netrc"),
        outside: ("keep",),
    }
    for place, names in files.items():
        for name in names:
            (place / name).write_text("x")
    (root / ".rooignore").write_text(".env\nsecrets/\n")
    usual = {
        "link": "../outside", "link-file": "../outside/keep", "deep/out": "../../outside", "loop": "loop", "link-git": ".git",
        "link-env": ".env", "link-secrets": "secrets",
    }  # fmt: skip
    for name, target in (usual | links).items():
        (root / name).symlink_to(target)
    workspace = Workspace.of(root)
    return Workspace(workspace.root, str(home), workspace.ignore)


def settings_of(case: Any) -> Settings:
    """The settings that flags of `joey run` stand for. The recorded cases are from when no profile was one in which
    reading the workspace asks; that is `strict` now, and the default reads it."""
    words = shlex.split(case["rules"])
    given = dict(zip(words[::2], words[1::2], strict=True))
    return Settings.for_profile(given.get("--approve", "strict" if case["do"] == "read" else "ask"))


def case_id(case: Any) -> str:
    return f"{case['do']} {case['path']} {case['rules']}"


@pytest.mark.parametrize("case", cases("hostile/paths"), ids=case_id)
def test_no_hostile_path_is_let_through(case: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    workspace = make_workspace(tmp_path, case.get("links", {}))
    monkeypatch.chdir(workspace.root)
    action = ReadPath(case["path"]) if case["do"] == "read" else WritePath(case["path"])
    assert not judge([action], settings_of(case), workspace).allowed


# Names that another program acts on, in disguises.
CONFIGURATION = [
    # agents
    ".mcp.json", "sub/.mcp.json", ".cursor/rules/x.mdc", ".claude/hooks/a.sh", ".codex/config.toml", ".gemini/settings.json",
    ".qwen/settings.json", "QWEN.md", ".github/copilot-instructions.md", ".opencode/agent/x.md", "opencode.json", "crush.json",
    ".goosehints", ".junie/guidelines.md", ".kiro/hooks/x.kiro.hook", ".trae/rules/a.md", ".augment/rules/a.md", "WARP.md",
    ".rules", ".amazonq/mcp.json", ".an-agent-of-next-year/config.toml", "sub/.an-agent-of-next-year",
    # editors
    ".exrc", ".nvimrc", ".zed/tasks.json", ".helix/config.toml", ".fleet/run.json", "x.sublime-project", ".vs/tasks.vs.json",
    ".project", "sub/.dir-locals.el", ".dir-locals-2.el", ".run/x.run.xml", "_vimrc", ".ycm_extra_conf.py",
    # hooks and git
    ".gitattributes", ".gitmodules", "sub/.gitattributes", "lefthook.yml", ".lefthook/pre-commit/x", ".pre-commit-config.yaml",
    ".overcommit.yml", ".lintstagedrc.json", "lint-staged.config.js", ".hg/hgrc", ".jj/repo/config.toml",
    # environments
    ".envrc", "sub/.envrc", ".envrc.local", "mise.toml", ".mise.local.toml", ".tool-versions", ".python-version", ".nvmrc",
    ".devcontainer.json", ".devcontainer/x/devcontainer.json", "devbox.json", "flake.nix", "shell.nix", ".gitpod.yml",
    "rust-toolchain.toml", "venv/bin/activate", "venv/lib/python3.11/site-packages/x.py", ".venv/bin/python", "x.pth",
    "env/bin/python", "env/Scripts/python.exe", "py311/bin/python3", "tools/bin/pip", ".env.zsh", "sub/.env.bash", ".env.fish",
    "sitecustomize.py", "src/usercustomize.py", "etc/conda/activate.d/x.sh",
    # continuous integration
    ".github/workflows/ci.yml", ".github/actions/a/action.yml", ".GitHub/Workflows/x.yml", ".gitlab-ci.yml", "sub/ci.gitlab-ci.yml",
    ".circleci/config.yml", "Jenkinsfile", "jenkinsfile.release", "azure-pipelines.yml", "bitbucket-pipelines.yml", ".drone.yml",
    ".buildkite/pipeline.yml", ".forgejo/workflows/a.yml", "cloudbuild.yaml", "buildspec.yml", ".readthedocs.yaml", "renovate.json",
    # where code comes from
    ".npmrc", "sub/.npmrc", ".yarnrc.yml", ".yarn/releases/yarn.cjs", ".pnpmfile.cjs", ".pnp.cjs", "pip.conf", ".cargo/config.toml",
    "sub/.cargo/config", ".bazelrc", "tools/bazel", ".mvn/jvm.config", "gradle/wrapper/gradle-wrapper.properties", "nuget.config",
    "bunfig.toml", "uv.toml", ".bundle/config", "node_modules/.bin/eslint",
    # shells and debuggers
    ".bash_aliases", ".zshenv", ".inputrc", ".tmux.conf", ".lldbinit", "x-gdb.py", ".pdbrc", ".irbrc", ".Rprofile", ".ghci",
    ".psqlrc", "profile.ps1", ".config/fish/config.fish", ".config/whatever/x", ".ssh/config",
]  # fmt: skip
DISGUISES = [
    # Windows: trailing dots and spaces, streams, short names, separators, case
    ".git.", ".git. . ", ".git::$INDEX_ALLOCATION/config", "AGENTS.md::$DATA", "AGENTS.md:x", "AGENTS.md...", "CLAUDE.md .",
    "GIT~1/config", "GITMOD~1", "gi7eba~1", "VSCODE~1/tasks.json", "JOEY~1/config.toml", "CLAUDE~1.MD", "MCP~1.JSO", "LEFTHO~1.YML",
    "sub\\.git\\config", ".\\AGENTS.md", "sub\\..\\.vscode\\tasks.json", ".GITHUB\\WORKFLOWS\\X.YML", "jenkinsFILE",
    # Unicode: compatibility forms, invisible characters, separators that only look like characters
    "．git/config", ".ｇｉｔ/config", ".g\u200dit/config", ".git\ufeff/config", "\u2060.git/config", ".git\u00ad/config",
    "AGENTS\u2024md", "AGENTS.md\u200b", "\u202eAGENTS.md", "AGENTS.md\ufe0f", "A\u034fGENTS.md", "ＣＬＡＵＤＥ.md", "𝐀𝐆𝐄𝐍𝐓𝐒.md",
    ".joey\uff0fconfig.toml", "sub\uff0f.git\uff0fconfig", ".vſcode/tasks.json", "\uff3fvimrc", "Lefthoo\u212a.yml",
    # what is trimmed on the way
    " AGENTS.md", "AGENTS.md\n", "\tAGENTS.md", "AGENTS.md\r", "AGENTS.md\x1b", "\x00AGENTS.md", "\u00a0CLAUDE.md\u00a0",
]  # fmt: skip
ELSEWHERE = [
    "‥/x", "．．/x", ".\u200b./x", "..\\..\\x", "\\\\server\\share\\x", "\\\\?\\C:\\x", "C:\\Windows\\x", "c:/x", "C:x", "file:///etc/passwd",
    "file:\\\\x", "//etc/passwd", "///etc//passwd", " /etc/passwd", "\n/etc/passwd", "~nobody-at-all/x", "~root", "~+/x", "~-/x", "~0/x",
    "/proc/self/cwd", "/proc/self/cwd/src/a.py", "/proc/thread-self/cwd/src/a.py", "/proc/self/task/1/cwd/src/a.py",
    "/proc/1/root/etc/passwd", "/proc/self/fd/3", "/dev/fd/3", "/dev/stdin", "/proc/self/exe", "/proc/self/environ",
    "src/../link/../x", "../ws/../outside/keep", "via-proc/src/a.py",
]  # fmt: skip
HIDDEN = [
    ".env", ".Env", ".eNV", ".env ", ".env.", ".env::$DATA", ".ｅnv", ".e\u200bnv", "\uff0eenv", "sub/.ENV", "secrets", "SECRETS",
    "secrets/", "Secrets/k.txt", "secrets/new/deep", "sub/secrets/x", "src/../secrets", "secrets\\k.txt", "link-secrets", "link-env",
    "/proc/self/cwd/secrets/k.txt", "/proc/self/root/../.env", ".rooignore", "vault/k", "vault", "settings/env", "twice", "hard-env",
    "conf/deep.txt", "way/deep.txt", " .env", ".env\n", "ｓecrets/k.txt",
]  # fmt: skip


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Workspace:
    """The same workspace, with ignored names that are links, and links through /proc."""
    workspace = make_workspace(tmp_path, {"sub/secrets": "../vault", "twice": "link-env", "via-proc": "/proc/self/cwd"})
    root = Path(workspace.root)
    (root / "vault").mkdir()
    (root / "vault" / "k").write_text("x")
    (root / "settings").mkdir()
    (root / "settings" / "env").write_text("x")
    (root / "sub" / ".env").symlink_to("../settings/env")
    (root / "hard-env").hardlink_to(root / ".env")
    (root / ".rooignore").write_text(".env\nsecrets/\nnamed/deep.txt\n")
    (root / "named").symlink_to("conf")
    (root / "way").symlink_to("named")
    monkeypatch.chdir(root)
    return Workspace(workspace.root, workspace.home, Workspace.of(root).ignore)


def test_what_other_programs_act_on_is_not_written_unasked(workspace: Workspace) -> None:
    hostile = [*CONFIGURATION, *DISGUISES]
    assert [path for path in hostile if judge([WritePath(path)], EDITS, workspace).allowed] == []


def test_what_is_elsewhere_is_neither_read_nor_written_unasked(workspace: Workspace) -> None:
    for action in (ReadPath, WritePath):
        assert [path for path in ELSEWHERE if judge([action(path)], EDITS, workspace).allowed] == []


@pytest.mark.parametrize("profile", ["edits", "read-only", "all"])
def test_what_is_ignored_is_denied_in_every_profile(workspace: Workspace, profile: str) -> None:
    settings = Settings.for_profile(profile)
    for action in (ReadPath, WritePath):
        allowed = [path for path in HIDDEN if judge([action(path)], settings, workspace).decision != "deny"]
        assert allowed == []


BACKWARD: list[tuple[dict[str, str], str]] = [
    ({".joey": "conf"}, "conf/config.toml"),
    ({".joey": "conf"}, "conf"),
    ({".joey": "one", "one": "two", "two": "conf"}, "conf/config.toml"),
    ({".joey": "one", "one": "conf"}, "one"),
    ({".joey": "here/conf", "here": "sub"}, "sub/conf/x"),
    ({".joey": "not-yet"}, "not-yet/config.toml"),
    ({".joey": "conf", "conf/tools": "../hk"}, "hk/x.py"),
    ({".joey": "."}, "config.toml"),
    ({".git/hooks": "../hk"}, "hk/pre-commit"),
    ({"sub/.vscode": "../conf"}, "conf/tasks.json"),
    ({"sub/.vscode": "../conf"}, "src/../conf/tasks.json"),
    ({"AGENTS.local.md": "deep/notes.md"}, "deep/notes.md"),
    ({".envrc": "conf/env.sh"}, "conf/env.sh"),
    ({".unheard-of": "conf"}, "conf/x"),
    ({".GitHub": "conf"}, "conf/workflows/ci.yml"),
    ({"way": ".joey", ".joey": "conf"}, "way/x"),
    ({"tools": "hk"}, "hk/bazel"),
    ({".joey": "here/conf", "here": "sub"}, "here"),
    ({"a": "b", "b": "a", ".joey": "a/conf"}, "a/conf"),
    ({"way": "conf", ".joey": "conf"}, "way/x"),
]


@pytest.mark.parametrize(("links", "path"), BACKWARD)
def test_the_place_where_a_protected_link_leads_is_protected(tmp_path: Path, links: dict[str, str], path: str) -> None:
    assert not judge([WritePath(path)], EDITS, make_workspace(tmp_path, links)).allowed


def test_links_that_do_not_matter_protect_and_hide_nothing(tmp_path: Path) -> None:
    links = {"latest": "src", ".unheard-of": ".", "secrets/ours": "../src", "doc": "README.md", "sub/loop": "loop"}
    workspace = make_workspace(tmp_path, links)
    everyday = ["src/a.py", "README.md", "latest/a.py", "doc", "new/b.py"]
    assert [path for path in everyday if not judge([ReadPath(path), WritePath(path)], EDITS, workspace).allowed] == []


@pytest.mark.parametrize(
    ("pointer", "text", "path"),
    [
        (".git", "gitdir: gd\n", "gd/hooks/pre-commit"),
        ("sub/.git", "gitdir: ../gd\n", "gd/config"),
        ("r/.git/config", "[core]\n\thooksPath = tools/hooks\n", "tools/hooks/pre-commit"),
        ("r/.git/config", "[include]\n\tpath = ../more.cfg\n", "r/more.cfg"),
    ],
)
def test_where_git_is_sent_by_its_own_files_is_protected(tmp_path: Path, pointer: str, text: str, path: str) -> None:
    (tmp_path / pointer).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / pointer).write_text(text)
    assert not judge([WritePath(path)], EDITS, Workspace.of(tmp_path)).allowed
    (tmp_path / pointer).unlink()
    assert judge([WritePath(path)], EDITS, Workspace.of(tmp_path)).allowed


def test_a_repository_without_a_working_tree_is_protected_and_none_can_be_completed(workspace: Workspace) -> None:
    for path in ("fixtures/e/config", "fixtures/e/hooks/post-checkout", "fixtures/e/info/attributes"):
        assert not judge([WritePath(path)], EDITS, workspace).allowed, path
    assert judge([WritePath("fixtures/readme.md")], EDITS, workspace).allowed
    for made in ("src/objects", "src/refs"):
        (Path(workspace.root) / made).mkdir()
    assert judge([WritePath("src/config")], EDITS, workspace).allowed
    assert not judge([WritePath("src/HEAD")], EDITS, workspace).allowed


def test_a_hard_link_may_be_read_but_is_not_written_unasked(workspace: Workspace) -> None:
    (Path(workspace.root) / "copy.py").hardlink_to(Path(workspace.root) / "src" / "a.py")
    assert judge([ReadPath("copy.py")], EDITS, workspace).allowed
    assert not judge([WritePath("copy.py")], EDITS, workspace).allowed


CREDENTIALS = [
    "~/.ssh/id_rsa", "~/.aws/credentials", "~/.netrc", "~/.config/gh/hosts.yml", "~/.config/gcloud/credentials.db", "~/.azure/x",
    "~/.kube/config", "~/.docker/config.json", "~/.npmrc", "~/.pypirc", "~/.cargo/credentials.toml", "~/.config/rclone/rclone.conf",
    "~/.local/share/keyrings/login.keyring", "~/.mozilla/firefox/x/logins.json", "~/.config/google-chrome/Default/Cookies",
    "~/.password-store/a.gpg", "~/.bash_history", "~/.zsh_history", "~/.python_history", "~/.env", "~/.config/joey/config.toml",
    "~/.local/state/joey/tasks/x", "~/.git-credentials", "~/.SSH/id_rsa", "~/.claude.json", "~/.codex/auth.json", "~root/.ssh/id_rsa",
    "/etc/shadow", "/proc/1/environ", "/proc/self/environ", "/home/other/.pgpass", "/run/secrets/token", "/etc/ssh/ssh_host_rsa_key",
]  # fmt: skip


def test_credentials_are_known_as_such(workspace: Workspace) -> None:
    assert [path for path in CREDENTIALS if not workspace.locate(path).secret] == []
    harmless = ["~/notes.txt", "/usr/include/stdio.h", "/etc/hostname", ".npmrc", "src/a.py", "~/.config/nvim/init.lua"]
    assert [path for path in harmless if workspace.locate(path).secret] == []


def test_credentials_are_known_where_the_home_folder_is_the_workspace(tmp_path: Path) -> None:
    home = Workspace(str(tmp_path), str(tmp_path))
    assert home.locate(".ssh/id_rsa").secret
    assert not home.locate("notes.txt").secret


@pytest.mark.parametrize("path", ["home/u/.ssh/id_rsa", "/home/u/.aws/credentials", "etc/shadow", "/proc/1/environ"])
def test_credentials_inside_the_workspace_are_not_read_unasked(path: str) -> None:
    """A home folder or `/` as the workspace, in every profile that asks about what is elsewhere."""
    whole = Workspace("/", "/home/u")
    for profile in ("ask", "edits"):
        verdict = judge([ReadPath(path)], Settings.for_profile(profile), whole)
        assert not verdict.allowed and "credentials are kept there" in verdict.reason, profile
    assert judge([ReadPath("home/u/notes.txt")], EDITS, whole).allowed
    assert judge([ReadPath(path)], Settings.for_profile("all"), whole).allowed


def test_a_workspace_that_is_a_place_of_credentials_was_chosen_as_it_is() -> None:
    """The clones of a fleet are below Joey's own folder, and people have their dotfiles edited."""
    for root in ("/home/u/.local/state/joey/fleet/tasks/x/work", "/home/u/.config/nvim", "/home/u/.claude"):
        inside = Workspace(root, "/home/u")
        assert judge([ReadPath("a.py")], EDITS, inside).allowed, root
        assert not judge([ReadPath("/home/u/.ssh/id_rsa")], EDITS, inside).allowed, root


EVERYDAY = [
    "src/a.py", "docs/x.md", "package.json", "tests/test_a.py", ".gitignore", "README.md", ".env.example", "new/folder/a.py",
    "pyproject.toml", "Makefile", "conftest.py", "Dockerfile", "docker-compose.yml", "tsconfig.json", "vite.config.ts", "setup.py",
    "eslint.config.js", ".eslintrc.json", ".prettierrc", ".editorconfig", ".dockerignore", "go.mod", "Cargo.toml", "build.gradle.kts",
    "pom.xml", "Gemfile", "composer.json", "CMakeLists.txt", "requirements.txt", "package-lock.json", "LICENSE", "CHANGELOG.md",
    "public/.well-known/security.txt", ".storybook/main.ts", "src/components/head/index.tsx", "src/git/client.py", "config.toml",
    "hooks/useAuth.ts", "src/claude.py", "docs/agents.html", "é/ü.md", "データ/読む.md", "a b/c d.txt", "src/objects/refs.py", "bin/run",
    "scripts/activate.py", "tools/build.py", "src/HEAD.py", "notes~1.txt", "x~", "src/[id]/page.tsx", "ab:c.txt", "$x/y", "-x",
]  # fmt: skip


def test_everyday_files_are_read_and_written_without_approval(workspace: Workspace) -> None:
    refused = [path for path in EVERYDAY if not judge([ReadPath(path), WritePath(path)], EDITS, workspace).allowed]
    assert refused == []


def test_a_link_that_is_made_between_two_judgements_is_seen_but_not_by_a_snapshot(workspace: Workspace) -> None:
    before = workspace.snapshot()
    assert before.locate("conf/x").protected is None
    (Path(workspace.root) / ".joey").symlink_to("conf")
    assert before.locate("conf/x").protected is None
    assert workspace.locate("conf/x").protected == ".joey"
    assert not judge([WritePath("conf/x")], EDITS, workspace).allowed


def test_a_snapshot_still_follows_a_link_that_was_made_after_it(workspace: Workspace) -> None:
    before = workspace.snapshot()
    assert before.locate("new").inside
    (Path(workspace.root) / "new").symlink_to("/etc")
    assert not before.locate("new/x").inside


DISGUISED: dict[str, Callable[[str], str]] = {
    "upper case": str.upper,
    "further down": lambda name: f"a/b/{name}",
    "something in it": lambda name: f"{name}/x/y",
    "detour": lambda name: f"a/.././/{name}//",
    "backslashes": lambda name: "a\\" + name.replace("/", "\\"),
    "trailing dot": lambda name: name + ".",
    "trailing spaces": lambda name: name + "  ",
    "stream": lambda name: name + "::$DATA",
    "zero width": lambda name: name[0] + "\u200b" + name[1:],
    "variation selector": lambda name: name + "\ufe0e",
    "full width": lambda name: "".join(char if char == "/" else chr(ord(char) + 0xFEE0) for char in name),
    "full width separators": lambda name: "a\uff0f" + name.replace("/", "\uff0f"),
    "line break": lambda name: name + "\n",
    "byte order mark": lambda name: "\ufeff" + name,
    "no-break space": lambda name: name + "\u00a0",
    "absolute": lambda name: "/nonexistent/ws/" + name,
    "out and in": lambda name: "../ws/" + name,
}


@pytest.mark.parametrize("disguise", DISGUISED.values(), ids=DISGUISED)
def test_every_protected_name_is_known_in_every_disguise(disguise: Callable[[str], str]) -> None:
    workspace = Workspace("/nonexistent/ws", "/nonexistent/home").snapshot()
    names = [disguise(pattern.replace("*", "x")) for patterns in PROTECTED.values() for pattern in patterns]
    assert [name for name in names if workspace.locate(name).protected is None] == []


def test_a_second_mount_of_the_workspace_hides_the_same(workspace: Workspace, tmp_path: Path) -> None:
    (tmp_path / "mnt").mkdir()
    code = (
        "from pathlib import Path; from joey.policy import Workspace\n"
        f"workspace = Workspace.of(Path({workspace.root!r}))\n"
        f"print([workspace.locate({str(tmp_path)!r} + '/mnt/' + name).hidden_by for name in ('.env', 'src/a.py')])"
    )
    mount = f"mount --bind {workspace.root} {tmp_path}/mnt && exec {sys.executable} -c {shlex.quote(code)}"
    done = subprocess.run(["unshare", "-Urm", "sh", "-c", mount], capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"no mount can be made here: {done.stderr.strip()}")
    assert done.stdout.strip() == "['.rooignore', None]"
