"""From runs to leaderboards: scores, aggregation, tables."""
