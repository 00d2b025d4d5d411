"""Claims: the built-in kinds, and the verdicts that follow from their intervals."""
