"""What uqbench registers itself: trivial agents, claim kinds, executors, risk measures."""
