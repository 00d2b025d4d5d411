"""MinAtar's five games, each a few functions on the integers that are its state.

Every game has ``CHANNELS``, the number of planes of an observation; ``SIZE``, that of its state;
``reset`` (begin an episode), ``step`` (take an action: the reward, and whether the episode ended)
and ``draw`` (set the cells of an observation of zeros). They equal the ``minatar`` package's games
bit for bit, in the order of their random draws too.
"""
