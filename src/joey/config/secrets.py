"""What looks like a key or a password. It does not belong in a file that is shared, shown and backed up."""

from __future__ import annotations

import re

_NAMES = re.compile(
    r"(^|[_.-])(api[_-]?key|apikey|access[_-]?key|auth|token|secret|password|passwd|credentials?)$", re.IGNORECASE
)
_VALUES = re.compile(
    r"\b(sk-[\w-]{12,}|sk_(live|test)_\w{8,}|gsk_\w{12,}|xai-\w{12,}|hf_\w{12,}|AIza[\w-]{20,}|AKIA[0-9A-Z]{12,}"
    r"|gh[oprsu]_\w{12,}|github_pat_\w{12,}|glpat-[\w-]{12,}|xox[abprs]-[\w-]{8,}|eyJ[\w-]{8,999}\.[\w-]{8,999}\.[\w-]*)"
    r"|://[^/@\s]{1,200}:[^/@\s]{1,200}@|[?&](api[_-]?key|key|token|access_token)=[^&\s]+"
    r"|-----BEGIN [A-Z ]*PRIVATE KEY-----",
    re.IGNORECASE,
)

ADVICE = (
    "Keys are never kept in settings. Set the provider's variable in the environment (ANTHROPIC_API_KEY, "
    "OPENAI_API_KEY, …; `joey models` lists them) or keep it in the system's keyring, and take it out of here"
)


def secret_in(name: str, value: object) -> bool:
    """Whether a setting of this name and value holds something that looks like a secret."""
    if isinstance(value, dict):
        return any(secret_in(str(key), item) for key, item in value.items())
    if isinstance(value, (list, tuple)):
        return any(secret_in("", item) for item in value)
    return bool(_NAMES.search(name)) or (isinstance(value, str) and bool(_VALUES.search(value)))
