"""highway-v0 as a few functions on the arrays that hold its state, one environment at a time.

Here ``road_lane`` is a lane of the road; the lanes of a batch appear in ``stepping`` only. The
functions follow highway-env 1.12.1 in the order of operations and of random draws. The remaining
difference is the last digits of sine, tangent, power and the like, which NumPy computes differently
on different processors.
"""
