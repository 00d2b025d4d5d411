"""A training loop that its owner keeps, recorded as a run; trained agents, evaluated, restored.

Read ``record`` first (the two functions), then ``self_run`` (the lanes that a loop steps) and
``agents`` (of stored runs).
"""
