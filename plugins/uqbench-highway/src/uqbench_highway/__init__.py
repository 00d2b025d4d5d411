"""highway-env for uqbench."""
