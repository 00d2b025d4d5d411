"""The command ``uqbench claims``."""
