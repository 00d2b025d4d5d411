"""WideNarrow: values in closed form, and the last step."""

import pytest
from uqbench_tabular.environments.config import WideNarrowConfig
from uqbench_tabular.environments.ground_truth import optimal_q
from uqbench_tabular.environments.wide_narrow import wide_narrow


@pytest.mark.parametrize(("pairs", "width"), [(1, 6), (2, 4), (3, 2)])
def test_widenarrow_pays_its_high_reward_once_a_wide_state(pairs, width):
    """A cycle of 2N + 1 steps with N high rewards; for N = 1 the start is worth 0.5 / (1 − γ³)."""
    config = WideNarrowConfig(pairs=pairs, width=width)
    world = wide_narrow(config)
    assert world.oracle_gain() == pytest.approx(0.5 * pairs / (2 * pairs + 1))
    start = 0.5 * sum(0.9 ** (2 * k) for k in range(pairs)) / (1 - 0.9 ** (2 * pairs + 1))
    q = optimal_q(config, 0.9).values
    assert q[0, 0].item() == pytest.approx(start)
    assert q[0, 1].item() == pytest.approx(start - 0.5)
    assert q.isnan().equal(~world.mdp.available)
    assert world.mdp.available.sum(-1).tolist() == [width, 1] * pairs + [1]


def test_the_last_step_of_widenarrow_pays_nothing_and_is_certain():
    world = wide_narrow(WideNarrowConfig(pairs=2, width=3, low_reward=0.25))
    assert (world.mdp.rewards[-1] == 0).all()
    assert (world.deviations[-1] == 0).all()
    assert (world.deviations[:-1] == 1).all()
    assert (world.mdp.rewards[:-1].flatten().unique().tolist()) == [0.25, 0.5]
