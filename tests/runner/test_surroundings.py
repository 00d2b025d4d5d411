"""A plugin that changes its process, or raises what is no ``Exception``, costs its own run alone.

The victim draws from every stream of global random numbers.
"""

import dataclasses
import locale
import os
import pickle
import random
import signal
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
import torch
import toy_runs
from torch import Tensor
from torch.nn.modules.module import register_module_forward_hook

import uqbench
from uqbench.agent import Agent
from uqbench.lanes import Uniform
from uqbench.registry import Added, Host
from uqbench.registry.local import SuiteTable
from uqbench.results import RunState, Store
from uqbench.runner import Batch, execute
from uqbench.runner.events import Event, Failed, Notice, Split
from uqbench.specs import AgentSpec, NoConfig

STEPS = 12
KEPT: list[int] = []
"""As a module keeps what it has seen."""


@dataclass(frozen=True, kw_only=True)
class Config:
    """``draws``: whether it uses global random numbers, of which in turns all have one stream."""

    deed: str = ""
    draws: bool = True
    kept: ClassVar[list[int]] = []


class Victim(Agent):
    """Reports what it draws."""

    kept: ClassVar[dict[str, Tensor]] = {"scale": torch.ones(2)}

    def __init__(self, info, seeds, config: Config, device):
        self.config, self.t, self.lanes = config, 0, len(seeds)
        self.uniform = Uniform(seeds, "walk", (info.actors,), device)
        self.seen: list[float] = []

    def act(self, obs, valid=None):
        return (self.uniform.at(self.t) < 0.7).long()

    def policy(self, obs, valid=None):
        return torch.ones(obs.shape[:2], dtype=torch.int64)

    def observe(self, step):
        if self.t == 3 and self.config.deed:
            DEEDS[self.config.deed]()
        self.t += 1
        if self.config.draws:
            self.seen = [float(torch.rand(())), random.random(), np.random.rand()]  # noqa: NPY002

    def metrics(self):
        ones = torch.ones(self.lanes, dtype=torch.float64, device="cpu")
        return {f"seen{i}": x * ones for i, x in enumerate(self.seen)}


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
    "deterministic": (lambda: torch.use_deterministic_algorithms(True),
                      "torch's deterministic algorithms"),
    "precision": (lambda: torch.set_float32_matmul_precision("medium"),
                  "torch's precision of products"),
    "autocast": (lambda: torch.set_autocast_enabled("cpu", True), "torch's autocast"),
    "onednn": (lambda: setattr(torch.backends.mkldnn, "enabled", False), "oneDNN"),
    "numpy": (lambda: np.seterr(all="raise"), "numpy's errors"),
    "warnings": (lambda: warnings.simplefilter("error"), "the warnings filters"),
    "environment": (lambda: os.environ.clear(), "environment variables"),
    "folder": (lambda: os.chdir("/"), "the current folder"),
    "stdout": (lambda: sys.stdout.close(), "sys.stdout"),
    "recursion": (lambda: sys.setrecursionlimit(700), "the recursion limit"),
    "handler": (lambda: signal.signal(signal.SIGUSR1, signal.SIG_IGN), "the handler of SIGUSR1"),
    "alarm": (lambda: signal.alarm(1000), "an alarm"),
    "locale": (lambda: locale.setlocale(locale.LC_ALL, "C.UTF-8"), "the locale"),
    "a thread": (lambda: threading.Thread(target=time.sleep, args=(9,), daemon=True).start(),
                 "its threads"),
    "torch's functions": (lambda: setattr(torch, "rand", torch.zeros), "torch.rand"),
    "numpy's functions": (lambda: setattr(np.random, "rand", float), "numpy.random.rand"),
    "Python's functions": (lambda: setattr(random, "random", float), "random.random"),
    "torch's tensors": (lambda: setattr(Tensor, "mean", Tensor.sum), "Tensor.mean"),
    "all layers' hooks": (lambda: register_module_forward_hook(lambda *given: None),
                          "torch.nn.modules.module._global_forward_hooks"),
    "its own method": (lambda: setattr(Victim, "policy", Victim.act), "Victim.policy"),
    "a tensor of the class": (lambda: Victim.kept["scale"].mul_(2), "Victim.kept"),
    "an attribute of the class": (lambda: setattr(Victim, "scale", 2.0), "Victim.scale"),
    "a list of the config's class": (lambda: Config.kept.append(1), "Config.kept"),
    "a list of the module": (lambda: KEPT.append(1), f"{__name__}.KEPT"),
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
    "unspeakable": (UnspeakableError(),
                    "UnspeakableError (its message cannot be made: RuntimeError)")}  # fmt: skip
DEEDS: dict[str, Callable[[], object]] = {
    **{name: deed for name, (deed, _) in CHANGES.items()},
    **SEEDS,
    **{name: raises(error) for name, (error, _) in RAISED.items()},
}


@pytest.fixture
def host(host: Host, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Host]:
    rows = [{"name": name, "agent": "planted:victim"} for name in ("victim", "culprit", "quiet")]
    rows[2]["config"] = {"draws": False}
    spec = AgentSpec(name="victim", version="1", factory=Victim, config=Config, summary=".")
    table = SuiteTable("p.toml", {"extend": {"toy": {"methods": rows}}})
    planted = Added({"agent": [spec]}, [table])
    of = {"distribution": "planted", "version": "1", "package": "toy_uqbench"}
    host.register(name="planted", load=lambda: planted, **of)
    assert not host.failures
    monkeypatch.chdir(tmp_path)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield host


def batch(host: Host, method: str, *seeds: int, **settings: str) -> Batch:
    chosen = {"methods": [method], "tasks": ["short"], "seeds": seeds}
    plan = toy_runs.plan_of(host, "smoke", steps=STEPS, settings={method: settings}, **chosen)
    return toy_runs.first_batch(plan)


def culprit(host: Host, deed: str) -> Batch:
    return batch(host, "culprit", 0, deed=deed)


def executed(host: Host, out: Path, *groups: tuple[Batch, ...]) -> tuple[list[Event], list[bool]]:
    """Execute groups as a worker does; each in a process of its own after one that is not fit."""
    events: list[Event] = []
    fit = [execute(group, Store(out), host, events.append, 0.0) for group in groups]
    return events, fit


def apart(tell: Callable[[], object]) -> Any:
    """Call something in a forked process; what it returns, since nothing undoes what it does."""
    read, write = os.pipe()
    child = os.fork()
    if not child:
        try:
            os.write(write, pickle.dumps(tell()))
        finally:
            os._exit(0)
    os.close(write)
    os.waitpid(child, 0)
    with os.fdopen(read, "rb") as answer:
        return pickle.loads(answer.read())


def digests(out: Path, *batches: Batch) -> list[str]:
    return [digest for one in batches for digest in toy_runs.digests(Store(out), one)]


def told(host: Host, out: Path, *groups: tuple[Batch, ...]) -> object:
    """The notices of groups, and whether the process was fit after each."""
    events, fit = executed(host, out, *groups)
    return [(e.batch.cell.method.name, e.text) for e in events if isinstance(e, Notice)], fit


@pytest.mark.parametrize("deed", CHANGES)
def test_a_process_that_one_changed_is_named_and_not_used_again(deed, host, tmp_path):
    bad = culprit(host, deed)

    said = f"it changed {CHANGES[deed][1]} in its process, which was replaced"
    assert apart(partial(told, host, tmp_path, (bad,))) == ([(bad.cell.method.name, said)], [False])


@pytest.mark.parametrize("deed", SEEDS)
def test_global_random_numbers_are_put_back(deed, host, tmp_path):
    first, second, bad = batch(host, "victim", 0, 1), batch(host, "victim", 2), culprit(host, deed)
    executed(host, tmp_path / "alone", (first,))
    executed(host, tmp_path / "alone", (second,))
    assert told(host, tmp_path / "after", (first,), (bad,), (second,)) == ([], [True] * 3)
    right = digests(tmp_path / "alone", first, second)
    assert digests(tmp_path / "after", first, second) == right


@pytest.mark.parametrize("deed", ["float64", "denormals"])
def test_in_turns_a_change_gives_all_back_to_be_executed_alone(deed, host, tmp_path):
    first, second, bad = batch(host, "quiet", 0, 1), batch(host, "quiet", 2), culprit(host, deed)

    def tell() -> object:
        events, fit = executed(host, tmp_path, (first, bad, second))
        split = [e for e in events if isinstance(e, Split)]
        return [(e.batch.name, e.size, e.reason) for e in split], fit

    why = f"{bad.name} changed {CHANGES[deed][1]} in their process"
    back, fit = apart(tell)
    assert fit == [False]
    assert sorted(back) == sorted((one.name, len(one.runs), why) for one in (first, second, bad))
    assert Store(tmp_path).find(first.runs[0]).state is RunState.ABANDONED


IMPORTED = """
import torch
from uqbench.registry.builtin.trivial import UniformRandom

torch.set_default_dtype(torch.float64)


class Late(UniformRandom):
    pass
"""


def test_an_import_that_changes_the_process_is_a_change_as_any_other(host, tmp_path, monkeypatch):
    (tmp_path / "imported_late.py").write_text(IMPORTED)
    monkeypatch.syspath_prepend(str(tmp_path))
    spec = AgentSpec(name="late", version="1", factory="imported_late:Late")
    of = {"name": "late", "distribution": "late", "version": "1", "package": "toy_uqbench"}
    host.register(**of, load=lambda: Added({"agent": [spec]}))
    first, made = batch(host, "quiet", 0, 1), batch(host, "quiet", 0)
    method = made.cell.method.model_copy(update={"agent": "late", "name": "late"})
    cell = dataclasses.replace(made.cell, method=method, config=NoConfig())
    late = dataclasses.replace(made, cell=cell)

    said = "it changed torch's default dtype in its process, which was replaced"
    assert apart(partial(told, host, tmp_path / "alone", (late,))) == ([("late", said)], [False])

    def tell_beside() -> object:
        events, fit = executed(host, tmp_path / "beside", (first, late))
        return [e.reason for e in events if isinstance(e, Split)], fit

    why = "importing one of them changed torch's default dtype in their process"
    assert apart(tell_beside) == ([why, why], [False])


@pytest.mark.parametrize("deed", RAISED)
def test_what_is_no_exception_fails_its_own_run_by_name(deed, host, tmp_path):
    first, second, bad = batch(host, "victim", 0, 1), batch(host, "victim", 2), culprit(host, deed)
    executed(host, tmp_path / "alone", (first,), (second,))
    for groups in (((first,), (bad,), (second,)), ((first, bad, second),)):
        out = tmp_path / str(len(groups))
        events, _ = executed(host, out, *groups)
        [failed] = [event for event in events if isinstance(event, Failed)]
        found = Store(out).find(bad.runs[0])
        assert (failed.batch, failed.reason, found.state) == (bad, found.reason, RunState.FAILED)
        assert found.reason.startswith(RAISED[deed][1])
        if len(groups) > 1:  # in turns, they draw from one stream of global random numbers
            assert digests(out, first, second) == digests(tmp_path / "alone", first, second)


RUDE = """
import torch
from uqbench.registry.builtin.trivial import UniformRandom

class Rude(UniformRandom):
    def act(self, obs, valid=None):
        torch.set_grad_enabled(False)
        return super().act(obs, valid)
"""


def test_a_worker_is_replaced_after_one_that_changed_it(host, tmp_path, capfd):
    (tmp_path / "rude.py").write_text(RUDE)
    methods = [f"{tmp_path / 'rude.py'}:Rude", "fast"]
    chosen = {"methods": methods, "tasks": ["short"], "seeds": 2, "workers": 1}
    uqbench.run("toy", "smoke", **chosen, out=tmp_path / "results")
    said = "it changed torch's gradient mode in its process, which was replaced"
    assert said in capfd.readouterr().err
    pids: dict[str, set[int]] = {"rude": set(), "fast": set()}
    for place, stored in Store(tmp_path / "results").walk():
        assert stored.state is RunState.FINISHED
        pids[place.split("/")[3]].add(stored.record.process.pid)
    assert (len(pids["fast"]), len(pids["rude"])) == (1, 2)
