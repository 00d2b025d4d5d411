"""Conformance: what uqbench asks of a plugin, as rules that say what to do.

A file for each kind of thing: :mod:`agents` (with :mod:`devices`, :mod:`processes` and
:mod:`uncertainty`), :mod:`loop_agents`, :mod:`environments` (with :mod:`truths`),
:mod:`estimators` (and data sets), :mod:`scores`, :mod:`risks`, :mod:`claims`, :mod:`packages`. It
begins with the *subject*, a dataclass of what is needed to try the rules; the rules follow, and
then their helpers.

To add a rule, write a function of a subject::

    @check(RiskSubject, "risk-law", after=("risk-forms",))
    def law(subject: RiskSubject) -> None:
        \"\"\"The value is of the law alone, whatever says it.

        The same distributions backwards.

        Fix:
            Sort the values with their probabilities where the measure needs an order.
        \"\"\"
        if ...:
            raise Failed("in another order it is 3; expected 2")

The docstring is the rule, how it is tried, and the fix, which the site lists
(``tools/conformance_page.py``). The function returns, or returns what it measured, where the
rule holds; it raises :class:`~check.Failed`, :class:`~check.Skipped` where the rule does not apply,
or :class:`~check.Vacuous` where nothing could have broken it. A mutant in this package's tests
shows that the rule finds something. :mod:`uqbench_testing.results` makes the checks.
"""
