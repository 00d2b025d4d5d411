"""DQN baselines for uqbench."""
