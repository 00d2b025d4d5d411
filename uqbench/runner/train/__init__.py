"""Training and evaluating the lanes of a batch.

Read ``loop`` (act, step, observe) and ``recorder`` (what of it is stored) first, then ``agents``,
``loop_agent`` and ``estimators`` (a batch of each kind), ``evaluation``, and ``compiling``.
``guards`` checks what a plugin returns.
"""
