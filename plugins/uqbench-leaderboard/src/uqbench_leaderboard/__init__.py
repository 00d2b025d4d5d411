"""Leaderboards of stored runs: computed, checked byte for byte, written anew, scored otherwise.

Read ``api`` first (what the command does), then ``check`` (does a stored board follow from its
scores?) and ``rescored`` (another risk measure, a further score of stored predictions).
"""
