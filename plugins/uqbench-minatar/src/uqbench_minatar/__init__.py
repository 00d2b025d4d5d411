"""MinAtar for uqbench."""
