"""QUAM: uncertainty by adversarial models, for uqbench."""
