"""JSON Schema, read once for everybody: the parsers, the grammars, the registry of tools, MCP and the providers.

    references    what a schema comes down to: `$ref`, `allOf`, the members of a union, its children
    kinds         the JSON types a schema allows, and whether a value is of one
    coerce        text that a model wrote, as the value the schema wants (text protocols)
    repair        arguments that a model gave, corrected where that loses nothing (every call); what is wrong, in words
    example       plausible arguments
    normalise     a schema that providers accept, and one that models read easily

Schemas are written by others (MCP servers, custom tools) and may refer to themselves, so everything here has bounds.
The standard library is enough for it; validation itself is pydantic's and jsonschema's.
"""
