"""Small tasks with checks, for measuring what a model can do with Joey. See evals/README.md."""
