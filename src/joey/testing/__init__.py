"""The fakes and checks that Joey's own tests use, for yours."""

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
    "by_character",
    "check_laws",
    "cut_at",
    "cut_everywhere",
    "cuttings",
    "read",
    "whole",
]
