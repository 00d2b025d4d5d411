"""Figures of leaderboards, the explorer of boards, methods and claims, and one-file reports."""
