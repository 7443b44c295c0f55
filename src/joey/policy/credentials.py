"""Places where credentials are kept: whatever is read there is asked about, however harmless the command.

Names below the home folder, whoever's it is, and a few places of the system. As in `protected`, a folder counts with
all it holds and letter case does not count.
"""

from __future__ import annotations

import fnmatch
import re

SECRET: tuple[str, ...] = (
    # keys and passwords
    ".ssh", ".gnupg", ".pki", ".age", ".config/age", ".config/sops", ".password-store", ".local/share/keyrings",
    ".local/share/kwalletd", ".local/share/pass", ".config/keepassxc", ".config/Bitwarden*", ".config/1Password",
    ".op", ".config/op", ".lastpass", ".gopass*", "Library/Keychains", "*.kdbx", ".vault-token", ".Xauthority",
    ".ICEauthority", ".bitwarden", ".config/rbw", ".local/share/rbw", ".config/gopass", ".local/share/gopass",
    ".local/share/lpass", ".vault_pass*", ".tsh", ".vnc", ".config/tigervnc", ".config/remmina", ".local/share/remmina",
    ".config/filezilla", ".filezilla", ".config/freerdp", ".config/rustdesk", ".anydesk", ".putty", ".acme.sh", ".lego",
    ".certbot", ".local/share/mkcert", ".local/share/caddy", ".erlang.cookie",
    # logins of network programs and databases
    ".netrc", "_netrc", ".authinfo*", ".git-credentials", ".config/git/credentials", ".pgpass", ".my.cnf",
    ".mylogin.cnf", ".mongodb", ".dbshell", ".redisclirc", ".config/rclone", ".rclone.conf", ".s3cfg", ".boto", ".mc",
    ".smbcredentials", ".davfs2", ".msmtprc", ".mutt", ".config/msmtp", ".config/neomutt", ".config/weechat",
    ".dbt/profiles.yml", ".influxdbv2", ".mcli", ".config/atlascli", ".odbc.ini", ".fetchmailrc", ".getmail",
    ".config/getmail", ".mbsyncrc", ".config/isyncrc", ".offlineimaprc", ".config/himalaya", ".config/aerc", ".mailrc",
    ".muttrc", ".config/mutt", ".local/share/evolution", ".config/evolution",
    ".config/hexchat", ".thunderbird", ".curlrc", ".wgetrc", ".subversion/auth",
    # clouds, clusters and containers
    ".aws", ".azure", ".config/gcloud", ".gcloud", ".config/doctl", ".oci", ".bluemix", ".aliyun", ".config/hcloud",
    ".config/linode-cli", ".config/scw", ".fly", ".config/netlify", ".netlify", ".config/vercel", ".vercel", ".now",
    ".local/share/com.vercel.cli", ".config/heroku", ".config/wrangler", ".wrangler", ".railway", ".config/stripe",
    ".kube", ".docker", ".dockercfg", ".config/containers/auth.json", ".helm", ".config/helm", ".minikube", ".talos",
    ".terraform.d", ".terraformrc", ".pulumi", ".chef", ".ansible", ".vagrant.d", ".databricks*", ".snowflake*",
    ".cloudflared", ".ngrok2", ".config/ngrok", ".supabase", ".argocd", ".config/argocd", ".config/railway",
    ".config/planetscale", ".config/neonctl", ".config/exoscale", ".config/openstack", ".config/snowflake",
    ".config/wandb", ".config/cachix", ".local/share/jupyter/runtime",
    ".snowsql", ".kaggle", ".huggingface", ".cache/huggingface/token", ".config/huggingface", ".modal.toml", ".wandb",
    # hosts of code and registries of packages
    ".config/gh", ".config/hub", ".config/glab-cli", ".config/tea", ".config/github-copilot", ".config/berg",
    ".npmrc", ".yarnrc", ".yarnrc.yml", ".pypirc", ".pip", ".config/pip", ".cargo/credentials*", ".gem/credentials",
    ".m2", ".gradle/gradle.properties", ".nuget", ".config/NuGet", ".composer/auth.json",
    ".config/composer/auth.json", ".condarc", ".hex", ".pub-cache/credentials.json",
    ".bundle/config", ".local/share/gem/credentials", ".gcm", ".sentryclirc", ".conan2/credentials.json",
    ".config/dart/pub-credentials.json", ".config/configstore",
    # agents: settings, keys and what was talked about
    ".config/joey", ".local/state/joey", ".cache/joey", ".claude", ".claude.json", ".codex", ".gemini", ".cursor",
    ".codeium", ".continue", ".aider*", ".config/opencode", ".local/share/opencode", ".config/goose", ".config/amp",
    ".config/crush", ".local/share/crush", ".qwen", ".augment", ".kiro", ".factory", ".config/io.datasette.llm",
    ".roo/mcp.json", ".copilot", ".vibe", ".local/share/goose", ".local/share/amp", ".mcp-auth",
    ".config/zed", ".openai", ".anthropic", ".ollama/id_ed25519",
    # browsers and messengers
    ".mozilla", ".config/google-chrome*", ".config/chromium", ".config/BraveSoftware", ".config/microsoft-edge*",
    ".config/vivaldi", ".config/opera", ".librewolf", ".zen", ".var/app", "snap/firefox", "snap/chromium",
    "Library/Application Support", "Library/Cookies", ".config/Slack", ".config/discord", ".config/Signal",
    ".local/share/TelegramDesktop", ".config/Code/User", ".config/Cursor", ".electrum", ".bitcoin", ".ethereum",
    ".config/solana", ".litecoin", ".dogecoin", ".monero", ".zcash", ".foundry/keystores", ".near-credentials",
    ".config/Exodus", ".waterfox", ".config/Element", ".purple", ".irssi", ".weechat", ".config/JetBrains",
    # what was typed, and variables that hold keys
    ".*history", ".history", ".histfile", ".local/share/fish/fish_history", ".config/fish/fish_variables",
    ".zsh_sessions", ".bash_sessions", ".local/share/nu", ".config/nushell/history.*", ".local/share/xonsh",
    ".local/share/atuin", ".local/share/mcfly", ".local/state/bash/history", ".local/state/zsh",
    ".local/state/*history",
    ".ipython/profile_*/history.sqlite", ".local/share/nvim/shada", ".local/state/nvim/shada",
    ".local/share/powershell", ".lesshst", ".viminfo", ".env", ".env.*", ".envrc", ".secrets*", ".credentials*",
)  # fmt: skip
"""Below a home folder."""

_SYSTEM = (
    "/etc/shadow*", "/etc/gshadow*", "/etc/sudoers*", "/etc/ssh/*_key", "/etc/ssl/private*", "/etc/krb5.keytab",
    "/etc/letsencrypt*", "/etc/kubernetes*", "/etc/rancher*", "/etc/wireguard*", "/etc/openvpn*", "/etc/docker*",
    "/etc/networkmanager/system-connections*", "/etc/security/opasswd", "/etc/environment", "/proc/*/environ",
    "/proc/*/mem", "/proc/*/cmdline", "/proc/*/maps", "/proc/*/task/*", "/proc/kcore", "/proc/keys", "/dev/mem",
    "/run/secrets*", "/var/run/secrets*", "/run/user/*", "/run/credentials*", "/var/lib/docker*", "/var/lib/kubelet*",
    "/var/lib/sss*", "/var/spool/cron*", "/var/backups*",
)  # fmt: skip
"""Of the system, as whole paths in which `*` stands for anything."""


_BELOW_HOME = re.compile(
    "(?:" + "|".join(re.escape(each.casefold()).replace(r"\*", "[^/]*") for each in SECRET) + ")(?:/|$)"
)
_OF_SYSTEM = re.compile("|".join(map(fnmatch.translate, _SYSTEM)))


def is_credential(below_home: str) -> bool:
    """Whether a folded path, relative to a home folder, leads to credentials."""
    return _BELOW_HOME.match(below_home) is not None


def is_system_credential(path: str) -> bool:
    """Whether a folded absolute path leads to credentials of the system."""
    return _OF_SYSTEM.match(path) is not None


def holds_credentials(path: str) -> bool:
    """Whether a folded absolute path outside the workspace leads to credentials, of the system or of any user."""
    if is_system_credential(path):
        return True
    return any(is_credential(path[at + 1 :]) for at, char in enumerate(path) if char == "/")
