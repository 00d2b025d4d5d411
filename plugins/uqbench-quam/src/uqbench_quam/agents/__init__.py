"""QUAM as exploration in reinforcement learning."""
