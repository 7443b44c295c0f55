"""smolagents on one request: run by the Python that has it, with address, key, model, steps, a file and the request."""

from __future__ import annotations

import sys
from pathlib import Path

from smolagents import CodeAgent, OpenAIModel  # type: ignore[import-not-found]


def main(address: str, key: str, name: str, steps: str, answer: str, request: str) -> None:
    model = OpenAIModel(model_id=name, api_base=address, api_key=key, temperature=0)
    agent = CodeAgent(
        tools=[],
        model=model,
        additional_authorized_imports=["*"],
        executor_kwargs={"additional_functions": {"open": open}},  # its own interpreter of Python knows no files
        max_steps=int(steps),
    )
    Path(answer).write_text(str(agent.run(request)), "utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
