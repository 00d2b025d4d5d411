"""uqbench's own pieces, registered through the same hooks as anybody else's."""

from __future__ import annotations

from collections.abc import Iterable

from uqbench.hookspecs import hookimpl
from uqbench.specs import Spec


@hookimpl
def uqbench_risk_measures() -> Iterable[Spec]:
    """The distortion risk measures of ``uqbench.risk``."""

    def measure(name: str, cls: str, summary: str, source: str) -> Spec:
        path = f"uqbench.risk.distortion:{cls}"
        return Spec(name=name, version="1", factory=path, summary=summary, source=source)

    return [
        measure("expectation", "Expectation", "the mean return", ""),
        measure(
            "cvar", "CVaR", "mean of the worst alpha mass of returns", "Rockafellar & Uryasev 2000"
        ),
        measure("wang", "Wang", "Wang's transform of the CDF; 0.5 is neutral", "Wang 2000"),
    ]
