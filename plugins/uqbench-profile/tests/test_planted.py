"""Planted widths × scores, before and after: the table that README shows is made here."""

from collections.abc import Mapping
from pathlib import Path

import torch
from torch import Tensor
from uqbench_profile import bandit_scores
from uqbench_profile.bandit_table import CELLS, Table
from uqbench_profile.config import FeatureConfig
from uqbench_profile.widths import utility

from uqbench.agent import Uncertainty

README = Path(__file__).parents[1] / "README.md"
BANDITS, WORLDS = range(100), range(500, 520)
NAMES = {
    "exact": "the exact posterior", "counts": "counts, 1/√(1 + n)", "s-over-root-n": "s/√n",
    "common-factor": "one common factor × s/√n, ten samples",
    "constant": "a constant of the right size", "exact-times-3": "the exact shape × 3",
    "silent": "nothing"}  # fmt: skip


def widths(exact: Tensor, count: Tensor, deviation: Tensor) -> Mapping[str, Tensor]:
    """Standard deviations by name, like ``exact``."""
    pairs = exact.flatten(1)
    constant = pairs.log().mean(1).exp().view(-1, *[1] * (exact.dim() - 1)).expand_as(exact)
    by_sample = torch.where(count > 0, deviation / count.clamp(min=1).sqrt(), 1.0)
    return {
        "exact": exact, "counts": 1 / (1 + count).sqrt(), "s-over-root-n": by_sample,
        "common-factor": by_sample, "constant": constant, "exact-times-3": 3 * exact}  # fmt: skip


def before(mean: Tensor, std: Tensor, exact: Tensor) -> tuple[float, float]:
    """Epistemic calibration and decisions of the first version, ``[L, K]`` each."""
    stated, known = (x.clamp(min=1e-4).log() for x in (std, exact))
    around = (known - known.mean(-1, keepdim=True)).square().sum(-1)
    calibration = 1 - (stated - known).square().sum(-1) / around
    worth = utility(mean, exact)
    taken = (worth * (utility(mean, std) > 0)).sum(-1)
    by_mean, best = (worth * (mean > 0)).sum(-1), worth.clamp(min=0).sum(-1)
    decided = torch.where(best > by_mean, (taken - by_mean) / (best - by_mean), torch.nan)
    return float(calibration.clamp(min=-1).mean()), float(decided.clamp(min=-1).nanmean())


def of_bandits() -> Mapping[str, list[float]]:
    """On one-hot bandits: both scores of the first version, then shape, scale and decisions."""
    table = Table.drawn(BANDITS)
    mean, std = bandit_scores.posterior(table)
    count = table.of_kind("data").expand_as(std)
    seen = torch.arange(table.rewards.shape[-1]) < count[..., None]
    around = (table.rewards * seen).sum(-1) / count.clamp(min=1)
    squares = ((table.rewards - around[..., None]) * seen).square().sum(-1)
    deviation = (squares / (count - 1).clamp(min=1)).sqrt()
    cell = table.kind < len(CELLS)
    found = {}
    typical = std[cell].reshape(len(BANDITS), -1).log().mean(1).exp()[:, None, None]
    for name, own in {**widths(std, count, deviation), "constant": typical.expand_as(std)}.items():
        parts = [x[cell].reshape(len(BANDITS), -1) for x in (mean, own, std)]
        new = bandit_scores.scores(table, Uncertainty(mean=mean, epistemic_var=own.square()))
        after = [float(new[n].mean()) for n in ("epistemic_shape", "epistemic_scale", "decisions")]
        found[name] = [*before(*parts), *after]
    return found


def of_features(planted, family: str, discount: float) -> Mapping[str, list[float]]:
    """Shape, unseen, decisions, joint and scale, of what rows of the suite state."""
    means = planted(FeatureConfig(family=family), discount, WORLDS)
    names = ("shape", "unseen", "decisions", "joint", "scale")
    return {width: [of[n] for n in names] for width, of in means.items() if width != "silent"}


def cell(value: float) -> str:
    text = f"{value:.2f}".replace("0.", ".")
    return {"-.00": "0", ".00": "0", "1.00": "1", "-1.00": "−1"}.get(text, text.replace("-", "−"))


def test_the_readme_s_table_of_planted_widths_is_what_the_scores_say(planted):
    """All state exact means; before: the first version of the scores on the one-hot bandits."""
    bandits, linear = of_bandits(), of_features(planted, "linear", 0.0)
    ring, rows = of_features(planted, "ring", 0.7), []
    for key, name in NAMES.items():
        cells = [
            ", ".join(cell(x) for x in part) if part else "–"
            for part in (
                bandits[key][:2] if key != "silent" else [0.0, 0.0],
                bandits.get(key, [])[2:],
                linear.get(key, []),
                ring.get(key, []),
            )
        ]
        rows.append(f"| {name} | " + " | ".join(cells) + " |")
    missing = [row for row in rows if row not in README.read_text("utf-8")]
    assert not missing, "\n".join(rows)


def test_what_counting_and_a_sample_variance_are_worth_without_a_posterior():
    """README: unseen states by any width that is larger for n = 0; disentanglement of formulas."""
    table = Table.drawn(BANDITS)
    mean, _ = bandit_scores.posterior(table)
    count = table.of_kind("data").expand_as(mean)
    seen = torch.arange(table.rewards.shape[-1]) < count[..., None]
    around = (table.rewards * seen).sum(-1) / count.clamp(min=1)
    squares = ((table.rewards - around[..., None]) * seen).square().sum(-1)
    variance = squares / (count - 1).clamp(min=1)

    def of(width: Tensor) -> Mapping[str, float]:
        stated = Uncertainty(mean=mean, epistemic_var=width.square(), aleatoric_var=variance)
        return {name: float(x.mean()) for name, x in bandit_scores.scores(table, stated).items()}

    two_widths = of(torch.where(count > 0, 0.3, 1.0).double())
    by_sample = of(torch.where(count > 0, (variance / count.clamp(min=1)).sqrt(), 1.0))
    said = README.read_text("utf-8").replace("\n", " ")
    assert (two_widths["unseen_states"], two_widths["epistemic_shape"]) == (1, 0)
    assert f"sample variance has {cell(two_widths['disentanglement'])}," in said
    assert f"s/√n beside it has {cell(by_sample['disentanglement'])}," in said
