"""What ``uqbench plugin new`` writes: templates, package data, which ``render`` fills in."""
