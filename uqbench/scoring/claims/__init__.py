"""Claims: the built-in kinds, their intervals, and the verdicts that follow from them."""
