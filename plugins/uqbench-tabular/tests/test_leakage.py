"""The matrix of what follows what, on planted predictions."""

from __future__ import annotations

import math

import pandas as pd
import pytest
from uqbench_tabular.leakage_figure import IDEAL, frame
from uqbench_tabular.tools.leakage import DATA, NOISE, leakage

SCALE = 1 / math.sqrt(1 - 0.81)


def board(aleatoric, epistemic) -> pd.DataFrame:
    """Three runs of one method on all tasks; each has its own factor, which no slope may see."""
    rows = [
        {
            "task": f"{s}-{n}",
            "method": "planted",
            "seed": seed,
            "aleatoric_std": aleatoric(NOISE[s], DATA[n]),
            "epistemic_std": epistemic(NOISE[s], DATA[n]) * (1 + seed),
        }
        for seed in range(3)
        for s in NOISE
        for n in DATA
    ]
    return pd.DataFrame(rows)


def test_who_tells_them_apart_has_a_matrix_of_one_and_minus_a_half():
    found = leakage(board(lambda s, n: s * SCALE, lambda s, n: 0.3 * n**-0.5))
    assert found["part"].tolist() == ["aleatoric_std", "epistemic_std"]
    assert found["noise"].tolist() == pytest.approx([1, 0], abs=1e-9)
    assert found["data"].tolist() == pytest.approx([0, -0.5], abs=1e-9)


def test_ignorance_that_leaks_into_the_noise_shows_in_the_data_column():
    found = leakage(board(lambda s, n: s * SCALE + 1 / n, lambda s, n: 0.1 + s))
    assert found["noise"].tolist()[0] == pytest.approx(1)
    assert found["data"].tolist()[0] < -0.2
    assert found["noise"].tolist()[1] > 0.3


def test_a_part_that_is_not_stated_has_no_row():
    scores = board(lambda s, n: s * SCALE, lambda s, n: math.nan)
    assert leakage(scores)["part"].tolist() == ["aleatoric_std"]


def test_the_figure_has_its_slopes_beside_the_ideal_ones():
    data = frame(board(lambda s, n: s * SCALE, lambda s, n: 0.3 * n**-0.5))
    assert data["estimate"].tolist() == pytest.approx(data["ideal"].tolist(), abs=1e-9)
    assert set(data["ideal"]) == set(IDEAL.values())
