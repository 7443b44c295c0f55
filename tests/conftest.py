from __future__ import annotations

import os
import signal
import tempfile

import pytest
from hypothesis import HealthCheck, settings

from joey.tools.shell.environment import command_environment

settings.register_profile(
    "quick", max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True
)
settings.register_profile(
    "fuzz",
    max_examples=int(os.environ.get("JOEY_FUZZ") or 0) or 5_000,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    print_blob=True,
)
settings.load_profile("fuzz" if os.environ.get("JOEY_FUZZ") else "quick")


OURS = (
    "JOEY_CHAOS", "JOEY_CHAOS_BESIDE", "JOEY_CLIENTS", "JOEY_FUZZ", "JOEY_RENEW_SNAPSHOTS", "JOEY_TYPING_MINUTES",
    "JOEY_TYPING_SEED", "JOEY_VECTORS",
)  # fmt: skip
"""Variables that are for the tests themselves."""


def pytest_configure(config: pytest.Config) -> None:
    """Whoever runs the tests has settings, keys and models of their own, which play no part."""
    given = command_environment(os.environ).variables  # a result names the variables that commands do not get
    for name in list(os.environ):
        if name not in given or name.endswith("_API_KEY") or (name.startswith(("JOEY_", "XDG_")) and name not in OURS):
            del os.environ[name]
    home = tempfile.TemporaryDirectory(prefix="joey-tests-", ignore_cleanup_errors=True)
    config.add_cleanup(home.cleanup)
    os.environ["HOME"] = home.name
    # What is started in the background or with nohup ignores signals, and so would all that the tests start and end.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for number in (signal.SIGHUP, signal.SIGQUIT, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Numbers that tests were asked to report (record_property), added up over all of them."""
    totals: dict[str, int] = {}
    for report in terminalreporter.getreports("passed"):
        for name, value in report.user_properties:
            if isinstance(value, int):
                totals[name] = totals.get(name, 0) + value
    for name, total in totals.items():
        terminalreporter.write_line(f"{total:,} {name}")
