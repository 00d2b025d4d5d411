"""Conformance: what uqbench asks of a plugin, as checks that name the rule and the fix.

A check (:mod:`~uqbench.testing.conformance.check`) has an id, a rule in one line and a fix;
``tools/conformance_page.py`` lists them on the site. It is made on a *subject*: an agent, an
environment, a risk measure, … with all that is needed to try it. :mod:`uqbench.testing.results`
makes them, for ``uqbench plugin check`` and ``uqbench.testing.check``, of what an installed plugin
registers (:mod:`~uqbench.testing.conformance.subjects`) or of a class.
"""
