"""Joey in a world that kills, fills, closes and damages: `make chaos`, or `python -m chaos kills --kills 1000`.

The real `joey run` and `joey resume` run as processes in front of a scripted model. Every command of the model's
writes a line to a log of its own, which nobody but the commands touches: that log is what really happened. After each
task what the model was told is compared with it. In the same way `joey acp`, `joey gateway` and `joey fleet` are tried.

    kills     kill -9 at random instants, in every protocol, resumed until the task is done
    beside    the same, of four subtasks at once, each in a worktree of its own
    editor    the same, of an agent in an editor: while it asks for permission, runs a command, or loads its session
    gateway   clients of three wires in front of a server that cuts, hangs and sends rubbish; everything is killed
    calls     kill -9 before every system call of a short task that changes something, one after the other
    full      the same places, but the disk is full from there on, for a while
    damage    journals cut at every byte of their last records, and with random bits flipped
    signals   HUP, TERM, QUIT, INT, a closed terminal, a stop of seconds, two processes at one task
    day       many long tasks in one process: memory, descriptors, children and temporary files stay flat
    fleet     workers of a fleet are killed, and its database crashes
    cut       one of two machines of a fleet is cut off while its tasks run
"""
