"""Environments of other libraries as lanes, and lanes as theirs.

``vector``: Gymnasium's vector environments, used as lanes, and made of any lanes. A
``gymnasium.Env`` needs no adapter: :class:`uqbench.environment.GymnasiumLanes` is in the contract.
"""
