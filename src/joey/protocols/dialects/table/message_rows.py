"""Messages with headers."""

from __future__ import annotations

from joey.protocols.dialects.spec import Channels, Dialect, Frame, Json, NamedJson, Reading, Tagged
from joey.protocols.dialects.table.shared import NAME, invoke

CHANNELS = (
    Dialect(
        "harmony",
        Channels(
            start=("<|start|>", "<|channel|>", " to=", "to="),
            start_anywhere=("<|start|>", "<|channel|>"),
            message=("<|message|>",),
            ends=("<|end|>", "<|return|>", "<|call|>"),
            body=NamedJson(open=(), header=NAME, args=(), close=("<|call|>", "<|end|>", "<|return|>")),
            recipient=r"to=(?!user\b|assistant\b)(?:functions[.:])?(?P<name>[^\s<]+)",
            reasoning=r"<\|channel\|>analysis",
            start_in_text=(" to=functions.",),
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
            body=invoke("atem:", reading=Reading(literal=True, python=False)),
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
