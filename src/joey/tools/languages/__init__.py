"""Language servers: what they find wrong with edited files, and where symbols are defined and used.

Reading order: `programs` (which servers there are), `messages` (the wire, within bounds), `connection` (a process and
its requests), `positions`, `server` (one server), `servers` (those of a task).
"""
