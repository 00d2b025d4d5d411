import numpy as np

from uqbench.boards.curves import _points
from uqbench.suites.metrics import RECORDS


def test_a_run_of_fewer_steps_than_records_has_empty_hundredths():
    steps = 60
    at = np.arange(1, steps + 1)
    records = {
        "step": at,
        "metric": np.array(["reward"] * steps, object),
        "value": at.astype(float),  # one a step
    }
    episodes = {
        "step": np.array([30, 60]),
        "phase": np.array(["training"] * 2, object),
        "end": np.array(["terminated"] * 2, object),
        "return": np.array([3.0, 5.0]),
    }
    step, returns, reward = _points(records, episodes, steps)
    assert len(step) == RECORDS
    assert step[-1] == steps
    assert np.nansum(returns) == 8.0
    assert reward.sum() == steps
