"""Function syntax."""

from __future__ import annotations

from joey.protocols.dialects.spec import Dialect, Frame, Function
from joey.protocols.dialects.table.shared import THINK

FUNCTION = (
    Dialect(
        "pythonic",
        Function(bare=True),
        Frame(stops=("<|eot_id|>", "<|im_end|>")),
        "Llama 3.2, ToolACE, xLAM pythonic",
        broken_as_text=True,
    ),
    Dialect(
        "llama4_pythonic",
        Function(open=("<|python_start|>",), close=("<|python_end|>",), bare=True),
        Frame(stops=("<|eot|>", "<|eom|>")),
        "Llama 4",
        broken_as_text=True,
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
        broken_as_text=True,
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
