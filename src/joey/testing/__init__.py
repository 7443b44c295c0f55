"""The fakes and checks that Joey's own tests use, for yours."""

from joey.testing.script import Answer, Failure, Faults, Recording, Reply, reply, same_reply
from joey.testing.scripted import ScriptedProvider
from joey.testing.server import Asked, LocalServer
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
    "Answer",
    "Asked",
    "Cutting",
    "Failure",
    "Faults",
    "LocalServer",
    "Recording",
    "Reply",
    "ScriptedProvider",
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
