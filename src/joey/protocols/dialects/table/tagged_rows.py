"""A name, then one element per argument."""

from __future__ import annotations

from dataclasses import replace

from joey.protocols.dialects.spec import Dialect, Frame, Reading, Tagged
from joey.protocols.dialects.table.shared import THINK, THINK_LINE, THINK_LINES, invoke

_QWEN = Tagged(
    wrap=(("<tool_call>",), ("</tool_call>",)),
    open=("<function=", "<function name="),
    name_end=(">",),
    close=("</function>",),
    key=("<parameter=", "<parameter name="),
    key_end=(">",),
    value_end=("</parameter>",),
    trim=True,
    python=True,
    reading=Reading(any_null=True),
)
_GLM = Tagged(
    open=("<tool_call>",),
    name_end=(),
    close=("</tool_call>",),
    key=("<arg_key>",),
    key_end=("</arg_key>",),
    value=("<arg_value>",),
    value_end=("</arg_value>",),
    loose=False,
)


def _suffixed(word: str, slash: str = "", *, first: str = ":opensource") -> tuple[str, ...]:
    """A tag with the suffix that the open weights write, and without."""
    return tuple(f"<{slash}{word}{suffix}>" for suffix in dict.fromkeys((first, "", ":opensource")))


def _sentinels(name: str, space: str) -> tuple[str, ...]:
    """The ways in which models write a sentinel: its bars drift, its space too."""
    first = f"｜{name}｜{space}"
    others = (
        f"｜{name}｜",
        f"｜{name}｜ ",
        f"|{name}|",
        f"‖{name}‖",
        f"｜｜{name}｜｜",
        f"||{name}||",
        f"| {name} |",
        "",
    )
    return tuple(dict.fromkeys((first, *others)))


def _dsml(name: str, block: str, space: str = "") -> tuple[Tagged, tuple[tuple[str, ...], tuple[str, ...]]]:
    marks = _sentinels(name, space)
    blocks = dict.fromkeys((block, "tool_calls", "function_calls", "calls"))
    tagged = Tagged(
        open=tuple(f"<{mark}invoke name=" for mark in marks),
        name_end=(">",),
        close=tuple(f"</{mark}invoke>" for mark in marks),
        key=tuple(f"<{mark}parameter name=" for mark in marks),
        key_end=(">",),
        value_end=tuple(f"</{mark}parameter>" for mark in marks),
        typing="attribute",
    )
    opens = tuple(f"<{mark}{each}>" for each in blocks for mark in marks)
    return tagged, (opens, tuple(each.replace("<", "</", 1) for each in opens))


def _dsml_dialect(name: str, sentinel: str, block: str, models: str, space: str = "") -> Dialect:
    tagged, section = _dsml(sentinel, block, space)
    stops = ("<｜end▁of▁sentence｜>",)
    return Dialect(
        name,
        tagged,
        Frame(think=THINK, think_in_prompt=True, call_ends_think=True, sep="\n\n", section=section, stops=stops),
        models,
    )


TAGGED = (
    Dialect(
        "qwen3_coder", _QWEN, Frame(think=THINK_LINES, sep="\n", stops=("<|im_end|>", "<|endoftext|>")), "Qwen3-Coder"
    ),
    Dialect(
        "qwen3_5",
        _QWEN,
        Frame(think=THINK_LINES, think_in_prompt=True, call_ends_think=True, sep="\n\n", stops=("<|im_end|>",)),
        "Qwen3.5, Qwen3.6",
    ),
    Dialect(
        "nemotron_v3",
        _QWEN,
        Frame(think=THINK_LINE, think_in_prompt=True, call_ends_think=True, sep="\n", stops=("<|im_end|>",)),
        "Nemotron 3",
    ),
    Dialect(
        "step3p5",
        _QWEN,
        Frame(think=THINK_LINE, think_in_prompt=True, call_ends_think=True, stops=("<|im_end|>",)),
        "Step-3.5",
    ),
    Dialect("mimo_v2", replace(_QWEN, trim=False), Frame(think=THINK, sep="\n", stops=("<|im_end|>",)), "MiMo V2"),
    Dialect(
        "seed_oss",
        replace(_QWEN, wrap=(("<seed:tool_call>",), ("</seed:tool_call>",)), trim=False, reading=Reading()),
        Frame(think=("<seed:think>", "</seed:think>"), sep="\n\n", stops=("<seed:eos>",)),
        "Seed-OSS",
    ),
    Dialect(
        "glm45",
        _GLM,
        Frame(think=("\n<think>", "</think>\n"), sep="\n", stops=("<|observation|>", "<|user|>")),
        "GLM-4.5, 4.6",
    ),
    Dialect(
        "glm47", _GLM, Frame(think=THINK, think_in_prompt=True, stops=("<|observation|>", "<|user|>")), "GLM-4.7, GLM-5"
    ),
    Dialect(
        "poolside_v1",
        replace(_GLM, reading=Reading(literal=True)),
        Frame(think=THINK_LINE, think_in_prompt=True, sep="\n", stops=("</assistant>",)),
        "Laguna XS.2, Laguna S 2.1",
    ),
    Dialect("ling3", _GLM, Frame(think=THINK, stops=("<|role_end|>",)), "Ling 3"),
    Dialect(
        "spark25",
        replace(_GLM, reading=Reading(bits=True, python=False)),
        Frame(think=THINK, stray_closers=True),
        "Spark 2.5",
        broken_as_text=True,
    ),
    Dialect(
        "iquest_q1",
        replace(_GLM, open=("<iquest_tool_call>",), close=("</iquest_tool_call>",), reading=Reading(literal=True)),
        Frame(think=THINK, think_in_prompt=True),
        "IQuest Q1",
        broken_as_text=True,
    ),
    Dialect(
        "hy_v3",
        replace(
            _GLM,
            open=_suffixed("tool_call"),
            close=_suffixed("tool_call", "/"),
            name_end=_suffixed("tool_sep"),
            key=_suffixed("arg_key"),
            key_end=_suffixed("arg_key", "/"),
            value=_suffixed("arg_value"),
            value_end=_suffixed("arg_value", "/"),
        ),
        Frame(
            think=("<think:opensource>", "</think:opensource>"),
            more_think=(THINK,),
            section=(_suffixed("tool_calls"), _suffixed("tool_calls", "/")),
        ),
        "Hunyuan 3 (Hy3)",
    ),
    Dialect(
        "hy_v4",
        replace(
            _GLM,
            open=_suffixed("tool_call", first=""),
            close=_suffixed("tool_call", "/", first=""),
            key=_suffixed("arg_key", first=""),
            key_end=_suffixed("arg_key", "/", first=""),
            value=_suffixed("arg_value", first=""),
            value_end=_suffixed("arg_value", "/", first=""),
        ),
        Frame(
            think=THINK,
            more_think=(("<think:opensource>", "</think:opensource>"),),
            section=(_suffixed("tool_calls", first=""), _suffixed("tool_calls", "/", first="")),
        ),
        "Hunyuan 4 (Hy4)",
        broken_as_text=True,
    ),
    Dialect(
        "k2_horizon",
        replace(
            _GLM,
            open=("<ifm|tool_call>",),
            close=("</ifm|tool_call>",),
            key=("<ifm|arg_key>",),
            key_end=("</ifm|arg_key>",),
            value=("<ifm|arg_value>",),
            value_end=("</ifm|arg_value>",),
            kind=("<ifm|arg_type>", "</ifm|arg_type>"),
            reading=Reading(python=False),
        ),
        Frame(
            think=("<ifm|think>", "</ifm|think>"),
            more_think=(("<ifm|think_fast>", "</ifm|think_fast>"), ("<ifm|think_faster>", "</ifm|think_faster>")),
            sep="\n",
            section=(("<ifm|tool_calls>",), ("</ifm|tool_calls>",)),
        ),
        "K2 Horizon",
        broken_as_text=True,
    ),
    Dialect(
        "minimax_m2",
        invoke(reading=Reading(bits=True, python=False, any_null=True)),
        Frame(
            think=THINK_LINES,
            think_in_prompt=True,
            sep="\n",
            section=(("<minimax:tool_call>",), ("</minimax:tool_call>",)),
            stops=("[e~[",),
        ),
        "MiniMax M2",
    ),
    Dialect(
        "minimax_m3",
        Tagged(
            open=("]<]minimax[>[<invoke name=",),
            name_end=(">",),
            close=("]<]minimax[>[</invoke>",),
            key=("]<]minimax[>[<",),
            key_end=(">",),
            value_end=("]<]minimax[>[</",),
            own_tags=True,
            nested=True,
            loose=False,
            reading=Reading(bits=True),
        ),
        Frame(
            think=("<mm:think>", "</mm:think>"),
            section=(("]<]minimax[>[<tool_call>",), ("]<]minimax[>[</tool_call>",)),
            stops=("[e~[",),
        ),
        "MiniMax M3",
    ),
    _dsml_dialect("deepseek_v32", "DSML", "function_calls", "DeepSeek V3.2"),
    _dsml_dialect("deepseek_v4", "DSML", "tool_calls", "DeepSeek V4"),
    _dsml_dialect("deepseek_v41", "DSML", "calls", "DeepSeek V4.1", " "),
    _dsml_dialect("gigachat35", "GCML", "tool_calls", "GigaChat 3.5"),
    Dialect(
        "kimi_k3",
        Tagged(
            open=("<|open|>call ",),
            name_end=("<|sep|>",),
            close=("<|close|>call<|sep|>",),
            key=("<|open|>argument ",),
            key_end=("<|sep|>",),
            value_end=("<|close|>argument<|sep|>",),
            typing="attribute",
            loose=False,
        ),
        Frame(
            think=("<|open|>think<|sep|>", "<|close|>think<|sep|>"),
            think_in_prompt=True,
            call_ends_think=True,
            think_ends=("<|open|>response<|sep|>",),
            removed=("<|open|>response<|sep|>", "<|close|>response<|sep|>", "<|close|>message<|sep|>"),
            section=(("<|open|>tools<|sep|>",), ("<|close|>tools<|sep|>",)),
            stops=("<|im_end|>",),
        ),
        "Kimi K3",
    ),
    Dialect(
        "step3",
        replace(
            invoke("steptml:"),
            wrap=(("<｜tool_call_begin｜>function<｜tool_sep｜>", "<｜tool_call_begin｜>"), ("<｜tool_call_end｜>",)),
        ),
        Frame(
            think=THINK_LINE,
            think_in_prompt=True,
            sep="\n",
            section=(("<｜tool_calls_begin｜>",), ("<｜tool_calls_end｜>",)),
        ),
        "Step 3",
    ),
    Dialect(
        "dots",
        invoke(reading=Reading(bits=True, whole=True, quotes=False)),
        Frame(think=THINK_LINES, sep="\n", section=(("<dots_function_call>",), ("</dots_function_call>",))),
        "dots.llm 2",
    ),
    Dialect(
        "function_calls",
        invoke(),
        Frame(section=(("<function_calls>",), ("</function_calls>",)), sep="\n"),
        "Cline's V3 prompt, and models that were taught Anthropic's text form",
    ),
    Dialect(
        "minicpm5",
        Tagged(
            open=("<function name=",),
            name_end=(">",),
            close=("</function>",),
            key=("<param name=",),
            key_end=(">",),
            value_end=("</param>",),
            python=True,
            cdata=True,
        ),
        Frame(think=THINK_LINES, think_in_prompt=True, sep="\n", stops=("<|im_end|>",)),
        "MiniCPM 5",
    ),
)
