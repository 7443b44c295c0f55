"""JSON between markers, or bare."""

from __future__ import annotations

from dataclasses import replace

from joey.protocols.dialects.spec import Dialect, Frame, Json
from joey.protocols.dialects.table.shared import THINK, THINK_LINE, THINK_LINES

_HERMES = Json(open=("<tool_call>",), close=("</tool_call>",))

JSON = (
    Dialect(
        "hermes",
        _HERMES,
        Frame(think=THINK_LINES, sep="\n", stops=("<|im_end|>", "<|endoftext|>")),
        "Hermes 2 and 3, Qwen2.5, Qwen3, QwQ, Bielik, Reka",
        broken_as_text=True,
    ),
    Dialect(
        # What it writes when it is given tools natively: the object in a code fence, or bare, as often as in the tags.
        "qwen2_5_coder",
        replace(_HERMES, bare=True, fenced=True),
        Frame(sep="\n", stops=("<|im_end|>", "<|endoftext|>")),
        "Qwen2.5-Coder",
        template="hermes",
    ),
    Dialect("granite4", _HERMES, Frame(sep="\n", stops=("<|end_of_text|>",)), "Granite 4", broken_as_text=True),
    Dialect(
        "ernie45",
        replace(_HERMES, null=True),
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
        Json(open=("<longcat_tool_call>",), close=("</longcat_tool_call>",), null=True),
        Frame(think=("<longcat_think>\n", "\n</longcat_think>\n"), sep="\n"),
        "LongCat Flash",
        broken_as_text=True,
    ),
    Dialect(
        "jamba",
        Json(open=("<tool_calls>",), close=("</tool_calls>",)),
        Frame(),
        "Jamba 1.5 and later",
        broken_as_text=True,
    ),
    Dialect(
        "hunyuan_a13b",
        Json(open=("<tool_calls>",), close=("</tool_calls>",)),
        Frame(think=THINK_LINE, removed=("<answer>\n", "\n</answer>", "<answer>", "</answer>"), stops=("<|eos|>",)),
        "Hunyuan A13B",
        broken_as_text=True,
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
        broken_as_text=True,
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
        broken_as_text=True,
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
        broken_as_text=True,
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
