"""Executing a plan: everything of it that is missing, in batches of lanes, into the store.

Read ``complete`` first, then a batch's way: ``batches`` (what executes together), ``drive``
(processes of this machine, or a package's orders to others), ``worker`` and ``interleaving`` (a
batch in its process), ``train`` (the loop), ``checkpoints``. What is reported on the way is in
``events``; how long it will take in ``forecast``.
"""

from uqbench.contract.faces import face

__getattr__ = face(__name__, batches="Batch,BatchGroup,make_batch_groups", interleaving="execute")
