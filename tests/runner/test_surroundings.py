"""A plugin that changes its process, or raises what is no ``Exception``, costs its own run alone.

The victim's numbers depend on all that can be changed; it executes before the culprit, after it,
and in turns with it.
"""

import io
import locale
import os
import random
import signal
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from uqbench.contract.agent import Agent, EnvironmentInfo, Step
from uqbench.contract.specs import AgentSpec
from uqbench.lanes import Uniform
from uqbench.registry.classes import Added
from uqbench.registry.local import SuiteTable
from uqbench.registry.plugins import Host
from uqbench.results.store import RunState, Store
from uqbench.runner.batches import Batch
from uqbench.runner.events import Event, Failed, Notice
from uqbench.runner.interleaving import execute
from uqbench.suites.plan import make_plan
from uqbench.suites.reading import read_suites

STEPS = 12


@dataclass(frozen=True, kw_only=True)
class Config:
    """``draws``: whether it uses global random numbers, of which in turns all have one stream."""

    deed: str = ""
    draws: bool = True


class Victim(Agent):
    """Learns by gradients, and looks at all that others may have changed."""

    def __init__(
        self, info: EnvironmentInfo, seeds: Sequence[int], config: Config, device: torch.device
    ) -> None:
        self.config, self.t, self.lanes = config, 0, len(seeds)
        self.uniform = Uniform(seeds, "walk", (info.actors,), device)
        self.seen: list[float] = []

    def act(self, obs: Tensor, valid: Tensor | None = None) -> Tensor:
        return (self.uniform.at(self.t) < 0.7).long()

    def policy(self, obs: Tensor, valid: Tensor | None = None) -> Tensor:
        return torch.ones(obs.shape[:2], dtype=torch.int64)

    def observe(self, step: Step) -> None:
        if self.t == 3 and self.config.deed:
            DEEDS[self.config.deed]()
        self.t += 1
        weight = torch.full((1,), 1 / 3, requires_grad=True)
        (weight * step.reward.sum() + weight**2).sum().backward()
        assert weight.grad is not None
        tiny = torch.tensor([1e-40], dtype=torch.float32) * 0.5
        warnings.warn("a word", stacklevel=1)
        np.log(np.zeros(1))
        print("a line")
        self.seen = [
            float(weight.grad), float(torch.ones(()) / 3), float(tiny > 0),
            float(torch.rand(())) if self.config.draws else 0.0,
            random.random() if self.config.draws else 0.0,
            float(np.random.rand()) if self.config.draws else 0.0,  # noqa: NPY002
            float(torch.get_num_threads()), float(torch.are_deterministic_algorithms_enabled()),
            float(torch.backends.mkldnn.enabled), float(torch.is_autocast_enabled("cpu")),
            float(len(torch.get_float32_matmul_precision())), float(sys.getrecursionlimit()),
            float(len(os.environ["PATH"])), float(Path("here").exists()),
            float(signal.getsignal(signal.SIGUSR1) is signal.SIG_DFL),
            float(len(locale.setlocale(locale.LC_ALL))),
        ]  # fmt: skip

    def metrics(self) -> Mapping[str, Tensor]:
        return {
            f"seen{i}": torch.full((self.lanes,), x, dtype=torch.float64, device="cpu")
            for i, x in enumerate(self.seen)
        }


class NoExceptionError(BaseException):
    """What an ``except Exception`` lets pass."""


class UnspeakableError(Exception):
    def __str__(self) -> str:
        raise RuntimeError


def raises(error: BaseException) -> Callable[[], None]:
    def deed() -> None:
        raise error

    return deed


CHANGES: dict[str, tuple[Callable[[], object], str]] = {
    "float64": (lambda: torch.set_default_dtype(torch.float64), "torch's default dtype"),
    "bfloat16": (lambda: torch.set_default_dtype(torch.bfloat16), "torch's default dtype"),
    "meta": (lambda: torch.set_default_device("meta"), "torch's default device"),
    "no_grad": (lambda: torch.set_grad_enabled(False), "torch's gradient mode"),
    "denormals": (lambda: torch.set_flush_denormal(True), "denormal numbers"),
    "threads": (lambda: torch.set_num_threads(2), "torch's number of threads"),
    "deterministic": (
        lambda: torch.use_deterministic_algorithms(True), "torch's deterministic algorithms"
    ),
    "precision": (
        lambda: torch.set_float32_matmul_precision("medium"), "torch's precision of products"
    ),
    "autocast": (lambda: torch.set_autocast_enabled("cpu", True), "torch's autocast"),
    "onednn": (lambda: setattr(torch.backends.mkldnn, "enabled", False), "oneDNN"),
    "numpy": (lambda: np.seterr(all="raise"), "numpy's errors"),
    "warnings": (lambda: warnings.simplefilter("error"), "the warnings filters"),
    "environment": (lambda: os.environ.clear(), "environment variables"),
    "folder": (lambda: os.chdir("/"), "the current folder"),
    "stdout": (lambda: sys.stdout.close(), "sys.stdout"),
    "recursion": (lambda: sys.setrecursionlimit(700), "the recursion limit"),
    "handler": (
        lambda: signal.signal(signal.SIGUSR1, signal.SIG_IGN), "the handler of SIGUSR1"
    ),
    "alarm": (lambda: signal.alarm(1000), "an alarm"),
    "locale": (lambda: locale.setlocale(locale.LC_ALL, "C.UTF-8"), "the locale"),
}  # fmt: skip
"""What each changes, and what the notice calls it."""
SEEDS: dict[str, Callable[[], object]] = {
    "torch's seed": lambda: torch.manual_seed(3),
    "Python's seed": lambda: random.seed(3),
    "numpy's seed": lambda: np.random.seed(3),  # noqa: NPY002
}
RAISED: dict[str, tuple[BaseException, str]] = {
    "no Exception": (NoExceptionError("odd"), "NoExceptionError: odd"),
    "sys.exit(0)": (SystemExit(0), "SystemExit: 0"),
    "unspeakable": (
        UnspeakableError(), "UnspeakableError (its message cannot be made: RuntimeError)"
    ),
}  # fmt: skip
DEEDS: dict[str, Callable[[], object]] = {
    **{name: deed for name, (deed, _) in CHANGES.items()},
    **SEEDS,
    **{name: raises(error) for name, (error, _) in RAISED.items()},
}


@pytest.fixture
def host(host: Host, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Host]:
    rows: list[dict[str, Any]] = [
        {"name": "victim", "agent": "planted:victim"},
        {"name": "quiet", "agent": "planted:victim", "config": {"draws": False}},
    ]
    rows += [
        {"name": f"c{i}", "agent": "planted:culprit", "config": {"deed": deed}}
        for i, deed in enumerate(DEEDS)
    ]
    specs = [
        AgentSpec(name=name, version="1", factory=Victim, config=Config, summary=".")
        for name in ("victim", "culprit")
    ]
    planted = Added(
        {"agent": specs}, [SuiteTable("p.toml", {"extend": {"toy": {"methods": rows}}})]
    )
    host.register(
        name="planted",
        distribution="planted",
        version="1",
        load=lambda: planted,
        package="toy_uqbench",
    )
    assert not host.failures
    monkeypatch.chdir(tmp_path)
    (tmp_path / "here").touch()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield host


def batch(host: Host, method: str, *seeds: int) -> Batch:
    suite = read_suites(host, check=()).suite("toy")
    plan = make_plan(
        suite, host, "smoke", device="cpu", methods=[method], tasks=["short"], seeds=seeds,
        steps=STEPS,
    )  # fmt: skip
    return Batch(plan.cells[0], plan.budget, suite.metrics, "cpu")


def culprit(host: Host, deed: str) -> Batch:
    return batch(host, f"c{list(DEEDS).index(deed)}", 0)


def executed(host: Host, out: Path, *groups: tuple[Batch, ...]) -> list[Event]:
    """Execute groups one after another, as a worker does."""
    events: list[Event] = []
    with redirect_stdout(io.StringIO()):
        for group in groups:
            execute(group, Store(out), host, events.append, 0.0)
    return events


def digests(out: Path, *batches: Batch) -> list[Any]:
    found = [Store(out).find(run) for one in batches for run in one.runs]
    assert [one.state for one in found] == [RunState.FINISHED] * len(found), found
    return [one.record.digests for one in found if one.record is not None]


@pytest.mark.parametrize("deed", [*CHANGES, *SEEDS])
def test_what_one_changes_reaches_no_other_of_its_process(deed, host, tmp_path):
    first, second, bad = batch(host, "victim", 0, 1), batch(host, "victim", 2), culprit(host, deed)
    executed(host, tmp_path / "alone", (first,))
    executed(host, tmp_path / "alone", (second,))
    right = digests(tmp_path / "alone", first, second)
    events = executed(host, tmp_path / "after", (first,), (bad,), (second,))
    assert digests(tmp_path / "after", first, second) == right
    told = [(e.batch.cell.method.name, e.text) for e in events if isinstance(e, Notice)]
    if deed in CHANGES:
        said = f"it changed {CHANGES[deed][1]} in its process, which was restored"
        assert told == [(bad.cell.method.name, said)]
    else:
        assert told == []


@pytest.mark.parametrize("deed", ["float64", "no_grad", "meta", "denormals", "warnings", "stdout"])
def test_in_turns_each_has_what_it_changed_itself_and_no_other_has(deed, host, tmp_path):
    first, second, bad = batch(host, "quiet", 0, 1), batch(host, "quiet", 2), culprit(host, deed)
    executed(host, tmp_path / "alone", (first,), (second,), (bad,))
    executed(host, tmp_path / "turns", (first, bad, second))
    assert digests(tmp_path / "turns", first, second) == digests(tmp_path / "alone", first, second)
    alone, turns = (Store(tmp_path / name).find(bad.runs[0]) for name in ("alone", "turns"))
    assert (alone.state, alone.reason) == (turns.state, turns.reason)


@pytest.mark.parametrize("deed", RAISED)
def test_what_is_no_exception_fails_its_own_run_by_name(deed, host, tmp_path):
    first, second, bad = batch(host, "victim", 0, 1), batch(host, "victim", 2), culprit(host, deed)
    executed(host, tmp_path / "alone", (first,), (second,))
    for groups in (((first,), (bad,), (second,)), ((first, bad, second),)):
        out = tmp_path / str(len(groups))
        events = executed(host, out, *groups)
        failed = [(e.batch, e.reason) for e in events if isinstance(e, Failed)]
        assert failed == [(bad, RAISED[deed][1])]
        found = Store(out).find(bad.runs[0])
        assert (found.state, found.reason) == (RunState.FAILED, RAISED[deed][1])
        if len(groups) > 1:  # in turns, they draw from one stream of global random numbers
            assert digests(out, first, second) == digests(tmp_path / "alone", first, second)
