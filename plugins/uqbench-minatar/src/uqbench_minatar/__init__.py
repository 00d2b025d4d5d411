"""MinAtar for uqbench."""

GAMES = ("asterix", "breakout", "freeway", "seaquest", "space_invaders")
