"""Predictions that somebody has, and the registered scores, which are of runs' predictions, too.

Read ``score`` first (what goes in, what comes out), then ``stated`` (the formats), ``registered``
with ``detection`` (the scores), ``formats`` (what each needs), ``chance`` and ``beside``.
"""

BINS = 15
"""Bins of the calibration error: as many points in each."""
