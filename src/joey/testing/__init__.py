"""The fakes and checks that Joey's own tests use, for yours."""

from joey.testing.script import (
    Failure,
    Faults,
    RawAnswer,
    Recording,
    Scripted,
    ScriptedProvider,
    ScriptedReply,
    reply,
    same_reply,
)
from joey.testing.server import LocalServer, ReceivedRequest
from joey.testing.streams import (
    Cutting,
    by_character,
    check_laws,
    cut_at,
    cut_everywhere,
    cuttings,
    read,
    whole,
)

__all__ = [
    "Cutting",
    "Failure",
    "Faults",
    "LocalServer",
    "RawAnswer",
    "ReceivedRequest",
    "Recording",
    "Scripted",
    "ScriptedProvider",
    "ScriptedReply",
    "by_character",
    "check_laws",
    "cut_at",
    "cut_everywhere",
    "cuttings",
    "read",
    "reply",
    "same_reply",
    "whole",
]
