"""What plugins add: discovery, and registries of agents, environments, measures and so on."""
