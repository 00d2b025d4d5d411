"""What re-made runs prove: no forgery is called verified, and honest rows are."""

import math
from dataclasses import replace

import numpy as np
import pytest

from uqbench.boards import reproduce
from uqbench.boards.scores import Score
from uqbench.boards.verification import (
    FALSE_SHARE,
    Agreement,
    copies,
    draw,
    enough,
    most_false,
    verify,
)
from uqbench.statistics.levels import ALPHA


def row(seed: int, score: float, method: str = "m", task: str = "t", **more: object) -> Score:
    own = Score(
        task, method, seed, "finished", "cpu", score, {"return": score},
        f"s/b/{task}/{method}/{seed}", f"{hash((task, method, seed, score)) % 2**64:064x}",
        "uqbench:aaaa",
    )  # fmt: skip
    return replace(own, **more)


def keyed(scores: list[Score]) -> dict[tuple[str, str, int], Score]:
    return {(s.task, s.method, s.seed): s for s in scores}


def truth(rng: np.random.Generator, seeds: int = 100, **more: object) -> list[Score]:
    return [row(seed, float(rng.normal(0.4, 0.2)), **more) for seed in range(seeds)]


def new_runs(rng: np.random.Generator, number: int = 5) -> list[Score]:
    return [row(10**6 + n, float(rng.normal(0.4, 0.2))) for n in range(number)]


def verdict(rows, honest, drawn, new, same_machine=True):
    """What is found where making runs again gives ``honest``."""
    keys = {(s.task, s.method, s.seed) for s in drawn}
    remade = [s for s in honest if (s.task, s.method, s.seed) in keys]
    return verify(rows, drawn, keyed([*remade, *new]), [], same_machine)


def test_honest_rows_are_verified_and_say_what_that_proves():
    rng = np.random.default_rng(0)
    rows = truth(rng)
    found = verdict(rows, rows, draw(rows, None, rng), new_runs(rng))
    assert found.verified
    assert found.sentence == (
        "13 of 100 re-made, 5 runs of new seeds: at most 19 % of rows can be false (95 %)"
    )


def test_rows_that_are_drawn_and_false_bar_the_word_on_the_same_machine_however_few():
    rng = np.random.default_rng(1)
    rows = truth(rng)
    forged = [row(0, rows[0].score + 0.01), *rows[1:]]
    drawn = [forged[0], *forged[50:62]]
    found = verdict(forged, rows, drawn, new_runs(rng))
    assert list(found.agreement.values()).count(Agreement.INCONSISTENT) == 1
    assert not found.verified


def test_fewer_rows_than_are_needed_are_not_called_verified():
    rng = np.random.default_rng(2)
    rows = truth(rng)
    found = verdict(rows, rows, draw(rows, 3, rng), new_runs(rng))
    assert found.bars == ("3 of 100 rows were re-made; 13 are needed",)
    assert "3 of 100 re-made, 5 runs of new seeds: at most 62 %" in found.sentence


def test_without_new_seeds_rows_are_not_called_verified():
    rng = np.random.default_rng(3)
    rows = truth(rng)
    assert not verdict(rows, rows, draw(rows, None, rng), []).verified


def test_a_run_that_could_not_be_made_again_bars_the_word():
    rng = np.random.default_rng(4)
    rows = truth(rng)
    drawn = draw(rows, None, rng)
    assert not verdict(rows, [s for s in rows if s != drawn[0]], drawn, new_runs(rng)).verified


def test_a_method_that_was_tuned_on_the_public_seeds_is_not_verified():
    rng = np.random.default_rng(5)
    rows = [row(seed, float(rng.normal(1.2, 0.1))) for seed in range(100)]  # true, and bit for bit
    found = verdict(rows, rows, draw(rows, None, rng), new_runs(rng))
    assert found.exact == 13
    assert found.bars[0].startswith("the public seeds score better than new ones: 0.")


@pytest.mark.parametrize("rows", [1, 3, 6, 10, 25, 50, 99, 100, 1000])
def test_a_forger_of_a_fifth_of_the_rows_is_found_with_95_percent_exactly(rows):
    """Hypergeometric: none of the false rows is among those that are drawn."""
    drawn, false = enough(rows), math.ceil(FALSE_SHARE * rows)
    missed = math.comb(rows - false, drawn) / math.comb(rows, drawn)
    assert missed <= ALPHA
    if drawn > 1:
        fewer = math.comb(rows - false, drawn - 1) / math.comb(rows, drawn - 1)
        assert fewer > ALPHA  # no run is made in vain
    most = most_false(rows, drawn)
    assert math.comb(rows - most, drawn) / math.comb(rows, drawn) > ALPHA
    assert most < FALSE_SHARE * rows


def test_a_forger_of_a_fifth_of_the_rows_is_found_with_95_percent_in_draws():
    """Of 2,000 draws at least 1,881 find one: fewer have a probability of 2e-5 if 95.9 % do."""
    rng = np.random.default_rng(6)
    rows = truth(rng)
    forged = [row(s.seed, s.score + 0.5) if s.seed < 20 else s for s in rows]
    new = new_runs(rng)
    found = [not verdict(forged, rows, draw(forged, None, rng), new).verified for _ in range(2000)]
    assert sum(found) >= 1881


def simulated(kind: str, rng: np.random.Generator, number: int) -> np.ndarray:
    if kind == "normal":
        return rng.normal(0.4, 0.2, number)
    if kind == "skewed":
        return rng.lognormal(-1.0, 0.6, number)
    return rng.choice([0.0, 1.0], number, p=[0.3, 0.7]) + rng.normal(0, 0.01, number)


@pytest.mark.parametrize("kind", ["normal", "skewed", "two modes"])
def test_honest_rows_from_another_processor_are_verified_99_times_of_100(kind):
    """Chaos: a repetition has another score, independent of the row's, the worst case.

    Of 300 submissions at least 291 pass, which they do with 99.9 % if 99 of 100 do.
    """
    rng = np.random.default_rng(7)
    passed = 0
    for _ in range(300):
        first, second, third = (simulated(kind, rng, n) for n in (100, 100, 5))
        rows = [row(seed, float(x)) for seed, x in enumerate(first)]
        again = [row(seed, float(x)) for seed, x in enumerate(second)]
        new = [row(10**6 + n, float(x)) for n, x in enumerate(third)]
        passed += verdict(rows, again, draw(rows, None, rng), new, same_machine=False).verified
    assert passed >= 291


def test_the_same_numbers_are_demanded_of_the_same_machine():
    rng = np.random.default_rng(8)
    rows = truth(rng)
    again = [row(s.seed, s.score + 1e-3) for s in rows]
    drawn, new = draw(rows, None, rng), new_runs(rng)
    assert not verdict(rows, again, drawn, new, same_machine=True).verified
    assert verdict(rows, again, drawn, new, same_machine=False).verified


def test_where_one_row_has_the_same_bits_the_others_of_that_machine_must():
    rng = np.random.default_rng(12)
    rows = truth(rng)
    forged = [row(s.seed, s.score + 0.3) if s.seed < 20 else s for s in rows]
    drawn = forged[8:32]
    for one_machine in (True, False):
        remade = keyed([*rows[8:32], *new_runs(rng)])
        found = verify(forged, drawn, remade, [], same_machine=False, one_machine=one_machine)
        bad = sum(one is Agreement.INCONSISTENT for one in found.agreement.values())
        assert bad == (12 if one_machine else 0)


BARRED = {
    "another device (A)": lambda rows: [rows[0], *(replace(s, device="cuda") for s in rows[1:])],
    "no digest (B)": lambda rows: [rows[0], *(replace(s, digest="") for s in rows[1:])],
}


@pytest.mark.parametrize("what", BARRED)
def test_rows_that_cannot_be_made_again_bar_the_word_and_nothing_is_run(what, monkeypatch):
    """Of the row that can be made again the truth is told."""
    called = []
    monkeypatch.setattr(reproduce, "_remake", lambda *rest: called.append(rest) or {})
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    rows = BARRED[what](truth(np.random.default_rng(9)))
    found = reproduce.verify_rows(rows, None, [], None)
    assert not found["m"].verified
    assert found["m"].agreement == {}
    assert called[0][1] == {}  # nothing was wanted


def test_an_invented_method_gains_nothing_by_an_honest_one_in_its_file(monkeypatch):
    """Attack E: each method is drawn and judged by itself."""
    rng = np.random.default_rng(10)
    honest, invented = truth(rng), [row(s, 1.2, "best") for s in range(100)]
    real = keyed([*honest, *truth(rng, method="best")])

    def remake(manifest, wanted, *rest):
        keys = set().union(*wanted.values())
        missing = [row(k[2], float(rng.normal(0.4, 0.2)), k[1]) for k in keys if k not in real]
        return {key: score for key, score in (real | keyed(missing)).items() if key in keys}

    monkeypatch.setattr(reproduce, "_remake", remake)
    found = reproduce.verify_rows([*honest, *invented], None, [], None)
    assert found["m"].verified
    assert not found["best"].verified
    assert set(found["best"].agreement.values()) == {Agreement.INCONSISTENT}


FORGED = {
    "a quarter of the rows (D)": lambda rows: [
        row(s.seed, 3.0) if s.seed % 4 == 0 else s for s in rows
    ],
    "all, with a wide range (C)": lambda rows: [
        row(s.seed, float(x))
        for s, x in zip(rows, np.random.default_rng(0).normal(0.977, 0.45, len(rows)), strict=True)
    ],
}


@pytest.mark.parametrize("what", FORGED)
@pytest.mark.parametrize(("same_machine", "least"), [(True, 0.95), (False, 0.95)])
def test_forged_rows_are_found_on_the_same_machine_and_where_another_is_alleged(
    what, same_machine, least
):
    """Of 200 draws; D escapes 2 % of the draws exactly, C none."""
    rng = np.random.default_rng(11)
    rows = truth(rng)
    forged = FORGED[what](rows)
    found = [
        not verdict(forged, rows, draw(forged, None, rng), new_runs(rng), same_machine).verified
        for _ in range(200)
    ]
    assert np.mean(found) >= least


def test_the_same_results_under_two_names_are_named():
    rows = [row(0, 0.5), row(1, 0.6), row(0, 0.5, "n", digest=row(0, 0.5).digest)]
    assert copies(rows) == ["1 run of t/m and t/n: the same results"]
    assert copies(rows[:2]) == []


def wanted_seeds(monkeypatch, rows, numbered, new_scores=0.4):
    """What is found where the data sets are numbered, and the seeds that were asked for."""
    asked = set()

    def remake(manifest, wanted, *rest):
        asked.update(*wanted.values())
        own = keyed(rows)
        more = [row(s, new_scores + s % 7 / 100, m, t) for t, m, s in asked if (t, m, s) not in own]
        return {key: score for key, score in (own | keyed(more)).items() if key in asked}

    monkeypatch.setattr(reproduce, "_remake", remake)
    found = reproduce.verify_rows(rows, None, [], None, numbered=numbered)["m"]
    return found, {key for key in asked if key not in keyed(rows)}


def test_where_all_numbered_data_sets_are_used_rows_are_verified_without_new_seeds(monkeypatch):
    rows = truth(np.random.default_rng(13), 24)
    found, new = wanted_seeds(monkeypatch, rows, {"t": 24})
    assert not new
    assert found.verified
    assert found.sentence == (
        "10 of 24 re-made, no new seeds exist (all 24 data sets of a task are used): "
        "at most 17 % of rows can be false (95 %)"
    )
    forged = [row(s.seed, s.score + 1) for s in rows]
    again = keyed(rows)
    found = verify(forged, forged[:10], again, [], same_machine=True, used_up={"t": 24})
    assert not found.verified


def test_data_sets_of_several_tasks_are_counted_task_by_task(monkeypatch):
    rng = np.random.default_rng(16)
    rows = [*truth(rng, 24), *truth(rng, 24, task="u")]
    found, new = wanted_seeds(monkeypatch, rows, {"t": 24, "u": 24})
    assert not new
    assert "no new seeds exist (all 24 data sets of a task are used)" in found.sentence


def test_new_seeds_are_numbers_of_data_sets_that_no_row_has(monkeypatch):
    rows = truth(np.random.default_rng(14), 24)
    found, new = wanted_seeds(monkeypatch, rows, {"t": 27})
    assert {seed for _, _, seed in new} == {24, 25, 26}
    assert found.verified
    assert ", 3 runs of new seeds: " in found.sentence
    found, _ = wanted_seeds(monkeypatch, rows, {"t": 27}, new_scores=-2.0)
    assert found.bars[0].startswith("the public seeds score better than new ones")


def test_a_task_without_new_seeds_does_not_spare_another_one_the_comparison(monkeypatch):
    rng = np.random.default_rng(15)
    rows = [*truth(rng, 24), *truth(rng, 24, task="u")]
    found, new = wanted_seeds(monkeypatch, rows, {"t": 24})
    assert {task for task, _, _ in new} == {"u"}
    assert len(new) == 5
    assert "5 runs of new seeds (none where all 24 data sets of a task are used)" in found.sentence
    found, _ = wanted_seeds(monkeypatch, rows, {"t": 24}, new_scores=-2.0)
    assert not found.verified
