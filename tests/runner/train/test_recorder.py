"""A run's episodes account for every step and reward; its scalars are those computed by hand."""

import io
import re
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from uqbench.environment import Outcome
from uqbench.errors import UqbenchError
from uqbench.results.tables import columns_digest
from uqbench.risk import CVaR, Expectation
from uqbench.runner.metric_values import Truth, scalar
from uqbench.runner.train.evaluation import Evaluated
from uqbench.runner.train.recorder import Recorder
from uqbench.suites import Metric

CPU = torch.device("cpu")
LANES = 3
# a block is 256 steps: within one, at its border, and over several


def outcome(reward, terminated, truncated, **events):
    nothing = torch.zeros(len(reward), 1)
    return Outcome(reward, terminated, truncated, nothing, nothing, events=events)


def random_outcomes(steps: int, lanes: int = LANES) -> list[Outcome]:
    """Rewards are multiples of 1/8, so that all sums are exact."""
    generator = torch.Generator().manual_seed(steps)

    def below(p: float) -> torch.Tensor:
        return torch.rand(lanes, generator=generator) < p

    def one() -> Outcome:
        reward = torch.randint(-80, 80, (lanes,), generator=generator) / 8
        ends, events = (below(0.05), below(0.05)), (below(0.3).float(), below(0.1).float())
        return outcome(reward, *ends, falls=events[0], crashes=events[1])

    return [one() for _ in range(steps)]


def recorder(steps: int, lanes: int = LANES, events: tuple[str, ...] = ("falls", "crashes")) -> Any:
    return Recorder(lanes, steps, events, CPU)


def recorded(outcomes: list[Outcome], at: tuple[int, ...] = ()) -> Any:
    """The recorder after all outcomes, with records taken after some of the steps."""
    made = recorder(len(outcomes))
    for t, step in enumerate(outcomes, start=1):
        made.step(step)
        if t in at:
            made.record({})
    return made


def replayed(outcomes: list[Outcome], stream: int, actors: int = 1, discount: float = 1.0) -> Any:
    """Episodes of an actor (step, end, length, returns, falls), by a loop over its steps."""
    episodes, began, sums = [], 0, np.zeros(3)
    for t, step in enumerate(outcomes, start=1):
        reward, falls = step.reward[stream].item(), step.events.get("falls", step.reward)
        power = discount ** np.int64(t - 1 - began)
        sums += [reward, power * reward, falls[stream].item()]
        over = step.terminated[stream], step.truncated[stream], t == len(outcomes)
        if any(over):
            end = ("terminated", "truncated", "unfinished")[over.index(True)]
            episodes.append((t * actors, end, t - began, *sums.tolist()))
            began, sums = t, np.zeros(3)
    return episodes


def values(records: dict[str, NDArray[Any]], metric: str) -> list[tuple[int, float]]:
    chosen = records["metric"] == metric
    return list(zip(records["step"][chosen], records["value"][chosen], strict=True))


@pytest.mark.parametrize("steps", [1, 255, 256, 257, 700])
def test_episodes_and_totals_are_those_of_a_loop_over_the_steps_of_a_lane(steps):
    outcomes = random_outcomes(steps)
    made = recorded(outcomes)
    totals = made.record({})
    for lane, (_, episodes) in enumerate(made.finish()):
        assert totals["reward"][lane] == episodes["return"].sum()
        for name in ("falls", "crashes"):
            count = sum(step.events[name][lane].item() for step in outcomes)
            assert totals[f"events/{name}"][lane] == episodes[f"event_{name}"].sum() == count
        columns = ("step", "end", "length", "return", "discounted_return", "event_falls")
        found = list(zip(*(episodes[name] for name in columns), strict=True))
        assert found == replayed(outcomes, lane)
        assert set(episodes["phase"]) == {"training"}


@pytest.mark.parametrize("at", [(1,), (100, 255), (255, 256, 257), (256, 512), tuple(range(700))])
def test_taking_records_does_not_change_the_episodes(at):
    outcomes = random_outcomes(700)
    plain, interrupted = recorded(outcomes).finish(), recorded(outcomes, at).finish()
    for (_, expected), (_, found) in zip(plain, interrupted, strict=True):
        for name, column in expected.items():
            np.testing.assert_array_equal(found[name], column)


@pytest.mark.parametrize("ends", [0.01, 0.3])  # often in a block, at the same step, in every step
@pytest.mark.parametrize("actors", [1, 4])
@pytest.mark.parametrize("at_once", [1, 7 * LANES * 4, 10**6])
def test_blocks_have_the_bits_of_one_step_after_another(ends, actors, at_once, monkeypatch):
    monkeypatch.setattr("uqbench.runner.train.recorder._AT_ONCE", at_once)
    streams, steps, discount = LANES * actors, 600, 0.97
    generator = np.random.default_rng(5)
    rewards = generator.normal(size=(steps, streams)).astype(np.float32)
    rewards[:300][generator.random((300, streams)) < 0.5] = -0.0
    terminated, truncated = generator.random((2, steps, streams)) < ends
    made = Recorder(LANES, steps * actors, (), CPU, discount, actors=actors)
    given = zip(*map(torch.from_numpy, (rewards, terminated, truncated)), strict=True)
    outcomes = [outcome(*of) for of in given]
    for step in outcomes:
        made.step(step)
    columns, totals = ("step", "end", "length", "return", "discounted_return"), made.record({})
    for lane, (_, episodes) in enumerate(made.finish()):
        assert totals["reward"][lane] == pytest.approx(episodes["return"].sum())  # of all actors
        found = list(zip(*(episodes[name].tolist() for name in columns), strict=True))
        own = range(lane * actors, (lane + 1) * actors)
        expected = [e[:5] for one in own for e in replayed(outcomes, one, actors, discount)]
        expected.sort(key=lambda episode: (episode[1] == "unfinished", episode[0]))
        assert repr(found) == repr(expected)  # tells −0.0 from 0.0


def test_a_run_without_steps_has_empty_columns():
    for records, episodes in recorder(0).finish():
        assert {len(column) for column in [*records.values(), *episodes.values()]} == {0}


def test_evaluation_episodes_stand_apart_from_training():
    made = recorder(300, lanes=2, events=("falls",))
    outcomes = random_outcomes(300, lanes=2)
    for step in outcomes[:100]:
        made.step(step)
    counts = np.array([[[1.0, 2.0], [3.0, 5.0]], [[0.5, 1.0], [2.0, 3.0]], [[4, 0], [1, 0]]])
    lengths, ended = np.array([[10, 20], [30, 40]]), np.array([[True, False], [True, True]])
    made.evaluation(Evaluated(counts, lengths, ended))
    for step in outcomes[100:]:
        made.step(step)
    for lane, (records, episodes) in enumerate(made.finish()):
        own = episodes["phase"] == "evaluation"
        assert episodes["step"][own].tolist() == [100, 100]
        assert episodes["return"][own].tolist() == [[1.0, 2.0], [3.0, 5.0]][lane]
        assert episodes["length"][own].tolist() == [[10, 20], [30, 40]][lane]
        assert episodes["end"][own].tolist() == [["ended", "unfinished"], ["ended"] * 2][lane]
        assert episodes["discounted_return"][own].tolist() == [[0.5, 1.0], [2.0, 3.0]][lane]
        assert episodes["event_falls"][own].tolist() == [[4, 0], [1, 0]][lane]
        assert values(records, "evaluation_return") == [(100, [1.5, 4.0][lane])]
        training = [episodes[name][~own] for name in ("step", "end", "length", "return")]
        assert list(zip(*training, strict=True)) == [row[:4] for row in replayed(outcomes, lane)]


@pytest.mark.parametrize(
    ("steps", "due"), [(3, {1, 2, 3}), (150, {3 * k // 2 for k in range(1, 101)})]
)
def test_a_hundred_records_are_due_at_even_intervals_the_last_at_the_end(steps, due):
    made = recorder(steps)
    assert {step for step in range(1, steps + 1) if made.due(step)} == due


def columns(*rows: tuple[int, str, str, int, float]) -> dict[str, NDArray[Any]]:
    names = ("step", "phase", "end", "length", "return")
    types = (np.int64, object, object, np.int64, np.float64)
    return {
        name: np.array([row[i] for row in rows], dtype)
        for i, (name, dtype) in enumerate(zip(names, types, strict=True))
    }


EPISODES = columns(
    (200, "training", "terminated", 200, 1.0),
    (500, "training", "truncated", 300, 4.0),
    (500, "evaluation", "ended", 5, 100.0),
    (501, "training", "terminated", 1, -2.0),
    (900, "training", "terminated", 399, 7.0),
    (1000, "training", "unfinished", 100, 50.0),
    (1000, "evaluation", "ended", 10, 20.0),
    (1000, "evaluation", "unfinished", 30, 40.0),
) | {
    "event_falls": np.array([2.0, 0.0, 9.0, 1.0, 0.0, 4.0, 3.0, 0.0]),
    "discounted_return": np.array([0.5, 3.0, 99.0, -1.0, 2.0, 77.0, 10.0, 20.0]),
}
NAMES = ["reward", "events/falls", "loss", "reward", "reward", "events/falls", "loss"]
RECORDS = {
    "step": np.array([500, 500, 500, 900, 1000, 1000, 1000]),
    "metric": np.array(NAMES, object),
    "value": np.array([5.0, 2.0, np.nan, 10.0, 60.0, 7.0, 0.2]),
}


STATISTICS = [
    ("online", "return", 1.0, (1 + 4 - 2 + 7) / 4),  # not unfinished nor evaluation episodes
    ("online", "return", 0.5, (-2 + 7) / 2),  # an episode counts where it ended, after step 500
    ("online", "return", 0.4, 7.0),
    ("online", "return", 0.1, None),  # only the unfinished one ends there
    ("online", "reward_per_step", 1.0, 60 / 1000),
    ("online", "reward_per_step", 0.5, (60 - 5) / 500),
    ("online", "reward_per_step", 0.1, (60 - 10) / 100),
    ("online", "discounted_return", 1.0, (0.5 + 3 - 1 + 2) / 4),
    ("online", "length", 0.5, (1 + 399) / 2),
    ("online", "events/falls", 1.0, 7.0),  # of unfinished episodes too
    ("online", "events/falls", 0.5, 5.0),
    ("online", "events_per_step/falls", 0.5, 5 / 500),
    ("online", "events_per_episode/falls", 1.0, 3 / 4),
    ("online", "episodes_with/falls", 1.0, 2 / 4),
    ("online", "regret", 1.0, 3.0 - 10 / 4),
    ("online", "cumulative_regret", 1.0, 4 * 3.0 - 10),
    ("online", "cumulative_regret", 0.1, 0.0),  # no episode ends there
    ("evaluation", "return", 1.0, 30.0),  # the last one, cut off episodes included
    ("evaluation", "reward_per_step", 1.0, 60 / 40),
    ("evaluation", "discounted_return", 1.0, 15.0),
    ("evaluation", "events/falls", 1.0, 3.0),
    ("evaluation", "events_per_episode/falls", 1.0, 1.5),
    ("evaluation", "events_per_step/falls", 1.0, 3 / 40),
    ("agent", "loss", 1.0, 0.2),  # NaN is what it had no value for yet
    ("agent", "loss", 0.5, 0.2),
    ("agent", "nothing", 1.0, None),
]


@pytest.mark.parametrize(("kind", "statistic", "window", "expected"), STATISTICS)
def test_statistics_of_episodes_steps_events_and_of_the_agent(kind, statistic, window, expected):
    value = compute(kind, statistic, window)
    assert value == (None if expected is None else pytest.approx(expected))


@pytest.mark.parametrize(("kind", "expected"), [("online", (-2 + 1) / 2), ("evaluation", 20.0)])
def test_a_risk_measure_takes_the_lower_tail_of_the_episodes(kind, expected):
    assert compute(kind, "return", risk=CVaR(0.5)) == pytest.approx(expected)


def test_the_regret_of_a_continuing_task_is_the_best_average_reward_less_what_was_collected():
    metric = Metric(name="m", summary="", kind="online", statistic="cumulative_regret", window=0.5)
    value = scalar(metric, Expectation(), EPISODES, RECORDS, 1000, Truth(step=0.2))
    assert value == pytest.approx(0.2 * 500 - 55)


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
@pytest.mark.parametrize("what", ["reward", "events/falls"])
@pytest.mark.parametrize("step", [1, 300])
def test_what_is_no_number_is_refused_with_lane_step_and_environment(what, bad, step):
    made = Recorder(3, 400, ("falls",), CPU, environment="cliff")
    nothing = torch.zeros(3).bool()

    def take() -> None:
        for t in range(1, 401):
            values = {name: torch.ones(3) for name in ("reward", "events/falls")}
            values[what][1] = bad if t == step else 1.0
            made.step(outcome(values["reward"], nothing, nothing, falls=values["events/falls"]))
        made.finish()

    sentence = f"'cliff' returned the {what} {bad} in lane 1 at step {step};"
    with pytest.raises(UqbenchError, match=re.escape(sentence)):
        take()


def test_what_is_no_number_in_an_evaluation_is_refused_with_lane_and_episode():
    made = recorder(300, lanes=2, events=())
    counts, ones = np.zeros((2, 2, 3)), np.ones((2, 3), np.int64)
    counts[0, 1, 2] = np.nan
    with pytest.raises(UqbenchError, match="in lane 1, in episode 2 of the evaluation after step"):
        made.evaluation(Evaluated(counts, ones, ones > 0))


def compute(kind, statistic, window=1.0, risk=None):
    metric = Metric(name="m", summary="", kind=kind, statistic=statistic, window=window)
    truth = Truth(episode=3.0)
    return scalar(metric, risk or Expectation(), EPISODES, RECORDS, steps=1000, truth=truth)


def area(steps: np.ndarray, returns: np.ndarray, ends: str | np.ndarray = "terminated") -> float:
    metric = Metric(name="m", summary="", kind="online", statistic="area", window=0.5)
    episodes = {
        "phase": np.full(len(steps), "training"), "end": np.full(len(steps), ends),
        "step": steps, "return": returns.astype(float)}  # fmt: skip
    return scalar(metric, Expectation(), episodes, RECORDS, 1000)


def test_the_area_below_the_curve_weighs_time_and_not_episodes():
    """A run of which half has one, by 25 short episodes, and half ten, by five, or by one: 5.5."""
    short = np.arange(510, 751, 10)
    for late in (np.arange(800, 1001, 50), np.array([1000])):
        returns = np.r_[np.ones(len(short)), np.full(len(late), 10.0)]
        assert area(np.r_[short, late], returns) == pytest.approx(5.5)
    assert area(np.array([400, 1000]), np.array([99, 1])) == 1.0  # an episode counts where it ends


def test_nobody_has_a_greater_area_by_the_times_at_which_episodes_end():
    """Planted agents: of bad luck short episodes, after good luck none that ends, and none ever."""
    lucky = np.arange(548, 1001, 50)
    unlucky = np.concatenate([np.arange(k - 45, k - 9, 4) for k in lucky])
    steps, returns = np.r_[unlucky, lucky], np.r_[np.zeros(90), np.full(10, 50.0)]
    assert area(steps, returns) == pytest.approx(returns.mean())
    ends = np.array(["terminated", "unfinished"])
    assert area(np.array([550, 1000]), np.array([50, 0]), ends) == pytest.approx(5.0)
    assert area(np.array([1000]), np.array([3]), ends[1:]) == 3.0
    of_two = np.array(["terminated"] * 10 + ["unfinished"])
    steps, returns = np.r_[lucky, 1000], np.r_[np.full(10, 4.0), 0]
    assert area(steps, returns, of_two) == pytest.approx(4.0)  # where others end, it does not count


@pytest.mark.parametrize("statistic", ["return", "reward_per_step"])
def test_without_an_evaluation_its_metrics_have_no_value(statistic):
    metric = Metric(name="m", summary="", kind="evaluation", statistic=statistic)
    online = {name: column[:2] for name, column in EPISODES.items()}
    assert scalar(metric, Expectation(), online, RECORDS, steps=1000) is None


@pytest.mark.parametrize("steps", [100, 1000, 12_345, 37])
@pytest.mark.parametrize("window", [0.01, 0.29, 0.5, 0.57, 1.0])
def test_the_window_of_every_metric_starts_at_a_record(steps, window):
    """So that reward per step over the window can be read from the records."""
    made, nothing = recorder(steps, lanes=1, events=()), torch.zeros(1).bool()
    for t in range(1, steps + 1):
        made.step(outcome(2.0 * torch.ones(1), nothing, nothing))
        if made.due(t):
            made.record({})
    ((records, episodes),) = made.finish()
    metric = Metric(name="m", summary="", kind="online", statistic="reward_per_step", window=window)
    assert scalar(metric, Expectation(), episodes, records, steps) == pytest.approx(2.0)


@pytest.mark.parametrize("at", [0, 1, 255, 256, 300, 700])
def test_a_recorder_loaded_from_a_file_goes_on_like_the_saved_one(at):
    outcomes = random_outcomes(700)
    unbroken = recorded(outcomes[:at], at=(1, at)) if at else recorder(700)
    if at:
        scores = np.array([[1.5, 0.1]] * LANES)
        counts = np.stack([scores, scores, scores > 1, scores > 2])
        unbroken.evaluation(Evaluated(counts, scores.astype(np.int64), scores > 1))
    file = io.BytesIO()
    torch.save(unbroken.state_dict(), file)
    file.seek(0)
    resumed = recorder(700)
    resumed.load_state_dict(torch.load(file, weights_only=True))
    for step in outcomes[at:]:
        unbroken.step(step)
        resumed.step(step)
    for made in (unbroken, resumed):
        made.record({"loss": torch.arange(LANES) / 3})
    for expected, found in zip(unbroken.finish(), resumed.finish(), strict=True):
        assert columns_digest(*expected) == columns_digest(*found)


NO_NUMBERS = [
    (lambda values: values, r"torch.float64 of shape \(2,\)"),
    (lambda values: values.sum() + 5j, r"torch.complex128 of shape \(\)"),
    (lambda values: "12", "a str"),
    (lambda values: 12.0, "a float"),
]


@pytest.mark.parametrize(("said", "found"), NO_NUMBERS)
def test_a_risk_measure_returns_one_number(said, found):
    class Planted(Expectation):
        def __call__(self, values, probabilities, dim=-1):
            return said(values)

    with pytest.raises(UqbenchError, match=rf"the risk measure .* returned {found}; expected"):
        compute("evaluation", "return", risk=Planted())
