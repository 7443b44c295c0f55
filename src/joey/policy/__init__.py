"""What may be done: actions in, a verdict with its reason out.

Reading order: `words`, `suspicions` and `commands` (what a command line would run), `rules`, `wrappers` (programs that
run programs), `dangers` with `git` and `scripts` (programs that run code), `writes` (programs that change files),
`builtins` (tables), `ignore`, `paths`, `settings`, `verdict`, then `lines` and `judge`, which put them together.
Nothing here does anything to the world; the questions that only the disk can answer go through `paths.Workspace`.
"""

from __future__ import annotations

from joey.policy.ignore import IgnoreRules
from joey.policy.judge import judge
from joey.policy.paths import Workspace
from joey.policy.settings import Settings
from joey.policy.verdict import Verdict

__all__ = ["IgnoreRules", "Settings", "Verdict", "Workspace", "judge"]
