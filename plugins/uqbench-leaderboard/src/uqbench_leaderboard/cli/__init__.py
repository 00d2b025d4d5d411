"""The commands ``uqbench leaderboard`` and ``uqbench tune``."""
