"""The uncertainty Bellman equation for uqbench, tabular and deep."""
