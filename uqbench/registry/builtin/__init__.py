"""Specs that uqbench registers itself, by the hooks that plugins use.

Read ``plugin`` (trivial agents, risk measures, kinds of claim, executors, one hook each), then
``trivial`` (baselines) and ``configs``.
"""
