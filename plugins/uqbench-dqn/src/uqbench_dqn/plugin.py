"""What this package adds to uqbench."""

from __future__ import annotations

from collections.abc import Iterable
from importlib.resources import files
from importlib.resources.abc import Traversable

from uqbench import AgentSpec, hookimpl


@hookimpl
def uqbench_agents() -> Iterable[AgentSpec]:
    """DQN and its relatives."""
    return [
        AgentSpec(
            name="dqn",
            version="2",
            factory="uqbench_dqn.dqn:DQN",
            config="uqbench_dqn.config:DQNConfig",
            summary="deep Q-network, ε-greedy",
            source="Mnih et al. 2015; settings of Clements et al. 2019, section 3.2",
        ),
        AgentSpec(
            name="qr-dqn",
            version="2",
            factory="uqbench_dqn.qr_dqn:QRDQN",
            config="uqbench_dqn.config:QRDQNConfig",
            summary="quantile-regression DQN, ε-greedy",
            source="Dabney et al. 2017; settings of Clements et al. 2019, section 3.2",
        ),
        AgentSpec(
            name="bootstrapped-dqn",
            version="1",
            factory="uqbench_dqn.bootstrapped:BootstrappedDQN",
            config="uqbench_dqn.config:BootstrappedDQNConfig",
            summary="DQN with ten heads, one of which plays an episode",
            source="Osband et al. 2016; settings of Clements et al. 2019, section 3.2",
        ),
        AgentSpec(
            name="c51",
            version="1",
            factory="uqbench_dqn.c51:C51",
            config="uqbench_dqn.config:C51Config",
            summary="categorical DQN (CDQN), ε-greedy",
            source="Bellemare et al. 2017",
        ),
        AgentSpec(
            name="vdqn",
            version="1",
            factory="uqbench_dqn.vdqn:VDQN",
            config="uqbench_dqn.config:VDQNConfig",
            summary="variational DQN: Thompson sampling, or a risk measure of the posterior of Q",
            source="Tang & Agrawal 2018",
        ),
    ]


@hookimpl
def uqbench_suites() -> Iterable[Traversable]:
    """The baselines of the ``minatar`` suite."""
    return [files("uqbench_dqn") / "suites" / "minatar.toml"]
