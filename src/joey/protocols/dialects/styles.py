"""How each dialect is written: calls, results and the declaration of tools, as the official templates write them.

The second half of the table: one row a dialect, as data. In the forms stand

    %N name   %J name as JSON   %A arguments as JSON   %I id   %0, %1 the call's number from 0 or 1   %P all arguments
    %K key    %V value          %S whether it is a string (true, false)   %T its type
    %R result %Q result as a JSON string
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from joey.protocols.dialects.declare import (
    blocks,
    blocks_list,
    cohere_list,
    deepseek_blocks,
    fenced_blocks,
    functions_lines,
    functions_list,
    gemma_declarations,
    json_lines,
    json_list,
    labelled_blocks,
    muse_schemas,
    python_lines,
    python_signatures,
    solar_list,
    sorted_list,
    tagged_lines,
    tools_list,
    typescript,
    xml_functions,
)
from joey.toolspec import ToolSpec
from joey.wire import JsonValue

Ids: TypeAlias = Literal["", "nine", "functions"]


@dataclass(frozen=True, slots=True)
class Style:
    """How a dialect is written."""

    call: str
    argument: str = ""
    argument_join: str = ""
    before: str = ""
    join: str = ""
    after: str = ""
    """Around and between the calls of one turn."""
    values: Literal["json", "python", "python_scalars"] = "json"
    """How values that are no strings are written."""
    empty: str = ""
    """What a call without arguments has in their place."""
    sort: bool = False
    """Whether arguments are sorted by name."""
    ascii: bool = False
    indent: int | None = None
    ids: Ids = ""
    result: str = "<tool_response>\n%R\n</tool_response>"
    result_join: str = "\n"
    results_before: str = ""
    results_after: str = ""
    text: str = "%R"
    think: str = ""
    """How text and reasoning are written, where that is more than what the frame says."""
    tools: Callable[[list[ToolSpec]], str] | None = None
    """How tools are declared; where it is None, in our own words."""


def _json(open_: str, close: str, **more: JsonValue) -> Style:
    return replace(Style(f'{open_}{{"name": %J, "arguments": %A}}{close}'), **more)


def _array(open_: str, close: str, **more: JsonValue) -> Style:
    return replace(Style('{"name": %J, "arguments": %A}', before=f"{open_}[", join=", ", after=f"]{close}"), **more)


def _cohere() -> Style:
    return Style(
        '{"tool_call_id": "%0", "tool_name": %J, "parameters": %A}',
        before="<|START_ACTION|>[\n    ",
        join=",\n    ",
        after="\n]<|END_ACTION|>",
        result='    {\n        "tool_call_id": "%0",\n        "results": {\n            "0": {"content": %Q}\n'
        '        },\n        "is_error": null\n    }',
        result_join=",\n",
        results_before="<|START_TOOL_RESULT|>[\n",
        results_after="\n]<|END_TOOL_RESULT|>",
        tools=cohere_list,
    )


def _glm(open_: str, close: str, line: str, **more: JsonValue) -> Style:
    argument = f"<arg_key>%K</arg_key>{line}<arg_value>%V</arg_value>{line}"
    return replace(Style(f"{open_}%N{line}%P{close}", argument=argument), **more)


def _dsml(name: str, block: str, space: str = "", **more: JsonValue) -> Style:
    mark = f"｜{name}｜{space}"
    style = Style(
        f'<{mark}invoke name="%N">\n%P</{mark}invoke>',
        argument=f'<{mark}parameter name="%K" string="%S">%V</{mark}parameter>\n',
        before=f"<{mark}{block}>\n",
        join="\n",
        after=f"\n</{mark}{block}>",
    )
    return replace(style, **more)


def _invoke(prefix: str = "", line: str = "\n") -> Style:
    return Style(
        f'<{prefix}invoke name="%N">{line}%P</{prefix}invoke>',
        argument=f'<{prefix}parameter name="%K">%V</{prefix}parameter>{line}',
        join=line,
    )


_RESPONSE = "<tool_response>%R</tool_response>"
_QWEN = Style(
    "<tool_call>\n<function=%N>\n%P</function>\n</tool_call>",
    argument="<parameter=%K>\n%V\n</parameter>\n",
    join="\n",
    values="python_scalars",
)
_MISTRAL_RESULT = '[TOOL_RESULTS]{"content": %Q, "call_id": "%I"}[/TOOL_RESULTS]'
_HY = ":opensource"
_M3 = "]<]minimax[>["
_PLAMO = "<|plamo:{}:plamo|>".format

STYLES: dict[str, Style] = {
    # JSON
    "hermes": _json("<tool_call>\n", "\n</tool_call>", join="\n", tools=json_lines),
    "qwen2_5_coder": _json("<tool_call>\n", "\n</tool_call>", join="\n", tools=json_lines),
    "granite4": _json("<tool_call>\n", "\n</tool_call>", join="\n", tools=json_lines),
    "ernie45": _json("<tool_call>\n", "\n</tool_call>\n"),
    "longcat": _json("<longcat_tool_call>\n", "\n</longcat_tool_call>", join="\n"),
    "jamba": _array("<tool_calls>", "</tool_calls>"),
    "hunyuan_a13b": _array("<tool_calls>", "</tool_calls>", result=_RESPONSE, tools=json_list),
    "apriel": _array("<tool_calls>", "</tool_calls>", result="%R", tools=python_lines),
    "minimax_m1": replace(
        _json("", ""),
        before="<tool_calls>\n",
        join="\n",
        after="\n</tool_calls>",
        result="tool result: %R\n\n",
        tools=json_lines,
    ),
    "nemotron_v2": _array(
        "<TOOLCALL>",
        "</TOOLCALL>",
        result="%R",
        result_join=", ",
        results_before="<TOOL_RESPONSE>[",
        results_after="]</TOOL_RESPONSE>",
        tools=functions_list,
    ),
    "granite3": _array("<|tool_call|>", "", indent=4, result="%R", tools=blocks),
    "granite_20b_fc": _json("<function_call> ", "", join="\n", result="<function_response> %R", result_join=""),
    "phi4_mini": _array("functools", "", result="%R", tools=blocks),
    "firefunction_v2": _array(" functools", "", result="%R"),
    "internlm2": _json("<|action_start|><|plugin|>\n", "<|action_end|>", result="%R", tools=functions_list),
    "intern_s1": Style('<|action_start|> <|plugin|>\n{"name": %J, "parameters": %A}<|action_end|>\n', result="%R"),
    "xlam": _array("", "", result="%R", tools=blocks),
    "llama3_json": Style('{"name": %J, "parameters": %A}', join="; ", result="%Q", tools=blocks),
    "apertus": Style(
        "{%J: %A}",
        before="<|tools_prefix|>[",
        join=", ",
        after="]<|tools_suffix|>",
        result="%R",
        result_join=", ",
        results_before="[",
        results_after="]",
        tools=typescript(comma=False),
    ),
    "gigachat3": _json(
        "<|function_call|>", "", join="", result="%R", tools=typescript(indent="  ", gap="\n\n", end="\n\n")
    ),
    "mistral_v3": Style(
        '{"name": %J, "arguments": %A, "id": "%I"}',
        before="[TOOL_CALLS][",
        join=", ",
        after="]",
        ids="nine",
        result=_MISTRAL_RESULT,
        result_join="",
        tools=tools_list,
    ),
    "cohere_command3": _cohere(),
    "cohere_command4": _cohere(),
    # A name, then JSON
    "functionary_v31": Style("<function=%N>%A</function>", result="%R"),
    "functionary_v32": Style(
        ">>>%N\n%A", ascii=True, result="%R", tools=typescript(dots=True, gap="\n\n"), text="all\n%R"
    ),
    "mistral_v11": Style(
        "[TOOL_CALLS]%N[ARGS]%A", result="[TOOL_RESULTS]%R[/TOOL_RESULTS]", result_join="", tools=tools_list
    ),
    "mistral_v11_callid": Style(
        "[TOOL_CALLS]%N[CALL_ID]%I[ARGS]%A",
        ids="nine",
        result="[TOOL_RESULTS]%I[TOOL_CONTENT]%R[/TOOL_RESULTS]",
        result_join="",
        tools=tools_list,
    ),
    "deepseek_v3": Style(
        "<｜tool▁call▁begin｜>function<｜tool▁sep｜>%N\n```json\n%A\n```<｜tool▁call▁end｜>",
        before="<｜tool▁calls▁begin｜>",
        join="\n",
        after="<｜tool▁calls▁end｜>",
        result="<｜tool▁output▁begin｜>%R<｜tool▁output▁end｜>",
        results_before="<｜tool▁outputs▁begin｜>",
        results_after="<｜tool▁outputs▁end｜>",
        tools=fenced_blocks,
    ),
    "deepseek_v31": Style(
        "<｜tool▁call▁begin｜>%N<｜tool▁sep｜>%A<｜tool▁call▁end｜>",
        before="<｜tool▁calls▁begin｜>",
        after="<｜tool▁calls▁end｜>",
        result="<｜tool▁output▁begin｜>%R<｜tool▁output▁end｜>",
        result_join="",
        tools=deepseek_blocks,
    ),
    "kimi_k2": Style(
        "<|tool_call_begin|>%I<|tool_call_argument_begin|>%A<|tool_call_end|>",
        before="<|tool_calls_section_begin|>",
        after="<|tool_calls_section_end|>",
        ids="functions",
        result="## Return of %I\n%R",
        tools=json_list,
    ),
    "solar_open": Style(
        "<|tool_call:begin|>%I<|tool_call:name|>%N<|tool_call:args|>%A<|tool_call:end|>",
        before="<|tool_calls|>",
        result="<|tool_response:id|>%I<|tool_response:name|>%N<|tool_response:result|>%R<|tool_response:end|>",
        result_join="",
        tools=solar_list,
        text="<|content|>%R<|end|>",
        think="<|think|>%R<|end|><|begin|>assistant",
    ),
    "plamo3": Style(
        f"{_PLAMO('begin_tool_request')}{_PLAMO('begin_tool_name')}%N{_PLAMO('end_tool_name')}"
        f"{_PLAMO('begin_tool_arguments')}<|plamo:constrain|>json<|plamo:msg|>%A{_PLAMO('end_tool_arguments')}"
        f"{_PLAMO('end_tool_request')}",
        before=_PLAMO("begin_tool_requests"),
        after=_PLAMO("end_tool_requests"),
        result="%R",
    ),
    # A name, then one element per argument
    "qwen3_coder": replace(_QWEN, tools=xml_functions),
    "qwen3_5": replace(_QWEN, tools=json_lines),
    "nemotron_v3": replace(_QWEN, after="\n", tools=xml_functions),
    "step3p5": replace(_QWEN, join="", result=_RESPONSE, result_join="", tools=json_lines),
    "mimo_v2": replace(_QWEN, argument="<parameter=%K>%V</parameter>\n", values="json"),
    "seed_oss": replace(
        _QWEN,
        call="<seed:tool_call>\n<function=%N>\n%P</function>\n</seed:tool_call>",
        argument="<parameter=%K>%V</parameter>\n",
        values="python",
        result="%R",
        tools=python_signatures,
    ),
    "glm45": _glm("<tool_call>", "</tool_call>", "\n", join="\n", tools=json_lines),
    "glm47": _glm("<tool_call>", "</tool_call>", "", result=_RESPONSE, result_join="", tools=json_lines),
    "poolside_v1": _glm("<tool_call>", "</tool_call>", "\n", join="\n", tools=json_lines),
    "ling3": _glm("<tool_call>", "</tool_call>", "", result=_RESPONSE, result_join=""),
    "spark25": _glm("<tool_call>", "</tool_call>", "", result=_RESPONSE, result_join=""),
    "iquest_q1": _glm("<iquest_tool_call>", "</iquest_tool_call>", "", result=_RESPONSE, result_join=""),
    "hy_v3": Style(
        f"<tool_call{_HY}>%N<tool_sep{_HY}>\n%P</tool_call{_HY}>",
        argument=f"<arg_key{_HY}>%K</arg_key{_HY}>\n<arg_value{_HY}>%V</arg_value{_HY}>\n",
        before=f"<tool_calls{_HY}>\n",
        join="\n",
        after=f"\n</tool_calls{_HY}>",
        result=f"<tool_response{_HY}>\n%R\n</tool_response{_HY}>",
        results_before=f"<tool_responses{_HY}>\n",
        results_after=f"\n</tool_responses{_HY}>",
        tools=json_lines,
    ),
    "hy_v4": _glm("<tool_call>", "</tool_call>", "", before="<tool_calls>", after="</tool_calls>", result=_RESPONSE),
    "k2_horizon": Style(
        "<ifm|tool_call>%N\n%P</ifm|tool_call>",
        argument="<ifm|arg_key>%K</ifm|arg_key>\n<ifm|arg_value>%V</ifm|arg_value>\n",
        before="<ifm|tool_calls>\n",
        join="\n",
        after="\n</ifm|tool_calls>",
        result="%R",
    ),
    "minimax_m2": replace(
        _invoke(),
        before="<minimax:tool_call>\n",
        after="\n</minimax:tool_call>",
        result="<response>%R</response>",
        tools=tagged_lines,
    ),
    "minimax_m3": Style(
        f'{_M3}<invoke name="%N">%P{_M3}</invoke>\n',
        argument=f"{_M3}<%K>%V{_M3}</%K>",
        before=f"{_M3}<tool_call>\n",
        after=f"{_M3}</tool_call>",
        result="<response>%R</response>",
        tools=tagged_lines,
    ),
    "deepseek_v32": _dsml(
        "DSML",
        "function_calls",
        result="<result>%R</result>",
        results_before="<function_results>\n",
        results_after="\n</function_results>",
        tools=functions_lines,
    ),
    "deepseek_v4": _dsml(
        "DSML", "tool_calls", empty="\n", result="<tool_result>%R</tool_result>", tools=functions_lines
    ),
    "deepseek_v41": _dsml("DSML", "calls", " ", result="<tool_result>%R</tool_result>"),
    "gigachat35": _dsml("GCML", "tool_calls", result="%R"),
    "kimi_k3": Style(
        '<|open|>call tool="%N" index="%1"<|sep|>%P<|close|>call<|sep|>',
        argument='<|open|>argument key="%K" type="%T"<|sep|>%V<|close|>argument<|sep|>',
        before="<|open|>tools<|sep|>",
        after="<|close|>tools<|sep|>",
        result='<|open|>message role="tool" tool="%N" index="%1"<|sep|>%R<|close|>message<|sep|>',
        result_join="<|end_of_msg|>",
        tools=sorted_list,
        text="<|open|>response<|sep|>%R<|close|>response<|sep|>",
    ),
    "step3": replace(
        _invoke("steptml:", ""),
        call='<｜tool_call_begin｜>function<｜tool_sep｜><steptml:invoke name="%N">%P</steptml:invoke>'
        "<｜tool_call_end｜>",
        before="<｜tool_calls_begin｜>",
        join="\n",
        after="<｜tool_calls_end｜>",
        result="%R",
    ),
    "function_calls": replace(
        _invoke(),
        before="<function_calls>\n",
        after="\n</function_calls>",
        result="<result>%R</result>",
        results_before="<function_results>\n",
        results_after="\n</function_results>",
    ),
    "dots": replace(_invoke(), before="<dots_function_call>\n", after="\n</dots_function_call>", result="%R"),
    "minicpm5": Style(
        '<function name="%N">%P</function>',
        argument='<param name="%K">%V</param>',
        join="\n",
        values="python",
        tools=json_lines,
    ),
    # Function syntax; how values are written says the table
    "pythonic": Style(
        "%N(%P)", before="[", join=", ", after="]", result='{"output": %Q}', values="python", tools=blocks
    ),
    "llama4_pythonic": Style(
        "%N(%P)",
        before="<|python_start|>[",
        join=", ",
        after="]<|python_end|>",
        result="%R",
        values="python",
        tools=blocks_list,
    ),
    "lfm2": Style(
        "%N(%P)",
        before="<|tool_call_start|>[",
        join=", ",
        after="]<|tool_call_end|>",
        result="%R",
        values="python",
        tools=json_list,
    ),
    "olmo3": Style("%N(%P)", before="<function_calls>", join="\n", after="</function_calls>", result="%R"),
    "gemma4": Style(
        "<|tool_call>call:%N{%P}<tool_call|>",
        sort=True,
        result='<|tool_response>response:%N{value:<|"|>%R<|"|>}<tool_response|>',
        result_join="",
        tools=gemma_declarations,
    ),
    "functiongemma": Style(
        "<start_function_call>call:%N{%P}<end_function_call>",
        result="Function result for %N: %R",
        values="python_scalars",
        tools=labelled_blocks,
    ),
    # Messages with headers
    "harmony": Style(
        " to=functions.%N<|channel|>commentary json<|message|>%A<|call|>",
        join="<|start|>assistant",
        result="<|start|>functions.%N to=assistant<|channel|>commentary<|message|>%Q<|end|>",
        result_join="",
        tools=typescript(gap="\n\n"),
        text="<|channel|>final<|message|>%R",
        think="<|channel|>analysis<|message|>%R<|end|><|start|>assistant",
    ),
    "inkling": Style(
        '<|message_model|>%N<|content_invoke_tool_json|>{"name": %J, "args": %A}<|end_message|>',
        result="%R",
        text="<|message_model|><|content_text|>%R<|end_message|>",
        think="<|message_model|><|content_thinking|>%R<|end_message|>",
    ),
    "muse_glimmer": Style(
        ' to=%N<|message|><atem:function_calls>\n<atem:invoke name="%N">\n%P</atem:invoke>\n</atem:function_calls>',
        argument='<atem:parameter name="%K">%V</atem:parameter>\n',
        join="<|eom|><|start|>assistant",
        after="<|eot|>",
        result="%R",
        tools=muse_schemas,
        text=" to=user<|message|>%R<|eot|>",
        think=" to=self<|message|>%R<|eom|><|start|>assistant",
    ),
    "beam": Style(
        " to=%N<|channel|>analysis <|constrain|>xml<|message|>%P",
        argument='<rfl:parameter name="%K">\n%V\n</rfl:parameter>',
        join="<|end|><|start|>assistant",
        after="<|call|>",
        argument_join="\n",
        sort=True,
        result="%R",
        text="<|channel|>final<|message|>%R<|return|>",
        think="<|channel|>analysis<|message|>%R<|end|><|start|>assistant",
    ),
}
