"""Deep reinforcement learning with the uncertainty Bellman equation (O'Donoghue et al. 2018, 5)."""
