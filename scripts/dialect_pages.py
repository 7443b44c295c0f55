"""Write the pages about dialects: one a family, and the scoreboard. `python scripts/dialect_pages.py`

The pages come from the tables in `joey.protocols.dialects`, the scoreboard from the recorded cases: what vLLM, SGLang
and llama.cpp answered, and what Joey answers now. It reads thousands of replies, so it is not part of `make docs`.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from dialect_cases import CUTS, answer, cases_of, counts, dialect_names, difference, right  # noqa: E402
from joey.messages import ToolUseBlock  # noqa: E402
from joey.protocols.dialects.protocol import PROTOCOLS, DialectProtocol  # noqa: E402
from joey.protocols.dialects.spec import Channels, Dialect  # noqa: E402
from joey.toolspec import ToolSpec  # noqa: E402

PAGES = ROOT / "docs" / "protocols" / "dialects"
FAMILIES = {
    "qwen": (
        "Qwen, Hermes and their relatives",
        "hermes qwen2_5_coder qwen3_coder qwen3_5 nemotron_v3 step3p5 mimo_v2 granite4 ernie45 longcat",
    ),
    "deepseek": ("DeepSeek and DSML", "deepseek_v3 deepseek_v31 deepseek_v32 deepseek_v4 deepseek_v41 gigachat35"),
    "kimi": ("Kimi and K2 Horizon", "kimi_k2 kimi_k3 k2_horizon"),
    "glm": ("GLM and its relatives", "glm45 glm47 poolside_v1 ling3 spark25 iquest_q1 hy_v3 hy_v4"),
    "minimax": (
        "MiniMax, dots, Step 3, Seed-OSS, MiniCPM",
        "minimax_m1 minimax_m2 minimax_m3 dots step3 seed_oss minicpm5",
    ),
    "mistral": ("Mistral", "mistral_v3 mistral_v11 mistral_v11_callid"),
    "llama": (
        "Llama, functionary and pythonic calls",
        "llama3_json llama4_pythonic pythonic functionary_v31 functionary_v32 firefunction_v2 xlam",
    ),
    "google": ("Gemma", "gemma4 functiongemma"),
    "channels": (
        "Messages with headers: gpt-oss, Inkling, Muse, Beam; function_calls",
        "harmony inkling muse_glimmer beam function_calls",
    ),
    "ibm-nvidia": ("Granite and Nemotron v2", "granite3 granite_20b_fc nemotron_v2"),
    "cohere": ("Cohere", "cohere_command3 cohere_command4"),
    "others": (
        "Others",
        "jamba hunyuan_a13b apriel phi4_mini internlm2 intern_s1 apertus gigachat3 solar_open plamo3 lfm2 olmo3",
    ),
}
PEERS = {"vllm": "vLLM 0.32", "sglang": "SGLang 0.5.23", "llamacpp": "llama.cpp"}
_PROPERTIES = {"city": {"type": "string"}, "days": {"type": "integer"}, "tags": {"type": "array"}}
TOOLS = (
    ToolSpec("get_weather", "Weather of a city.", {"type": "object", "properties": _PROPERTIES, "required": ["city"]}),
    ToolSpec("ping", "Is it there?"),
)
CALLS = (
    ToolUseBlock("call00000", "get_weather", {"city": "Köln", "days": 2, "tags": ["a", "b"]}),
    ToolUseBlock("call00001", "ping", {}),
)


def main() -> int:
    PAGES.mkdir(exist_ok=True)
    for name, (title, dialects) in FAMILIES.items():
        body = "\n".join(_dialect(PROTOCOLS[each]) for each in dialects.split())
        (PAGES / f"{name}.md").write_text(f"# {title}\n\n{_ABOUT}\n{body}", encoding="utf-8")
    missing = set(PROTOCOLS) - {each for _, dialects in FAMILIES.values() for each in dialects.split()}
    assert not missing, f"in no family: {sorted(missing)}"
    rows = "\n".join(_row(name) for name in dialect_names())
    page = _SCOREBOARD.format(rows=rows, differences="\n".join(_differences()))
    (PAGES / "scoreboard.md").write_text(page, encoding="utf-8")
    return 0


# A page


def _dialect(protocol: DialectProtocol) -> str:
    dialect, style = protocol.dialect, protocol.style
    think = f"`{_line(dialect.frame.think[0])}` … `{_line(dialect.frame.think[1])}`" if dialect.frame.think else "none"
    facts = [
        ("models", dialect.models),
        ("call grammar", f"`{dialect.engine}`"),
        ("reasoning", think + (", may begin in the prompt" if dialect.frame.think_in_prompt else "")),
        ("ends a turn", " ".join(f"`{stop}`" for stop in _stops(dialect)) or "not known"),
        ("a result", f"`{_line(style.results_before + style.result + style.results_after)}`"),
        ("declaration", "the official template's, byte for byte" if style.tools else "in our words"),
    ]
    table = "\n".join(f"| {key} | {_cell(value)} |" for key, value in facts)
    written = protocol.encode_calls(CALLS, TOOLS).text
    return f"## {protocol.name}\n\n| | |\n|---|---|\n{table}\n\nTwo calls:\n\n````text\n{written}\n````\n"


def _stops(dialect: Dialect) -> tuple[str, ...]:
    return dialect.calls.ends if isinstance(dialect.calls, Channels) else dialect.frame.stops


def _line(text: str) -> str:
    return text.replace("\n", "␤")


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


# The scoreboard


def _row(name: str) -> str:
    cases = [case for case in cases_of(name) if case["expected"] is not None and not case.get("recorded")]
    whole = [right(case, answer(case, [case["text"]])) for case in cases]
    cut = [all(right(case, answer(case, pieces)) for pieces in _cuts(case)) for case in cases]
    every = [a and b for a, b in zip(whole, cut, strict=True)]
    peers = " | ".join(_peer(cases, peer) for peer in PEERS)
    engine = PROTOCOLS[name].dialect.engine
    prescribed = [right(case, answer(case, [case["text"]])) for case in cases_of(name) if counts(case)]
    joey = f"{_share(whole)} / {_share(every)} | {sum(prescribed)} of {len(prescribed)}"
    return f"| `{name}` | {engine} | {len(cases)} | {joey} | {peers} |"


def _differences() -> Iterator[str]:
    """The cases that Joey answers otherwise, by reason."""
    found: dict[str, list[str]] = {}
    for name in dialect_names():
        for case in filter(counts, cases_of(name)):
            if not right(case, answer(case, [case["text"]])):
                found.setdefault(difference(case) or "not on purpose", []).append(case["id"])
    for why, cases in sorted(found.items(), key=lambda item: (-len(item[1]), item[0])):
        yield f"| {_cell(why)} | {', '.join(f'`{case}`' for case in cases)} |"


def _cuts(case: Any) -> Iterator[list[str]]:
    yield list(case["text"])
    yield CUTS["random"](case, random.Random(case["id"]))
    if case.get("chunks"):
        yield case["chunks"]


def _peer(cases: list[Any], peer: str) -> str:
    judged = [case for case in cases if peer in case["agree"] or _disputes(case, peer)]
    if not judged:
        return "–"
    whole = [peer in case["agree"] or peer not in (case.get("disputed") or {}) for case in judged]
    return f"{_share(whole)} / {_share([peer in case['agree'] for case in judged])}"


def _disputes(case: Any, peer: str) -> bool:
    return any(key.startswith(peer) for key in case.get("disputed") or ())


def _share(right_: list[bool]) -> str:
    return f"{100 * sum(right_) / max(1, len(right_)):.0f}"


_ABOUT = """\
Generated by `scripts/dialect_pages.py` from the tables. How dialects are read is written in
[Dialects of open models](../dialects.md); the two calls below are what `encode_calls` writes and the parser reads.
"""

_SCOREBOARD = """\
# Scoreboard

Generated by `scripts/dialect_pages.py`. Per cent of the recorded cases whose answer is known (what was put in), text,
reasoning and calls compared: the whole reply at once / at every cut that was tried (one character a piece, at random,
and the recorded pieces). A dash: the parser does not read the dialect. Replies in which no parser was right count too.

*Prescribed* counts all cases with an answer: also what the other parsers were recorded to answer to broken replies, and
replies that were cut, of which no call may be made that is not whole.

| dialect | grammar | cases | Joey | prescribed | vLLM 0.32 | SGLang 0.5.23 | llama.cpp |
|---|---|---|---|---|---|---|---|
{rows}

## Where Joey answers otherwise

Every case in which the answer differs from the prescribed one, and why.

| why | cases |
|---|---|
{differences}
"""


if __name__ == "__main__":
    sys.exit(main())
