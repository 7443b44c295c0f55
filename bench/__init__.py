"""Benchmarks: `python -m bench` prints one table of ratios."""
