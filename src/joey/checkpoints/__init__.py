"""The files of a workspace as they were before each change, kept beside the task, and put back on request."""

from joey.checkpoints.entries import Checkpoint, CheckpointLimits, PathState
from joey.checkpoints.restore import Restoration, plan_redo, plan_restore, plan_undo
from joey.checkpoints.store import CheckpointStore

__all__ = [
    "Checkpoint",
    "CheckpointLimits",
    "CheckpointStore",
    "PathState",
    "Restoration",
    "plan_redo",
    "plan_restore",
    "plan_undo",
]
