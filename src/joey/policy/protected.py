"""Which files may not be changed without asking, even where editing is allowed.

The criterion: configuration that makes a program other than the project's own build run something, or obey something,
without the user running it on purpose. Opening the folder in an editor, entering it with a shell, committing, pushing,
starting another agent or a debugger is enough. Instructions of agents are among it: they are what an agent obeys. So is
what decides where packages and toolchains come from, since installing is not meant to run what the model chose.

Not among it are files that people edit daily as the project's own code, although they run too once the user builds or
tests: `package.json`, `pyproject.toml`, `Makefile`, `conftest.py`, `Dockerfile`, `eslint.config.js`.

New programs with a dot name of their own appear every week, so dot names are closed: one that is neither in PROTECTED
nor in HARMLESS_DOT_NAMES counts as protected.

Patterns are names of files or folders at any depth, `a/b` for a name below another, `*` within a name. A folder is
protected with all it holds. Letter case never counts.

Some files the sandbox keeps commands from changing, too. Commands write what they like in the workspace, and most of
what is protected from edits is written by builds every day (`.venv`, `.gradle`, `.terraform`). Guarded is the part that
no build writes and that runs, or is obeyed, as soon as somebody enters the folder, opens it, commits or starts an agent
in it. Continuous integration is not among it: that runs what was pushed, which a person sees.
"""

from __future__ import annotations

import fnmatch
import os
import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from pathlib import Path

from joey.policy.names import short_name

UNKNOWN_DOT_NAME = "a dot name that is not known to be harmless"

PROTECTED: Mapping[str, tuple[str, ...]] = {
    "Joey and Roo": (
        ".joey", ".joeyignore", ".joeymodes", ".roo", ".roomodes", ".rooignore", ".roorules*", ".rooprotected",
    ),
    "instructions that agents obey": (
        "AGENTS.md", "AGENT.md", "AGENTS.*.md", "CLAUDE.md", "CLAUDE.*.md", "GEMINI.md", "QWEN.md", "CODEX.md",
        "CRUSH.md", "CRUSH.*.md", "WARP.md", "IFLOW.md", "CODEBUDDY.md", "JULES.md", "REPLIT.md",
        "copilot-instructions.md", ".rules", ".goosehints*", ".cursorrules", ".windsurfrules", ".clinerules*",
        ".kilocoderules*", ".airules", ".aiassistant", ".ruler", ".rulesync",
    ),
    "settings of agents, and the servers they start": (
        ".mcp.json", "mcp.json", "mcp_config.json", "mcp_settings.json", "*_mcp_settings.json",
        "claude_desktop_config.json", ".claude", ".claude.json", ".claude-plugin", ".claudeignore", ".codex",
        ".cursor", ".cursorignore", ".cursorindexingignore", ".windsurf", ".codeium", ".codeiumignore", ".cline",
        ".clineignore", ".kilocode", ".kilocodemodes", ".kilocodeignore", ".kilo", ".continue", ".continuerc.json",
        ".continueignore", ".aider*", ".gemini", ".geminiignore", ".aiexclude", ".copilot", ".opencode",
        "opencode.json", "opencode.jsonc", ".goose", ".junie", ".amp", ".ampcode", ".warp", ".augment",
        ".augment-guidelines", ".augmentignore", ".qwen", ".crush", ".crush.json", "crush.json", ".crushignore",
        ".kiro", ".trae", ".amazonq", ".aws/amazonq", ".openhands", ".openhands_instructions", ".factory",
        ".firebender", "firebender.json", ".pearai", ".void", ".sourcegraph", ".cody", ".tabnine", ".lingma",
        ".codebuddy", ".iflow", ".devin", ".jules", ".replit", "replit.nix", ".bolt", ".llm", ".mentat", ".plandex*",
        ".sweep", "sweep.yaml", ".coderabbit.yaml", ".coderabbit.yml", ".agents", ".agent", ".skills", ".antigravity",
        ".zencoder", ".vibe", ".kimi", ".grok", ".letta", ".serena", ".taskmaster",
    ),
    "git and other version control": (
        ".git", "git~*", ".gitattributes", ".gitmodules", ".gitconfig", ".gitreview", ".git-credentials",
        ".config/git", ".lfsconfig", ".hg", ".hg/hgrc", ".hgrc", ".hgsub", ".svn", ".bzr", ".jj", ".sl", ".pijul",
        "_darcs", "_FOSSIL_", ".fslckout",
    ),
    "hook managers": (
        ".husky", ".huskyrc*", ".githooks", ".git-hooks", ".hooks", "lefthook.*", "lefthook-local.*", ".lefthook",
        ".lefthook-local", ".lefthook.*", ".lefthook-local.*", ".pre-commit-config.yaml", ".pre-commit-config.yml",
        ".pre-commit-hooks.yaml", "prek.toml", ".overcommit.yml", ".local-overcommit.yml", ".lintstagedrc*",
        "lint-staged.config.*", ".nano-staged.*", "nano-staged.*", ".simple-git-hooks.*", "simple-git-hooks.*",
        ".commitlintrc*", "commitlint.config.*", "captainhook.json", "grumphp.yml", "grumphp.yaml", "hk.pkl",
        "hk.toml", ".rusty-hook.toml", ".cargo-husky", ".yorkie",
    ),
    "environment loaders": (
        ".envrc", ".envrc.*", ".direnv", "direnvrc", ".direnvrc", ".mise", ".mise.*", "mise.toml", "mise.*.toml",
        "mise/config.toml", ".rtx.toml", ".tool-versions*", ".asdfrc", ".python-version", ".node-version", ".nvmrc",
        ".ruby-version", ".ruby-gemset", ".rvmrc", ".java-version", ".go-version", ".sdkmanrc", ".terraform-version",
        ".tfswitchrc", ".autoenv*", ".shadowenv.d", ".flox", "devbox.json", "devbox.d", ".devbox", "devenv.nix",
        "devenv.yaml", "devenv.lock", "devenv.local.*", "flake.nix", "flake.lock", "shell.nix", "default.nix",
        ".devcontainer",
        ".devcontainer.json", "devcontainer.json", ".gitpod", ".gitpod.*", ".idx", ".codesandbox", ".stackblitzrc",
        ".ona", "conda/activate.d", "conda/deactivate.d", "rust-toolchain", "rust-toolchain.toml", "bin/activate",
        "bin/activate.fish", "bin/activate.csh", "bin/activate.ps1", "bin/activate.nu", "bin/activate_this.py",
        "Scripts/activate", "Scripts/activate.bat", "Scripts/activate.ps1", ".env.*sh", ".env.ps1", ".env.nu",
        ".env.enter", ".env.leave",
    ),
    "editors": (
        ".vscode", ".vscode-*", "*.code-workspace", ".idea", "*.iws", ".run", ".fleet", ".zed", ".vs", ".nova",
        ".theia", ".helix", ".kakrc", ".kak", ".exrc", ".nvimrc", ".nvim.lua", ".nvim", ".vimrc", ".gvimrc", ".vim",
        ".lvimrc", ".local.vimrc", ".local.nvimrc", ".lnvim.lua", ".vimspector.json", "_vimrc", "_gvimrc", "_exrc",
        ".ideavimrc", ".emacs", ".emacs.d", ".dir-locals*.el", ".projectile", "*.sublime-project",
        "*.sublime-workspace", "*.sublime-settings", "*.sublime-build", ".kateproject*", ".project", ".classpath",
        ".settings", ".externalToolBuilders", ".ycm_extra_conf.py", ".clangd", ".ccls", ".luarc.json", ".luarc.jsonc",
        "coc-settings.json", ".nanorc", ".micro", ".lapce", ".pulsar", ".atom", ".c9", ".brackets.json",
    ),
    "continuous integration and bots, which run with the project's secrets": (
        ".github", ".gitlab", ".gitlab-ci.*", "*.gitlab-ci.yml", "*.gitlab-ci.yaml", ".gitea", ".forgejo",
        ".circleci", ".travis.*", "appveyor.*", ".appveyor.*", "azure-pipelines*", ".azure-pipelines*",
        ".azuredevops", ".azure", ".pipelines", "Jenkinsfile*", "*.jenkinsfile", ".jenkins", "bitbucket-pipelines.*",
        ".buildkite", ".drone.*", ".woodpecker", ".woodpecker.*", ".semaphore", ".teamcity", ".cirrus.*", ".builds",
        ".build.yml", ".tekton", "cloudbuild.y*ml", "cloudbuild.json", "buildspec.y*ml", "buildspec-*.y*ml",
        "amplify.yml", ".ci", "wercker.yml", ".wercker", "codefresh.y*ml", ".taskcluster.yml", "zuul.y*ml", "zuul.d",
        ".zuul.*", "netlify.toml", ".readthedocs.*", "renovate.json", "renovate.json5", ".renovaterc*", ".mergify*",
        ".dependabot", ".concourse", ".harness", ".screwdriver*", "screwdriver.yaml", ".earthly", ".dagger",
        ".releaserc*", ".goreleaser.*",
    ),
    "where packages, toolchains and build tools come from": (
        ".npmrc", "npmrc", ".yarnrc", ".yarnrc.yml", ".yarn", ".pnp.*", ".pnpmfile.*", "pnpm-workspace.yaml",
        "bunfig.toml", ".bunfig.toml",
        "pip.conf", "pip.ini", ".pip", ".pypirc", ".pydistutils.cfg", ".condarc", "condarc", "uv.toml", "poetry.toml",
        ".pdm.toml", ".pdm-python", ".cargo", ".bundle", ".gemrc", ".gem", ".bazelrc", "*.bazelrc", ".bazelversion",
        ".bazeliskrc", "tools/bazel", ".buckconfig*", ".pants.rc", ".pants.d", ".mvn", ".m2", ".mavenrc", ".sbtopts",
        ".sbt", ".jvmopts", ".gradle", "gradle/wrapper", "init.gradle", "init.gradle.kts", "nuget.config", ".nuget",
        ".composer", ".terraformrc", "terraform.rc", ".terraform", ".dart_tool", ".cabal", ".stack", ".opam", ".hex",
        ".mix", ".curlrc", "_curlrc", ".wgetrc", ".aria2", ".docker", ".dockercfg", ".kube", ".bin",
    ),
    "shells, logins and terminals": (
        ".bash*", ".profile", ".zsh*", ".zprofile", ".zlogin", ".zlogout", ".zprezto*", ".oh-my-zsh", ".cshrc",
        ".tcshrc", ".login", ".logout", ".kshrc", ".mkshrc", ".shrc", ".shinit", ".inputrc", ".xprofile", ".xinitrc",
        ".xsession*", ".xserverrc", ".xresources", ".xdefaults", ".pam_environment", ".ssh", ".rhosts", ".shosts",
        ".forward", ".procmailrc", ".crontab", ".screenrc", ".tmux*", ".zellij", ".wezterm.lua", ".hammerspoon",
        ".config/fish", ".config/autostart", ".config/systemd", ".config/environment.d", ".local/bin", ".local/share",
        "LaunchAgents", "LaunchDaemons", "profile.ps1", "*_profile.ps1", "*.psrc", "desktop.ini", "autorun.inf",
    ),
    "debuggers and interpreters, when they start": (
        ".gdbinit*", ".gdbearlyinit", "gdbinit", "*-gdb.py", "*-gdb.gdb", ".lldbinit*", ".radare2rc", ".r2rc",
        ".pdbrc*", ".pythonrc*", ".pythonstartup*", "sitecustomize.py", "usercustomize.py", "sitecustomize",
        "usercustomize", "*.pth", "*.egg-link", "pyvenv.cfg", ".venv", "venv", "site-packages", "dist-packages",
        "env/bin", "env/Scripts", "bin/python", "bin/python3", "bin/pip", "bin/pip3", "Scripts/python.exe",
        "Scripts/pip.exe", ".ipython",
        ".jupyter", "ipython_config.py", "jupyter_*_config.*", ".irbrc", ".pryrc", ".rdbgrc*", ".byebugrc",
        ".Rprofile", ".Renviron", "Rprofile.site", ".RData", ".octaverc", ".ghci", ".ocamlinit", ".iex.exs",
        ".erlang", ".sqliterc", ".psqlrc", ".mongorc.js", ".mongoshrc.js", ".my.cnf", ".mylogin.cnf", ".perldb",
        ".proverc", ".ackrc", ".ripgreprc", ".user.ini", ".luacheckrc", ".pylintrc",
    ),
}  # fmt: skip
"""The names by what reads them."""

HARMLESS_DOT_NAMES: tuple[str, ...] = (
    # data that git and other programs only read
    ".gitignore", ".gitkeep", ".keep", ".git-blame-ignore-revs", ".mailmap", ".dockerignore", ".npmignore",
    ".prettierignore", ".eslintignore", ".stylelintignore", ".helmignore", ".gcloudignore", ".vercelignore",
    ".vscodeignore", ".slugignore", ".cfignore", ".ebignore", ".hgignore", ".bzrignore", ".rgignore", ".fdignore",
    ".ignore", ".markdownlintignore", ".sqlfluffignore", ".openapi-generator-ignore", ".chefignore",
    ".terraformignore", ".env", ".env.*", ".env-*", ".flaskenv", ".nojekyll", ".well-known", ".htaccess", ".htpasswd",
    ".ds_store",
    # how the project's own linters, formatters and tests, which the user runs, look at its code
    ".editorconfig", ".prettierrc", ".prettierrc.*", ".eslintrc", ".eslintrc.*", ".stylelintrc", ".stylelintrc.*",
    ".babelrc", ".babelrc.*", ".swcrc", ".browserslistrc", ".postcssrc", ".postcssrc.*", ".mocharc.*", ".nycrc",
    ".nycrc.*", ".c8rc.json", ".jshintrc", ".htmlhintrc", ".oxlintrc.json", ".dependency-cruiser.*", ".size-limit.*",
    ".flake8", ".coveragerc", ".isort.cfg", ".style.yapf", ".pydocstyle", ".ruff.toml", ".mypy.ini", ".yamllint",
    ".yamllint.*", ".markdownlint.json", ".markdownlint.jsonc", ".markdownlint.yaml", ".markdownlint.yml",
    ".markdownlintrc", ".hadolint.yaml", ".hadolint.yml", ".shellcheckrc", ".rubocop.yml", ".rubocop_todo.yml",
    ".rspec", ".simplecov", ".yardopts", ".php-cs-fixer.php", ".php-cs-fixer.dist.php", ".phpcs.xml",
    ".phpcs.xml.dist", ".clang-format", ".clang-tidy", ".clang-format-ignore", ".golangci.*", ".rustfmt.toml",
    ".clippy.toml", ".scalafmt.conf", ".scalafix.conf", ".swiftlint.yml", ".swiftformat", ".credo.exs", ".sqlfluff",
    ".ocamlformat", ".stylua.toml", ".styluaignore", ".editorconfig-checker.json", ".codespellrc", ".typos.toml",
    ".lychee.toml", ".codecov.yml", ".codecov.yaml", ".coveralls.yml", ".tflint.hcl", ".cspell.json", ".cspell.*",
    ".vale.ini",
    # sources of documentation and sites
    ".storybook", ".vitepress", ".vuepress", ".docusaurus", ".changeset", ".changes", ".all-contributorsrc",
    # what is made by a build or a test, and can be made again
    ".pytest_cache", ".mypy_cache", ".ruff_cache", ".hypothesis", ".tox", ".nox", ".eggs", ".cache", ".coverage",
    ".coverage.*", ".ipynb_checkpoints", ".next", ".nuxt", ".output", ".svelte-kit", ".astro", ".angular", ".expo",
    ".turbo", ".parcel-cache", ".nyc_output", ".eslintcache", ".stylelintcache", ".tsbuildinfo", ".sass-cache",
    ".phpunit.result.cache", ".phpunit.cache", ".rspec_status", ".serverless", ".sqlx", ".tmp", ".temp",
    ".benchmarks", ".testmondata", ".build", ".swiftpm",
)  # fmt: skip
"""Dot names that are understood: nothing but the project's own programs acts on them, or they are only data."""


def protecting(parts: tuple[str, ...]) -> str | None:
    """The pattern that protects a path, given its folded components (see `names.fold_path`), or None."""
    for above, part in zip(("", *parts), parts, strict=False):
        if (found := _known(part) or _BELOW.get(f"{above}/{part}")) is not None:
            return found
    return UNKNOWN_DOT_NAME if any(_unknown_dot_name(part) for part in parts) else None


class _Names:
    """Patterns of single names, quick to look up."""

    def __init__(self, patterns: Iterable[str]) -> None:
        patterns = tuple(patterns)
        self._exact = {pattern.casefold(): pattern for pattern in patterns if "*" not in pattern}
        self._globs = tuple(
            (re.compile(fnmatch.translate(pattern.casefold())), pattern) for pattern in patterns if "*" in pattern
        )

    def find(self, name: str) -> str | None:
        if name in self._exact:
            return self._exact[name]
        return next((pattern for regex, pattern in self._globs if regex.match(name)), None)


_PATTERNS = tuple(pattern for group in PROTECTED.values() for pattern in group)
_SINGLE = _Names(pattern for pattern in _PATTERNS if "/" not in pattern)
_HARMLESS = _Names(HARMLESS_DOT_NAMES)
_BELOW = {pattern.casefold(): pattern for pattern in _PATTERNS if "/" in pattern}
"""The patterns of a name below another, which hold no `*`."""


@lru_cache(maxsize=4096)
def _known(name: str) -> str | None:
    return _SINGLE.find(name) or _abbreviated(name)


def _abbreviated(name: str) -> str | None:
    """The pattern whose name has this 8.3 form: `gitmod~1` is `.gitmodules` on a file system of Windows."""
    short = short_name(name)
    if short is None:
        return None
    return next((pattern for pattern in _PATTERNS if _shortens(pattern, *short)), None)


def _shortens(pattern: str, start: str, extension: str) -> bool:
    stem, dot, ending = pattern.casefold().lstrip(".").rpartition(".")
    bare = (stem if dot else ending).replace(".", "").partition("*")[0]
    return bare.startswith(start) and ("*" in ending or (ending[:3] if dot else "") == extension)


@lru_cache(maxsize=4096)
def _unknown_dot_name(name: str) -> bool:
    return name.startswith(".") and _HARMLESS.find(name) is None


_GUARDED_GROUPS = (
    "Joey and Roo",
    "instructions that agents obey",
    "settings of agents, and the servers they start",
    "git and other version control",
    "hook managers",
    "environment loaders",
    "editors",
    "shells, logins and terminals",
    "debuggers and interpreters, when they start",
)
_WRITTEN_BY_BUILDS = frozenset((
    ".git", "git~*", ".hg", ".svn", ".bzr", ".jj", ".sl", ".pijul", "_darcs", "_fossil_", ".fslckout",  # git: see below
    ".direnv", ".devbox", "devbox.d", ".flox", "conda/activate.d", "conda/deactivate.d", "bin/activate",
    "bin/activate.fish", "bin/activate.csh", "bin/activate.ps1", "bin/activate.nu", "bin/activate_this.py",
    "scripts/activate", "scripts/activate.bat", "scripts/activate.ps1", "flake.lock", "devenv.lock",
    ".python-version", ".node-version", ".nvmrc", ".ruby-version", ".ruby-gemset", ".java-version", ".go-version",
    ".terraform-version", ".tool-versions*",
    ".settings", ".project", ".classpath", ".vs", ".run",
    "*.pth", "*.egg-link", "pyvenv.cfg", ".venv", "site-packages", "dist-packages", ".ipython", ".jupyter", ".rdata",
    "env/bin", "env/scripts", "bin/python", "bin/python3", "bin/pip", "bin/pip3", "scripts/python.exe",
    "scripts/pip.exe",
    ".local/bin", ".local/share", "desktop.ini", "*.psrc",
))  # fmt: skip
"""The git folder is guarded by the sandbox itself, which knows what in it runs."""
_GUARDED = tuple(
    pattern for group in _GUARDED_GROUPS for pattern in PROTECTED[group] if pattern.casefold() not in _WRITTEN_BY_BUILDS
)
_GUARDED_NAMES = frozenset(pattern.casefold() for pattern in _GUARDED if "*" not in pattern)
"""Names, and names below another with a slash between them."""
_LAST_OF_TWO = frozenset(pattern.rpartition("/")[2] for pattern in _GUARDED_NAMES if "/" in pattern)
_GUARDED_GLOBS = re.compile("|".join(fnmatch.translate(pattern.casefold()) for pattern in _GUARDED if "*" in pattern))


def is_guarded(path: str | Path) -> bool:
    """Whether a file or folder is guarded, by its name alone: asked of every file of a walk."""
    above, _, name = os.fspath(path).casefold().rpartition("/")
    if name in _GUARDED_NAMES or _GUARDED_GLOBS.match(name):
        return True
    return name in _LAST_OF_TWO and f"{above.rpartition('/')[2]}/{name}" in _GUARDED_NAMES
