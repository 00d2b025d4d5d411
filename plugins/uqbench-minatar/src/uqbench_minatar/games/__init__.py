"""MinAtar's five games, each a few functions on the integers that are its state.

Every game has ``CHANNELS``, the number of planes of an observation; ``SIZE``, the length of its
state; ``reset`` (begin an episode), ``step`` (take an action; returns the reward and whether the
episode ended) and ``draw`` (set the cells of an all-zero observation); ``step_lane`` and
``begin_episode`` are made of these. They equal the games of the ``minatar`` package bit for bit,
including the order of random draws.
"""
