"""The commands ``uqbench submit`` and ``uqbench verify``."""
