"""Programs by tables of what is harmless. A program that is in no table is not understood."""
