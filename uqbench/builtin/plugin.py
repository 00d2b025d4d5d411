"""uqbench's own components, registered through the same hooks as any plugin's."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from uqbench.hookspecs import hookimpl
from uqbench.specs import AgentSpec, ExecutorSpec, Spec


@hookimpl
def uqbench_agents() -> Iterable[AgentSpec]:
    """Agents that learn nothing, for every environment."""
    return [
        AgentSpec(
            name="uniform-random",
            version="1",
            factory="uqbench.builtin.trivial:UniformRandom",
            config="uqbench.builtin.configs:UniformRandomConfig",
            role="trivial",
        ),
        AgentSpec(
            name="constant-action",
            version="1",
            factory="uqbench.builtin.trivial:ConstantAction",
            config="uqbench.builtin.configs:ConstantActionConfig",
            role="trivial",
        ),
    ]


@hookimpl
def uqbench_risk_measures() -> Iterable[Spec]:
    """The risk measures of ``uqbench.risk``."""

    def measure(name: str, path: str, summary: str, source: str) -> Spec:
        factory = f"uqbench.risk.{path}"
        return Spec(name=name, version="1", factory=factory, summary=summary, source=source)

    return [
        measure("expectation", "distortion:Expectation", "the mean return", ""),
        measure(
            "var", "distortion:VaR", "the lower alpha quantile of returns", "Artzner et al. 1999"
        ),
        measure(
            "cvar",
            "distortion:CVaR",
            "mean of the worst alpha mass of returns",
            "Rockafellar & Uryasev 2000",
        ),
        measure(
            "wang", "distortion:Wang", "Wang's transform of the CDF; 0.5 is neutral", "Wang 2002"
        ),
        measure(
            "proportional-hazard",
            "distortion:ProportionalHazard",
            "the CDF to the power alpha; 1 is neutral",
            "Wang 1995",
        ),
        measure(
            "evar",
            "entropic:EVaR",
            "entropic value at risk, a lower bound of CVaR",
            "Ahmadi-Javid 2012",
        ),
        measure(
            "mean-std",
            "deviation:MeanStd",
            "mean minus weight times standard deviation",
            "Eriksson et al., section 6",
        ),
    ]


@hookimpl
def uqbench_claim_kinds() -> Iterable[Spec]:
    """The kinds of claim of ``uqbench.claims``."""

    def kind(name: str, cls: str, summary: str, source: str) -> Spec:
        path = f"uqbench.claims.{name}:{cls}"
        return Spec(name=name, version="1", factory=path, summary=summary, source=source)

    return [
        kind("order", "Order", "methods in an order, the best first", "Agarwal et al. 2021"),
        kind("band", "Band", "a number, or a ratio of two, within bounds", "Fieller 1954"),
        kind("trend", "Trend", "a metric that is monotone in a setting", "Jonckheere 1954"),
        kind("share", "Share", "how often something is so", "Clopper & Pearson 1934"),
    ]


@hookimpl
def uqbench_executors() -> Iterable[ExecutorSpec]:
    """Processes of this machine."""
    return [
        ExecutorSpec(
            name="local",
            version="1",
            factory="uqbench.runner.executors.local:run_locally",
            summary="processes of this machine",
            elsewhere=False,
        )
    ]


@hookimpl
def uqbench_expected_failures() -> Mapping[str, Mapping[str, str]]:
    """Where a rule of conformance does not hold, and why."""
    reason = "its evaluated action hashes the episode's number, so that episodes are independent"
    return {"agent uniform-random": {"agent-pure": reason}}
