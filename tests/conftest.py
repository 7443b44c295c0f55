from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

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
