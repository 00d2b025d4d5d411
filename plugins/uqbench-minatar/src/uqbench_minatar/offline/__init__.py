"""Ten given policies of a game, to be valued from logged play alone."""
