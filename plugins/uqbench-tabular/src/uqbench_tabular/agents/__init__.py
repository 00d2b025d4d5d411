"""Agents: the paper's five, and certainty equivalence."""
