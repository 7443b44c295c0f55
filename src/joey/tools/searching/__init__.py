"""Finding things in a tree of files: a listing, and ripgrep."""
