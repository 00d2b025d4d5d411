"""Judged claims as rows of ``claims.csv`` and as text."""

import math
from collections.abc import Sequence
from typing import Any

from uqbench.boards.tables import number
from uqbench.contract.claim import Region
from uqbench.contract.wording import count
from uqbench.statistics.levels import ALPHA
from uqbench_claims.decision import Finding, Needed
from uqbench_claims.judge import Judgement

COLUMNS = (
    "claim", "verdict", "reason", "more_seeds", "more_seeds_low", "more_seeds_high", "chance",
    "budget", "needs_budget", "runs_planned", "runs_finished", "runs_failed", "seeds", "kind",
    "comparison", "group", "statistic", "estimate", "low", "high", "confidence", "must_be_above",
    "must_be_below", "comparison_is", "runs", "difference", "difference_low", "difference_high",
    "readings", "calibrated_on", "sentence", "source",
)  # fmt: skip
"""Columns of ``claims.csv``; ``difference`` is of means; ``calibrated_on`` of earlier versions."""


def rows(judgements: Sequence[Judgement]) -> list[dict[str, Any]]:
    """A row a comparison, or one for a claim without any; numbers to six digits."""
    rows = []
    for judged in judgements:
        entry = as_json(judged)
        comparisons = entry.pop("comparisons") or [{}]
        entry["readings"] = " ".join(judged.readings)
        for comparison in comparisons:
            row = {key: value for key, value in (entry | comparison).items() if key in COLUMNS}
            rows.append({k: number(of) if isinstance(of, float) else of for k, of in row.items()})
    return rows


def as_json(judged: Judgement) -> dict[str, Any]:
    """A judgement as JSON values."""
    claim, needed = judged.claim, judged.needed or Needed(None, None, None, None)
    ends = {"": needed.seeds, "_low": needed.low, "_high": needed.high}
    return {
        "claim": claim.id,
        "verdict": judged.verdict.value,
        "reason": judged.reason,
        **{f"more_seeds{end}": None if n is None else n - judged.seeds for end, n in ends.items()},
        "chance": needed.chance,
        "sentence": claim.sentence,
        "source": claim.source,
        "readings": {name: of.model_dump() for name, of in judged.readings.items()},
        "kind": claim.kind,
        "settings": claim.settings,
        "budget": judged.budget,
        "needs_budget": " ".join(claim.budgets),
        "runs_planned": judged.runs.planned,
        "runs_finished": judged.runs.finished,
        "runs_failed": judged.runs.failed,
        "seeds": judged.seeds,
        "comparisons": [_comparison(finding) for finding in judged.findings],
    }


def _comparison(finding: Finding) -> dict[str, Any]:
    comparison, (low, high) = finding.comparison, finding.interval or (None, None)
    region, difference = comparison.region, comparison.difference
    ends = None if difference is None or finding.interval is None else difference.interval(ALPHA)
    least, most = ends or (None, None)
    return {
        "comparison": comparison.about,
        "group": comparison.group,
        "statistic": comparison.statistic,
        "estimate": _finite(comparison.measured.estimate),
        "low": _finite(low),
        "high": _finite(high),
        "confidence": 1 - finding.alpha,
        "must_be_above": _finite(region.low),
        "must_be_below": _finite(region.high),
        "comparison_is": finding.word,
        "runs": comparison.measured.runs,
        "difference": None if difference is None else _finite(difference.estimate),
        "difference_low": _finite(least),
        "difference_high": _finite(most),
    }


def as_text(judged: Judgement) -> str:
    """A judgement as a paragraph for the terminal: sentence, verdict, evidence."""
    claim, runs, findings = judged.claim, judged.runs, judged.findings
    under = f", under {', '.join(judged.readings)}" if judged.readings else ""
    verdict = f"{judged.verdict.value}{under}" + (judged.reason and f": {judged.reason}")
    lines = [claim.sentence, f"  {verdict}", *(f"  - {_sentence(f)}" for f in findings)]
    counted = f"{runs.finished} of {count(runs.planned, 'run')}" + (
        f", {runs.failed} failed" if runs.failed else ""
    )
    counted += f", {count(judged.seeds, 'seed')}, budget {judged.budget}"
    if len(findings) > 1:
        counted += f"; {len(findings)} comparisons, 95 % together (Holm)"
    elif findings:
        counted += "; 95 %"
    return "\n".join([*lines, f"  {counted}", f"  {claim.id}: {claim.source}"])


def _sentence(finding: Finding) -> str:
    comparison = finding.comparison
    where = f"{comparison.group}: " if comparison.group else ""
    number = f"{comparison.measured.estimate:.3g}"
    if finding.interval is not None:
        number += " [{:.3g}, {:.3g}]".format(*finding.interval)
    state = finding.word
    measured = f"{comparison.statistic} {number}, {_bounds(comparison.region)}"
    return f"{where}{comparison.about}: {measured}: {state}"


def _bounds(region: Region) -> str:
    parts = []
    if math.isfinite(region.low):
        parts.append(f"above {region.low:g}")
    if math.isfinite(region.high):
        parts.append(f"below {region.high:g}")
    return f"must be {' and '.join(parts)}"


def _finite(number: float | None) -> float | None:
    return number if number is not None and math.isfinite(number) else None
