"""The commands ``uqbench plot`` and ``uqbench report``."""
