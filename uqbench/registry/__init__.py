"""Plugin discovery, and registries of the agents, environments, measures, … that plugins add."""
