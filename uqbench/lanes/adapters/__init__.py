"""Environments of other libraries as lanes, and lanes as theirs.

``gymnasium_lanes`` makes lanes of ``gymnasium.Env`` objects. ``vector`` uses Gymnasium's vector
environments as lanes, and makes them of any lanes.
"""
