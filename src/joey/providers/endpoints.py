"""Who serves models. One that speaks a wire format we know is one line."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from joey.system.hosts import host_of, is_this_machine


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A place that serves models: its wire format, its address, and the variable that holds its key."""

    wire: str
    key_variable: str
    base_url: str | None = None
    base_url_variable: str | None = None
    fields: Mapping[str, Any] = field(default_factory=dict)
    """What goes into the body of every request in Chat Completions, beside the API."""

    @property
    def needs_key(self) -> bool:
        """Whether it is out there, and not a server of the user's own."""
        return self.base_url is not None and self.base_url.startswith("https:")


ENDPOINTS: Mapping[str, Endpoint] = {
    "anthropic": Endpoint("anthropic", "ANTHROPIC_API_KEY", None, "ANTHROPIC_BASE_URL"),
    "openai": Endpoint("openai", "OPENAI_API_KEY", None, "OPENAI_BASE_URL"),
    "openrouter": Endpoint("openai", "OPENROUTER_API_KEY", "https://openrouter.ai/api/v1"),
    "deepseek": Endpoint("openai", "DEEPSEEK_API_KEY", "https://api.deepseek.com/v1"),
    "mistral": Endpoint("openai", "MISTRAL_API_KEY", "https://api.mistral.ai/v1"),
    "ollama": Endpoint("openai", "OLLAMA_API_KEY", "http://localhost:11434/v1", "OLLAMA_BASE_URL"),
    "llamacpp": Endpoint(
        "openai", "LLAMACPP_API_KEY", "http://localhost:8080/v1", "LLAMACPP_BASE_URL", {"return_progress": True}
    ),
    "lmstudio": Endpoint("openai", "LMSTUDIO_API_KEY", "http://localhost:1234/v1", "LMSTUDIO_BASE_URL"),
    "vllm": Endpoint("openai", "VLLM_API_KEY", "http://localhost:8000/v1", "VLLM_BASE_URL"),
}
"""The providers that can be named in front of a model."""
LOCAL = "local"
"""And the one that is no place: a model in this process."""
WIRES: Mapping[str, str] = {
    "anthropic": "joey.providers.anthropic",
    "openai": "joey.providers.openai_either",
    LOCAL: "joey.providers.local.provider",
}
"""The module for each wire format; its function `connect` opens a provider."""
APIS: Mapping[str, str] = {
    "chat": "joey.providers.openai_chat",
    "responses": "joey.providers.openai_responses",
    "messages": "joey.providers.anthropic",
}
"""The module for each API that can be chosen."""
_PLAIN: Mapping[str, str] = {
    "anthropic": "joey.providers.plain_messages",
    "messages": "joey.providers.plain_messages",
    "chat": "joey.providers.plain_chat",
}
"""The module for a server of this machine, which needs no SDK."""


def is_plain(address: str) -> bool:
    """Whether an address needs nothing that an SDK is for: it is this machine's, not encrypted, and names no user."""
    return address.lower().startswith("http:") and is_this_machine(host_of(address)) and "@" not in address


def module_for(wire: str, address: str | None) -> str:
    """The module that speaks a wire format or an API with the server at an address."""
    plain = _PLAIN.get(wire) if address and is_plain(address) else None
    return plain or {**WIRES, **APIS}[wire]
