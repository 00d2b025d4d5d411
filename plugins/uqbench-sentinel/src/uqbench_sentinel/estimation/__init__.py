"""Estimating the risk of a return whose distribution is known up to a belief (examples 1 to 4)."""
