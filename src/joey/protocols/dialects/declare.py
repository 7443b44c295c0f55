"""How tools are declared: a list of tools as text, in the ways of the official templates."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from joey.toolspec import ToolSpec
from joey.wire import JsonObject, JsonValue

Tools: TypeAlias = Sequence[ToolSpec]


def _dump(value: JsonValue, **more: Any) -> str:
    return json.dumps(value, ensure_ascii=False, **more)


def _function(tool: ToolSpec) -> JsonObject:
    function: JsonObject = tool.to_openai()["function"]
    return function


def json_lines(tools: Tools) -> str:
    """One OpenAI tool object a line."""
    return "\n".join(_dump(tool.to_openai()) for tool in tools)


def functions_lines(tools: Tools) -> str:
    """The same, without `"type": "function"` around it."""
    return "\n".join(_dump(_function(tool)) for tool in tools)


def json_list(tools: Tools) -> str:
    return _dump([tool.to_openai() for tool in tools])


def functions_list(tools: Tools) -> str:
    return _dump([_function(tool) for tool in tools])


def sorted_list(tools: Tools) -> str:
    return _dump([tool.to_openai() for tool in tools], sort_keys=True, separators=(",", ":"))


def tools_list(tools: Tools) -> str:
    return f"[AVAILABLE_TOOLS]{json_list(tools)}[/AVAILABLE_TOOLS]"


def python_lines(tools: Tools) -> str:
    return "\n".join(str(tool.to_openai()) for tool in tools)


def blocks(tools: Tools) -> str:
    """Objects indented by four, with an empty line between."""
    return "\n\n".join(_dump(tool.to_openai(), indent=4) for tool in tools)


def blocks_list(tools: Tools) -> str:
    return _dump([tool.to_openai() for tool in tools], indent=4)


def fenced_blocks(tools: Tools) -> str:
    return "\n\n".join(f"```json\n{_dump(tool.to_openai())}\n```" for tool in tools)


def tagged_lines(tools: Tools) -> str:
    return "\n".join(f"<tool>{_dump(_function(tool))}</tool>" for tool in tools)


def solar_list(tools: Tools) -> str:
    return "".join(f"<|tool:begin|>{_dump(_function(tool))}<|tool:end|>" for tool in tools)


def cohere_list(tools: Tools) -> str:
    return ",\n".join(f"    {_dump({**_function(tool), 'responses': None})}" for tool in tools)


def deepseek_blocks(tools: Tools) -> str:
    return "\n".join(
        f"### {tool.name}\nDescription: {tool.description}\n\nParameters: {_dump(tool.schema)}\n" for tool in tools
    )


def labelled_blocks(tools: Tools) -> str:
    return "\n".join(
        f"Function: {tool.name}\nDescription: {tool.description}\nParameters: {_dump(tool.schema)}" for tool in tools
    )


def muse_schemas(tools: Tools) -> str:
    """Names first, then schemas."""
    names = "\n".join(_dump({"name": tool.name, "description": ""}) for tool in tools)
    return f"// Tool metadata\n{names}\n// Function schemas\n{functions_lines(tools)}"


# XML, Python, TypeScript, Gemma


def _parameters(tool: ToolSpec) -> Mapping[str, Any]:
    known = tool.schema.get("properties")
    return known if isinstance(known, Mapping) else {}


def xml_functions(tools: Tools) -> str:
    return "\n".join(_xml_function(tool) for tool in tools)


def _xml_function(tool: ToolSpec) -> str:
    lines = [
        "<function>",
        f"<name>{tool.name}</name>",
        f"<description>{tool.description}</description>",
        "<parameters>",
    ]
    for name, schema in _parameters(tool).items():
        lines += ["<parameter>", f"<name>{name}</name>"]
        lines += [f"<{key}>{_text(schema[key])}</{key}>" for key in ("type", "description") if schema.get(key)]
        rest = {key: value for key, value in schema.items() if key not in ("type", "description")}
        lines += [f"<{key}>{_text(value)}</{key}>" for key, value in rest.items()]
        lines.append("</parameter>")
    if tool.schema.get("required"):
        lines.append(f"<required>{_dump(tool.schema['required'])}</required>")
    return "\n".join([*lines, "</parameters>", "</function>"])


def _text(value: JsonValue) -> str:
    return value if isinstance(value, str) else _dump(value)


_PYTHON = {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "array": "list", "object": "dict"}


def python_signatures(tools: Tools) -> str:
    return "\n".join(_signature(tool) for tool in tools)


def _signature(tool: ToolSpec) -> str:
    required = tool.schema.get("required") or ()
    known = _parameters(tool)
    kinds = {name: _PYTHON.get(str(schema.get("type")), "Any") for name, schema in known.items()}
    arguments = ",".join(f"{name}: {kind}" for name, kind in kinds.items())
    marks = {name: "必填" if name in required else "选填" for name in kinds}
    about = "".join(
        f"\n    - {name} ({kind}) [{marks[name]}]: {known[name].get('description', '')}" for name, kind in kinds.items()
    )
    head = f'\nFunction:\ndef {tool.name}({arguments}):\n    """\n    {tool.description}\n\n'
    return f'{head}{"    Args:" if about else ""}{about}\n\n    """'


def typescript(
    *, dots: bool = False, comma: bool = True, indent: str = "", gap: str = "\n", end: str = ""
) -> Callable[[Tools], str]:
    """`type name = (_: {city: string, days?: number}) => any;`, each with comments."""

    def written(tools: Tools) -> str:
        return gap.join(_type(tool, dots, comma, indent) for tool in tools) + end

    return written


def _type(tool: ToolSpec, dots: bool, comma: bool, indent: str) -> str:
    head = f"// {tool.description}\n"
    if not _parameters(tool):
        return f"{head}type {tool.name} = () => any;"
    fields = list(_fields(tool, dots, indent))
    body = ",\n".join(fields) + ("," if comma else "")
    return f"{head}type {tool.name} = (_: {{\n{body}\n}}) => any;"


def _fields(tool: ToolSpec, dots: bool, indent: str) -> Iterator[str]:
    required = tool.schema.get("required") or ()
    for name, schema in _parameters(tool).items():
        about = schema.get("description", "")
        about = f"{about}." if dots and about and not about.endswith(".") else about
        comment = f"{indent}// {about}\n" if about else ""
        yield f"{comment}{indent}{name}{'' if name in required else '?'}: {type_of(schema)}"


def type_of(schema: JsonValue) -> str:
    """A schema as a TypeScript type."""
    if not isinstance(schema, Mapping):
        return "any"
    if isinstance(schema.get("enum"), list):
        return " | ".join(_dump(value) for value in schema["enum"])
    kind = schema.get("type")
    if isinstance(kind, list):
        return " | ".join(type_of({**schema, "type": each}) for each in kind)
    if kind == "array":
        return f"{type_of(schema.get('items'))}[]"
    return {"string": "string", "integer": "number", "number": "number", "boolean": "boolean", "null": "null"}.get(
        str(kind), "object" if kind == "object" else "any"
    )


def gemma_declarations(tools: Tools) -> str:
    return "".join(
        f"<|tool>declaration:{tool.name}{{description:{_gemma(tool.description)},"
        f"parameters:{_gemma_schema(tool.schema)}}}<tool|>"
        for tool in tools
    )


def _gemma(text: JsonValue) -> str:
    return f'<|"|>{text}<|"|>'


def _gemma_schema(schema: Mapping[str, Any]) -> str:
    parts = [f"description:{_gemma(schema['description'])}"] if schema.get("description") else []
    if schema.get("properties"):
        inner = ",".join(f"{name}:{_gemma_schema(each)}" for name, each in sorted(schema["properties"].items()))
        parts.append(f"properties:{{{inner}}}")
    if schema.get("required"):
        parts.append(f"required:[{','.join(map(_gemma, schema['required']))}]")
    kind = schema.get("type", "object")
    parts.append(f"type:{_gemma(str(kind if isinstance(kind, str) else kind[0]).upper())}")
    return f"{{{','.join(parts)}}}"
