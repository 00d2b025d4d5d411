"""The commands ``uqbench claims`` and ``uqbench cite``."""
