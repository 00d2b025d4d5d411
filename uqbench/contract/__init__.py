"""The contract: what a plugin imports, and what it may rely on. It imports no other room.

Each module here is also importable without the room's name, ``uqbench.agent`` for
``uqbench.contract.agent``. Read ``hookspecs`` first (every hook on one screen), then ``agent``,
``environment`` and ``estimator`` (what a method and a task are), then ``specs`` and ``risk``.
"""
