"""Keeping boards: computing, checking, error rates, and the search of settings.

Read ``api`` first (what ``uqbench leaderboard`` does), then ``check`` (does a stored board follow
from its scores?), ``rescored`` (another risk measure, a further score of stored predictions),
``error_rates`` (a board's ``errors.csv``) and ``tune`` (what ``uqbench tune`` does).
"""
