"""What uqbench registers itself, by the hooks that plugins use.

Read ``plugin`` (trivial agents, kinds of claim, executors, loggers, risk measures, one hook each),
then ``trivial`` (agents that learn nothing) and ``configs``.
"""
