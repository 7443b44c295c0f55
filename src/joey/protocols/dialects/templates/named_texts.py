"""The declarations in dialects of the grammar `named_json`."""

from __future__ import annotations

NAMED_JSON: dict[str, str] = {
    "deepseek_v3": """\
You are a helpful assistant with tool calling capabilities. When a tool call is needed, you MUST use the following format to issue the call:
<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>FUNCTION_NAME
```json
{"param1": "value1", "param2": "value2"}
```<｜tool▁call▁end｜><｜tool▁calls▁end｜>

Make sure the JSON is valid.## Tools

### Function

You have the following functions available:


⟦tools⟧
""",
    "deepseek_v31": """\
## Tools
You have access to the following tools:

⟦tools⟧
IMPORTANT: ALWAYS adhere to this exact format for tool use:
<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>tool_call_name<｜tool▁sep｜>tool_call_arguments<｜tool▁call▁end｜>{{additional_tool_calls}}<｜tool▁calls▁end｜>

Where:

- `tool_call_name` must be an exact match to one of the available tools
- `tool_call_arguments` must be valid JSON that strictly follows the tool's Parameters Schema
- For multiple tool calls, chain them directly without separators or spaces
""",
    "functionary_v32": """\
You are capable of executing available function(s) if required.
Only execute function(s) when absolutely necessary.
Ask for the required input to:recipient==all
Use JSON for function arguments.
Respond in this format:
>>>${recipient}
${content}
Available functions:
// Supported function definitions that should be called when necessary.
namespace functions {

⟦tools⟧

} // namespace functions""",
    "solar_open": """\
## Tools

### Tool Call Instruction
You may invoke one or more tools to assist with the user's query. Available tools are provided in JSON Schema format: <|tools:begin|><|tool:begin|><tools-json-object><|tool:end|>...<|tools:end|>

### Available Tools
<|tools:begin|>⟦tools⟧<|tools:end|>

### Tool Call Format
For each tool call, return a JSON object with the following structure, enclosed within <|tool_call:begin|> and <|tool_call:end|> tags: 
<|tool_call:begin|><tool-call-id><|tool_call:name|><tool-name><|tool_call:args|><args-json-object><|tool_call:end|>
- The <tool-call-id> must be a randomly generated string consisting of 10 lowercase letters (a-z) and/or digits (0-9) (e.g., a1b2c3d4e5)

### Tool Response Format
Each tool is responded by `tool` with the following structure:
<|tool_response:id|><tool-call-id><|tool_response:name|><tool-name><|tool_response:result|><results><|tool_response:end|>
- Ensure the <tool-call-id> matches the corresponding tool call""",
}
