"""uqbench's own components, registered through the same hooks as any plugin's."""

from collections.abc import Iterable, Mapping

from uqbench.contract.hookspecs import hookimpl
from uqbench.contract.specs import AgentSpec, ExecutorSpec, Spec


@hookimpl
def uqbench_agents() -> Iterable[AgentSpec]:
    """Baselines for every environment."""
    here = "uqbench.registry.builtin"
    named = {"uniform-random": "UniformRandom", "constant-action": "ConstantAction"}
    return [
        AgentSpec(
            name=name, version="1", factory=f"{here}.trivial:{kind}",
            config=f"{here}.configs:{kind}Config", role="trivial",
        )
        for name, kind in named.items()
    ]  # fmt: skip


@hookimpl
def uqbench_risk_measures() -> Iterable[Spec]:
    """The risk measures of ``uqbench.contract.risk``."""
    classes = {
        "expectation": "distortion:Expectation", "var": "distortion:VaR", "cvar": "distortion:CVaR",
        "wang": "distortion:Wang", "proportional-hazard": "distortion:ProportionalHazard",
        "evar": "entropic:EVaR", "mean-std": "deviation:MeanStd",
    }  # fmt: skip
    return [
        Spec(name=name, version="1", factory=f"uqbench.contract.risk.{path}")
        for name, path in classes.items()
    ]


@hookimpl
def uqbench_executors() -> Iterable[ExecutorSpec]:
    """Processes of this machine."""
    said, made = "processes of this machine", "uqbench.runner.executors.local:run_locally"
    return [ExecutorSpec(name="local", version="1", factory=made, summary=said, elsewhere=False)]


@hookimpl
def uqbench_expected_failures() -> Mapping[str, Mapping[str, str]]:
    """Checks of conformance that are known to fail, each with its reason."""
    reason = "its evaluated action hashes the episode's number, so that episodes are independent"
    return {"agent uniform-random": {"agent-pure": reason}}
