"""What ``uqbench plugin new`` writes: templates as package data, and ``render``, which fills them in."""
