"""Other agents on the same tasks: the same model on the same server, the same time, the same checks.

A peer runs as its own users would run it without a person: in the task's folder, which is a git repository of its own,
with a home of its own, and with everything answered by yes that it may be answered by. What counts as its answer is
what its model replied, without the words of the program around it. Its requests pass through a meter, so that turns and
tokens are counted alike for all.
"""

from evals.peers.agents import PEERS
from evals.peers.running import ModelServer, Peer, model_server, run_peer

__all__ = ["PEERS", "ModelServer", "Peer", "model_server", "run_peer"]
