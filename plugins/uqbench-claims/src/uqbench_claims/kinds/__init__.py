"""Kinds of claim: ``order``, ``band``, ``share``; what they have in common is in ``per_task``."""
