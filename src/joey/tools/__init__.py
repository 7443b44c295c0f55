"""What the model may call: definitions, the registry that checks a call, the toolset a mode offers."""
