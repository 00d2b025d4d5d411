"""Deciding with few runs: a fixed number of looks at growing numbers of seeds.

The error of all looks together is 5 %, by their joint distribution
(:mod:`uqbench.statistics.interim_analyses`): every comparison has the p-value of all looks, and a
claim is judged at the level that they leave to one. What is decided at a look stays decided, and
only methods of what is still open get more seeds. A verdict on a claim is wrong with 5 % at most,
and so is any of the ranks, whenever they come. (AdaStop, Mathieu et al. 2023, spends the same error
by permutations of all runs so far; ``docs/claims.md`` compares the two.)
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from uqbench.boards.claims.judge import Judgement, judge
from uqbench.boards.claims.verdict import DECIDED, Verdict
from uqbench.contract.claim import Interval
from uqbench.results.scores import Score, Scores
from uqbench.statistics.interim_analyses import level_of_claim, repeated
from uqbench.statistics.levels import ALPHA, MINIMUM_SEEDS
from uqbench.statistics.ranks import Matrix, Pair, compare
from uqbench.suites.plan import Plan

FIRST_SEEDS = 10
"""Of the first analysis. With five, normal theory fails too often where runs are skewed: 35 % of
false verdicts where one run in five fails, against 16 % from ten on, for 0.2 seeds more."""

LOOKS_PER_DOUBLING = 3
"""Every look has a quarter more seeds than the one before. Of two methods one spread apart one look
per doubling takes three seeds more, two take half a seed more, four a quarter of a seed less."""


def interim_schedule(most: int) -> tuple[int, ...]:
    """Numbers of seeds of the interim analyses, from :data:`FIRST_SEEDS` on, the last ``most``.

    Raises:
        ValueError: ``most`` allows no verdict.
    """
    if most < MINIMUM_SEEDS:
        raise ValueError(f"{most} seeds decide nothing: {MINIMUM_SEEDS} are the least")
    before: list[int] = []
    while (seeds := round(FIRST_SEEDS * 2 ** (len(before) / LOOKS_PER_DOUBLING))) < most:
        before.append(seeds)
    return (*before, most)


@dataclass
class Sequential:
    """What the looks so far have decided.

    Attributes:
        schedule: numbers of seeds of all looks.
        judgements: of the claims, by name: the deciding one, or the last.
        pairs: by names: the deciding comparison, or the last; adjusted p-values are those of all
            looks and pairs.
        decided_at: seeds of the look that decided a claim, or a pair.
    """

    schedule: tuple[int, ...]
    judgements: dict[str, Judgement] = field(default_factory=dict)
    pairs: dict[tuple[str, str], Pair] = field(default_factory=dict)
    decided_at: dict[str | tuple[str, str], int] = field(default_factory=dict)

    def judge(self, plan: Plan, scores: Scores | Iterable[Score]) -> None:
        """Judge the claims that are open, by the runs of a look."""
        level = partial(level_of_claim, self.schedule)
        for judged in judge(plan, scores, level=level):
            name = judged.claim.id
            if name in self.decided_at:
                continue
            if judged.verdict is Verdict.NOT_RUN and name in self.judgements:
                continue  # its methods were not continued
            self.judgements[name] = judged
            if judged.verdict in DECIDED:
                self.decided_at[name] = judged.seeds

    def compare(
        self,
        scores: Mapping[str, Matrix],
        statistic: str,
        *,
        paired: bool,
        ranges: Sequence[Interval] | None = None,
    ) -> None:
        """Compare the ranked methods of a look, ``[runs, tasks]`` each, where pairs are open.

        An adjusted p-value of m open pairs counts as m times that of one pair, whose errors at
        several looks are known.
        """
        undecided = [
            pair
            for pair in compare(scores, statistic, paired=paired, ranges=ranges)
            if (pair.first, pair.second) not in self.decided_at and pair.adjusted is not None
        ]
        for pair in undecided:
            name, number = (pair.first, pair.second), len(undecided)
            adjusted = min(1.0, number * repeated((pair.adjusted or 0.0) / number, self.schedule))
            self.pairs[name] = replace(pair, adjusted=adjusted)
            if adjusted <= ALPHA:
                self.decided_at[name] = len(scores[pair.first])

    def merged(self, pairs: Sequence[Pair]) -> tuple[Pair, ...]:
        """All pairs of a board, those of ranked methods with what the looks say of them."""
        return tuple(
            replace(pair, adjusted=self.pairs[name].adjusted)
            if (name := (pair.first, pair.second)) in self.pairs
            else pair
            for pair in pairs
        )

    def open_claims(self) -> list[Judgement]:
        """The claims that more seeds may decide."""
        return [
            judged
            for name, judged in self.judgements.items()
            if name not in self.decided_at
            and judged.verdict is Verdict.UNDECIDED
            and judged.budget in judged.claim.budgets
        ]

    def open_methods(self, plan: Plan) -> list[str]:
        """The methods that get more seeds, in the plan's order: those of open claims.

        In a suite that claims nothing under this budget, those of open pairs.
        """
        named = {claim.id: kind.named_methods for claim, kind in plan.claims}
        if any(judged.budget in judged.claim.budgets for judged in self.judgements.values()):
            needed = {m for judged in self.open_claims() for m in named[judged.claim.id]}
        else:
            needed = {m for pair in self.pairs if pair not in self.decided_at for m in pair}
        return [name for name in plan.roles if name in needed]
