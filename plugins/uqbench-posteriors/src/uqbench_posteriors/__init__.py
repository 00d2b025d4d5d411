"""Approximate posteriors of Q, each from its paper."""
