"""A name, then JSON."""

from __future__ import annotations

from joey.protocols.dialects.spec import Dialect, Frame, NamedJson
from joey.protocols.dialects.table.shared import NAME, THINK, THINK_LINES

NAMED_JSON = (
    Dialect(
        "functionary_v31",
        NamedJson(open=("<function=",), header=NAME, args=(">",), close=("</function>",)),
        Frame(stops=("<|eom_id|>", "<|eot_id|>")),
        "Functionary v3.1, Llama 3.1 custom tools",
    ),
    Dialect(
        "functionary_v32",
        NamedJson(open=(">>>",), header=NAME, args=("\n",), brace=False, prompt_opens=True, text_name="all"),
        Frame(stops=("<|eot_id|>",)),
        "Functionary v3.2",
        broken_as_text=True,
    ),
    Dialect(
        "mistral_v11",
        NamedJson(open=("[TOOL_CALLS]",), header=NAME, args=("[ARGS]",)),
        Frame(think=("[THINK]", "[/THINK]"), stops=("</s>",)),
        "Magistral, Devstral, Ministral 3, Mistral Small 4, Medium 3",
    ),
    Dialect(
        "mistral_v11_callid",
        NamedJson(open=("[TOOL_CALLS]",), header=rf"{NAME}(?:\[CALL_ID\](?P<id>\w+))?", args=("[ARGS]",)),
        Frame(think=("[THINK]", "[/THINK]"), stops=("</s>",)),
        "Mistral Small 3.2",
    ),
    Dialect(
        "deepseek_v3",
        NamedJson(
            open=("<｜tool▁call▁begin｜>", "<|tool▁call▁begin|>"),
            header=r"(?!function\s*<[｜|]tool▁sep[｜|]>\s*(?:```(?:json)?)?$)(?:function)?\s*(?:<[｜|]tool▁sep[｜|]>)?(?P<name>[^\s<`]+?)\s*(?:<[｜|]tool▁sep[｜|]>)?\s*(?:```(?:json)?)?",
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
            header=rf"(?P<id>[^<]*)<\|tool_call:name\|>{NAME}",
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
            header=rf"<\|plamo:begin_tool_name:plamo\|>{NAME}<\|plamo:end_tool_name:plamo\|>",
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
            null=True,
        ),
        Frame(
            think=("<|plamo:begin_think:plamo|>", "<|plamo:end_think:plamo|>"),
            section=(("<|plamo:begin_tool_requests:plamo|>",), ("<|plamo:end_tool_requests:plamo|>",)),
            stops=("<|plamo:tag|>",),
        ),
        "PLaMo 3",
    ),
)
