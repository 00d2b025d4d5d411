"""What the package registers with uqbench."""
