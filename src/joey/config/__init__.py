"""Settings: read once, frozen, and each value knows where it came from.

Reading order: `keys` (every setting there is), `secrets` (what must not stand in a file), `files` (a TOML file as
checked values with their lines), `layers` (flags over environment over project over user over defaults, and what a
project may not decide), `edit` (one value changed, the rest of the file as it was).
"""

from __future__ import annotations

from joey.config.layers import Config, HeldBack, Setting, read_config
from joey.config.secrets import secret_in

__all__ = ["Config", "HeldBack", "Setting", "read_config", "secret_in"]
