"""The local executor: processes of this machine, and what a run may take of it.

Read ``local``, then ``spawn`` (how a process is started, and what it says) and ``limits``.
Executors of other machines are plugins; see :mod:`uqbench.contract.executor`.
"""
