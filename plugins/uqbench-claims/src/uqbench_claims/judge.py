"""The claims of a suite, judged by the scores of its runs."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from uqbench.boards.leaderboard import Board
from uqbench.contract.claim import CannotCompareError, ClaimKind, Evidence, Observations
from uqbench.contract.errors import contained
from uqbench.results.scores import CellScores, Score, Scores
from uqbench.results.store import RunState
from uqbench.statistics.levels import MINIMUM_SEEDS
from uqbench.suites.claims import Claim, Reading
from uqbench.suites.plan import Plan
from uqbench_claims.decision import Finding, Needed, find, seeds_needed
from uqbench_claims.verdict import DECIDED, Verdict, verdict

HERE = {Verdict.HOLDS: "holds", Verdict.DOES_NOT_HOLD: "does not hold"}
MOST_NAMED = 5
"""Runs that a reason names one by one."""


@dataclass(frozen=True)
class Runs:
    """The runs that a claim needs: how many are planned, finished and failed."""

    planned: int
    finished: int
    failed: int


@dataclass(frozen=True)
class Judgement:
    """A claim, what the runs say about it, and why.

    Attributes:
        budget: that the runs are of.
        seeds: planned runs of each task and method.
        reason: why the claim is not decided, which part of it failed, and where a probability of
            improvement and the difference of means have different signs; empty where nothing is.
        needed: the seeds that would decide; None where seeds are not what is missing.
        findings: the comparisons; none where runs are missing.
        readings: of the paper, by name, that the verdict rests on.
    """

    claim: Claim
    budget: str
    runs: Runs
    seeds: int
    verdict: Verdict
    reason: str = ""
    needed: Needed | None = None
    findings: tuple[Finding, ...] = ()
    readings: Mapping[str, Reading] = field(default_factory=dict)


def judge(plan: Plan, scores: Scores | Iterable[Score], began: str = "") -> tuple[Judgement, ...]:
    """Judge all claims of a plan, in their order in the suite.

    Args:
        plan: with the claims.
        scores: of its runs.
        began: UTC time at which the first of them was begun, empty where that is not known: a
            margin counts that was set before.
    """
    by_cell = {(cell.method, cell.task): cell for cell in Scores.of(scores).cells}
    judged = []
    for claim, kind in plan.claims:
        why = list[str]()
        with contained(why.append):  # what its kind raises, a plugin's, costs no other
            judged.append(_Case(plan, claim, kind, by_cell, began).judgement())
        for reason in why[:1]:
            runs, said = Runs(0, 0, 0), f"its kind raised {reason}"
            judged.append(Judgement(claim, plan.budget_name, runs, 0, Verdict.OPEN, said))
    return tuple(judged)


def judged(board: Board) -> tuple[Judgement, ...]:
    """Judge all claims of a board's suite by its scores."""
    return judge(board.plan, board.scores, board.began)


class _Case:
    """One claim before the runs."""

    def __init__(
        self,
        plan: Plan,
        claim: Claim,
        kind: ClaimKind,
        scores: Mapping[tuple[str, str], CellScores],
        began: str,
    ) -> None:
        suite = plan.suite
        self.plan, self.claim, self.kind = plan, claim, kind
        self.metric = suite.metric(kind.metric)
        early = str(self.metric.margin_set) < began[:10]  # set before the first run began
        self.margin = self.metric.margin if early else None
        self.run_tasks = [t.name for t in suite.tasks_of(suite.budget(plan.budget_name))]
        named = kind.tasks or [
            name for name in self.run_tasks if self.metric.suits(suite.task(name))
        ]
        self.tasks = tuple(task.name for task in suite.tasks if task.name in named)
        self.scores = {
            (method, task): scores.get((method, task)) or CellScores(task, method, ())
            for method in kind.named_methods
            for task in self.tasks
        }
        self.seeds = max(map(len, self.scores.values()), default=0)

    def judgement(self) -> Judgement:
        """The verdict, with its evidence or what is missing."""
        least, most = self.claim.least_tasks or 0, len(self.plan.suite.tasks)
        of = f"the paper's statistic is over {least} tasks"
        if least > most:
            return self._say(
                Verdict.NOT_RUN, f"no budget can decide it: {of}, the suite has {most}"
            )
        if self.plan.budget_name not in self.claim.budgets:
            return self._elsewhere()
        missing, unusable = self._missing(), self._unusable()
        if least > len(self.tasks):
            return self._say(Verdict.NOT_RUN, f"{of}, this budget has {len(self.tasks)}")
        if missing:
            return self._say(Verdict.NOT_RUN, missing)
        if unusable:
            return self._say(Verdict.OPEN, unusable)
        try:
            evidence = self.kind.compare(self._observations())
        except CannotCompareError as error:
            return self._say(Verdict.OPEN, str(error))
        enough = self.seeds >= MINIMUM_SEEDS
        findings = find(evidence, intervals=enough)
        if not self.plan.as_written:
            return self._say(Verdict.OPEN, "steps or settings were set by hand", findings)
        if not enough:
            few = f"{self.seeds} of the {MINIMUM_SEEDS} seeds that a verdict needs at least"
            needed = Needed(MINIMUM_SEEDS, None, None, None)
            return self._say(Verdict.OPEN, few, findings, needed)
        reached = verdict(evidence, findings)
        if reached not in DECIDED:
            return self._undecided(evidence, findings)
        parts = _parts(findings, reached)
        for name, other in self.claim.under.items():
            if other.verdict != reached.value:
                flips = f"{reached.value} as read here, {other.verdict} under {name!r}"
                reason = "; ".join(filter(None, [f"{flips} ({other.found})", parts]))
                return self._say(Verdict.OPEN, reason, findings)
        if self.claim.differs:
            here = (
                f"another setting than the paper's: {self.claim.differs}; here it {HERE[reached]}"
            )
            return self._say(Verdict.OPEN, "; ".join(filter(None, [here, parts])), findings)
        if reached is Verdict.DOES_NOT_HOLD and self.kind.published:
            parts = "; ".join(filter(None, ["compared with a published number", parts]))
        return self._say(reached, parts, findings)

    def _elsewhere(self) -> Judgement:
        """Not run, with what the runs of another budget than the claim's come to."""
        needs = f"the claim needs the budget {' or '.join(self.claim.budgets)}"
        kind = self.kind.among([m for m in self.kind.named_methods if self._whole(m)])
        few = len(self.tasks) < max(1, self.claim.least_tasks or 0)
        if kind is None or few or self.seeds < MINIMUM_SEEDS or not self.plan.as_written:
            return self._say(Verdict.NOT_RUN, needs)
        known = {of: own for of, own in self.scores.items() if of[0] in kind.named_methods}
        try:
            evidence = kind.compare(self._observations(known))
        except CannotCompareError:
            return self._say(Verdict.NOT_RUN, needs)
        findings = find(evidence, intervals=True)
        told = [needs, f"here, {estimates(self.claim, findings)}"]
        if absent := [m for m in self.kind.named_methods if m not in kind.named_methods]:
            told.append(f"no runs of {_listed(absent)} here")
        if all(f.interval for f in findings) and any(f.word == "open" for f in findings):
            needed = seeds_needed(evidence, findings, self.seeds)
            told.append(f"at this length {needed.told(self.seeds)}")
        return self._say(Verdict.NOT_RUN, "; ".join(told), findings)

    def _whole(self, method: str) -> bool:
        """Whether all runs of a method have a value."""
        cells = [self.scores[method, task] for task in self.tasks]
        return all(len(own) and np.isfinite(own.values(self.metric.name)).all() for own in cells)

    def _undecided(self, evidence: Evidence, findings: tuple[Finding, ...]) -> Judgement:
        flat = [f.comparison.about for f in findings if f.interval is None]
        if flat:
            reason = (
                f"all runs are equal for {_listed(flat)}, and no number of seeds would decide: say "
                f"exact = true where the metric has no randomness, or give its range (lowest, "
                f"highest, fails_beyond)"
            )
            return self._say(Verdict.OPEN, reason, findings)
        parts = [_parts(findings, Verdict.OPEN)]
        if self.metric.margin is not None and self.margin is None:
            parts.append(f"the margin, {self.metric.margin:g}, was set after the runs")
        needed = seeds_needed(evidence, findings, self.seeds)
        reason = "; ".join(filter(None, [*parts, needed.told(self.seeds)]))
        return self._say(Verdict.OPEN, reason, findings, needed)

    def _missing(self) -> str:
        """The runs that the claim needs and that are missing, in words; empty where none is."""
        untasked = [task for task in self.tasks if task not in self.run_tasks]
        if untasked or not self.tasks:
            task = _listed(untasked) or f"with {self.metric.name}"
            return f"the budget {self.plan.budget_name!r} has no task {task}"
        methods = self.kind.named_methods
        unknown = [m for m in methods if not any(self.scores[m, task] for task in self.tasks)]
        reasons = [f"there is no method {_listed(unknown)}"] if unknown else []
        reasons += [self._incomplete(method) for method in methods if method not in unknown]
        return "; ".join(filter(None, reasons))

    def _incomplete(self, method: str) -> str:
        """Which of a method's runs are missing; empty where none is."""
        absent = [task for task in self.tasks if not self.scores[method, task]]
        if absent:
            return f"{method} is not for {_listed(absent)}"
        cells = [self.scores[method, task] for task in self.tasks]
        named: dict[str, list[str]] = {}
        for cell in cells:
            for seed, state in zip(cell.seeds, cell.status, strict=True):
                named.setdefault(state, []).append(f"{cell.task}/{seed}")
        finished = len(named.pop(RunState.FINISHED.value, []))
        failed = named.pop(RunState.FAILED.value, [])
        left = [name for names in named.values() for name in names] if finished else []
        told = [
            f"{word} {_listed(of)}" for word, of in (("failed", failed), ("missing", left)) if of
        ]
        counted = f"{method} {finished} of {sum(map(len, cells))} runs"
        return ", ".join([counted, *told]) if named or failed else ""

    def _unusable(self) -> str:
        """Which runs have no value that can be compared."""
        without = [
            f"{task}/{method}/{own.seeds[i]}"
            for (method, task), own in self.scores.items()
            for i in np.flatnonzero(~np.isfinite(own.values(self.metric.name)))
        ]
        if not without:
            return ""
        return f"{len(without)} finished without a finite {self.metric.name}: {_listed(without)}"

    def _observations(
        self, scores: Mapping[tuple[str, str], CellScores] | None = None
    ) -> Observations:
        scores = self.scores if scores is None else scores
        suite = self.plan.suite
        configs: dict[tuple[str, str], Mapping[str, Any]] = {
            (cell.method.name, cell.task.name): cell.runs[0].identity["method"]["config"]
            for cell in self.plan.cells
        }
        return Observations(
            direction=self.metric.direction,
            tasks=self.tasks,
            raw={cell: own.values(self.metric.name) for cell, own in scores.items()},
            configs={cell: configs[cell] for cell in scores},
            task_configs={task: suite.task(task).config for task in self.tasks},
            normalize={
                task: of.normalize
                for task, of in suite.normalization_constants(self.metric).items()
            },
            ranges={t: ends for t in self.tasks if (ends := self.metric.range_on(t)) is not None},
            margin=self.margin,
            paired=suite.pairing,
            shared=self.metric.kind == "cost",
        )

    def _say(
        self,
        verdict: Verdict,
        reason: str,
        findings: tuple[Finding, ...] = (),
        needed: Needed | None = None,
    ) -> Judgement:
        states = [status for own in self.scores.values() for status in own.status]
        finished, failed = (states.count(s.value) for s in (RunState.FINISHED, RunState.FAILED))
        runs = Runs(len(states), finished, failed)
        readings = {name: self.plan.suite.readings[name] for name in self.claim.readings}
        return Judgement(
            self.claim, self.plan.budget_name, runs, self.seeds, verdict, reason, needed, findings,
            readings,
        )  # fmt: skip


def _parts(findings: Sequence[Finding], reached: Verdict) -> str:
    """Numbers and names of a conjunction's parts that hold or not, and contradicting means."""
    parts = []
    if reached is not Verdict.HOLDS and len({f.word for f in findings}) > 1:
        parts.append(f"{sum(f.true is True for f in findings)} of {len(findings)} parts hold")
        for word in ("false", "equal", "open"):
            names = [_about(f) for f in findings if f.word == word]
            parts += [f"{word}: {_listed(names)}"] if names else []
    equal = [f for f in findings if f.equal and f.true is None]
    if reached is Verdict.DOES_NOT_HOLD and equal and all(f.true is not False for f in findings):
        parts.append(f"means differ by less than {equal[0].comparison.margin:g}, the margin")
    for f in findings:
        difference, measured = f.comparison.difference, f.comparison.measured
        side = measured.estimate - f.comparison.region.low
        if difference is not None and difference.estimate * side < 0:
            words = f"{measured.estimate:.3g}, but the means differ by {difference.estimate:+.3g}"
            parts.append(f"{_about(f)}: {f.comparison.statistic} {words}")
    return "; ".join(parts)


def estimates(claim: Claim, findings: Iterable[Finding]) -> str:
    """Estimates of comparisons with their intervals, and the metric that they are by, in words."""
    told = []
    for finding in findings:
        of, ends = (
            finding.comparison,
            finding.interval and " [{:.3g}, {:.3g}]".format(*finding.interval),
        )
        told.append(f"{_about(finding)}: {of.statistic} {of.measured.estimate:.3g}{ends or ''}")
    return f"by {claim.settings['metric'].replace('_', ' ')}, {', '.join(told)}"


def _about(finding: Finding) -> str:
    comparison = finding.comparison
    return comparison.about + (f" on {comparison.group}" if comparison.group else "")


def _listed(names: Sequence[str]) -> str:
    more = len(names) - MOST_NAMED
    return ", ".join(names[:MOST_NAMED]) + (f" and {more} more" if more > 0 else "")
