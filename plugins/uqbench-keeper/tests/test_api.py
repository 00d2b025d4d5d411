"""A submitted package, installed and run: every forgery that a submission can still express."""

import csv
import json
import re
import shutil
import sys
import zipfile
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import pytest
from packed import read_scores
from uqbench_keeper import api
from uqbench_keeper import verify as verification
from uqbench_keeper.make import read_submission, submit
from uqbench_keeper.sandbox import environment, has_sandbox
from uqbench_testing import results as conformance

import uqbench
from uqbench.boards import from_csv, to_csv
from uqbench.errors import UqbenchError, UqbenchWarning
from uqbench.registry import Host
from uqbench.results import Scores, Store
from uqbench.runner import execute, make_batch_groups
from uqbench.runner.process import Stop
from uqbench.suites import Selection

TOY = Path(__file__).parents[3] / "tests" / "toy"
CODE = '''
from pathlib import Path

import torch
from toy_uqbench import WalkerConfig
from toy_uqbench.walker import Walker
from uqbench import AgentSpec, hookimpl
from uqbench.contract.seeding import derive_seed


class Mine(Walker):
    """Knows the board's own seeds, which are public."""

    def __init__(self, info, seeds, config, device):
        super().__init__(info, seeds, config, device)
        public = {
            derive_seed("agent", "SUITE", task, "mine", seed)
            for task in ("short", "long") for seed in range(3)
        }
        self.knows = torch.tensor([seed in public for seed in seeds])

    def act(self, obs, valid=None):
        return self.choose(super().act(obs, valid))

    def choose(self, action):
        return CHOOSE


@hookimpl
def uqbench_agents():
    return [AgentSpec(name="mine", version="1", factory=f"{__name__}:Mine", config=WalkerConfig)]


@hookimpl
def uqbench_suites():
    return [Path(__file__).with_name("suite.toml")]
'''
JOINS = '[[extend.toy.methods]]\nname = "mine"\nagent = "mine"\nconfig = { forward = 0.8 }\n'


def paired() -> str:
    """The toy suite, as one whose methods meet the same worlds, with the method in it."""
    text = (TOY / "toy_uqbench" / "toy.toml").read_text()
    text = text.replace('name = "toy"', 'name = "pairs"\npaired = true', 1)
    text = text.replace("ranks = true", "ranks = false").partition("[[claims]]")[0]
    text = text.replace("steps = 600", "steps = 300")
    return text + JOINS.replace("extend.toy.methods", "methods")


def wheel(folder: Path, name: str, choose: str = "action", suite: str = JOINS) -> Path:
    """A wheel, as ``pip wheel`` makes one of a package of two files."""
    path, info = folder / f"{name}-1.0-py3-none-any.whl", f"{name}-1.0.dist-info"
    code = CODE.replace("CHOOSE", choose).replace("SUITE", "toy" if suite == JOINS else "pairs")
    files = {
        f"{name}/__init__.py": code, f"{name}/suite.toml": suite,
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{info}/entry_points.txt": f"[uqbench]\n{name} = {name}\n", f"{info}/RECORD": "",
    }  # fmt: skip
    with zipfile.ZipFile(path, "w") as archive:
        for member, text in files.items():
            archive.writestr(member, text)
    return path


@pytest.fixture(autouse=True)
def toy(monkeypatch):
    """The toy plugin and what is built in; a test adds its package."""
    monkeypatch.syspath_prepend(str(TOY))
    monkeypatch.setenv("UQBENCH_PLUGINS", "toy,builtin")
    monkeypatch.setenv("OMP_NUM_THREADS", "1")


def in_this_process(folder: Path, arguments: list[str], seconds: float, package: str) -> None:
    """Make the runs that a command line asks for, by the same code, and start no process."""
    named = dict(zip(arguments[::2], arguments[1::2], strict=False))
    seeds = tuple(int(one.partition("=")[2]) for one in arguments if one.startswith("--seed="))
    host, suite, budget = Host.load(), named["--suite"], named["--budget"]
    plan = Selection(suite, budget, ("mine",), seeds=seeds or None).plan(host, "cpu")
    for group in make_batch_groups(plan, set(plan.runs), "cpu", 8):
        execute(group, Store(folder / "runs"), host, lambda event: None, 0.0, Stop())


def sent(path: Path, monkeypatch, suite: str = "toy", forge=lambda score: score) -> Path:
    """What the author of a wheel sends: runs that were made, whose scores are then forged."""
    name, folder = path.name.partition("-")[0], path.with_suffix("")
    monkeypatch.setenv("UQBENCH_PLUGINS", f"toy,builtin,{name}")
    shutil.unpack_archive(path, folder, "zip")  # as pip installs it, who is asked by ``verify``
    with monkeypatch.context() as patch:
        patch.syspath_prepend(folder)
        in_this_process(folder, ["--suite", suite, "--budget", "paper"], 0, name)
        host = Host.load()
        plan = Selection(suite, "paper", ("mine",)).plan(host, "cpu")
        file = path.with_suffix(".json")
        monkeypatch.setattr(conformance, "check_plugin", lambda *_: [])
        submit(plan, host, Store(folder / "runs"), path, file)
        scale = plan.suite.normalization_constants(plan.suite.primary_metric(plan.budget))
        scores = []
        for score in map(forge, from_csv(read_submission(file)[0].scores, "")):
            raw = score.values["online_return"]
            scores.append(replace(score, score=scale[score.task].normalize(raw)))
        text = to_csv(Scores.of(scores), plan.suite.metrics).decode()
    del sys.modules[name]
    return altered(file, scores=text)


def altered(file: Path, **changed: object) -> Path:
    file.write_text(json.dumps({**json.loads(file.read_text()), **changed}))
    return file


def whale(score):
    """One row of six, that lifts the mean by a hundred."""
    if (score.task, score.seed) != ("short", 0):
        return score
    return replace(score, values={**score.values, "online_return": 5400.0})


def verify(file: Path, path: Path, boards: Path | None, say=print, hours: float = 24.0):
    return api.verify(file, path, boards, hours, say=say)


def table(path: Path) -> dict[str, dict[str, str]]:
    return {row["method"]: row for row in csv.DictReader(path.read_text().splitlines())}


def test_the_boards_row_is_what_we_ran_whatever_was_sent(tmp_path, monkeypatch):
    """End to end: a wheel is installed in an environment of its own, and runs in processes there.

    What was sent claims a huge row, a cost of nothing and a thousand passed checks.
    """
    path = wheel(tmp_path, "whale_pkg")
    file = altered(sent(path, monkeypatch, forge=whale), hours=1e-9, checks={"passed": 1000})
    boards, said = tmp_path / "boards", []
    row, added = verify(file, path, boards, say=said.append)
    assert not row.refused
    assert "6 runs: 1e-09 hours of a core, by what the author's took; 24 are given." in said
    assert any("no bubblewrap" in text for text in said) is not has_sandbox()
    shown = table(added / "leaderboard.csv")["mine"]
    assert 0.0 < float(shown["mean"]) < 1.0
    assert shown["submitted"].startswith(
        ("verified: made here", "verified (no sandbox): made here")
    )
    assert (
        "; 6 runs of whale_pkg 1.0; conformance, as the author says: 1000 passed"
        in (shown["submitted"])
    )
    assert "; self-reported 100." in shown["submitted"]
    page = (added / "README.md").read_text()
    assert "mine, verified: made here" in page or "mine, verified (no sandbox): made here" in page
    seeds = {int(one["seed"]) for one in csv.DictReader(read_scores(added).splitlines())}
    assert len(seeds) == 3
    assert not seeds & {0, 1, 2}  # the keeper's, of 10,000
    costs = [*csv.DictReader((added / "cost.csv").read_text().splitlines())]
    assert all(float(cost["steps_per_s"]) > 0 and cost["runs"] == "3" for cost in costs)
    [made] = json.loads((added / "made_with.json").read_text())["runs"]
    assert (made["runs"], made["versions"]["whale_pkg"]) == (6, "1.0")
    kept = json.loads((added / "submissions.json").read_text())["mine"]
    assert kept["wheel"] == sha256(path.read_bytes()).hexdigest()
    assert kept["file"] == sha256(file.read_bytes()).hexdigest()
    # whoever has the package checks the board like any other; nothing replaces the row
    with environment(path):
        checked = uqbench.check_leaderboard(
            uqbench.Options("toy", out=tmp_path / "none"), boards, say=print
        )
        assert checked.good, checked.lines
    monkeypatch.setattr(verification, "run", in_this_process)
    with pytest.raises(UqbenchError, match="has a row of mine already"):
        verify(file, path, boards)


def test_rows_that_cost_too_much_are_the_authors_until_they_are_verified(tmp_path, monkeypatch):
    path = wheel(tmp_path, "dear_pkg")
    file = altered(sent(path, monkeypatch), hours=48.0)
    boards, said = tmp_path / "boards", []
    monkeypatch.setattr(verification, "run", lambda *_: pytest.fail("it ran"))
    row, _ = verify(file, path, None, hours=float("nan"))
    assert row.word.state == "self-reported"
    _, added = verify(file, path, boards, say=said.append)
    assert "6 runs: 48 hours of a core, by what the author's took; 24 are given." in said
    row = table(added / "leaderboard.csv")["mine"]
    assert row["submitted"].startswith("self-reported: 6 runs of dear_pkg 1.0; conformance, as")
    assert (added / "cost.csv").read_text().count("\n") == 1  # none that was measured here
    assert json.loads((added / "made_with.json").read_text())["runs"] == []
    monkeypatch.setattr(verification, "run", in_this_process)
    verify(file, path, boards, hours=50)
    assert table(added / "leaderboard.csv")["mine"]["submitted"].startswith("verified")
    assert (added / "cost.csv").read_text().count("\n") == 3


SOME = "(self.uniform.at(self.t) < 0.5).long()"
FORGED = {
    "better on public seeds": (
        "tuned_pkg",
        f"torch.where(self.knows[:, None], 1, {SOME})",
        r"with the board's seeds, .* 10 seeds of the keeper \(p = 0\.00",
    ),
    "fails on others": ("fails_pkg", "action if bool(self.knows.all()) else 1 / 0", "a run failed"),
}


@pytest.mark.parametrize("what", FORGED)
def test_what_knows_public_seeds_joins_no_paired_board(what, tmp_path, monkeypatch):
    """Every public seed is better than each of the keeper's: 1 of 286 permutations is as good."""
    name, choose, said = FORGED[what]
    path = wheel(tmp_path, name, choose, paired())
    file = sent(path, monkeypatch, "pairs")
    monkeypatch.setattr(verification, "run", in_this_process)
    row, added = verify(file, path, tmp_path / "boards")
    assert re.search(said, row.refused)
    assert added is None
    assert not (tmp_path / "boards").exists()


def test_an_honest_row_of_a_paired_board_has_the_keepers_seeds_beside_it(tmp_path, monkeypatch):
    path = wheel(tmp_path, "pairs_pkg", suite=paired())
    file = sent(path, monkeypatch, "pairs")
    monkeypatch.setattr(verification, "run", in_this_process)
    monkeypatch.setattr(verification, "LEVEL", 0.0)  # one of a hundred would be refused
    row, added = verify(file, path, tmp_path / "boards")
    assert {score.seed for score in row.scores} == {0, 1, 2}
    assert "with 10 seeds of the keeper (p = " in row.word.says
    assert table(added / "leaderboard.csv")["mine"]["runs_scored"] == "6"


def test_what_fails_when_it_is_verified_has_no_better_row_for_it(tmp_path, monkeypatch):
    """The toy metric has no worst value: the row has no aggregate, as any with a failed run."""
    path = wheel(tmp_path, "broken_pkg", "action if bool(self.knows.all()) else 1 / 0")
    file = sent(path, monkeypatch)
    monkeypatch.setattr(verification, "run", in_this_process)
    _, added = verify(file, path, tmp_path / "boards")
    row = table(added / "leaderboard.csv")["mine"]
    assert (row["runs_failed"], row["mean"]) == ("6", "")


def test_another_wheel_than_the_one_that_was_named_is_not_installed(tmp_path, monkeypatch):
    path = wheel(tmp_path, "named_pkg")
    file = sent(path, monkeypatch)
    wheel(tmp_path, "named_pkg", "action * 0")
    with pytest.raises(UqbenchError, match="is not the wheel whose sha256"):
        verify(file, path, tmp_path / "boards")


def test_what_is_not_said_of_the_package_and_the_budget_is_refused(tmp_path, monkeypatch):
    """Also beside a suite's own numbers, which a package that joins it cannot change."""
    eased = (
        "[extend.toy.normalization.online_return.constants]\nshort = { zero = -99.0, one = 0.0 }\n"
    )
    path = wheel(tmp_path, "other_pkg", suite=JOINS + eased)
    with pytest.warns(UqbenchWarning, match="those of 'short' are the suite's"):
        file = sent(path, monkeypatch)
    for score in from_csv(read_submission(file)[0].scores, ""):
        assert score.task == "long" or score.score == score.values["online_return"] / 9
    for changed, said in (
        ({"budget": "smoke"}, "scores.csv has 6 runs, the plan 4"),
        ({"method": "fast"}, "fast is of toy-uqbench 0.1, not of other_pkg 1.0"),
        ({"version": "2.0"}, "mine is of other_pkg 1.0, not of other_pkg 2.0"),
        ({"scores": "task,method\n"}, "expected the columns"),
    ):
        forged = tmp_path / "forged.json"
        forged.write_text(json.dumps({**json.loads(file.read_text()), **changed}))
        with pytest.raises(UqbenchError, match=said):
            verify(forged, path, tmp_path / "boards", hours=0)


def test_what_is_no_wheel_is_not_installed(tmp_path):
    path = tmp_path / "mine-1.0-py3-none-any.whl"
    path.write_bytes(b"PK")
    with pytest.raises(UqbenchError, match="is no wheel"), environment(path):
        pytest.fail("it was")


def test_a_submission_never_overwrites_a_file(tmp_path):
    path = tmp_path / "mine.json"
    path.write_text("mine")
    with pytest.raises(UqbenchError, match="nothing is overwritten"):
        api.submit(uqbench.Options("toy", methods="fast"), path, path)
    assert path.read_text() == "mine"
