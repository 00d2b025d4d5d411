"""A board on terminals of 60, 80 and 120 columns, held against what was printed before."""

import io
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from uqbench.boards import Board, Score
from uqbench.pages.board_view import BoardView, shortened
from uqbench.pages.terminal import print_board
from uqbench.registry import Host
from uqbench.suites import make_plan, read_suites

SNAPSHOTS = Path(__file__).parent / "snapshots"
METRICS = (
    "late_return", "learned_return", "risk_control", "falls_per_step", "return_proper",
    "q_coverage_90", "proper", "information", "return_scale")  # fmt: skip
MEANS = {"qr-dqn": 0.2, "ua-dqn-averse": 0.8, "ua-dqn-averse-biased": 0.78, "ua-dqn-neutral": 0.5}


@pytest.fixture(scope="module")
def board():
    """Simulated runs of windy-cliff, two of whose methods have long names that begin alike."""
    host = Host.load()
    suite = _with_fixed_prose(read_suites(host, check=("windy-cliff",)).suite("windy-cliff"))
    plan = make_plan(suite, host, "paper", device="cpu", seeds=range(6))
    generator = np.random.default_rng(0)
    constants = suite.normalization_constants(suite.primary_metric(plan.budget))
    scores = []
    for run in sorted(plan.runs, key=lambda run: (run.task, run.method, run.seed)):
        score = MEANS[run.method] + 0.1 * generator.standard_normal()
        of = constants[run.task]
        raw = of.zero + score * (of.one - of.zero)
        share = min(max(raw / 10, 0), 1)  # of metrics whose range is known
        values = {of.name: share if of.bounds else raw for of in suite.metrics}
        scores.append(
            Score(run.task, run.method, run.seed, "finished", "cpu", of.normalize(raw), values,
                  str(run.folder), run.digest, "uqbench:aaaa"))  # fmt: skip
    return Board.of(replace(plan, claims=()), scores)


def _with_fixed_prose(suite):
    """Methods, metrics and sentences of its own, so that others and better ones change nothing."""
    metric = suite.metric(suite.primary)
    told = metric.model_copy(update={"summary": "falls of all of training, for each step of it"})
    metrics = tuple(told if m == metric else m for m in map(suite.metric, METRICS))
    normalization = suite.normalization[metric.name].model_copy(
        update={"zero": "the uniformly random policy", "one": "no fall"}
    )
    methods = tuple(method for method in suite.methods if method.name in MEANS)
    return suite.model_copy(
        update={
            "metrics": metrics,
            "methods": methods,
            "normalization": {metric.name: normalization},
        }
    )


def printed(board, width, **console):
    text = io.StringIO()
    print_board(board, Console(file=text, width=width, **console))
    return text.getvalue()


@pytest.mark.parametrize("width", [60, 80, 120])
def test_a_board_is_printed_as_before(board, width):
    text = printed(board, width)
    assert max(map(len, text.splitlines())) <= width
    text = re.sub(r"selection-[0-9a-f]{8}", "selection-01234567", text)  # a digest of the suite
    path = SNAPSHOTS / f"board-{width}.txt"
    assert text == path.read_text(encoding="utf-8")


def test_the_score_is_whole_at_any_width(board):
    scores = BoardView.of(board).column("mean").texts
    for width in range(32, 200, 12):
        text = printed(board, width)
        assert all(score in text for score in scores)
        assert max(map(len, text.splitlines())) <= width


def test_intervals_are_the_last_column_to_go(board):
    """Before a name is cut; and what has gone is said."""
    seen = []
    for width in range(140, 32, -4):
        text = printed(board, width)
        head = " ".join(text.splitlines()[1:3])
        has = [name in head for name in ("P(better", "rank", "intervals", "mean")]
        seen.append((*has, "[4, 51]" in text, "…" not in text))
        said = [name in text.partition("Too narrow here for:")[2]
                for name in ("P(better", "rank", "intervals;", "intervals of")]  # fmt: skip
        gone = [not of for of in has[:3]]
        assert said[:2] == gone[:2]
        assert (said[2] or text.rstrip().endswith("intervals.")) == gone[2]
        assert said[3] == (not gone[2] and "[4, 51]" not in text)
    assert list(dict.fromkeys(seen)) == [
        (True, True, True, True, True, True), (False, True, True, True, True, True),
        (False, True, True, True, False, True), (False, False, True, True, False, True),
        (False, False, False, True, False, True), (False, False, False, True, False, False),
    ]  # fmt: skip
    assert seen[(140 - 80) // 4] == (False, True, True, True, True, True)


def test_long_names_keep_their_begin_and_end_and_what_is_said_of_them():
    assert shortened("ua-dqn-averse-biased", 24) == "ua-dqn-averse-biased"
    short = shortened("ua-dqn-averse-without-any-bias-of-it", 24)
    assert (short, len(short)) == ("ua-dqn-avers…-bias-of-it", 24)


def test_a_board_ends_with_its_finding_within_twenty_lines(board):
    for width in (60, 80, 120):
        lines = printed(board, width).splitlines()
        assert len(lines) <= 20
        assert " ".join(board.finding.split()) in " ".join(" ".join(lines).split())


def test_colors_are_for_terminals_alone(board):
    assert "\x1b[" not in printed(board, 80)
    assert "\x1b[" in printed(board, 80, force_terminal=True)
