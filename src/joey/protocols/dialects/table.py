"""The table of dialects: one row each, as data. What the fields mean is written in `spec`.

To add a dialect, add a row; to say that models drift to another marker, add it behind the first. Nothing here runs.
"""

from __future__ import annotations

from dataclasses import replace

from joey.protocols.dialects.spec import Channels, Dialect, Frame, Function, Json, NamedJson, Reading, Tagged

# Reasoning, as the templates write it

THINK = ("<think>", "</think>")
THINK_LINES = ("<think>\n", "\n</think>\n\n")
THINK_LINE = ("<think>\n", "\n</think>\n")

# Names in headers

_NAME = r"(?P<name>[^\s<>{}\[\]]+)"


# JSON between markers, or bare

_HERMES = Json(open=("<tool_call>",), close=("</tool_call>",))

JSON = (
    Dialect(
        "hermes",
        _HERMES,
        Frame(think=THINK_LINES, sep="\n", stops=("<|im_end|>", "<|endoftext|>")),
        "Hermes 2 and 3, Qwen2.5, Qwen3, QwQ, Bielik, Reka",
    ),
    Dialect(
        # What it writes when it is given tools natively: the object in a code fence, or bare, as often as in the tags.
        "qwen2_5_coder",
        replace(_HERMES, bare=True, fenced=True),
        Frame(sep="\n", stops=("<|im_end|>", "<|endoftext|>")),
        "Qwen2.5-Coder",
        template="hermes",
    ),
    Dialect("granite4", _HERMES, Frame(sep="\n", stops=("<|end_of_text|>",)), "Granite 4"),
    Dialect(
        "ernie45",
        _HERMES,
        Frame(
            think=("<think>\n", "\n</think>\n\n\n\n\n"),
            sep="\n\n\n",
            removed=("<response>\n", "\n</response>", "<response>", "</response>"),
            stops=("</s>",),
        ),
        "ERNIE 4.5",
    ),
    Dialect(
        "longcat",
        Json(open=("<longcat_tool_call>",), close=("</longcat_tool_call>",)),
        Frame(think=("<longcat_think>\n", "\n</longcat_think>\n"), sep="\n"),
        "LongCat Flash",
    ),
    Dialect("jamba", Json(open=("<tool_calls>",), close=("</tool_calls>",)), Frame(), "Jamba 1.5 and later"),
    Dialect(
        "hunyuan_a13b",
        Json(open=("<tool_calls>",), close=("</tool_calls>",)),
        Frame(think=THINK_LINE, removed=("<answer>\n", "\n</answer>", "<answer>", "</answer>"), stops=("<|eos|>",)),
        "Hunyuan A13B",
    ),
    Dialect(
        "apriel",
        Json(open=("<tool_calls>",), close=("</tool_calls>",), id=("id",)),
        Frame(
            think=("Here are my reasoning steps:\n", "\n[BEGIN FINAL RESPONSE]\n"),
            more_think=(("<thinking>", "</thinking>"),),
            sep="\n",
            removed=("[END FINAL RESPONSE]",),
            stops=("<|end|>",),
        ),
        "Apriel 1.5 and 1.6",
    ),
    Dialect(
        "minimax_m1",
        Json(open=("<tool_calls>",), close=("</tool_calls>",)),
        Frame(think=THINK_LINES, sep="\n", stops=("<end_of_sentence>",)),
        "MiniMax M1",
    ),
    Dialect(
        "nemotron_v2",
        Json(open=("<TOOLCALL>",), close=("</TOOLCALL>",)),
        Frame(think=THINK_LINE, think_in_prompt=True, sep="\n", stops=("<SPECIAL_12>",)),
        "Nemotron Nano v2",
    ),
    Dialect(
        "granite3",
        Json(open=("<|tool_call|>", "<tool_call>")),
        Frame(
            think=("Here is my thought process:", "Here is my response:"),
            more_think=(THINK,),
            stops=("<|end_of_text|>",),
        ),
        "Granite 3.0 to 3.3",
    ),
    Dialect(
        "granite_20b_fc",
        Json(open=("<function_call>",)),
        Frame(sep="\n", stops=("<|endoftext|>",)),
        "Granite 20B Function Calling",
    ),
    Dialect("phi4_mini", Json(open=("functools",)), Frame(stops=("<|end|>",)), "Phi-4 mini"),
    Dialect("firefunction_v2", Json(open=(" functools", "functools")), Frame(stops=("<|eot_id|>",)), "FireFunction v2"),
    Dialect(
        "internlm2",
        Json(open=("<|action_start|><|plugin|>", "<|action_start|> <|plugin|>"), close=("<|action_end|>",)),
        Frame(think=THINK_LINES, stops=("<|im_end|>",)),
        "InternLM 2 and 2.5",
    ),
    Dialect(
        "intern_s1",
        Json(
            open=("<|action_start|> <|plugin|>", "<|action_start|><|plugin|>"),
            close=("<|action_end|>",),
            arguments=("parameters", "arguments"),
        ),
        Frame(think=THINK_LINES, stops=("<|im_end|>",)),
        "Intern-S1",
    ),
    Dialect(
        "xlam",
        Json(open=("[TOOL_CALLS]", "<tool_call>"), close=("</tool_call>",), bare=True, fenced=True),
        Frame(think=THINK, stops=("<|im_end|>", "<|eot_id|>")),
        "xLAM 2",
    ),
    Dialect(
        "llama3_json",
        Json(open=("<|python_tag|>",), arguments=("parameters", "arguments"), bare=True, between="; "),
        Frame(stops=("<|eot_id|>", "<|eom_id|>")),
        "Llama 3.1, 3.2, 3.3",
    ),
    Dialect(
        "apertus",
        Json(open=("<|tools_prefix|>",), close=("<|tools_suffix|>",), keyed=True),
        Frame(think=("<|inner_prefix|>", "<|inner_suffix|>"), stops=("<|assistant_end|>",)),
        "Apertus",
    ),
    Dialect(
        "gigachat3",
        Json(
            open=("<|function_call|>", "<|message_sep|>\n\nfunction call<|role_sep|>\n", "function call<|role_sep|>\n")
        ),
        Frame(stops=("<|message_sep|>", "</s>")),
        "GigaChat 3 and 3.1",
    ),
    Dialect(
        "mistral_v3",
        Json(open=("[TOOL_CALLS]",), id=("id",)),
        Frame(stops=("</s>",)),
        "Mistral 7B v0.3, Nemo, Mixtral 8x22B, Small 2, Large 2",
    ),
    Dialect(
        "cohere_command3",
        Json(
            open=("<|START_ACTION|>",),
            close=("<|END_ACTION|>",),
            names=("tool_name", "name"),
            arguments=("parameters", "arguments"),
            id=("tool_call_id",),
        ),
        Frame(
            think=("<|START_THINKING|>", "<|END_THINKING|>"),
            removed=("<|START_RESPONSE|>", "<|END_RESPONSE|>"),
            stops=("<|END_OF_TURN_TOKEN|>",),
        ),
        "Command R7B, Command A",
    ),
    Dialect(
        "cohere_command4",
        Json(
            open=("<|START_ACTION|>",),
            close=("<|END_ACTION|>",),
            names=("tool_name", "name"),
            arguments=("parameters", "arguments"),
            id=("tool_call_id",),
        ),
        Frame(
            think=("<|START_THINKING|>", "<|END_THINKING|>"),
            think_in_prompt=True,
            removed=("<|START_TEXT|>", "<|END_TEXT|>", "<|START_RESPONSE|>", "<|END_RESPONSE|>"),
            stops=("<|END_OF_TURN_TOKEN|>",),
        ),
        "Command 4",
    ),
)

# A name, then JSON

NAMED_JSON = (
    Dialect(
        "functionary_v31",
        NamedJson(open=("<function=",), header=_NAME, args=(">",), close=("</function>",)),
        Frame(stops=("<|eom_id|>", "<|eot_id|>")),
        "Functionary v3.1, Llama 3.1 custom tools",
    ),
    Dialect(
        "functionary_v32",
        NamedJson(open=(">>>",), header=_NAME, args=("\n",), brace=False, prompt_opens=True, text_name="all"),
        Frame(stops=("<|eot_id|>",)),
        "Functionary v3.2",
    ),
    Dialect(
        "mistral_v11",
        NamedJson(open=("[TOOL_CALLS]",), header=_NAME, args=("[ARGS]",)),
        Frame(think=("[THINK]", "[/THINK]"), stops=("</s>",)),
        "Magistral, Devstral, Ministral 3, Mistral Small 4, Medium 3",
    ),
    Dialect(
        "mistral_v11_callid",
        NamedJson(open=("[TOOL_CALLS]",), header=rf"{_NAME}(?:\[CALL_ID\](?P<id>\w+))?", args=("[ARGS]",)),
        Frame(think=("[THINK]", "[/THINK]"), stops=("</s>",)),
        "Mistral Small 3.2",
    ),
    Dialect(
        "deepseek_v3",
        NamedJson(
            open=("<｜tool▁call▁begin｜>", "<|tool▁call▁begin|>"),
            header=r"(?:function)?\s*(?:<[｜|]tool▁sep[｜|]>)?(?P<name>[^\s<`]+?)\s*(?:<[｜|]tool▁sep[｜|]>)?\s*(?:```(?:json)?)?",
            args=("```json\n",),
            close=("<｜tool▁call▁end｜>", "<|tool▁call▁end|>"),
        ),
        Frame(
            think=THINK_LINES,
            think_in_prompt=True,
            section=(
                ("<｜tool▁calls▁begin｜>", "<|tool▁calls▁begin|>"),
                ("<｜tool▁calls▁end｜>", "<|tool▁calls▁end|>"),
            ),
            stops=("<｜end▁of▁sentence｜>",),
        ),
        "DeepSeek V3, R1",
    ),
    Dialect(
        "deepseek_v31",
        NamedJson(
            open=("<｜tool▁call▁begin｜>", "<|tool▁call▁begin|>"),
            header=r"(?:function\s*<[｜|]tool▁sep[｜|]>)?(?P<name>[^\s<`]+?)\s*(?:<[｜|]tool▁sep[｜|]>)?\s*(?:```(?:json)?)?",
            args=("```json\n",),
            close=("<｜tool▁call▁end｜>", "<|tool▁call▁end|>"),
        ),
        Frame(
            think=THINK,
            think_in_prompt=True,
            section=(
                ("<｜tool▁calls▁begin｜>", "<|tool▁calls▁begin|>"),
                ("<｜tool▁calls▁end｜>", "<|tool▁calls▁end|>"),
            ),
            stops=("<｜end▁of▁sentence｜>",),
        ),
        "DeepSeek V3.1",
    ),
    Dialect(
        "kimi_k2",
        NamedJson(
            open=("<|tool_call_begin|>",),
            header=r"(?:functions\.)?(?P<name>.*?)(?::\d+)?",
            args=("<|tool_call_argument_begin|>",),
            close=("<|tool_call_end|>",),
            guess=True,
        ),
        Frame(
            think=THINK,
            call_ends_think=True,
            section=(
                ("<|tool_calls_section_begin|>", "<|tool_call_section_begin|>"),
                ("<|tool_calls_section_end|>", "<|tool_call_section_end|>"),
            ),
            stops=("<|im_end|>",),
        ),
        "Kimi K2, K2 Thinking, K2.5",
    ),
    Dialect(
        "solar_open",
        NamedJson(
            open=("<|tool_call:begin|>",),
            header=rf"(?P<id>[^<]*)<\|tool_call:name\|>{_NAME}",
            args=("<|tool_call:args|>",),
            close=("<|tool_call:end|>",),
        ),
        Frame(
            think=("<|think|>", "<|end|><|begin|>assistant"),
            more_think=(("<|think|>", "<|end|>"),),
            removed=("<|content|>", "<|end|><|begin|>assistant", "<|begin|>assistant", "<|flush|>"),
            section=(("<|tool_calls|>",), ()),
            stops=("<|calls|>", "<|end|>", "<|flush|>"),
        ),
        "Solar Open",
    ),
    Dialect(
        "plamo3",
        NamedJson(
            open=("<|plamo:begin_tool_request:plamo|>",),
            header=rf"<\|plamo:begin_tool_name:plamo\|>{_NAME}<\|plamo:end_tool_name:plamo\|>",
            args=(
                "<|plamo:begin_tool_arguments:plamo|><|plamo:constrain|>json<|plamo:msg|>",
                "<|plamo:begin_tool_arguments:plamo|><|plamo:msg|>",
                "<|plamo:begin_tool_arguments:plamo|>",
            ),
            close=(
                "<|plamo:end_tool_arguments:plamo|><|plamo:end_tool_request:plamo|>",
                "<|plamo:end_tool_request:plamo|>",
                "<|plamo:end_tool_arguments:plamo|>",
            ),
        ),
        Frame(
            think=("<|plamo:begin_think:plamo|>", "<|plamo:end_think:plamo|>"),
            section=(("<|plamo:begin_tool_requests:plamo|>",), ("<|plamo:end_tool_requests:plamo|>",)),
            stops=("<|plamo:tag|>",),
        ),
        "PLaMo 3",
    ),
)

# A name, then one element per argument

_QWEN = Tagged(
    wrap=(("<tool_call>",), ("</tool_call>",)),
    open=("<function=",),
    name_end=(">",),
    close=("</function>",),
    key=("<parameter=",),
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


def _invoke(prefix: str = "", *, parameter: str = "parameter", **more: object) -> Tagged:
    """`<invoke name="N">` with `<parameter name="k">`, each tag with a prefix."""
    tagged = Tagged(
        open=(f"<{prefix}invoke name=",),
        name_end=(">",),
        close=(f"</{prefix}invoke>",),
        key=(f"<{prefix}{parameter} name=",),
        key_end=(">",),
        value_end=(f"</{prefix}{parameter}>",),
    )
    return replace(tagged, **more)  # type: ignore[arg-type]


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
    Dialect("spark25", replace(_GLM, reading=Reading(bits=True, python=False)), Frame(think=THINK), "Spark 2.5"),
    Dialect(
        "iquest_q1",
        replace(_GLM, open=("<iquest_tool_call>",), close=("</iquest_tool_call>",), reading=Reading(literal=True)),
        Frame(think=THINK, think_in_prompt=True),
        "IQuest Q1",
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
    ),
    Dialect(
        "minimax_m2",
        _invoke(reading=Reading(bits=True, python=False, any_null=True)),
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
        replace(_invoke("steptml:"), wrap=(("<｜tool_call_begin｜>function<｜tool_sep｜>",), ("<｜tool_call_end｜>",))),
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
        _invoke(reading=Reading(bits=True, whole=True, quotes=False)),
        Frame(think=THINK_LINES, sep="\n", section=(("<dots_function_call>",), ("</dots_function_call>",))),
        "dots.llm 2",
    ),
    Dialect(
        "function_calls",
        _invoke(),
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

# Function syntax

FUNCTION = (
    Dialect(
        "pythonic", Function(bare=True), Frame(stops=("<|eot_id|>", "<|im_end|>")), "Llama 3.2, ToolACE, xLAM pythonic"
    ),
    Dialect(
        "llama4_pythonic",
        Function(open=("<|python_start|>",), close=("<|python_end|>",), bare=True),
        Frame(stops=("<|eot|>", "<|eom|>")),
        "Llama 4",
    ),
    Dialect(
        "lfm2",
        Function(open=("<|tool_call_start|>",), close=("<|tool_call_end|>",), json_objects=True),
        Frame(think=THINK, stops=("<|im_end|>",)),
        "LFM2, LFM2.5",
    ),
    Dialect(
        "olmo3",
        Function(
            open=("<function_calls>",),
            close=("</function_calls>",),
            list=False,
            lines=True,
            quotes=('"', "'"),
            literals="json",
        ),
        Frame(think=THINK, stops=("<|im_end|>",)),
        "Olmo 3",
    ),
    Dialect(
        "gemma4",
        Function(
            open=("<|tool_call>",),
            close=("<tool_call|>",),
            list=False,
            call="call:",
            brackets="{}",
            equals=":",
            quotes=('<|"|>',),
            raw_quotes=True,
            literals="json",
        ),
        Frame(think=("<|channel>thought\n", "<channel|>"), removed=("<|channel>",), stops=("<turn|>",)),
        "Gemma 4",
    ),
    Dialect(
        "functiongemma",
        Function(
            open=("<start_function_call>",),
            close=("<end_function_call>",),
            list=False,
            call="call:",
            brackets="{}",
            equals=":",
            quotes=("<escape>",),
            raw_quotes=True,
            escaped=True,
        ),
        Frame(stops=("<end_of_turn>", "<start_function_response>")),
        "FunctionGemma",
    ),
)

# Messages with headers

CHANNELS = (
    Dialect(
        "harmony",
        Channels(
            start=("<|start|>", "<|channel|>", " to=", "to="),
            start_anywhere=("<|start|>", "<|channel|>"),
            message=("<|message|>",),
            ends=("<|end|>", "<|return|>", "<|call|>"),
            body=NamedJson(open=(), header=_NAME, args=(), close=("<|call|>", "<|end|>", "<|return|>")),
            recipient=r"to=(?!user\b|assistant\b)(?:functions[.:])?(?P<name>[^\s<]+)",
            reasoning=r"<\|channel\|>analysis",
        ),
        Frame(),
        "gpt-oss",
    ),
    Dialect(
        "inkling",
        Channels(
            start=("<|message_model|>",),
            start_anywhere=("<|message_model|>",),
            message=("<|content_text|>", "<|content_thinking|>", "<|content_invoke_tool_json|>"),
            ends=("<|end_message|>", "<|content_model_end_sampling|>"),
            body=Json(close=("<|end_message|>",), arguments=("args", "arguments", "parameters")),
            recipient=r"(?P<name>[^<>|]*)<\|content_invoke_tool_json\|>$",
            reasoning=r"<\|content_thinking\|>$",
        ),
        Frame(),
        "Inkling",
    ),
    Dialect(
        "muse_glimmer",
        Channels(
            start=("<|start|>", " to=", "to="),
            start_anywhere=("<|start|>",),
            message=("<|message|>",),
            ends=("<|eom|>", "<|eot|>"),
            body=_invoke("atem:", reading=Reading(literal=True, python=False)),
            recipient=r"to=(?!user\b|self\b)(?P<name>[^\s<]+)",
            reasoning=r"to=self",
        ),
        Frame(section=(("<atem:function_calls>",), ("</atem:function_calls>",))),
        "Muse Glimmer",
    ),
    Dialect(
        "beam",
        Channels(
            start=("<|start|>", "<|channel|>", " to=", "to="),
            start_anywhere=("<|start|>", "<|channel|>"),
            message=("<|message|>",),
            ends=("<|end|>", "<|return|>", "<|call|>"),
            body=Tagged(
                open=(),
                name_end=(),
                close=("<|call|>", "<|end|>"),
                key=("<rfl:parameter name=",),
                key_end=(">",),
                value_end=("</rfl:parameter>",),
                trim=True,
                reading=Reading(bits=True, python=False, quotes=False),
            ),
            recipient=r"to=(?P<name>[^\s<]+)",
            reasoning=r"<\|channel\|>analysis",
        ),
        Frame(),
        "Beam",
    ),
)

DIALECTS: dict[str, Dialect] = {
    dialect.name: dialect for dialect in (*JSON, *NAMED_JSON, *TAGGED, *FUNCTION, *CHANNELS)
}
