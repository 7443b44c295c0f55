"""In which protocol a task speaks with a model, and why.

What the user chose counts, then what the catalogue says of the model. For models that people run themselves, Joey looks
at the chat template, and at the name where there is none: they show the dialect that the model was trained to write.

| the model | the protocol |
|---|---|
| one that `joey local install` fetches | `xml` with a grammar, which was measured to be best for it |
| another GGUF file in this process | its own dialect with a grammar; `xml` with a grammar if it has none |
| on llama.cpp or vLLM | its own dialect with a grammar |
| on Ollama | native calls where Ollama reads them; else its own dialect |
| any other | native calls; `xml` for one that takes no tools |

Its own dialect is only taken if its markers are text. Markers that are tokens of their own (`[TOOL_CALLS]`,
`<|tool_call|>`) are left out of the text by servers; there, the server's own reading of calls is better than none.
"""

from __future__ import annotations

import importlib
import os
import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from joey import protocols
from joey.app.models import catalogue
from joey.app.sources import key_for
from joey.config import Config
from joey.messages import TextBlock, ToolUseBlock
from joey.protocols.resolve import AUTO, NATIVE, WITHOUT_NATIVE_CALLS, resolve_protocol
from joey.providers import ENDPOINTS, LOCAL, Abilities
from joey.providers.discovery import usual_addresses
from joey.providers.local.weights import CATALOGUE, chat_template, control_words, model_file
from joey.providers.templates import ServedModel, look_at_server

if TYPE_CHECKING:
    from joey.protocols.detect import Detected

GRAMMAR_SERVERS = {"llamacpp": "llama.cpp", "vllm": "vllm"}
"""The servers that take a grammar, and in which form."""
_SERVERS = (*GRAMMAR_SERVERS, "ollama")
_OWN_TOKENS = re.compile(r"[|｜]|\[[A-Z_]+\]|<start_|<end_|<escape>")
"""Markers that are tokens of their own, as far as one can tell without the vocabulary."""
_SAMPLE = ToolUseBlock("call_00001", "read", {"path": "a"})


@dataclass(frozen=True, slots=True)
class ProtocolChoice:
    """A protocol, why it is this one, and the form in which the model's server takes a grammar for it."""

    name: str
    why: str
    grammar: str | None = None

    def __str__(self) -> str:
        return f"{self.name}{' with a grammar' if self.grammar else ''} ({self.why})"


@dataclass(frozen=True, slots=True)
class _Evidence:
    """What is known of a model's dialect."""

    dialect: str = ""
    why: str = ""
    is_text: bool = True
    """Whether its markers reach us as text."""
    calls_are_read: bool | None = None


_served: dict[tuple[str, str, str], ServedModel] = {}


def look_again(label: str, config: Config) -> None:
    """Ask the model's server what it runs, if it is one that says so and nobody chose a protocol. It may take a while:
    not in the event loop."""
    if config.value("protocol") not in (None, AUTO):
        return
    provider, _, model = label.partition("/")
    if provider in _SERVERS and (address := _address(provider, label, config)):
        key = key_for(label) or os.environ.get(ENDPOINTS[provider].key_variable)
        _served[provider, address, model] = look_at_server(provider, address, model, key)


def choose_protocol(config: Config, label: str, abilities: Abilities, template: str = "") -> ProtocolChoice:
    """The protocol for a model, by its full name. `template` is its chat template, where the provider has it."""
    provider, chosen = label.partition("/")[0], config.value("protocol")
    if chosen and chosen != AUTO:
        where = config.settings["protocol"].where
        return _with_grammar(provider, ProtocolChoice(chosen, where or "it was chosen"))
    if abilities.dialect:
        return _with_grammar(provider, ProtocolChoice(abilities.dialect, "the catalogue says that it writes this"))
    found = _evidence(config, label, template) if chosen == AUTO or _is_own(label) else _Evidence()
    if found.dialect and (chosen == AUTO or (found.is_text and not found.calls_are_read)):
        return _with_grammar(provider, ProtocolChoice(found.dialect, found.why))
    return _usual(label, abilities, found)


def protocol_of(label: str, config: Config) -> ProtocolChoice:
    """What a task with this model would speak here, for people who want to know. Its server is asked again."""
    look_again(label, config)
    if label.startswith(f"{LOCAL}/"):
        return choose_protocol(config, label, Abilities(tools=False))
    return choose_protocol(config, label, catalogue(config).facts(label).abilities)


def server_of_model(label: str, config: Config) -> str:
    """The address that is asked what it runs; empty for a model whose server is not asked."""
    provider = label.partition("/")[0]
    return _address(provider, label, config) if provider in _SERVERS else ""


def _with_grammar(provider: str, choice: ProtocolChoice) -> ProtocolChoice:
    """A dialect is held to its grammar where the server takes one. Engines in this process always do."""
    if provider == LOCAL:
        return replace(choice, grammar=GRAMMAR_SERVERS["llamacpp"])
    takes = provider in GRAMMAR_SERVERS and choice.name in protocols.dialect_names()
    return replace(choice, grammar=GRAMMAR_SERVERS[provider]) if takes else choice


def _usual(label: str, abilities: Abilities, found: _Evidence) -> ProtocolChoice:
    provider, _, model = label.partition("/")
    name = resolve_protocol(supports_native=abilities.tools if found.calls_are_read is None else found.calls_are_read)
    if provider == LOCAL:
        why = "measured to be best for it" if _is_tuned(model) else "it shows no dialect of its own"
        why = _no_text(found) if found.dialect and not found.is_text else why
        return _with_grammar(provider, ProtocolChoice(name, why))
    if name == WITHOUT_NATIVE_CALLS:
        return ProtocolChoice(name, "it takes no tools")
    if found.dialect and not found.is_text:
        return ProtocolChoice(NATIVE, _no_text(found))
    return ProtocolChoice(name, "its server reads its calls")


def _no_text(found: _Evidence) -> str:
    return f"the markers of its own dialect, {found.dialect}, are tokens that are left out of the text"


def _is_own(label: str) -> bool:
    """Whether somebody runs this model themselves, and it is none that Joey was tuned for."""
    provider, _, model = label.partition("/")
    return provider in _SERVERS or (provider == LOCAL and not _is_tuned(model))


def _is_tuned(model: str) -> bool:
    """Whether it is one that `joey local install` fetches, by its name or by its file."""
    return model in CATALOGUE or any(Path(model).name == each.path().name for each in CATALOGUE.values())


def _evidence(config: Config, label: str, template: str) -> _Evidence:
    provider, _, model = label.partition("/")
    if provider == LOCAL:
        return _of_file(model_file(model))
    if provider not in _SERVERS:
        return _found(template, model)
    address = _address(provider, label, config)
    if address and (provider, address, model) not in _served:
        look_again(label, config)
    served = _served.get((provider, address, model), ServedModel())
    return replace(_found(served.template, f"{model} {served.weights}"), calls_are_read=served.calls_are_read)


def _of_file(path: Path) -> _Evidence:
    """The dialect of a GGUF file, whose vocabulary says which markers are tokens that nobody sees."""
    found = _found(chat_template(path), path.stem)
    if not found.dialect:
        return found
    hidden = any(word in _written(found.dialect) for word in control_words(path))
    return replace(found, is_text=not hidden)


def _found(template: str, model: str) -> _Evidence:
    detect = importlib.import_module("joey.protocols.detect")  # its table costs more than all other protocols
    best: Detected | None = next(iter(detect.detect(template=template, model=model.strip())), None)
    if best is None:
        return _Evidence()
    shown = " ".join(best.evidence[0].split()) if best.evidence else ""
    source = "its chat template" if template and detect.from_template(template) else "its name"
    return _Evidence(best.name, f"{source} has `{shown}`", not _OWN_TOKENS.search(_written(best.name)))


def _written(dialect: str) -> str:
    written = protocols.get(dialect).encode_call(_SAMPLE)
    return written.text if isinstance(written, TextBlock) else ""


def _address(provider: str, label: str, config: Config) -> str:
    return config.base_url_for(label) or usual_addresses(os.environ).get(provider, "")
