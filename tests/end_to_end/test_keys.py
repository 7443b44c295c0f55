"""No key of the user's reaches the model or the terminal, whatever a command looks at: through `joey run`."""

from __future__ import annotations

import pytest

from joey.testing.script import reply
from joey_process import JoeyProcess, call, done

LOOKING = (
    "env; export -p; declare -x; cat /proc/self/environ; python3 -c 'import os; print(os.environ)'; "
    "echo $ANTHROPIC_API_KEY"
)


@pytest.mark.parametrize("profile", ["all", "edits", "read-only", "ask"])
async def test_no_command_shows_a_key(joey: JoeyProcess, profile: str) -> None:
    joey.variables["ANTHROPIC_API_KEY"] = "swordfish-1234"
    script = [reply(call("a", "execute_command", command=LOOKING)), done()]
    ran = await joey.run(script, "Look around", "--approve", profile)
    everything = ran.out + ran.err + "".join(ran.sent(number) for number in range(len(ran.requests)))
    assert len(ran.requests) == 2 and "swordfish" not in everything
    kept = [path.read_bytes() for path in joey.home.rglob("*") if path.is_file()]
    assert kept and not any(b"swordfish" in content for content in kept)
    assert ("HOME=" in everything) == (profile == "all"), "the command runs only where everything may run"
    assert ("secrets: ANTHROPIC_API_KEY" in everything) == (profile == "all"), "the model is informed"
