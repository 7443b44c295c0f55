"""Which dialect? From a chat template, from a model's name, and from a reply, each with its evidence.

    template  the markers that stand in it. A marker counts for more the fewer dialects share it, and one that is
              missing counts against; so a template that composes its markers is still known by their parts
    model     the names of the table below
    reply     every dialect whose markers occur in it reads it; those that find whole calls and leave no markup in the
              text could have written it, the one with the least left over first

Several dialects may be left, since many share their form: all are returned, the most likely first.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from joey.protocols.base import Protocol
from joey.protocols.dialects.frame import marks_of
from joey.protocols.dialects.spec import Channels, Dialect, Function, Json, NamedJson, Tagged
from joey.protocols.dialects.styles import STYLES
from joey.protocols.dialects.table import DIALECTS
from joey.protocols.dialects.templates import TEMPLATES
from joey.protocols.reply import Reply, collect
from joey.toolspec import ToolSpec

_PARTS = re.compile(r"[A-Za-z▁_]{4,}")
_MIN_SHARE = 0.5


@dataclass(frozen=True, slots=True)
class Detected:
    """A dialect that may be the one, and why. The score is comparable within one answer only."""

    name: str
    score: float
    evidence: tuple[str, ...]


# A template


def from_template(template: str) -> list[Detected]:
    """The dialects whose markers stand in a chat template, the most likely first."""
    text = template.replace("\\n", "\n").replace('\\"', '"')
    shared = _shared()
    found = []
    for name in DIALECTS:
        signs = _signs(name)
        present = [sign for sign in signs if sign in text]
        weight = sum(_weight(sign, shared) for sign in present)
        missing = sum(_weight(sign, shared) for sign in signs if sign not in text)
        if present and weight >= _MIN_SHARE * (weight + missing):
            extra = sum(_weight(sign, shared) for sign in _extras(name) if sign in text)
            evidence = tuple(sorted(present, key=len, reverse=True)[:6])
            found.append(Detected(name, round(weight - missing + extra / 2, 3), evidence))
    return sorted(found, key=lambda each: -each.score)


def _weight(sign: str, shared: Mapping[str, int]) -> float:
    """Long signs that few dialects have say the most."""
    return min(len(sign), 24) / 24 / shared[sign]


def signs_of(name: str, limit: int = 4) -> tuple[str, ...]:
    """What a chat template is known by to be of this dialect, the most telling first."""
    shared = _shared()
    ranked = sorted(_signs(name), key=lambda sign: -_weight(sign, shared))
    return tuple(sign for sign in ranked if not any(sign in other for other in ranked if other != sign))[:limit]


def names_of(name: str) -> tuple[str, ...]:
    """The patterns by which a model's name says that it writes this dialect."""
    return tuple(pattern for pattern, dialect in MODELS if dialect == name)


@cache
def _signs(name: str) -> tuple[str, ...]:
    """What every template of the dialect writes."""
    dialect, style = DIALECTS[name], STYLES[name]
    forms = (piece for form in (style.call, style.argument) for piece in re.split(r"%\w", form))
    pieces = (*_markers(dialect), *forms, style.before, style.after)
    words = [word for piece in pieces for word in (piece.strip(), *_PARTS.findall(piece)) if len(word) > 2]
    bare = isinstance(dialect.calls, (Json, Function)) and dialect.calls.bare
    return _sentence(name) if bare and _sentence(name) else tuple(dict.fromkeys(words))


def _sentence(name: str) -> tuple[str, ...]:
    """A line of the official declaration that is the template's own."""
    lines = [line.strip() for line in TEMPLATES.get(name, "").splitlines() if "⟦" not in line]
    return tuple(sorted(lines, key=len)[-1:])


@cache
def _extras(name: str) -> tuple[str, ...]:
    """What tells dialects apart that share their calls: not every template of theirs has it."""
    frame, style = DIALECTS[name].frame, STYLES[name]
    pieces = (style.results_before, *re.split(r"%\w", style.result), *frame.stops, *frame.removed, *(frame.think or ()))
    pieces += _sentence(name)
    return tuple(dict.fromkeys(piece.strip() for piece in pieces if len(piece.strip()) > 3))


@cache
def _shared() -> dict[str, int]:
    """How many dialects have a sign."""
    count: dict[str, int] = {}
    for name in DIALECTS:
        for sign in (*_signs(name), *_extras(name)):
            count[sign] = count.get(sign, 0) + 1
    return count


def _markers(dialect: Dialect) -> Iterator[str]:
    """The markers as the template writes them."""
    calls = dialect.calls
    part = calls.body if isinstance(calls, Channels) else calls
    groups: list[Sequence[str]] = [*dialect.frame.section, part.open, part.close]
    if isinstance(part, Tagged):
        groups += [part.key, part.value_end, part.value, *part.wrap]
    elif isinstance(part, NamedJson):
        groups.append(part.args)
    elif isinstance(part, Function):
        groups.append(part.quotes)
    yield from (group[0] for group in groups if group)
    yield from calls.message if isinstance(calls, Channels) else ()


# A model's name

MODELS: tuple[tuple[str, str], ...] = (
    # A pattern of the name, without case; the first that matches is the dialect.
    (r"qwen.?3.?[-_.]?coder", "qwen3_coder"),
    (r"qwen.?3\.[567]", "qwen3_5"),
    (r"qwen.?2\.5.?coder", "qwen2_5_coder"),
    (r"qwen2\.5|qwen.?3|qwq|qwen2|hermes|bielik|reka|smollm3", "hermes"),
    (r"mimo.?v2", "mimo_v2"),
    (r"mimo", "hermes"),
    (r"kimi.?k3", "kimi_k3"),
    (r"kimi", "kimi_k2"),
    (r"k2.?horizon", "k2_horizon"),
    (r"deepseek.?v?4\.1", "deepseek_v41"),
    (r"deepseek.?v?4", "deepseek_v4"),
    (r"deepseek.?v?3\.2", "deepseek_v32"),
    (r"deepseek.?v?3\.1", "deepseek_v31"),
    (r"deepseek.*(v3|r1)", "deepseek_v3"),
    (r"gpt.?oss", "harmony"),
    (r"glm.?4\.[56]", "glm45"),
    (r"glm.?(4\.[789]|5)", "glm47"),
    (r"minimax.?m1", "minimax_m1"),
    (r"minimax.?m3", "minimax_m3"),
    (r"minimax", "minimax_m2"),
    (r"mistral.?small.?3\.2|mistral-small-2506", "mistral_v11_callid"),
    (r"magistral|devstral|ministral.?3|mistral.?(small.?4|medium.?3|large.?3)", "mistral_v11"),
    (r"mistral|mixtral|nemo-instruct|codestral", "mistral_v3"),
    (r"llama.?4", "llama4_pythonic"),
    (r"llama.?3\.?[123]?", "llama3_json"),
    (r"nemotron.?3", "nemotron_v3"),
    (r"nemotron.*v2", "nemotron_v2"),
    (r"functiongemma", "functiongemma"),
    (r"gemma.?4", "gemma4"),
    (r"granite.*20b.*function", "granite_20b_fc"),
    (r"granite.?4", "granite4"),
    (r"granite.?3", "granite3"),
    (r"command.?(r7b|a)\b|command-a", "cohere_command3"),
    (r"command.?4|north-mini", "cohere_command4"),
    (r"seed.?oss", "seed_oss"),
    (r"step.?3\.[5-9]|step3p5", "step3p5"),
    (r"step.?3", "step3"),
    (r"lfm2", "lfm2"),
    (r"olmo.?3", "olmo3"),
    (r"phi.?4.?mini", "phi4_mini"),
    (r"firefunction", "firefunction_v2"),
    (r"functionary.*3\.1", "functionary_v31"),
    (r"functionary", "functionary_v32"),
    (r"intern.?s1", "intern_s1"),
    (r"internlm", "internlm2"),
    (r"xlam", "xlam"),
    (r"apertus", "apertus"),
    (r"apriel", "apriel"),
    (r"gigachat.?3\.5", "gigachat35"),
    (r"gigachat", "gigachat3"),
    (r"jamba", "jamba"),
    (r"hunyuan.?a13b", "hunyuan_a13b"),
    (r"hy.?4|hunyuan.?4", "hy_v4"),
    (r"hy.?3|hunyuan.?3", "hy_v3"),
    (r"longcat", "longcat"),
    (r"ernie", "ernie45"),
    (r"solar.?open", "solar_open"),
    (r"plamo.?3", "plamo3"),
    (r"laguna|poolside", "poolside_v1"),
    (r"ling.?3", "ling3"),
    (r"spark.?2\.5", "spark25"),
    (r"iquest", "iquest_q1"),
    (r"dots", "dots"),
    (r"minicpm.?5", "minicpm5"),
    (r"inkling", "inkling"),
    (r"muse", "muse_glimmer"),
    (r"toolace", "pythonic"),
    (r"\bbeam\b", "beam"),
)


def from_model(model: str) -> list[Detected]:
    """The dialect of a model of this name, if the name is known."""
    name = model.rpartition("/")[2].lower()
    for pattern, dialect in MODELS:
        match = re.search(pattern, name)
        if match:
            return [Detected(dialect, 1.0, (match.group(),))]
    return []


# A reply


def from_reply(text: str, protocols: Mapping[str, Protocol], tools: Sequence[ToolSpec] = ()) -> list[Detected]:
    """The dialects that could have written a reply that calls tools; none if it calls none."""
    known = {tool.name for tool in tools}
    found = []
    for name, dialect in DIALECTS.items():
        if not (marks := _openers_in(text, dialect)):
            continue
        parser = protocols[name].parser(tools)
        reply = collect(parser.feed(text) + parser.finish())
        score = _score(reply, text, known)
        if score is not None:
            calls = ", ".join(call.name for call in reply.calls)
            found.append(Detected(name, score, (f"calls {calls}", *marks)))
    return sorted(found, key=lambda each: -each.score)


def _openers_in(text: str, dialect: Dialect) -> list[str]:
    marks, calls = marks_of(dialect), dialect.calls
    words = [*calls.message] if isinstance(calls, Channels) else [*marks.call_openers, *marks.bare]
    found = [word for word in words if word in text][:3]
    if not found and isinstance(calls, NamedJson) and calls.prompt_opens:
        found = re.findall(r"^\w+\n(?=\{)", text)[:1]
    return found


def _score(reply: Reply, text: str, known: set[str]) -> float | None:
    """How well a reading explains a reply: every call whole and of a known tool, little repaired, little left over."""
    if reply.malformed or not reply.calls or not all(isinstance(call.arguments, dict) for call in reply.calls):
        return None
    if known and not any(call.name in known for call in reply.calls):
        return None
    named = sum(call.name in known for call in reply.calls) if known else len(reply.calls)
    repaired = sum(len(call.repairs) for call in reply.calls)
    markup = len(re.findall(r"<[|/｜]?\w|\[/?[A-Z_]{4,}\]|[|｜]>", reply.text))
    explained = sum(len(call.source) for call in reply.calls) / max(1, len(text))
    return round(named * 2 - repaired - markup + explained, 3)
