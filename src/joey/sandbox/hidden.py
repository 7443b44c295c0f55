"""Which places a command does not see, and which caches it gets of its own.

Names relative to a home folder, in which `*` stands for anything; a folder is hidden with all it holds. What is hidden
is empty and cannot be opened, so that a program says "Permission denied" and not that there are no keys. A few files
are read by everyday programs that stop when they cannot: those are simply empty.
"""

from __future__ import annotations

import contextlib
import os
import pwd
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

SECRETS = (
    # keys and credentials
    ".ssh", ".aws", ".azure", ".config/gcloud", ".gnupg", ".pki", ".kube", ".docker", ".helm", ".oci", ".terraform.d",
    ".terraformrc", ".vault-token", ".config/gh", ".config/glab-cli", ".config/hub", ".config/doctl", ".config/op",
    ".1password", ".config/1Password", ".config/Bitwarden", ".password-store", ".local/share/keyrings",
    ".local/share/kwalletd", ".config/sops", ".config/age", ".netrc", "_netrc", ".git-credentials",
    ".config/git/credentials", ".pgpass", ".my.cnf", ".mylogin.cnf", ".boto", ".s3cfg", ".rclone.conf",
    ".config/rclone", ".huggingface", ".cache/huggingface/token", ".cargo/credentials", ".cargo/credentials.toml",
    ".gem/credentials", ".m2/settings.xml", ".m2/settings-security.xml", ".gradle/gradle.properties",
    ".config/heroku", ".config/netlify", ".config/stripe", ".fly", ".wrangler", ".config/.wrangler", ".supabase",
    ".config/containers/auth.json", ".config/helm/registry", ".cloudflared", ".ngrok2", ".config/ngrok",
    ".local/share/containers/podman/machine", ".lima", ".colima", ".rd", ".orbstack", ".composer/auth.json",
    ".config/composer/auth.json", ".nuget/NuGet", ".ivy2/.credentials", ".sbt/credentials", ".sbt/1.0/credentials",
    ".condarc", ".subversion/auth", ".hgrc", ".databrickscfg", ".pulumi", ".config/hcloud", ".config/linode-cli",
    ".aliyun", ".bluemix", ".argocd", ".config/argocd", ".kaggle", ".minikube", ".step", ".age", ".putty", ".bitcoin",
    ".ethereum", ".env", ".Renviron", ".config/anthropic", ".anthropic", ".openai",
    # more of clouds, hosts of code and registries
    ".vercel", ".now", ".local/share/com.vercel.cli", ".config/vercel", ".netlify", ".railway", ".config/railway",
    ".render", ".config/wrangler", ".expo", ".config/planetscale", ".config/neonctl", ".config/scw", ".config/exoscale",
    ".config/openstack", ".gcloud", ".talos", ".chef", ".vagrant.d", ".dockercfg", ".config/tea", ".config/berg",
    ".gcm", ".sentryclirc", ".circleci/cli.yml", ".travis/config.yml", ".config/configstore/firebase-tools.json",
    ".config/configstore/snyk.json", ".bundle/config", ".local/share/gem/credentials", ".hex/hex.config",
    ".pub-cache/credentials.json", ".config/dart/pub-credentials.json", ".conan/.conan.db", ".conan2/credentials.json",
    ".vault_pass*", ".ansible/galaxy_token", ".ansible_galaxy", ".config/cachix", ".jupyter/jupyter_*_config.json",
    ".local/share/jupyter/runtime", ".modal.toml", ".config/wandb", ".config/huggingface", ".ollama/id_ed25519",
    # databases, mail and other machines
    ".dbt", ".snowsql", ".snowflake", ".config/snowflake", ".influxdbv2", ".mc", ".mcli", ".config/atlascli",
    ".redisclirc", ".odbc.ini", ".authinfo*", ".msmtprc", ".config/msmtp", ".fetchmailrc", ".getmail",
    ".config/getmail", ".mbsyncrc", ".config/isyncrc", ".offlineimaprc", ".config/himalaya", ".config/aerc", ".mailrc",
    ".mutt", ".muttrc", ".config/mutt", ".config/neomutt", ".tsh", ".Xauthority", ".ICEauthority", ".vnc",
    ".config/tigervnc", ".config/remmina", ".local/share/remmina", ".config/filezilla", ".filezilla",
    ".config/freerdp", ".config/rustdesk", ".anydesk", ".smbcredentials", ".davfs2", ".lftp", ".local/share/lftp",
    ".erlang.cookie", ".acme.sh", ".lego", ".cert", ".certbot", ".local/share/mkcert", ".local/share/caddy",
    # safes for passwords and money
    ".config/Bitwarden*", ".bitwarden", ".op", ".lastpass", ".local/share/lpass", ".config/keepassxc", "*.kdbx",
    ".config/rbw", ".local/share/rbw", ".cache/rbw", ".gopass*", ".config/gopass", ".local/share/gopass",
    ".local/share/pass", ".config/solana", ".electrum", ".litecoin", ".dogecoin", ".monero", ".zcash",
    ".foundry/keystores", ".brownie/accounts", ".near-credentials", ".sui", ".aptos", ".config/Exodus",
    ".secrets*", ".credentials*",
    # other agents, and what they remember
    ".claude", ".claude.json", ".codex", ".gemini", ".config/goose", ".config/github-copilot", ".copilot", ".qwen",
    ".cursor", ".config/Cursor", ".config/Code/User/globalStorage", ".vscode-server/data/User/globalStorage",
    ".vibe", ".config/opencode", ".local/share/opencode", ".continue", ".aider*", ".config/aider", ".roo", ".cline",
    ".codeium", ".windsurf", ".config/Windsurf", ".config/VSCodium/User/globalStorage", ".kiro", ".factory", ".augment",
    ".config/amp", ".local/share/amp", ".local/share/goose", ".config/crush", ".local/share/crush", ".mcp-auth",
    ".config/io.datasette.llm", ".config/zed", ".config/JetBrains",
    # browsers and mail
    ".mozilla", ".config/google-chrome", ".config/google-chrome-beta", ".config/chromium", ".config/BraveSoftware",
    ".config/microsoft-edge", ".config/vivaldi", ".config/opera", ".thunderbird", ".cache/mozilla",
    ".cache/google-chrome", ".cache/chromium", "snap", ".var/app", ".config/Signal", ".config/Slack",
    ".local/share/evolution", ".config/evolution", ".librewolf", ".waterfox", ".zen", ".config/discord",
    ".config/Element", ".local/share/TelegramDesktop", ".purple", ".irssi", ".weechat", ".config/weechat",
    ".config/hexchat", ".config/joplin*",
    # what was typed
    ".bash_history", ".zsh_history", ".zhistory", ".history", ".local/share/fish/fish_history", ".python_history",
    ".node_repl_history", ".psql_history", ".mysql_history", ".sqlite_history", ".rediscli_history", ".lesshst",
    ".irb_history", ".local/share/atuin", ".viminfo", ".local/state/bash/history", ".*history", ".*_hist", ".histfile",
    ".zsh_sessions", ".bash_sessions", ".config/zsh/.*hist*", ".local/state/zsh", ".local/share/nu",
    ".config/nushell/history.*", ".local/share/xonsh", ".local/state/xonsh", ".local/share/powershell/PSReadLine",
    ".local/share/mcfly", ".config/elvish/db", ".local/state/elvish", ".config/fish/fish_variables",
    ".ipython/profile_*/history.sqlite", ".local/state/*history", ".local/state/*hst", ".local/share/*hst",
    ".local/share/tig/history", ".config/*cli/history", ".config/psysh/psysh_history", ".julia/logs/repl_history.jl",
    ".ghc/ghci_history", ".lldb/*history", ".dbshell", ".mongodb", ".local/share/nvim/shada", ".local/state/nvim/shada",
    ".local/share/recently-used.xbel", ".w3m/history",
)  # fmt: skip
EMPTIED = (
    ".npmrc", ".yarnrc", ".yarnrc.yml", ".pypirc", ".config/pip/pip.conf", ".pip/pip.conf", ".config/uv/uv.toml",
    ".curlrc", ".config/curlrc", ".wgetrc", ".config/nix/nix.conf",
)  # fmt: skip
"""Tokens stand in these, and their programs stop when they cannot be read."""
OF_THE_SYSTEM = (
    "/etc/shadow", "/etc/shadow-", "/etc/gshadow", "/etc/gshadow-", "/etc/sudoers", "/etc/sudoers.d",
    "/etc/ssl/private", "/etc/krb5.keytab", "/var/spool/cron", "/var/spool/at", "/var/mail", "/var/lib/docker",
)  # fmt: skip
"""For root, whom file permissions do not stop."""
CACHES = (
    ".cache", ".npm", ".cargo/registry", ".cargo/git", ".gradle/caches", ".gradle/wrapper", ".m2/repository",
    "go/pkg/mod", ".local/share/pnpm/store", ".yarn/berry/cache", ".bun/install/cache", ".nuget/packages",
    ".ivy2/cache", ".deno",
)  # fmt: skip
"""Written to by builds. Commands get folders of Joey's in their place, one set a workspace."""
READABLE_CACHES = ("ms-playwright", "puppeteer", "huggingface/hub", "torch", "pre-commit", "uv/python", "bazelisk")
"""Parts of ~/.cache that were fetched once and are large: commands read those of the user."""
SOCKETS = ("SSH_AUTH_SOCK", "GPG_AGENT_INFO", "GNOME_KEYRING_CONTROL", "XAUTHORITY")
"""Variables that name a socket or a key of the session."""


def homes(environment: Mapping[str, str] = os.environ) -> tuple[Path, ...]:
    """The home folder as the environment has it and as the system has it; for root everybody's."""
    found = [Path(environment["HOME"])] if Path(environment.get("HOME", "")).is_absolute() else []
    with contextlib.suppress(KeyError):
        found.append(Path(pwd.getpwuid(os.getuid()).pw_dir))
    if os.geteuid() == 0:
        found += _folders(Path("/home"))
    resolved = (each.resolve() for each in found if each.is_dir())
    return tuple(dict.fromkeys(each for each in resolved if each != Path("/")))


def _folders(folder: Path) -> list[Path]:
    try:
        return [each for each in folder.iterdir() if each.is_dir()]
    except OSError:
        return []


def hidden_places(
    own: Iterable[Path], hide: Iterable[str], show: Iterable[str], environment: Mapping[str, str] = os.environ
) -> tuple[tuple[Path, ...], tuple[Path, ...]]:
    """What exists of the places to hide, links followed: those that cannot be opened, and those that are empty."""
    users = homes(environment)
    shown = {Path(place).resolve() for text in show for place in _named(text, users)}
    closed = [
        *own,
        *(place for home in users for name in SECRETS for place in _matching(home, name)),
        *(place for text in hide for place in _named(text, users)),
        *_sockets(environment),
        *(map(Path, OF_THE_SYSTEM) if os.geteuid() == 0 else ()),
        *(Path("/etc/ssh").glob("ssh_host_*_key") if os.geteuid() == 0 else ()),
    ]
    emptied = [home / name for home in users for name in EMPTIED]
    always = {place.resolve() for place in own}
    keep = [each for each in _existing(closed) if each not in shown or each in always]
    return tuple(keep), tuple(each for each in _existing(emptied) if each not in shown)


def _matching(home: Path, name: str) -> Iterator[Path]:
    """What a name of the list stands for in a home folder."""
    return home.glob(name) if "*" in name else iter((home / name,))


def _named(text: str, users: Iterable[Path]) -> Iterator[Path]:
    """A place as a person writes it: absolute, or from the home folder."""
    if text.startswith("~/") or not text.startswith("/"):
        yield from (home / text.removeprefix("~/") for home in users)
    else:
        yield Path(text)


def _sockets(environment: Mapping[str, str]) -> Iterator[Path]:
    for name in SOCKETS:
        value = environment.get(name, "")
        if value.startswith("/"):
            yield Path(value)


def _existing(places: Iterable[Path]) -> Iterator[Path]:
    seen = set()
    for place in places:
        try:
            resolved = place.resolve(strict=True)
        except OSError:
            continue
        if resolved not in seen and resolved != Path("/"):
            seen.add(resolved)
            yield resolved
