"""Finite MDPs as environments, and their exact solutions."""
