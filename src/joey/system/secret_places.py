"""Places below a home folder where secrets are kept. One table for two readers: the policy asks before they are read,
and the sandbox hides them.

Names relative to a home folder, in which `*` stands for anything; a folder counts with all it holds. What only one of
the two does has a reason: a program needs the folder and only a file in it is secret, or the name is too general for a
path that may be anywhere.
"""

from __future__ import annotations

SECRET = (
    # keys and credentials
    ".cf/config.json", ".stripe", ".openvpn", ".wireguard", ".config/syncthing", ".config/openai", ".config/gspread",
    ".local/share/gnupg",
    ".ssh", ".aws", ".azure", ".config/gcloud", ".gnupg", ".pki", ".kube", ".docker", ".helm", ".oci",
    ".terraform.d", ".terraformrc", ".vault-token", ".config/gh", ".config/glab-cli", ".config/hub",
    ".config/doctl", ".config/op", ".1password", ".config/1Password", ".password-store", ".local/share/keyrings",
    ".local/share/kwalletd", ".config/sops", ".config/age", ".netrc", "_netrc", ".git-credentials",
    ".config/git/credentials", ".pgpass", ".my.cnf", ".mylogin.cnf", ".boto", ".s3cfg", ".rclone.conf",
    ".config/rclone", ".huggingface", ".cache/huggingface/token", ".gem/credentials", ".gradle/gradle.properties",
    ".config/heroku", ".config/netlify", ".config/stripe", ".fly", ".wrangler", ".config/.wrangler", ".supabase",
    ".config/containers/auth.json", ".cloudflared", ".ngrok2", ".config/ngrok",
    ".local/share/containers/podman/machine", ".lima", ".colima", ".rd", ".orbstack", ".composer/auth.json",
    ".config/composer/auth.json", ".ivy2/.credentials", ".sbt/credentials", ".sbt/1.0/credentials", ".condarc",
    ".subversion/auth", ".hgrc", ".pulumi", ".config/hcloud", ".config/linode-cli", ".aliyun", ".bluemix",
    ".argocd", ".config/argocd", ".kaggle", ".minikube", ".step", ".age", ".putty", ".bitcoin", ".ethereum", ".env",
    ".Renviron", ".config/anthropic", ".anthropic", ".openai", ".cargo/credentials*", ".env.*", ".envrc",
    # more of clouds, hosts of code and registries
    ".vercel", ".now", ".local/share/com.vercel.cli", ".config/vercel", ".netlify", ".railway", ".config/railway",
    ".render", ".config/wrangler", ".expo", ".config/planetscale", ".config/neonctl", ".config/scw",
    ".config/exoscale", ".config/openstack", ".gcloud", ".talos", ".chef", ".vagrant.d", ".dockercfg",
    ".config/tea", ".config/berg", ".gcm", ".sentryclirc", ".circleci/cli.yml", ".travis/config.yml",
    ".bundle/config", ".local/share/gem/credentials", ".pub-cache/credentials.json",
    ".config/dart/pub-credentials.json", ".conan/.conan.db", ".conan2/credentials.json", ".vault_pass*",
    ".ansible_galaxy", ".config/cachix", ".jupyter/jupyter_*_config.json", ".local/share/jupyter/runtime",
    ".modal.toml", ".config/wandb", ".config/huggingface", ".ollama/id_ed25519", ".databricks*", ".wandb",
    ".config/NuGet",
    # databases, mail and other machines
    ".dbt", ".snowsql", ".config/snowflake", ".influxdbv2", ".mc", ".mcli", ".config/atlascli", ".redisclirc",
    ".odbc.ini", ".authinfo*", ".msmtprc", ".config/msmtp", ".fetchmailrc", ".getmail", ".config/getmail",
    ".mbsyncrc", ".config/isyncrc", ".offlineimaprc", ".config/himalaya", ".config/aerc", ".mailrc", ".mutt",
    ".muttrc", ".config/mutt", ".config/neomutt", ".tsh", ".Xauthority", ".ICEauthority", ".vnc",
    ".config/tigervnc", ".config/remmina", ".local/share/remmina", ".config/filezilla", ".filezilla",
    ".config/freerdp", ".config/rustdesk", ".anydesk", ".smbcredentials", ".davfs2", ".lftp", ".local/share/lftp",
    ".erlang.cookie", ".acme.sh", ".lego", ".cert", ".certbot", ".local/share/mkcert", ".local/share/caddy",
    ".snowflake*",
    # safes for passwords and money
    ".config/Bitwarden*", ".bitwarden", ".op", ".lastpass", ".local/share/lpass", ".config/keepassxc", "*.kdbx",
    ".config/rbw", ".local/share/rbw", ".cache/rbw", ".gopass*", ".config/gopass", ".local/share/gopass",
    ".local/share/pass", ".config/solana", ".electrum", ".litecoin", ".dogecoin", ".monero", ".zcash",
    ".foundry/keystores", ".brownie/accounts", ".near-credentials", ".sui", ".aptos", ".config/Exodus", ".secrets*",
    ".credentials*",
    # other agents, and what they remember
    ".claude", ".claude.json", ".codex", ".gemini", ".config/goose", ".config/github-copilot", ".copilot", ".qwen",
    ".cursor", ".config/Cursor", ".vscode-server/data/User/globalStorage", ".vibe", ".config/opencode",
    ".local/share/opencode", ".continue", ".aider*", ".config/aider", ".roo", ".cline", ".codeium", ".windsurf",
    ".config/Windsurf", ".config/VSCodium/User/globalStorage", ".kiro", ".factory", ".augment", ".config/amp",
    ".local/share/amp", ".local/share/goose", ".config/crush", ".local/share/crush", ".mcp-auth",
    ".config/io.datasette.llm", ".config/zed", ".config/JetBrains",
    # browsers and mail
    ".mozilla", ".config/chromium", ".config/BraveSoftware", ".config/vivaldi", ".config/opera", ".thunderbird",
    ".cache/mozilla", ".cache/google-chrome", ".cache/chromium", ".var/app", ".config/Signal", ".config/Slack",
    ".local/share/evolution", ".config/evolution", ".librewolf", ".waterfox", ".zen", ".config/discord",
    ".config/Element", ".local/share/TelegramDesktop", ".purple", ".irssi", ".weechat", ".config/weechat",
    ".config/hexchat", ".config/joplin*", ".config/google-chrome*", ".config/microsoft-edge*",
    # what was typed
    ".history", ".local/share/fish/fish_history", ".lesshst", ".local/share/atuin", ".viminfo",
    ".local/state/bash/history", ".*history", ".*_hist", ".histfile", ".zsh_sessions", ".bash_sessions",
    ".config/zsh/.*hist*", ".local/state/zsh", ".local/share/nu", ".config/nushell/history.*", ".local/share/xonsh",
    ".local/state/xonsh", ".local/share/mcfly", ".config/elvish/db", ".local/state/elvish",
    ".config/fish/fish_variables", ".ipython/profile_*/history.sqlite", ".local/state/*history",
    ".local/state/*hst", ".local/share/*hst", ".local/share/tig/history", ".config/*cli/history",
    ".config/psysh/psysh_history", ".julia/logs/repl_history.jl", ".ghc/ghci_history", ".lldb/*history", ".dbshell",
    ".mongodb", ".local/share/nvim/shada", ".local/state/nvim/shada", ".local/share/recently-used.xbel",
    ".w3m/history",
)  # fmt: skip
EMPTIED = (
    ".npmrc", ".yarnrc", ".yarnrc.yml", ".pypirc", ".config/pip/pip.conf", ".pip/pip.conf", ".config/uv/uv.toml",
    ".curlrc", ".config/curlrc", ".wgetrc", ".config/nix/nix.conf",
)  # fmt: skip
"""Tokens stand in these, and their programs stop when they cannot be read: the sandbox shows them empty."""
ONLY_POLICY = (
    "Library/Keychains", "Library/Cookies", "Library/Application Support", ".config/helm", ".ansible", ".pip",
    ".config/pip", ".m2", ".nuget", ".hex", ".config/configstore", ".config/joey", ".local/state/joey",
    ".cache/joey", ".config/Code/User", ".local/share/powershell", "snap/firefox", "snap/chromium",
)  # fmt: skip
"""Not hidden as a whole: programs need them, or the sandbox hides them as Joey's own."""
ONLY_SANDBOX = (
    ".m2/settings.xml", ".m2/settings-security.xml", ".config/helm/registry", ".nuget/NuGet",
    ".ansible/galaxy_token", ".hex/hex.config", ".config/configstore/firebase-tools.json",
    ".config/configstore/snyk.json", ".config/Code/User/globalStorage", ".local/share/powershell/PSReadLine",
    "snap",
)  # fmt: skip
"""What is secret in those, and a name that is a folder of the system as well."""
