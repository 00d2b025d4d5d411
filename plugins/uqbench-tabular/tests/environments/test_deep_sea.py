"""DeepSea: going right is optimal, and worth what the closed form says."""

import pytest
from uqbench_tabular.environments.config import DeepSeaConfig
from uqbench_tabular.environments.deep_sea import LEFT, RIGHT, deep_sea
from uqbench_tabular.environments.ground_truth import optimal_q
from uqbench_tabular.planning import optimal_gain

WORTH = [(4, 0.11106, 0.80907), (6, 0.09622, 0.59922), (8, 0.08351, 0.45627),
(10, 0.07347, 0.35567), (12, 0.06540, 0.28121)]  # fmt: skip


@pytest.mark.parametrize(("states", "gain", "value"), WORTH)
def test_right_is_optimal_in_deepsea_and_worth_what_it_is(states, gain, value):
    world = deep_sea(DeepSeaConfig(states=states))
    assert world.oracle().tolist() == [RIGHT] * states
    assert world.oracle_gain() == pytest.approx(gain, abs=5e-6)
    q = optimal_q(DeepSeaConfig(states=states), 0.9).values
    assert q[0, RIGHT].item() == pytest.approx(value, abs=5e-6)
    assert q[0, LEFT].item() == pytest.approx(0.9 * value, abs=1e-5)  # stays, then goes right


@pytest.mark.parametrize("states", [3, 20, 40])
def test_right_stays_optimal_up_to_forty_states(states):
    world = deep_sea(DeepSeaConfig(states=states))
    assert world.oracle().tolist() == [RIGHT] * states
    assert world.oracle_gain() == pytest.approx(optimal_gain(world.mdp).item())
