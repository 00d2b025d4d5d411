"""Agents in JAX for uqbench: pure functions on pytrees."""
