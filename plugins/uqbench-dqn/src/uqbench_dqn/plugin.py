"""What this package adds to uqbench."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from importlib.resources import files
from importlib.resources.abc import Traversable

from uqbench import AgentSpec, hookimpl

SUITES = ("exploration", "features", "minatar", "noise-and-ignorance", "offline-values", "profile")


@hookimpl
def uqbench_agents() -> Iterable[AgentSpec]:
    """DQN and its relatives."""
    return [
        AgentSpec(
            name="dqn",
            title="DQN",
            version="2",
            factory="uqbench_dqn.dqn:DQN",
            config="uqbench_dqn.config:DQNConfig",
        ),
        AgentSpec(
            name="one-width-dqn",
            title="DQN, one width",
            version="1",
            factory="uqbench_dqn.one_width:OneWidth",
            config="uqbench_dqn.config:DQNConfig",
            role="trivial",
        ),
        AgentSpec(
            name="rnd-dqn",
            title="RND-DQN",
            version="1",
            factory="uqbench_dqn.rnd:RND",
            config="uqbench_dqn.config:RNDConfig",
        ),
        AgentSpec(
            name="qr-dqn",
            title="QR-DQN",
            version="3",
            factory="uqbench_dqn.qr_dqn:QRDQN",
            config="uqbench_dqn.config:QRDQNConfig",
        ),
        AgentSpec(
            name="bootstrapped-dqn",
            title="Bootstrapped DQN",
            version="1",
            factory="uqbench_dqn.bootstrapped:BootstrappedDQN",
            config="uqbench_dqn.config:BootstrappedDQNConfig",
        ),
        AgentSpec(
            name="randomized-prior-dqn",
            title="Randomized priors",
            version="1",
            factory="uqbench_dqn.randomized_prior:RandomizedPriorDQN",
            config="uqbench_dqn.config:RandomizedPriorConfig",
        ),
        AgentSpec(
            name="c51",
            title="C51",
            version="1",
            factory="uqbench_dqn.c51:C51",
            config="uqbench_dqn.config:C51Config",
        ),
        AgentSpec(
            name="vdqn",
            title="Variational DQN",
            version="1",
            factory="uqbench_dqn.vdqn:VDQN",
            config="uqbench_dqn.config:VDQNConfig",
        ),
    ]


@hookimpl
def uqbench_suites() -> Iterable[Traversable]:
    """The baselines of the ``minatar`` suite, and of noise and ignorance told apart."""
    suites = files("uqbench_dqn") / "suites"
    return [suites / f"{name}.toml" for name in SUITES]


@hookimpl
def uqbench_expected_failures() -> Mapping[str, Mapping[str, str]]:
    """Rules of conformance that do not hold, and why."""
    heads = (
        "heads without a prior that learn from the same data agree in the end: the variance that "
        "is left says how far they have learned (Osband et al. 2018)"
    )
    width = "the prior's width and the noise of returns, σ, are settings in units of return"
    return {
        "agent bootstrapped-dqn": {"uncertainty-scale": heads},
        "agent vdqn": {"uncertainty-scale": width},
    }
