"""SENTINEL-K for uqbench: composite risk over an ensemble of return distributions."""
