"""A training loop that its owner keeps, recorded as a run; a trained agent, evaluated alone.

Read ``record`` first (the two functions), then ``self_run`` (the lanes that a loop steps).
"""
