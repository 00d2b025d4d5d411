"""Suites: their tables, reading and checking them, and planning their runs.

Read ``suite``, ``tables``, ``metrics`` and ``claims`` (every key of a suite file) first, then
``reading`` and ``rows`` (a suite is rows, each checked as it is added), then ``selection`` and
``plan`` (the runs that are meant, each with its identity).
"""

from uqbench.contract.faces import face

__getattr__ = face(
    __name__, reading="Catalog,parse_suite,read_suites", plan="Plan,make_plan",
    selection="Selection", metrics="Metric,NormalizationConstants", suite="Suite",
    tables="Budget,Method,Queries,Task", claims="Claim", configs="method_config",
)  # fmt: skip
