"""Images as models take them: of a known kind, and no larger than the model can use."""
