"""Grammars of legal replies, in GBNF: what the protocols share."""
