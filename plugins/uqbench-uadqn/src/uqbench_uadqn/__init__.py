"""UA-DQN for uqbench."""
