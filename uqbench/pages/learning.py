"""Sentences under a board: the proof that each method's network learned."""

from collections.abc import Sequence
from statistics import fmean

from uqbench.contract.wording import count
from uqbench.results.store import Store
from uqbench.suites.plan import Plan


def learned(plan: Plan, store: Store) -> dict[str, str]:
    """A sentence on each method whose finished runs have networks, by its name."""
    found: dict[str, list[dict[str, float]]] = {}
    for run in plan.runs:
        if (record := store.read(run.folder).record) is not None and record.learning:
            found.setdefault(run.method, []).append(record.learning)
    return {name: f"{name}: {said(proofs)}." for name, proofs in found.items()}


def said(proofs: Sequence[dict[str, float]]) -> str:
    """The proofs of a method's runs in words; the least that any run learned comes first."""
    steps, moved = (min(of.get(key, -1.0) for of in proofs) for key in ("gradient_steps", "moved"))
    if not moved or not steps:
        return "no gradient step was taken, so that its score is that of its first weights"
    taken = f"{count(int(steps), 'gradient step')}, " if steps > 0 else ""
    returns = [[of[key] for of in proofs if key in of] for key in ("trained", "untrained")]
    both = "return {:.3g}, untrained {:.3g}".format(*map(fmean, returns)) if all(returns) else ""
    return ", ".join(filter(None, [f"{taken}weights moved by {moved:.1%}", both]))


NONE = "no gradient step"
"""The words by which a sentence says that nothing was learned."""
