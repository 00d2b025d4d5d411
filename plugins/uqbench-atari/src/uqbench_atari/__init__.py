"""The 57 Atari games for uqbench."""
