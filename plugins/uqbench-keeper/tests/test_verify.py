"""Seeds that nobody could know, failed runs, strange text, hostile submissions, and the sandbox."""

import json
import os
import random
import socket
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from zipfile import ZipFile

import numpy as np
import pytest
from uqbench_keeper import make
from uqbench_keeper.api import verify
from uqbench_keeper.make import Submission, read_submission, submit
from uqbench_keeper.sandbox import check_names, has_sandbox, isolated
from uqbench_keeper.verify import check_plain, draw, judged, settled

from uqbench.boards import check_scores
from uqbench.boards.provenance import MadeWith
from uqbench.boards.submitted import reseeded
from uqbench.errors import UqbenchError
from uqbench.registry import Host
from uqbench.results import Score, Scores, Store
from uqbench.suites import Selection

TOY = Path(__file__).parents[3] / "tests" / "toy"
MADE = MadeWith("cpu", "Linux x86_64", {"numpy": "1.0"}, {}, None, "2026-01-01", "2026-01-02", 6)


def refused(public, others, times=60):
    """The share of rows that are refused, over draws of both kinds of seeds."""
    return np.mean([bool(judged(public(), others())[1]) for _ in range(times)])


@pytest.mark.parametrize(("seeds", "is_refused"), [(4, False), (5, True)])
def test_seeds_that_are_all_better_refuse_a_row_from_ten_on(seeds, is_refused):
    """One of 70 orders, 1.4 %, where four meet four; one of 252, .4 %, where five meet five."""
    said, why = judged(np.arange(seeds) + 100.0, np.arange(seeds) + 0.0)
    assert f"with {seeds} seeds of the keeper (p = 0.0" in said
    assert bool(why) is is_refused
    assert not is_refused or "102.000 with the board's seeds, which are public, but 2.000" in why


@pytest.mark.parametrize("kind", ["skewed", "two modes", "constant"])
@pytest.mark.parametrize("seeds", [3, 10, 100])
def test_honest_rows_are_refused_in_one_case_of_a_hundred(kind, seeds):
    """Exact for any distribution. Six of 60 have a probability of 3e-5 where 1 % do."""
    rng = np.random.default_rng(seeds)
    draws = {
        "skewed": lambda n: rng.lognormal(0, 1.5, n),
        "two modes": lambda n: rng.choice([0.0, 1.0], n, p=[0.1, 0.9]),
        "constant": np.ones,
    }[kind]
    assert refused(lambda: draws(seeds), lambda: draws(max(seeds, 10))) < 0.1


def test_a_method_that_was_tuned_on_public_seeds_by_one_standard_deviation_is_refused():
    """Normal scores, a hundred seeds of both kinds: z is 7.1 on average, and 2.3 at the level."""
    rng = np.random.default_rng(1)
    assert refused(lambda: rng.normal(1, 1, 100), lambda: rng.normal(0, 1, 100)) == 1


@pytest.mark.parametrize(("seeds", "least"), [(10, 0.2), (20, 0.6), (100, 1.0)])
def test_a_method_that_spoils_half_of_the_seeds_that_it_does_not_know_is_refused(seeds, least):
    """By 3 standard deviations: 39 % with ten seeds, 79 % with twenty, all with a hundred."""
    rng = np.random.default_rng(2)
    spoiled = lambda: rng.normal(0, 1, seeds) - 3 * rng.integers(0, 2, seeds)  # noqa: E731
    assert refused(lambda: rng.normal(0, 1, seeds), spoiled) >= least


@pytest.mark.parametrize(
    ("suite", "rows", "beside"),
    [("toy", 3, 0), ("five-state", 100, 100), ("testbed", 25, 25), ("sine", 24, 0)],
)
def test_seeds_are_the_keepers_or_public_with_the_keepers_beside(suite, rows, beside, monkeypatch):
    """On `sine` there are no more data sets; on `toy` a seed is nobody's data set."""
    if suite == "toy":
        monkeypatch.syspath_prepend(str(TOY))
    host = Host.load()
    plan = Selection(suite, "paper").plan(host, "cpu")
    own, others = draw(plan, host)
    assert (len({*own}), len({*others})) == (rows, beside)
    public = set(range(plan.budget.seeds))
    assert set(own) == public if plan.suite.paired else not {*own} & public
    assert not {*others} & public
    assert draw(plan, host) != draw(plan, host) or suite == "sine"


def plan_of(host, **metric):
    """The toy suite's, its metric with other ends; and from a run and a value to a score."""
    plan = Selection("toy", "paper", ("fast",)).plan(host, "cpu")
    own = plan.suite.metric("online_return")
    metrics = [m.model_copy(update=metric) if m == own else m for m in plan.suite.metrics]
    scale = plan.suite.normalization_constants(own)

    def row(run, raw, status="finished"):
        score = None if raw is None else scale[run.task].normalize(raw)
        return Score(run.task, run.method, run.seed, status, "cpu", score, {"online_return": raw},
                     run.place, "0" * 64, "uqbench:12345678")  # fmt: skip

    return replace(plan, suite=plan.suite.model_copy(update={"metrics": tuple(metrics)})), row


@pytest.mark.parametrize(("lowest", "score"), [(-9.0, -1.0), (None, None)])
def test_a_submitted_run_that_failed_has_the_worst_score_where_there_is_one(host, lowest, score):
    plan, row = plan_of(host, lowest=lowest)
    good, bad, none, *_ = (run for run in plan.runs if run.task == "short")
    rows = [row(good, 9.0), row(bad, 9.0, "failed"), row(none, None)]
    found = {s.seed: (s.status, s.score) for s in settled(Scores.of(rows), plan)}
    assert found == {0: ("finished", 1.0), 1: ("failed", score), 2: ("failed", score)}


def test_a_value_beyond_its_metrics_range_is_refused_on_every_board(host):
    plan, row = plan_of(host, lowest=-9.0, highest=10.0)
    check_scores(Scores.of([row(run, 10.0) for run in plan.runs]), plan, "scores.csv")
    rows = Scores.of([row(run, 10.5 if run.seed else 0.0) for run in plan.runs])
    with pytest.raises(UqbenchError, match=r"online_return of \S+ is 10.5, beyond its range from"):
        check_scores(rows, plan, "scores.csv")


@pytest.mark.parametrize("text", ["a\n# T", "<b>", "[x](y)", "`", "a|b", "\x1b[2J", "é", "*x*"])
def test_text_of_strange_code_cannot_hold_markup(text):
    check_plain(Scores([]), [MADE])
    score = Score("t", "m", 0, "finished", "cpu", 0.0, {}, "", content=text)
    made = (replace(MADE, device=text), replace(MADE, versions={"numpy": text}))
    for scores, origins in ((Scores.of([score]), []), *((Scores([]), [one]) for one in made)):
        with pytest.raises(UqbenchError, match="expected plain text"):
            check_plain(scores, origins)


def test_a_plan_with_other_seeds_is_that_of_these_seeds(host):
    plan = Selection("toy", "paper", ("fast", "slow")).plan(host, "cpu")
    other = Selection("toy", "paper", ("fast",), seeds=(7, 40, 9)).plan(host, "cpu")
    found = reseeded(plan, {"fast": [40, 7, 9]}).runs
    assert [run.place for run in found if run.method == "fast"] == [run.place for run in other.runs]
    same = [run for run in plan.runs if run.method == "slow"]
    assert [run for run in found if run.method == "slow"] == same


SENT = Submission(
    suite="toy", budget="paper", method="fast", package="mine", version="1.0", wheel="0" * 64,
    scores="task,method\n", hours=0.5, checks={"passed": 4})  # fmt: skip


@pytest.fixture
def path(tmp_path):
    (tmp_path / "sent.json").write_text(SENT.model_dump_json())
    return tmp_path / "sent.json"


def test_what_was_written_is_read_with_the_digest_of_its_file(path):
    assert read_submission(path)[0] == SENT
    before = read_submission(path)[1]
    path.write_text(SENT.model_dump_json(indent=1))
    assert read_submission(path)[1] != before


@pytest.mark.parametrize(
    ("key", "value"),
    [("suite", "../up"), ("suite", 3), ("budget", ""), ("schema_version", 1), ("method", ["fast"]),
     ("wheel", "../x"), ("run", "import os"), ("package", "--index-url=http://x"), ("hours", -1.0),
     ("version", "1.0`<b>"), ("checks", {"passed": -1}), ("checks", dict.fromkeys("abcdefg", 1)),
     ("checks", {"<b>": 1}), ("scores", None)],
)  # fmt: skip
def test_a_submission_of_another_form_is_refused(path, key, value):
    path.write_text(json.dumps({**SENT.model_dump(), key: value}))
    with pytest.raises(UqbenchError, match=r"(?s)is no submission.*#refused-submission"):
        read_submission(path)


@pytest.mark.parametrize(
    "data", [b"", b"[" * 100_000, b'{"hours": NaN}', b"\xff", b"PK\x03\x04 a zip of earlier days"]
)
def test_a_file_that_is_none_is_refused(path, data):
    path.write_bytes(data)
    with pytest.raises(UqbenchError, match="is no submission"):
        read_submission(path)


def test_a_huge_file_a_link_and_a_folder_are_refused(path, tmp_path, monkeypatch):
    (tmp_path / "link.json").symlink_to(path)
    for name in ("link.json", "."):
        with pytest.raises(UqbenchError, match="is no submission"):
            read_submission(tmp_path / name)
    monkeypatch.setattr(make, "MOST_BYTES", 100)
    with pytest.raises(UqbenchError, match="is no submission"):
        read_submission(path)


def test_no_damaged_file_raises_anything_else(path):
    whole, rng = path.read_bytes(), random.Random(0)
    for _ in range(400):
        data = bytearray(whole)
        for _ in range(rng.choice((1, 2, 8))):
            data[rng.randrange(len(data))] = rng.randrange(256)
        path.write_bytes(data[: rng.choice((len(data), rng.randrange(len(data))))])
        try:
            read_submission(path)
        except UqbenchError:
            continue


def test_runs_that_are_not_done_are_not_submitted(host, tmp_path):
    plan = Selection("toy", "paper", ("fast",)).plan(host, "cpu")
    with pytest.raises(UqbenchError, match=r"6 of 6 runs are not done.*uqbench run --suite toy"):
        submit(plan, host, Store(tmp_path), tmp_path / "x.whl", tmp_path / "s.json")


PROBE = """
import json, os, socket, sys
def tries(f):
    try:
        return bool(f())
    except OSError:
        return False
[out] = sys.argv[1:]
print(json.dumps({
    "other processes": len([p for p in os.listdir("/proc") if p.isdecimal()]) > 3,
    "network": tries(lambda: socket.create_connection(("127.0.0.1", int(os.environ["PORT"])), 2)),
    "writes elsewhere": tries(lambda: open(os.environ["ELSEWHERE"] + "/mark", "w")),
    "writes its packages": tries(lambda: open(os.path.dirname(out) + "/env/mark", "w")),
    "writes its results": tries(lambda: open(out + "/mark", "w")),
}))
"""


@pytest.mark.skipif(not has_sandbox(), reason="no bubblewrap that works")
def test_a_package_reaches_no_network_and_no_process_and_writes_its_runs_alone(tmp_path):
    for name in ("env", "runs"):
        (tmp_path / name).mkdir()
    with socket.create_server(("127.0.0.1", 0)) as server:
        own = {"PORT": str(server.getsockname()[1]), "ELSEWHERE": str(Path.home())}
        ask = [*isolated(tmp_path), sys.executable, "-I", "-c", PROBE, str(tmp_path / "runs")]
        done = subprocess.run(ask, capture_output=True, text=True, check=True, env=os.environ | own)
    (Path.home() / "mark").unlink(missing_ok=True)
    assert json.loads(done.stdout) == {
        "other processes": False, "network": False, "writes elsewhere": False,
        "writes its packages": False, "writes its results": True}  # fmt: skip
    assert (tmp_path / "runs" / "mark").exists()


@pytest.mark.parametrize(
    "name",
    ["uqbench/__init__.py", "torch.py", "json/__init__.py", "sitecustomize.py", "usercustomize.py",
     "mine.pth", "mine-1.0.data/scripts/python", "sys.py", "uqbench.cpython-311-linux.so"],
)  # fmt: skip
def test_a_wheel_brings_nothing_that_is_anothers_or_runs_at_every_start(name, tmp_path):
    wheel = tmp_path / "mine-1.0-py3-none-any.whl"
    with ZipFile(wheel, "w") as archive:
        for of in ("mine-1.0.dist-info/METADATA", "mine_of_nobody/__init__.py"):
            archive.writestr(of, "")
    check_names(wheel)  # its own name may come
    with ZipFile(wheel, "a") as archive:
        archive.writestr(name, "")
    with pytest.raises(UqbenchError, match=rf"brings {name.split('/')[0]}, which would be"):
        check_names(wheel)


@pytest.mark.skipif(has_sandbox(), reason="there is bubblewrap")
def test_where_a_sandbox_is_required_and_there_is_none_nothing_runs(tmp_path):
    with pytest.raises(UqbenchError, match=r"no bubblewrap .*leave --require-sandbox out"):
        verify(tmp_path / "none.json", tmp_path / "none.whl", require_sandbox=True)


@pytest.mark.parametrize(
    ("command", "works"), [("", False), ("echo no namespaces >&2; exit 1", False), ("exit 0", True)]
)
def test_a_sandbox_is_a_bubblewrap_that_works(command, works, tmp_path, monkeypatch):
    if command:
        (tmp_path / "bwrap").write_text(f"#!/bin/sh\n{command}\n")
        (tmp_path / "bwrap").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    has_sandbox.cache_clear()
    try:
        assert has_sandbox() == works
    finally:
        has_sandbox.cache_clear()
