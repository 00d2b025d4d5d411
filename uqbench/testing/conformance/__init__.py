"""Conformance: what uqbench asks of a plugin, as checks that name the rule and the fix.

A check (:mod:`~uqbench.testing.conformance.check`) has an id, a rule in one line, a fix and an
anchor in ``docs/conformance.md``. It is made on a *subject*: an agent, an environment, a risk
measure, … with all that is needed to try it. pytest runs them: :mod:`uqbench.testing.checks` in a
plugin's own tests, and :mod:`uqbench.testing.results` for ``uqbench plugin check``, on what an
installed plugin registers (:mod:`~uqbench.testing.conformance.subjects`).
"""
