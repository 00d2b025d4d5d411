"""highway-v0 as a few functions on the numbers that are its state, one environment at a time.

A *lane* is one of the road's here; those that step side by side are known to ``stepping`` alone.
The functions follow highway-env 1.12.1 in the order of their operations and of their random draws.
What is left of a difference are the last digits of sine, tangent, power and their like, which NumPy
computes differently on different processors.
"""
