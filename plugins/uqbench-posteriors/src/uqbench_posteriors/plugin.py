"""What this package adds to uqbench."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from importlib.resources import files
from importlib.resources.abc import Traversable

from uqbench import AgentSpec, hookimpl

SUITES = ("exploration", "features", "minatar", "noise-and-ignorance", "offline-values", "profile")


@hookimpl
def uqbench_agents() -> Iterable[AgentSpec]:
    """Posteriors of Q, one file each."""
    return [
        AgentSpec(
            name="ids-qr-dqn",
            title="IDS-QR-DQN",
            version="1",
            factory="uqbench_posteriors.ids_dqn:IDSQRDQN",
            config="uqbench_posteriors.config:IDSConfig",
        ),
        AgentSpec(
            name="bdqn",
            title="BDQN",
            version="1",
            factory="uqbench_posteriors.bdqn:BDQN",
            config="uqbench_posteriors.config:BDQNConfig",
        ),
        AgentSpec(
            name="epinet-dqn",
            title="Epinet DQN",
            version="2",
            factory="uqbench_posteriors.epinet:EpinetDQN",
            config="uqbench_posteriors.config:EpinetConfig",
        ),
        AgentSpec(
            name="hypermodel-dqn",
            title="Hypermodel DQN",
            version="2",
            factory="uqbench_posteriors.hypermodel:HypermodelDQN",
            config="uqbench_posteriors.config:HypermodelConfig",
        ),
        AgentSpec(
            name="iqn",
            title="IQN",
            version="2",
            factory="uqbench_posteriors.iqn:IQN",
            config="uqbench_posteriors.config:IQNConfig",
        ),
        AgentSpec(
            name="uvu-dqn",
            title="UVU-DQN",
            version="1",
            factory="uqbench_posteriors.uvu:UVUDQN",
            config="uqbench_posteriors.config:UVUConfig",
        ),
    ]


@hookimpl
def uqbench_suites() -> Iterable[Traversable]:
    """The posteriors in the suites of others."""
    suites = files("uqbench_posteriors") / "suites"
    return [suites / f"{name}.toml" for name in SUITES]


@hookimpl
def uqbench_expected_failures() -> Mapping[str, Mapping[str, str]]:
    """Rules of conformance that do not hold, and why."""
    noise = "σ² and σ_ε², of the prior and of the targets' noise, are settings in units of return"
    prior = "the prior networks' scale is a setting in units of return"
    random = "the scale of the random networks is a setting in units of return"
    return {
        "agent bdqn": {"uncertainty-scale": noise},
        "agent epinet-dqn": {"uncertainty-scale": prior},
        "agent uvu-dqn": {"uncertainty-scale": random},
    }
