"""What this package adds to uqbench."""

from __future__ import annotations

from collections.abc import Iterable
from importlib.resources import files
from importlib.resources.abc import Traversable

from uqbench import AgentSpec, EnvironmentSpec, hookimpl


@hookimpl
def uqbench_agents() -> Iterable[AgentSpec]:
    """PSRL and certainty equivalence."""
    return [
        AgentSpec(
            name="psrl",
            version="1",
            factory="uqbench_tabular.psrl:PSRL",
            config="uqbench_tabular.config:TabularConfig",
            summary="posterior sampling: acts optimally in an MDP drawn from the posterior",
            source="Strens 2000; Osband et al. 2013; Markou & Rasmussen, Algorithm PSRL",
        ),
        AgentSpec(
            name="certainty-equivalence",
            version="1",
            factory="uqbench_tabular.certainty_equivalence:CertaintyEquivalence",
            config="uqbench_tabular.config:CertaintyEquivalenceConfig",
            summary="acts ε-greedily in the posterior-mean MDP",
            source="the same model as PSRL, with undirected exploration",
        ),
    ]


@hookimpl
def uqbench_environments() -> Iterable[EnvironmentSpec]:
    """The five-state chain."""
    return [
        EnvironmentSpec(
            name="chain",
            version="1",
            factory="uqbench_tabular.chain:Chain",
            config="uqbench_tabular.config:ChainOptions",
            summary="five states, continuing; the far end pays most and is reached by persistence",
            source="Dearden et al. 1998; Strens 2000",
        )
    ]


@hookimpl
def uqbench_suites() -> Iterable[Traversable]:
    """The ``five-state`` suite."""
    return [files("uqbench_tabular") / "suites" / "five-state.toml"]
