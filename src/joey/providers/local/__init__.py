"""Models on this machine: the engine that runs them, and their weights."""
