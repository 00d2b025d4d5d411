"""Stacks of networks: architectures, losses, training and the reference model."""
