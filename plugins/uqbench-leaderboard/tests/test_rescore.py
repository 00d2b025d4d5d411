"""``uqbench leaderboard --rescore``: a score that came after the runs, from what they predicted."""

import csv
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from packed import read_scores
from uqbench_leaderboard.cli.leaderboard import command

import uqbench
from uqbench.results import PREDICTIONS, Store

PLUGIN = """
import dataclasses
import torch
from uqbench import DatasetSpec, EstimatorSpec, hookimpl
from uqbench.contract.estimator import Data, Dataset, Estimator, EvaluationSet
from uqbench.contract.estimator import PredictiveUncertainty


class Coins(Dataset):
    "Coins that say themselves how often they show heads; each seed has others."
    inputs, n_classes = (1,), 2

    def __init__(self, config):
        pass

    def data(self, seeds):
        return Data(torch.zeros(len(seeds), 1, 1), torch.zeros(len(seeds), 1, dtype=torch.int64))

    def reference_model(self, seeds):
        return None

    def evaluation_sets(self, seeds):
        coins = [torch.rand(5, 1, generator=torch.Generator().manual_seed(s)) for s in seeds]
        return {"test": EvaluationSet(torch.stack(coins))}

    def score(self, seeds, predictions):
        return {"sure_then": predictions["test"].predicted.probs.amax(-1).mean(-1)}


@dataclasses.dataclass(frozen=True)
class TrustConfig:
    doubt: float = 0.0


class Trust(Estimator):
    "Believes the coin, but for a doubt."
    def __init__(self, task, seeds, config: TrustConfig, device):
        self.doubt = config.doubt

    def fit(self, data, reference_model, steps):
        pass

    def predict(self, inputs):
        heads = (1 - self.doubt) * inputs[..., 0].double() + self.doubt / 2
        probs = torch.stack([1 - heads, heads], -1)
        entropy = torch.special.entr(probs).sum(-1)
        return PredictiveUncertainty(entropy, entropy, torch.zeros_like(entropy), probs, "nats")


@hookimpl
def uqbench_datasets():
    return [DatasetSpec(name="coins", version="1", factory=Coins, scores=("sure_then",))]


@hookimpl
def uqbench_estimators():
    return [EstimatorSpec(name="trust", version="1", factory=Trust, config=TrustConfig)]
"""
SUITE = """
name = "coins"
version = "1"
summary = "coins"
primary = "sure_then"
baseline = "doubt"
default_budget = "smoke"
tasks = [{ name = "coins", dataset = "coins" }]
methods = [
    { name = "trust", estimator = "trust" },
    { name = "doubt", estimator = "trust", config = { doubt = 0.5 } },
]

[budgets]
smoke = { summary = "a trice", steps = 1, seeds = 3, ranks = false, step_ms = 1.0 }
paper = { summary = "the same", steps = 1, seeds = 3, ranks = false, step_ms = 1.0 }

[[metrics]]
name = "sure_then"
summary = "mean of the largest probability, as the data set computes it while a run is made"
kind = "dataset"
statistic = "sure_then"

[normalization.sure_then]
version = "1"
zero = "a coin toss"
one = "certainty"
constants = { coins = { zero = 0.5, one = 1.0 } }
"""
SCORE = """
from uqbench import ScoreSpec, hookimpl


def surest(predictions):
    "Mean of the largest probability."
    return predictions["test"].predicted.probs.max(-1).mean()


@hookimpl
def uqbench_scores():
    return [ScoreSpec(name="surest", version="1", factory=surest, direction="max")]
"""


@pytest.fixture(scope="module")
def coins(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[str]]:
    """Three seeds of two estimators, and the options that name them."""
    folder = tmp_path_factory.mktemp("coins")
    for name, text in {"coins.py": PLUGIN, "coins.toml": SUITE, "later.py": SCORE}.items():
        (folder / name).write_text(text)
    own = ["--suite", "coins", "--plugin", str(folder / "coins.py")]
    own += ["--suite-file", str(folder / "coins.toml"), "--out", str(folder / "results")]
    uqbench.run(
        "coins", plugins=[folder / "coins.py", folder / "coins.toml"],
        workers=1, out=folder / "results", progress=False,
    )  # fmt: skip
    return folder, own


@pytest.fixture
def rescore(coins: tuple[Path, list[str]]) -> Callable[[str], Result]:
    folder, own = coins

    def called(score: str) -> Result:
        later = ["--plugin", str(folder / "later.py"), "--rescore", score]
        return CliRunner().invoke(command, [*own, *later], standalone_mode=False)

    return called


def rows(path: Path) -> list[dict[str, str]]:
    """Of a board's scores, or of another table of it."""
    text = read_scores(path) if path.is_dir() else path.read_text()
    return list(csv.DictReader(text.splitlines()))


def test_a_score_of_another_plugin_is_that_of_the_runs_and_joins_a_board_of_its_own(coins, rescore):
    folder, _ = coins
    boards = folder / "results" / "leaderboards" / "coins"
    own, results = boards / "smoke-surest", sorted(folder.glob("results/coins/**/*.parquet"))
    before = {path: path.read_bytes() for path in (boards / "smoke").iterdir()}
    written = [path.stat().st_mtime_ns for path in results]
    done = rescore("surest")
    assert done.return_value == 0, done.output
    scores = rows(own)
    assert len(scores) == 6
    for row in scores:
        assert float(row["surest"]) == pytest.approx(float(row["sure_then"]), rel=1e-6)
    shown = {row["method"]: row for row in rows(own / "tasks.csv")}
    for method in ("trust", "doubt"):
        known = [float(row["surest"]) for row in scores if row["method"] == method]
        assert float(shown[method]["surest"]) == pytest.approx(sum(known) / 3, rel=1e-5)
    assert {path: path.read_bytes() for path in (boards / "smoke").iterdir()} == before
    assert [path.stat().st_mtime_ns for path in results] == written != []


def test_a_score_that_nobody_registered_is_refused_with_the_nearest(rescore):
    done = rescore("surset")
    assert "no score 'surset'" in str(done.exception)
    assert "'surest'" in str(done.exception)


def test_a_run_whose_predictions_were_edited_has_no_score(coins, rescore):
    folder, _ = coins
    path = sorted(folder.glob(f"results/coins/**/{PREDICTIONS}"))[0]
    whole = path.read_bytes()
    path.write_bytes(whole[:-1])
    assert rescore("surest").return_value == 0
    path.write_bytes(whole)
    edited = str(path.parent.relative_to(folder / "results"))
    scores = rows(folder / "results/leaderboards/coins/smoke-surest")
    assert [row["run"] for row in scores if not row["surest"]] == [edited]
    assert [row["run"] for row in scores if row["status"] == "damaged"] == [edited]


def test_runs_that_kept_no_predictions_are_named(coins, rescore, monkeypatch):
    monkeypatch.setattr(Store, "table", lambda *_: None)
    assert "6 runs kept no predictions, such as coins/smoke/" in str(rescore("surest").exception)


LATER = """
[[extend.five-state.metrics]]
name = "again"
summary = "another metric's values, by another name"
kind = "online"
statistic = "STATISTIC"
window = WINDOW
"""


def test_runs_are_scored_by_a_metric_of_training_that_the_suite_got_after_them(tmp_path):
    """An own metric's statistic by another name: the same values in the board, which is checked."""
    given = {"methods": "psrl", "seeds": 2, "out": tmp_path / "results", "progress": False}
    made = uqbench.run("five-state", "smoke", **given)
    known = next(m for m in made.boards[0].plan.suite.metrics if m.kind == "online")
    text = LATER.replace("STATISTIC", known.statistic).replace("WINDOW", str(known.window))
    (tmp_path / "later.toml").write_text(text)
    own = ["--suite", "five-state", "--budget", "smoke", "--methods", "psrl", "--seeds", "2"]
    own += ["--suite-file", str(tmp_path / "later.toml"), "--out", str(tmp_path / "results")]
    own += ["--to", str(tmp_path / "boards")]
    for option in ([], ["--check"]):
        done = CliRunner().invoke(command, [*own, *option], standalone_mode=False)
        assert done.return_value == 0, (done.output, done.exception)
    (folder,) = (path.parent for path in (tmp_path / "boards").rglob("manifest.json"))
    scores = rows(folder)
    assert [row["again"] for row in scores] == [row[known.name] for row in scores] != ["", ""]
    again = uqbench.run("five-state", "smoke", plugins=[str(tmp_path / "later.toml")], **given)
    values = [(row.values["again"], row.values[known.name]) for row in again.boards[0].scores]
    assert [str(again) for again, _ in values] == [row["again"] for row in scores]
    assert all(again == first for again, first in values)
