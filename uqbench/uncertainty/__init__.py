"""Questions to agents about their uncertainty, the truth about it, and the scores.

Read ``queries`` (when they are asked) and ``query_sources`` (in which states) first; then the
truth, by ``rollouts`` or ``monte_carlo_returns``; then ``query_scores``, with ``epistemic`` and
``forecasts``. ``interval_scores`` is of Q*; ``scores`` says what each score is.
"""
