"""Templates of ``uqbench plugin new``, package data; ``render`` fills them in."""
